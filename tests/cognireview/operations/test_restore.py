"""`manage.py restore`: a backup is restored into another PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cognireview.operations import secret_key
from cognireview.postgres import embedded
from tests.support.backups import COUNTS, RUNS, Commands, connect, definitions, names, state, succeeded
from tests.support.commands import manage_py, many_commands
from tests.support.data_folders import copy_data_folder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A running cluster with an empty database without tables: a copy, as `initdb` takes longer."""
    data_dir = copy_data_folder(tmp_path_factory.mktemp("target") / "data")
    (data_dir / "secret_key").unlink()
    secret_key.read_or_create(data_dir / "secret_key")
    with embedded.running(data_dir, disposable=True):
        with connect(data_dir, "postgres") as opened:
            opened.execute(f"DROP DATABASE {embedded.DATABASE}")
            opened.execute(f"CREATE DATABASE {embedded.DATABASE}")
        yield data_dir


@pytest.fixture(scope="module")
def on_target(target: Path) -> Iterator[Commands]:
    with many_commands(target) as run:
        yield run


@pytest.fixture(scope="module")
def restored(on_target: Commands, file: Path) -> str:
    """Restore the backup into the target, and return the output."""
    return succeeded(on_target("restore", str(file)))


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
