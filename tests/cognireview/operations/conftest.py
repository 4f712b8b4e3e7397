"""A database with decisions, and its backup."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cognireview.postgres import embedded
from tests.support.backups import FILL, Commands, state, succeeded
from tests.support.commands import many_commands
from tests.support.data_folders import copy_data_folder


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A running cluster with a migrated database."""
    data_dir = copy_data_folder(tmp_path_factory.mktemp("source") / "data")
    with embedded.running(data_dir, disposable=True):
        yield data_dir


@pytest.fixture(scope="module")
def on_source(source: Path) -> Iterator[Commands]:
    """Commands on the source, filled with decisions."""
    with many_commands(source, COGNIREVIEW_BLIND_SHARE="0") as run:
        succeeded(run("shell", "--no-imports", "-c", FILL))
        yield run


@pytest.fixture(scope="module")
def before(on_source: Commands) -> list[str]:
    """The state that is backed up. The backup is an event of its own, recorded afterwards."""
    return state(on_source)


@pytest.fixture(scope="module")
def file(on_source: Commands, before: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of the source, in a folder of its own."""
    file = tmp_path_factory.mktemp("backups") / "monday.backup"
    done = on_source("backup", str(file))
    assert done.returncode == 0, done.stderr
    assert "Keep the secret key as well: it is not in the backup" in done.stderr
    return file
