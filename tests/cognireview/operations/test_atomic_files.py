"""Where `backup` and the exports write: whole files, and nothing in the place of anything else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError

from cognireview.environment import BASE_DIR
from cognireview.operations.atomic_files import InvalidTarget, atomic_write, is_special_file
from reviews.management.output_files import is_file, write
from tests.support.commands import Capture, manage


def put(name: Path | str, content: bytes = b"new", *, is_private: bool = False) -> None:
    with atomic_write(name, is_private=is_private) as draft:
        draft.write_bytes(content)


class TestAtomicFile:
    def test_file_appears_once_complete(self, tmp_path: Path) -> None:
        target = tmp_path / "file"
        target.write_bytes(b"old")
        with atomic_write(target) as draft:
            draft.write_bytes(b"new")
            assert target.read_bytes() == b"old"
        assert target.read_bytes() == b"new"
        assert [path.name for path in tmp_path.iterdir()] == ["file"]

    def test_file_is_unchanged_if_writing_fails(self, tmp_path: Path) -> None:
        target = tmp_path / "file"
        target.write_bytes(b"old")
        with pytest.raises(OSError, match="No space"), atomic_write(target):
            raise OSError("No space left on device")
        assert target.read_bytes() == b"old"
        assert [path.name for path in tmp_path.iterdir()] == ["file"]

    @pytest.mark.parametrize(("is_private", "mode"), [(False, 0o640), (True, 0o600)])
    def test_file_keeps_permissions_unless_private(self, tmp_path: Path, is_private: bool, mode: int) -> None:
        target = tmp_path / "file"
        target.touch(mode=0o640)
        put(target, is_private=is_private)
        assert target.stat().st_mode & 0o777 == mode

    def test_file_may_have_longest_name(self, tmp_path: Path) -> None:
        put(tmp_path / ("x" * 255))
        assert (tmp_path / ("x" * 255)).read_bytes() == b"new"

    @pytest.mark.parametrize("is_there", [True, False])
    def test_file_behind_symlink_is_written_and_symlink_remains(self, tmp_path: Path, is_there: bool) -> None:
        (tmp_path / "folder").mkdir()
        target = tmp_path / "folder" / "file"
        if is_there:
            target.write_bytes(b"old")
        link = tmp_path / "link"
        link.symlink_to(target)
        put(link)
        assert link.is_symlink()
        assert target.read_bytes() == b"new"


class TestInvalidTarget:
    def test_folder_target_is_rejected(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        for name in (tmp_path, "", ".", "..", "/", f"{tmp_path}/"):
            with pytest.raises(InvalidTarget, match="is a folder"):
                put(name)

    def test_device_behind_symlink_is_rejected(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to("/dev/null")
        os.mkfifo(tmp_path / "pipe")
        for name in ("/dev/null", tmp_path / "link", tmp_path / "pipe"):
            assert is_special_file(name)
            with pytest.raises(InvalidTarget, match="is a device or a pipe"):
                put(name)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "pipe").is_fifo()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
    def test_device_is_not_replaced_by_root(self, tmp_path: Path) -> None:
        device = tmp_path / "null"
        os.mknod(device, 0o20666, os.makedev(1, 3))
        with pytest.raises(InvalidTarget):
            put(device)
        assert device.is_char_device()

    def test_symlink_to_itself_is_rejected(self, tmp_path: Path) -> None:
        (tmp_path / "loop").symlink_to("loop")
        with pytest.raises(InvalidTarget, match="is a link to itself"):
            put(tmp_path / "loop")

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link away")
    def test_symlink_of_another_user_is_rejected(self, tmp_path: Path) -> None:
        (tmp_path / "mine").write_bytes(b"old")
        (tmp_path / "theirs").symlink_to("mine")
        os.chown(tmp_path / "theirs", 65534, 65534, follow_symlinks=False)
        with pytest.raises(InvalidTarget, match="is a link of another user"):
            put(tmp_path / "theirs")
        assert (tmp_path / "mine").read_bytes() == b"old"

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write any file")
    def test_read_only_file_is_rejected(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch(mode=0o444)
        with pytest.raises(InvalidTarget, match="may not be written"):
            put(tmp_path / "file")


class TestExportTarget:
    """It also goes to a pipe, a device or an open descriptor."""

    @pytest.mark.parametrize("name", ["/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
    def test_export_to_device_has_no_receipt_file(self, name: str) -> None:
        assert not is_file(name)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "name",
        [
            "/dev/stdout",
            *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("/dev/fd/1", "/proc/self/fd/1")),
        ],
    )
    def test_export_to_standard_output_does_not_replace_redirect_target(
        self, tmp_path: Path, name: str
    ) -> None:
        code = f"from reviews.management.output_files import write; write({name!r}, [b'export'])"
        setup = "import django; django.setup()"
        with (tmp_path / "log").open("wb") as file:
            file.write(b"before ")
            file.flush()
            environment = os.environ | {"DJANGO_SETTINGS_MODULE": "cognireview.settings"}
            subprocess.run(
                [sys.executable, "-c", f"{setup}; {code}"],
                stdout=file,
                cwd=BASE_DIR,
                env=environment,
                check=True,
            )
        assert (tmp_path / "log").read_bytes() == b"before export"

    @pytest.mark.django_db
    @pytest.mark.parametrize(
        ("name", "sentence"),
        [
            ("nowhere/file", "nowhere/file: No such file or directory."),
            ("", ". is a folder: name a file in it."),
            (f"/tmp/{'x' * 300}", "File name too long."),
            ("/proc/self/fd/999", "Bad file descriptor."),
        ],
        ids=["no folder", "empty", "too long", "not open"],
    )
    def test_unwritable_export_reports_one_sentence(
        self, name: str, sentence: str, capsysbinary: Capture
    ) -> None:
        finished = manage(capsysbinary, "export_audit", f"--output={name}")
        assert (finished.status, finished.out) == (2, b"")
        assert finished.err.endswith(sentence)

    def test_export_to_full_device_reports_one_sentence(self) -> None:
        with pytest.raises(CommandError, match=r"^/dev/full: No space left on device\.$"):
            write("/dev/full", [b"one", b"two"])

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
    def test_export_to_block_device_is_rejected(
        self, tmp_path: Path, capsysbinary: Capture, db: None
    ) -> None:
        disk = tmp_path / "disk"
        os.mknod(disk, 0o60666, os.makedev(7, 250))
        assert (
            manage(capsysbinary, "export_audit", f"--output={disk}").err == f"{disk} is a disk: name a file."
        )
        assert disk.is_block_device()

    def test_export_to_file_is_written_in_blocks(self, tmp_path: Path) -> None:
        write(str(tmp_path / "file"), [b"one ", b"two"])
        assert (tmp_path / "file").read_bytes() == b"one two"
