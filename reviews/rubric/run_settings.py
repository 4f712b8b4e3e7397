"""The error of settings that a run cannot have, and fingerprints of settings that somebody saw."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any


class InvalidSettings(ValueError):
    """Settings that a run cannot have. `problems` has the sentences by the name of the setting."""

    def __init__(self, problems: Mapping[str, Sequence[str]]) -> None:
        super().__init__(" ".join(sentence for sentences in problems.values() for sentence in sentences))
        self.problems = problems


def fingerprint(values: Any) -> str:
    """Return a hash that identifies settings as JSON values, to notice that others have changed them."""
    return sha256(json.dumps(values).encode()).hexdigest()
