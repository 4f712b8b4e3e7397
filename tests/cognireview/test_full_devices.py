"""Full and read-only devices, and closed pipes: one sentence on stderr, no traceback, nothing changed."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import manage_py_into
from tests.support.data_folders import copy_data_folder
from tests.support.faulty_folders import exhaustive, refused

pytestmark = pytest.mark.slow


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data folder that was used before, to be damaged."""
    return copy_data_folder(tmp_path / "data")


@pytest.fixture
def read_only(data_dir: Path) -> Iterator[Path]:
    """The data folder on a read-only file system."""
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


@pytest.mark.parametrize("command", ["verify_audit", exhaustive("up")])
def test_read_only_file_system_reports_one_sentence(read_only: Path, command: str) -> None:
    sentence = refused(read_only, command)
    assert "The data folder cannot be written" in sentence
    assert "Read-only file system" in sentence


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk that is too small for a database."""
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


@pytest.mark.parametrize("command", [exhaustive("help"), "verify_audit"])
def test_full_output_device_reports_one_sentence(data_dir: Path, command: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = manage_py_into(full, data_dir, command)
    assert done.returncode == 2
    assert "The disk is full" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("command", [exhaustive("help"), "verify_audit", exhaustive("export_audit")])
def test_command_ends_quietly_at_a_closed_pipe(data_dir: Path, command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = manage_py_into(pipe, data_dir, command)
    # An empty export writes nothing, so it does not notice the closed pipe.
    assert done.returncode == 141 or (command == "export_audit" and done.returncode == 0)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
