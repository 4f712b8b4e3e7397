"""Print the figures of an operations check and raise `Missed` for unmet expectations."""

from collections.abc import Iterable


class Missed(Exception):
    """An expectation of an operations check was not met."""


def expect(condition: object, sentence: str) -> None:
    """Raise `Missed` with this sentence unless the condition holds."""
    if not condition:
        raise Missed(sentence)


def print_figures(title: str, figures: Iterable[tuple[str, object]]) -> None:
    print(f"\n{title}")  # noqa: T201 prints the report
    for name, figure in figures:
        print(f"  {name}: {figure}")  # noqa: T201
