"""Faults of the data folder: one sentence on stderr, exit status 2, no traceback, nothing changed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cognireview.environment import BASE_DIR
from cognireview.operations import secret_key
from cognireview.postgres import embedded
from tests.support.commands import manage_py

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder that was used once."""
    data_dir = tmp_path_factory.mktemp("whole") / "data"
    done = manage_py(data_dir, "verify_audit")
    assert done.returncode == 0, done.stderr
    return data_dir


@pytest.fixture
def data_dir(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    copy = tmp_path / "data"
    subprocess.run(["cp", "-a", whole, copy], check=True)
    return copy


def refused(data_dir: Path, *arguments: str, **variables: str) -> str:
    """Return the sentence with which a command refuses."""
    done = manage_py(data_dir, *(arguments or ("verify_audit",)), **variables)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    *warnings, sentence = done.stderr.splitlines()
    expected = ("traversable for others", "Loading the program...")
    assert all(any(text in line for text in expected) for line in warnings), done.stderr
    return sentence


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda folder: remove(folder / "postgres/PG_VERSION"), "PG_VERSION is missing"),
        (lambda folder: (folder / "postgres/PG_VERSION").write_bytes(b""), "contains no version"),
        (lambda folder: (folder / "postgres/PG_VERSION").write_bytes(b"\xff\0"), "contains no version"),
        (lambda folder: remove(folder / "postgres/global/pg_control"), "pg_control is missing"),
        (lambda folder: remove(folder / "postgres/global"), "pg_control is missing"),
        (lambda folder: remove(folder / "postgres/pg_wal"), 'required WAL directory "pg_wal" does not exist'),
        (lambda folder: remove(folder / "postgres/base"), "PostgreSQL"),
        (lambda folder: remove(folder / "secret_key"), "secret_key is missing, and the database exists"),
        (lambda folder: (folder / "secret_key").write_bytes(b""), "secret_key is empty. Restore the key"),
        (lambda folder: (folder / "secret_key").write_bytes(b" \n"), "secret_key is empty. Restore the key"),
    ],
    ids=[
        "no version", "empty version", "garbled version", "no pg_control", "no global", "no log of changes",
        "no databases", "no key", "empty key", "blank key",
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["verify_audit", "up"])
def test_damaged_data_folder_reports_one_sentence(
    data_dir: Path, damage: Callable[[Path], None], sentence: str, command: str
) -> None:
    damage(data_dir)
    done = manage_py(data_dir, command, *(["--port=18977"] if command == "up" else []))
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert sentence in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", ["verify_audit", "up"])
def test_file_as_data_folder_reports_one_sentence(tmp_path: Path, command: str) -> None:
    (tmp_path / "data").touch()
    assert "The data folder cannot be written" in refused(tmp_path / "data", command)


@pytest.fixture
def read_only(data_dir: Path) -> Iterator[Path]:
    """The data folder on a file system that takes nothing."""
    mounted = data_dir.with_name("mounted")
    mounted.mkdir()
    bind = ["mount", "--bind", str(data_dir), str(mounted)]
    if os.geteuid() or subprocess.run(bind, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a folder")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(mounted)], check=True)
        yield mounted
    finally:
        subprocess.run(["umount", "--lazy", str(mounted)], check=True)


@pytest.mark.parametrize("command", ["verify_audit", "up", "backup x"])
def test_read_only_file_system_reports_one_sentence(read_only: Path, command: str) -> None:
    sentence = refused(read_only, *command.split())
    assert "The data folder cannot be written" in sentence
    assert "Read-only file system" in sentence


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take another account")
@pytest.mark.parametrize("command", ["verify_audit", "up"])
def test_data_folder_of_another_account_reports_one_sentence(data_dir: Path, command: str) -> None:
    """As an ordinary account, which the installation is open to."""
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


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk on which not even a database fits."""
    mounted = tmp_path / "full"
    mounted.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(mounted)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        yield mounted
    finally:
        subprocess.run(["umount", "--lazy", str(mounted)], check=True)


@pytest.mark.parametrize("filled", [False, True])
def test_full_disk_reports_one_sentence(full_disk: Path, filled: bool) -> None:
    if filled:
        (full_disk / "filler").write_bytes(bytes(8 * 1024**2 - 40 * 1024))
    sentence = refused(full_disk / "data")
    assert "No space left on device" in sentence or "wrote only" in sentence


def test_secret_key_is_created_once_and_never_for_existing_database(tmp_path: Path) -> None:
    key = secret_key.read_or_create(tmp_path / "key", tmp_path / "postgres")
    (tmp_path / "postgres").mkdir()
    assert secret_key.read_or_create(tmp_path / "key", tmp_path / "postgres") == key
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    (tmp_path / "key").unlink()
    with pytest.raises(secret_key.UnusableKey, match="is missing, and the database exists"):
        secret_key.read_or_create(tmp_path / "key", embedded.cluster_dir(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [("help", "The disk is full"), ("verify_audit", "The disk is full")],
)
def test_closed_output_reports_one_sentence(data_dir: Path, arguments: str, sentence: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "manage.py", arguments],
            cwd=BASE_DIR,
            env={name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
            | {"COGNIREVIEW_DATA_DIR": str(data_dir)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("command", ["help", "verify_audit", "export_audit"])
def test_broken_pipe_reports_one_sentence(data_dir: Path, command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "manage.py", command],
            cwd=BASE_DIR,
            env={name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
            | {"COGNIREVIEW_DATA_DIR": str(data_dir)},
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    # An export of nothing has nothing to write.
    assert done.returncode == 2 or command == "export_audit"
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
