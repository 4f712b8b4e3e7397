"""Faults of the data folder: one sentence on stderr, exit status 2, no traceback, nothing changed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cognireview.environment import BASE_DIR
from cognireview.operations import secret_key
from cognireview.postgres import embedded
from tests.support.data_folders import copy_data_folder
from tests.support.faulty_folders import exhaustive, refused

pytestmark = pytest.mark.slow


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data folder that was used before, to be damaged."""
    return copy_data_folder(tmp_path / "data")


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


@pytest.mark.parametrize(
    ("path", "command", "sentence"),
    [
        exhaustive("postgres/PG_VERSION", "verify_audit", "PG_VERSION is missing"),
        exhaustive("postgres/PG_VERSION", "up", "PG_VERSION is missing"),
        exhaustive("postgres/pg_wal", "verify_audit", 'required WAL directory "pg_wal" does not exist'),
        ("postgres/base", "verify_audit", "PostgreSQL"),
        exhaustive("secret_key", "verify_audit", "secret_key is missing, and the database exists"),
        ("secret_key", "up", "secret_key is missing, and the database exists"),
    ],
)
def test_incomplete_data_folder_reports_one_sentence(
    data_dir: Path, path: str, command: str, sentence: str
) -> None:
    remove(data_dir / path)
    assert sentence in refused(data_dir, command)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda cluster: remove(cluster / "PG_VERSION"), "PG_VERSION is missing"),
        (lambda cluster: (cluster / "PG_VERSION").write_bytes(b""), "contains no version"),
        (lambda cluster: (cluster / "PG_VERSION").write_bytes(b"\xff\0"), "contains no version"),
        (lambda cluster: remove(cluster / "global/pg_control"), "pg_control is missing"),
        (lambda cluster: remove(cluster / "global"), "pg_control is missing"),
    ],
    ids=["no version", "empty version", "garbled version", "no pg_control", "no global"],
)
def test_damaged_cluster_does_not_start(
    data_dir: Path, damage: Callable[[Path], None], sentence: str
) -> None:
    damage(data_dir / "postgres")
    with pytest.raises(embedded.CannotStart, match=sentence), embedded.running(data_dir):
        pass


@pytest.mark.parametrize("command", [exhaustive("verify_audit"), "up"])
def test_file_as_data_folder_reports_one_sentence(tmp_path: Path, command: str) -> None:
    (tmp_path / "data").touch()
    assert "The data folder cannot be written" in refused(tmp_path / "data", command)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take another account")
@pytest.mark.parametrize("command", [exhaustive("verify_audit"), "up"])
def test_data_folder_of_another_account_reports_one_sentence(data_dir: Path, command: str) -> None:
    """The installation is readable for that account; the data folder is not."""
    for folder in (data_dir, *data_dir.parents):
        folder.chmod(folder.stat().st_mode | 0o055)
    if not os.access("/", os.X_OK) or not _can_run_as_nobody():
        pytest.skip("another account cannot run this Python")
    done = subprocess.run(
        [sys.executable, "manage.py", command],
        cwd=BASE_DIR,
        env=os.environ | {"COGNIREVIEW_DATA_DIR": str(data_dir)},
        user=65534,
        group=65534,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "Permission denied" in done.stderr


def _can_run_as_nobody() -> bool:
    try:
        command = [sys.executable, "-c", "import django"]
        done = subprocess.run(
            command, cwd=BASE_DIR, user=65534, group=65534, check=False, capture_output=True
        )
    except OSError:
        return False
    return done.returncode == 0


@pytest.mark.parametrize("content", [b"", b" \n"])
def test_empty_secret_key_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(secret_key.UnusableKey, match=r"key is empty\. Restore the key"):
        secret_key.read_or_create(tmp_path / "key")


def test_secret_key_is_created_once_and_never_for_existing_database(tmp_path: Path) -> None:
    key = secret_key.read_or_create(tmp_path / "key", tmp_path / "postgres")
    (tmp_path / "postgres").mkdir()
    assert secret_key.read_or_create(tmp_path / "key", tmp_path / "postgres") == key
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    (tmp_path / "key").unlink()
    with pytest.raises(secret_key.UnusableKey, match="is missing, and the database exists"):
        secret_key.read_or_create(tmp_path / "key", embedded.cluster_dir(tmp_path))
