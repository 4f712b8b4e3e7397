"""Errors of saving the settings of a run: its rubric, and its sampling and blind review."""

from collections.abc import Mapping, Sequence


class InvalidSettings(ValueError):
    """Settings that a run cannot have. `problems` has the sentences by the name of the setting."""

    def __init__(self, problems: Mapping[str, Sequence[str]]) -> None:
        super().__init__(" ".join(sentence for sentences in problems.values() for sentence in sentences))
        self.problems = problems
