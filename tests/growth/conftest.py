"""Shared fixtures: a folder for servers, and the database that they use."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from tests.support.servers import Place


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder for servers. A later session of pytest would make pytest's own folder private to its user."""
    with tempfile.TemporaryDirectory(prefix="cognireview-growth-") as name:
        yield Path(name)


@pytest.fixture
def database(transactional_db: None) -> Place:
    """The database of the tests, for servers to use."""
    return Place.from_settings(connection.settings_dict)
