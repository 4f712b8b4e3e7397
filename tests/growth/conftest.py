"""What these tests share: a folder for servers, and the database that they are on."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from tests.support.servers import Place


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Not below pytest's own: whoever starts pytest beside this one shuts that for others."""
    with tempfile.TemporaryDirectory(prefix="cognireview-growth-") as name:
        yield Path(name)


@pytest.fixture
def database(transactional_db: None) -> Place:
    """The tests' own database, for servers to use."""
    return Place.of(connection.settings_dict)
