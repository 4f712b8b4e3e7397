"""The embedded PostgreSQL runs while a process uses it, even after processes were killed."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from cognireview.environment import BASE_DIR
from cognireview.postgres.embedded import CannotStart, Server, connection_settings, running
from cognireview.postgres.server_account import ServerAccount, server_account
from tests.support.data_folders import copy_data_folder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    """A folder with a cluster for tests that do not damage it. Its path has quotes and spaces."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = Path(folder) / 'it\'s a "data" folder'
        path.mkdir()
        with running(path, disposable=True):
            pass
        yield path


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder whose path is short enough for a socket, wherever temporary folders of tests are."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def account() -> ServerAccount:
    return server_account()


def ask(data_dir: Path, question: str) -> object:
    """Return the first value of a query."""
    place = connection_settings(data_dir)
    with psycopg.connect(
        dbname=place["NAME"], user=place["USER"], host=place["HOST"], port=place["PORT"]
    ) as connection:
        row = connection.execute(question.encode()).fetchone()
    assert row is not None
    return row[0]


def postmaster(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "postmaster.pid").read_text().splitlines()[0])


def run_and_be_killed(data_dir: Path) -> None:
    """Use the server in another process, which kills itself with SIGKILL."""
    code = """
        import os, sys
        from pathlib import Path
        from cognireview.postgres.embedded import running
        with running(Path(sys.argv[1]), disposable=True):
            os.kill(os.getpid(), 9)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), data_dir], cwd=BASE_DIR, check=False)
    assert done.returncode == -signal.SIGKILL


class TestDatabaseUrl:
    def test_database_url_of_folder_is_built_without_touching_it(self, tmp_path: Path) -> None:
        assert connection_settings(tmp_path / "var")["HOST"] == str(tmp_path / "var" / "socket")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("name", ["n" * 120, "one, two"])
    def test_database_socket_moves_if_path_is_too_long(self, tmp_path: Path, name: str) -> None:
        host = connection_settings(tmp_path / name)["HOST"]
        assert len(f"{host}/.s.PGSQL.5432") < 100
        assert "," not in host
        assert host == connection_settings(tmp_path / name)["HOST"]
        assert host != connection_settings(tmp_path / f"{name}!")["HOST"]


class TestEmbeddedServer:
    def test_server_runs_until_last_user_leaves(self, data_dir: Path) -> None:
        with running(data_dir) as server:
            with running(data_dir):
                assert ask(data_dir, "SELECT 1") == 1
            assert ask(data_dir, "SELECT 2") == 2
        assert not server.is_alive()

    def test_process_that_relies_on_another_keeps_the_server_running_but_starts_none(
        self, data_dir: Path
    ) -> None:
        with running(data_dir, is_started=True) as server:
            assert not server.is_alive()
            with running(data_dir):
                pass
            assert server.is_alive()
        assert not server.is_alive()

    def test_server_keeps_written_data(self, data_dir: Path) -> None:
        with running(data_dir):
            kept = ask(data_dir, "SELECT lo_from_bytea(0, 'a large object')")
        with running(data_dir):
            assert ask(data_dir, f"SELECT lo_get({kept})") == b"a large object"

    @pytest.mark.parametrize(("disposable", "fsync"), [(False, "on"), (True, "off")])
    def test_server_is_crash_safe_unless_data_is_disposable(
        self, data_dir: Path, disposable: bool, fsync: str
    ) -> None:
        with running(data_dir, disposable=disposable):
            assert [ask(data_dir, f"SHOW {name}") for name in ("fsync", "full_page_writes")] == [fsync] * 2

    def test_server_listens_on_private_socket_only(self, data_dir: Path) -> None:
        with running(data_dir):
            assert ask(data_dir, "SHOW listen_addresses") == ""
        assert (data_dir / "socket").stat().st_mode & 0o077 == 0

    def test_server_takes_no_processes_for_reading_ahead_and_little_shared_memory(
        self, data_dir: Path
    ) -> None:
        readers = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'io worker'"
        size = "SELECT sum(allocated_size)::bigint FROM pg_shmem_allocations"
        with running(data_dir):
            assert ask(data_dir, readers) == 0
            shared = ask(data_dir, size)
        assert isinstance(shared, int)
        assert shared < 150_000_000

    def test_server_ignores_environment_variables(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in {"PGDATA": "/nowhere", "PGPORT": "1", "LC_ALL": "xx_XX", "TZ": "Mars"}.items():
            monkeypatch.setenv(name, value)
        with running(tmp_path, disposable=True):
            assert [ask(tmp_path, f"SHOW {name}") for name in ("port", "timezone")] == ["5432", "UTC"]

    def test_server_stops_if_first_user_gives_up_waiting(
        self, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def give_up(server: Server) -> None:
            assert server.is_alive()
            raise KeyboardInterrupt

        monkeypatch.setattr(Server, "_make_database", give_up)
        with pytest.raises(KeyboardInterrupt), running(data_dir):
            pass
        assert not Server(data_dir, server_account()).is_alive()


@pytest.mark.exhaustive
class TestAfterKill:
    def test_server_of_killed_user_is_taken_over_and_stopped(self, data_dir: Path) -> None:
        run_and_be_killed(data_dir)
        left_behind = postmaster(data_dir)
        with running(data_dir) as server:
            assert postmaster(data_dir) == left_behind
            assert ask(data_dir, "SELECT 1") == 1
        assert not server.is_alive()

    def test_killed_server_is_restarted_for_its_users(self, data_dir: Path) -> None:
        with running(data_dir) as server:
            os.kill(postmaster(data_dir), signal.SIGKILL)
            while server.is_alive():
                pass
            server.restart_if_dead()
            assert ask(data_dir, "SELECT 1") == 1

    def test_stale_process_id_does_not_block_start(self, data_dir: Path, account: ServerAccount) -> None:
        # PostgreSQL takes any process of its own account for a running server.
        with subprocess.Popen(["sleep", "60"], **account.subprocess_options) as other:
            for path in (
                data_dir / "postgres" / "postmaster.pid",
                data_dir / "socket" / ".s.PGSQL.5432.lock",
            ):
                path.write_text(f"{other.pid}\n{data_dir}\n1\n5432\n\n\n1 1\nready\n")
                account.chown(path)
            with running(data_dir):
                assert ask(data_dir, "SELECT 1") == 1
            assert other.poll() is None
            other.kill()

    def test_interrupted_cluster_creation_is_repeated(self, tmp_path: Path) -> None:
        (tmp_path / "postgres.new").mkdir()
        (tmp_path / "postgres.new" / "PG_VERSION").write_text("18")
        with running(tmp_path, disposable=True):
            assert ask(tmp_path, "SELECT 1") == 1


class TestStartFailure:
    """One line says why."""

    @pytest.fixture
    def cluster(self, tmp_path: Path, account: ServerAccount) -> Iterator[Path]:
        """An incomplete cluster."""
        path = tmp_path / "postgres"
        path.mkdir(mode=0o700)
        (path / "PG_VERSION").write_text("18\n")
        (path / "postgresql.conf").write_text("nonsense = 1\n")
        (path / "global").mkdir()
        (path / "global" / "pg_control").touch()
        for made in (path, *path.iterdir()):
            account.chown(made)
        yield path
        assert not Server(tmp_path, account).is_alive()

    def test_server_rejects_cluster_of_another_version(self, tmp_path: Path, cluster: Path) -> None:
        (cluster / "PG_VERSION").write_text("17\n")
        with (
            pytest.raises(CannotStart, match="was written by PostgreSQL 17; this one is 18"),
            running(tmp_path),
        ):
            pass

    def test_server_rejects_broken_cluster_and_names_log(self, tmp_path: Path, cluster: Path) -> None:
        reason = r"FATAL: .* \(see .*postgres\.log\)$"
        with pytest.raises(CannotStart, match=reason) as caught, running(tmp_path):
            pass
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (None, "PG_VERSION is missing: the database is damaged. Restore"),
            (b"", "PG_VERSION contains no version"),
            (b"\xff\x00", "PG_VERSION contains no version"),
            (b"eighteen", "PG_VERSION contains no version"),
        ],
    )
    def test_server_rejects_cluster_without_version(
        self, tmp_path: Path, cluster: Path, content: bytes | None, reason: str
    ) -> None:
        (cluster / "PG_VERSION").unlink()
        if content is not None:
            (cluster / "PG_VERSION").write_bytes(content)
        with pytest.raises(CannotStart, match=reason), running(tmp_path):
            pass

    def test_server_rejects_cluster_without_control_file(self, tmp_path: Path, cluster: Path) -> None:
        (cluster / "global" / "pg_control").unlink()
        with pytest.raises(CannotStart, match="pg_control is missing"), running(tmp_path):
            pass

    def test_server_rejects_empty_cluster(self, tmp_path: Path, account: ServerAccount) -> None:
        (tmp_path / "postgres").mkdir(mode=0o700)
        account.chown(tmp_path / "postgres")
        with pytest.raises(CannotStart, match="PG_VERSION is missing"), running(tmp_path):
            pass

    def test_start_failure_names_error_and_not_refused_connections(self, tmp_path: Path) -> None:
        """While the server fails, it refuses our own connections: that is not the reason."""
        reason = '2026-11-22 20:49:43.836 UTC [7] FATAL:  required WAL directory "pg_wal" does not exist'
        refused = "2026-11-22 20:49:43.840 UTC [8] FATAL:  the database system is in recovery mode"
        server = Server(tmp_path, server_account())
        server.log.parent.mkdir()
        server.log.write_text(f"{refused}\n{reason}\n{refused}\n")
        assert server._last_error(0) == reason

    def test_server_rejects_cluster_without_databases(self, tmp_path: Path, account: ServerAccount) -> None:
        data_dir = copy_data_folder(tmp_path / "data")
        (data_dir / "postgres" / "base").rename(tmp_path / "base")
        (data_dir / "postgres" / "base").mkdir(mode=0o700)
        account.chown(data_dir / "postgres" / "base")
        with pytest.raises(CannotStart, match=r"cannot be used: .*FATAL") as caught, running(data_dir):
            pass
        assert "\n" not in str(caught.value)
        assert not Server(data_dir, account).is_alive()

    def test_server_rejects_socket_folder_open_to_others(self, tmp_path: Path) -> None:
        (tmp_path / "socket").mkdir(mode=0o777)
        with pytest.raises(CannotStart, match="belongs to another user"), running(tmp_path):
            pass

    def test_server_rejects_folder_that_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "var").touch()
        with pytest.raises(CannotStart, match="cannot be written"), running(tmp_path / "var"):
            pass
