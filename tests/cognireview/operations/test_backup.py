"""`manage.py backup`: the whole database in one file. `restore` refuses others."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection

from cognireview.operations import backup
from reviews.models import Run, User
from tests.support.backups import Commands, connect, succeeded
from tests.support.commands import Capture, manage, manage_py_into

pytestmark = pytest.mark.slow


@pytest.fixture
def refused(db: None, monkeypatch: pytest.MonkeyPatch, capfdbinary: Capture) -> Callable[..., str]:
    """Run a command in this process, which must refuse and leave the tests' database alone."""

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(backup, "_load", never)
    monkeypatch.setattr(backup, "_dump", never)

    def run(*arguments: str) -> str:
        finished = manage(capfdbinary, *arguments)
        assert (finished.status, finished.out) == (2, b"")
        return finished.err

    return run


class TestBackup:
    def test_backup_is_one_private_file(self, file: Path) -> None:
        assert list(file.parent.iterdir()) == [file]
        assert file.stat().st_mode & 0o777 == 0o600

    def test_failed_backup_leaves_no_file(self, refused: Callable[..., str], tmp_path: Path) -> None:
        name = str(tmp_path / "nowhere" / "it")
        assert f"{name}: No such file or directory" in refused("backup", name)
        assert list(tmp_path.iterdir()) == []

    def test_backup_replaces_regular_files_only(self, refused: Callable[..., str], tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "link").symlink_to("/dev/null")
        for name in ("/dev/null", str(tmp_path / "pipe"), str(tmp_path / "link"), str(tmp_path)):
            reason = refused("backup", name)
            assert re.search(r"is a (device or a pipe, not a file|folder): name a file", reason)
        assert Path("/dev/null").is_char_device()
        assert (tmp_path / "pipe").is_fifo()
        assert (tmp_path / "link").is_symlink()

    @pytest.mark.exhaustive
    def test_backup_can_be_written_to_standard_output(self, source: Path, tmp_path: Path) -> None:
        with (tmp_path / "it").open("wb") as file:
            assert manage_py_into(file, source, "backup", "-").returncode == 0
        backup._verify_checksum(tmp_path / "it")
        assert backup._CHECKSUM_PATTERN.search((tmp_path / "it").read_bytes())


class TestInvalidBackup:
    @pytest.mark.parametrize(("content", "why"), [(b"{}\n", "is not a backup"), (None, "There is no file")])
    def test_restore_rejects_file_that_is_not_a_backup(
        self, refused: Callable[..., str], tmp_path: Path, content: bytes | None, why: str
    ) -> None:
        if content is not None:
            (tmp_path / "it").write_bytes(content)
        assert why in refused("restore", "--replace", str(tmp_path / "it"))

    @pytest.mark.exhaustive
    def test_restore_rejects_backup_of_newer_version(
        self, source: Path, on_source: Commands, refused: Callable[..., str], tmp_path: Path
    ) -> None:
        later = "INSERT INTO django_migrations (app, name, applied) VALUES ('reviews', '9999_later', now())"
        with connect(source) as opened:
            opened.execute(later)
            succeeded(on_source("backup", str(tmp_path / "newer")))
            opened.execute("DELETE FROM django_migrations WHERE name = '9999_later'")
        reason = refused("restore", "--replace", str(tmp_path / "newer"))
        assert "by a newer version, which has the migration 9999_later" in reason

    @pytest.mark.exhaustive
    def test_restore_rejects_truncated_backup(
        self, refused: Callable[..., str], file: Path, tmp_path: Path
    ) -> None:
        whole = file.read_bytes()
        for cut in (1, 10, backup._CHECKSUM_SIZE - 1):
            (tmp_path / "it").write_bytes(whole[:-cut])
            assert "its end is missing" in refused("restore", "--replace", str(tmp_path / "it"))

    @pytest.mark.exhaustive
    def test_restore_rejects_backup_with_flipped_bit(
        self, refused: Callable[..., str], file: Path, tmp_path: Path
    ) -> None:
        """The bit is in the list of contents, in the contents, or in the checksum."""
        whole = file.read_bytes()
        for place in (5, 2_000, len(whole) // 2, len(whole) - backup._CHECKSUM_SIZE - 1, len(whole) - 10):
            changed = bytearray(whole)
            changed[place] ^= 1
            (tmp_path / "it").write_bytes(changed)
            assert "is damaged" in refused("restore", "--replace", str(tmp_path / "it"))

    def test_restore_rejects_folder(self, refused: Callable[..., str], tmp_path: Path) -> None:
        assert f"{tmp_path} is a folder" in refused("restore", "--replace", str(tmp_path))

    def test_dump_without_checksum_is_accepted_with_warning(
        self, db: None, file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "it").write_bytes(file.read_bytes()[: -backup._CHECKSUM_SIZE])
        backup._check(tmp_path / "it")
        assert "has no checksum" in caplog.text


@pytest.mark.usefixtures("db")
class TestPostgresTools:
    def test_pg_dump_has_version_of_the_server(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(backup, "_folders", lambda _: iter([Path("/nowhere")]))
        major = connection.cursor().connection.info.server_version // 10000
        with pytest.raises(
            backup.BackupError, match=f"The server is PostgreSQL {major}, and there are no pg_dump"
        ):
            backup.back_up(Path("never"))

    def test_pg_dump_password_is_not_visible(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(connection.settings_dict, "PASSWORD", "hush")
        assert "hush" not in " ".join(backup._connection_options())
        assert backup._environment()["PGPASSWORD"] == "hush"

    def test_backup_contents_are_empty_after_migration(self) -> None:
        assert backup.contents() == []

    def test_backup_contents_count_runs_and_accounts(self, ana: User) -> None:
        Run.objects.create(name="kept")
        assert backup.contents() == ["1 run", "1 account"]
