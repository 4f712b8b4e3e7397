"""Create pytest's fixture `request` without inspecting the signature of its function.

pytest creates the fixture about 30 times for each test, which took a fifth of the time of a short test.
"""

from typing import Any

import pytest
from _pytest import compat, fixtures


def create_without_inspection() -> None:
    """Change pytest for the rest of this process."""

    def names_of_arguments(function: Any, *, name: str = "", cls: type | None = None) -> tuple[str, ...]:
        return () if name == "request" else compat.getfuncargnames(function, name=name, cls=cls)

    pytest.MonkeyPatch().setattr(fixtures, "getfuncargnames", names_of_arguments)
