"""What these tests share: a folder for servers that also another account may pass."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Not below pytest's own: whoever starts pytest beside this one shuts that for others."""
    with tempfile.TemporaryDirectory(prefix="cognireview-growth-") as name:
        yield Path(name)
