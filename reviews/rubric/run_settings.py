"""Read settings of a run, with fingerprints of those that somebody saw, and refuse settings."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from hashlib import sha256
from typing import Any, TypeVar

from reviews.models import Run

_Settings = TypeVar("_Settings")


class InvalidSettings(ValueError):
    """Settings that a run cannot have. `problems` has the sentences by the name of the setting."""

    def __init__(self, problems: Mapping[str, Sequence[str]]) -> None:
        super().__init__(" ".join(sentence for sentences in problems.values() for sentence in sentences))
        self.problems = problems


def current_settings(kind: type[_Settings], run: Run) -> _Settings:
    """Return the settings of a run: the columns that a dataclass of settings names."""
    return kind(**{field.name: getattr(run, field.name) for field in fields(kind)})  # type: ignore[arg-type]


def fingerprint(values: Any) -> str:
    """Return a hash that identifies settings, to notice that others have changed them."""
    return sha256(json.dumps(values, default=str).encode()).hexdigest()
