"""`manage.py backup` and `restore`: the whole database in one file, restored into another PostgreSQL."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from cognireview.operations import backup, secret_key
from cognireview.postgres import embedded
from reviews.models import Run, User
from tests.support.commands import Capture, Completed, manage, manage_py, manage_py_into, many_commands
from tests.support.data_folders import copy_data_folder

pytestmark = pytest.mark.slow

Commands = Callable[..., Completed]
RUNS = ("Algebra", "Geometry", "Physics")
FILL = f"""
from reviews.models import Evaluation
from tests.support.factories import UserFactory
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide
for name in {RUNS}:
    import_data(file_of(*(line(f"eval_{{number}}", task_id=str(number)) for number in range(10))), run=name)
ana = UserFactory.create(username="ana", role="reviewer")
for record in Evaluation.objects.order_by("pk")[:13]:
    decide(record, ana)
"""
COUNTS = "3 runs, 30 records, 13 decisions, 1 account"
STATE = f"""
from hashlib import sha256
from django.core.management import call_command
from reviews.exports import jsonl
from reviews.models import Run
call_command("verify_audit")
for name in {RUNS}:
    print(sha256(b"".join(jsonl.export_lines(Run.objects.get(name=name)))).hexdigest())
"""


def connect(data_dir: Path, name: str = embedded.DATABASE) -> psycopg.Connection[Any]:
    place = embedded.connection_settings(data_dir)
    return psycopg.connect(
        dbname=name, user=place["USER"], host=place["HOST"], port=place["PORT"], autocommit=True
    )


def succeeded(done: Completed) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def state(run: Commands) -> list[str]:
    """The observable state of a database: the head of its valid hash chain and the digests of its exports."""
    lines = succeeded(run("shell", "--no-imports", "-c", STATE)).splitlines()
    assert len(lines) == 2 + len(RUNS)
    return lines


# Do not compare SQL: PostgreSQL rewrites some conditions when a dump is restored.
DEFINED = """
    SELECT 'relation', relname, relkind::text FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT 'column', table_name || '.' || column_name, data_type || ' ' || is_nullable
        FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT 'constraint', conrelid::regclass || '.' || conname, contype::text
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT 'trigger', tgrelid::regclass || '.' || tgname, tgenabled::text
        FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'function', oid::regprocedure::text, concat(prosecdef, proconfig, prosrc)
        FROM pg_proc WHERE pronamespace = 'public'::regnamespace
"""


def definitions(data_dir: Path, name: str = embedded.DATABASE) -> set[tuple[str, str, str]]:
    """Every table, column, index, constraint, trigger and function."""
    with connect(data_dir, name) as opened:
        return set(opened.execute(DEFINED).fetchall())


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
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A running cluster with an empty database without tables."""
    data_dir = tmp_path_factory.mktemp("target")
    secret_key.read_or_create(data_dir / "secret_key")
    with embedded.running(data_dir, disposable=True):
        yield data_dir


@pytest.fixture(scope="module")
def on_target(target: Path) -> Iterator[Commands]:
    with many_commands(target) as run:
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


@pytest.fixture(scope="module")
def restored(on_target: Commands, file: Path) -> str:
    """Restore the backup into the target, and return the output."""
    return succeeded(on_target("restore", str(file)))


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


class TestRestore:
    def test_restored_database_exports_same_bytes_with_valid_chain(
        self, source: Path, target: Path, on_target: Commands, restored: str, before: list[str]
    ) -> None:
        assert restored.startswith(f"Restored: {COUNTS}, ")
        assert state(on_target) == before
        assert definitions(target) == definitions(source)

    @pytest.mark.usefixtures("restored")
    def test_restore_over_existing_data_requires_confirmation(
        self, target: Path, on_target: Commands, file: Path
    ) -> None:
        with connect(target) as opened:
            opened.execute("UPDATE run SET name = 'kept' WHERE name = 'Algebra'")
        done = on_target("restore", str(file))
        assert done.returncode == 2
        assert f"The database contains {COUNTS}, " in done.stderr
        assert names(target) == {*RUNS, "kept"} - {"Algebra"}
        succeeded(on_target("restore", "--replace", str(file)))
        assert names(target) == set(RUNS)

    @pytest.mark.usefixtures("restored")
    def test_restore_of_truncated_file_changes_nothing(
        self, target: Path, on_target: Commands, file: Path, tmp_path: Path
    ) -> None:
        whole = file.read_bytes()
        (tmp_path / "half").write_bytes(whole[: len(whole) * 3 // 4])
        done = on_target("restore", "--replace", str(tmp_path / "half"))
        assert done.returncode == 2
        assert "error" in done.stderr
        assert "Traceback" not in done.stderr
        assert names(target) == set(RUNS)

    def test_restore_is_refused_while_database_is_in_use(
        self, target: Path, on_target: Commands, file: Path
    ) -> None:
        with connect(target):
            done = on_target("restore", "--replace", str(file))
        assert done.returncode == 2
        assert "The database is in use (1 connection)" in done.stderr


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


def names(data_dir: Path) -> set[str]:
    with connect(data_dir) as opened:
        return {name for (name,) in opened.execute("SELECT name FROM run")}


class TestExternalServer:
    """`DATABASE_URL` names the server. The owner of the database need not be superuser."""

    @pytest.fixture
    def url(self, target: Path) -> Iterator[str]:
        with connect(target, "postgres") as opened:
            opened.execute("CREATE ROLE owner_of_it LOGIN; CREATE ROLE web_of_it LOGIN")
            opened.execute("CREATE DATABASE elsewhere OWNER owner_of_it")
            place = embedded.connection_settings(target)
            yield f"postgresql://owner_of_it@/elsewhere?host={place['HOST']}&port={place['PORT']}"
            opened.execute("DROP DATABASE elsewhere")
            opened.execute("DROP ROLE owner_of_it")
            opened.execute("DROP ROLE web_of_it")

    @pytest.mark.exhaustive
    def test_restore_to_server_grants_web_role_rights(
        self, source: Path, target: Path, file: Path, url: str, before: list[str]
    ) -> None:
        its = {"DATABASE_URL": url, "COGNIREVIEW_WEB_ROLE": "web_of_it"}
        with many_commands(target, **its) as run:
            succeeded(run("restore", str(file)))
            assert state(run) == before
            succeeded(run("restore", "--replace", str(file)))
        assert definitions(target, "elsewhere") == definitions(source)
        with connect(target, "elsewhere") as opened:
            query = "SELECT has_table_privilege('web_of_it', 'review', %s)"
            allowed = {right: opened.execute(query, [right]).fetchone() for right in ("SELECT", "DELETE")}
        assert allowed == {"SELECT": (True,), "DELETE": (False,)}

    @pytest.mark.exhaustive
    def test_restore_does_not_empty_database_of_another_program(
        self, target: Path, file: Path, url: str
    ) -> None:
        with connect(target, "elsewhere") as opened:
            opened.execute("CREATE TABLE invoice ()")
        done = manage_py(target, "restore", str(file), DATABASE_URL=url)
        assert done.returncode == 2
        assert "The database contains 1 table of another program" in done.stderr


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
