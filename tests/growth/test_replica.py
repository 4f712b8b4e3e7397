"""Exports and reports read from a streaming replica, or completely from the primary."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, connections, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from cognireview.postgres.backend.pool import check_connection
from cognireview.postgres.embedded import Server
from cognireview.postgres.server_account import server_account
from reviews.database import replica
from reviews.database.replica import ReplicaLost, read_from_replica
from reviews.database.statements import execute, fetch_value
from reviews.exports import downloads, jobs, jsonl, stored_files
from reviews.exports.output import ExportOptions
from reviews.judge import report
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Export, Run, User
from reviews.storage import chunks
from tests.support import servers
from tests.support.commands import manage_py
from tests.support.lines import file_of, import_data, line
from tests.support.servers import Place
from tests.support.waiting import eventually
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "replica"])

SCANS = "SELECT seq_scan + idx_scan FROM pg_stat_user_tables WHERE relname = 'source_chunk'"
# Two files, so that an export reads two.
FILES = [file_of(*(line(f"eval_{name}{number}") for number in range(20))) for name in "ab"]


@dataclass(frozen=True)
class Standby:
    """A replica of the PostgreSQL of the tests."""

    place: Place
    server: Server

    @contextmanager
    def behind(self) -> Iterator[None]:
        """Let the replica receive changes without replaying them."""
        self.place.ask("SELECT pg_wal_replay_pause()::text")
        try:
            yield
        finally:
            # The replay that starts here may cancel this query.
            with suppress(psycopg.errors.SerializationFailure):
                self.place.ask("SELECT pg_wal_replay_resume()::text")

    @contextmanager
    def stopped(self) -> Iterator[None]:
        with self.server.gate():
            self.server.stop()
            try:
                yield
            finally:
                self.server.start()


@pytest.fixture(scope="module", autouse=True)
def standby(django_db_setup: None, folder: Path) -> Iterator[Standby]:
    """A running replica that is configured as `DATABASE_REPLICA_URL`."""
    with _sure_commits() as primary, servers.replica(primary, folder) as place:
        # A query that conflicts with replay is cancelled at once.
        place.ask("ALTER SYSTEM SET max_standby_streaming_delay = 0")
        place.ask("SELECT pg_reload_conf()")
        with configured(place):
            yield Standby(place, Server(folder, server_account(), disposable=True))


@contextmanager
def _sure_commits() -> Iterator[Place]:
    """Let the database of the tests commit synchronously, as in production."""
    primary = Place.from_settings(connection.settings_dict)
    connection.close()
    primary.ask(f"ALTER DATABASE {primary.name} SET synchronous_commit = 'on'")
    try:
        yield primary
    finally:
        primary.ask(f"ALTER DATABASE {primary.name} RESET synchronous_commit")


@contextmanager
def configured(place: Place) -> Iterator[None]:
    """Use that server as `DATABASE_REPLICA_URL`."""
    before = connections.settings.get(replica.ALIAS)
    default = connections.settings["default"]
    where = {"NAME": place.name, "USER": place.user, "HOST": place.host, "PORT": place.port}
    _use(default | where | {"TEST": default["TEST"] | {"MIRROR": "default"}})
    try:
        yield
    finally:
        _use(before)


def _use(given: Any) -> None:
    if replica.ALIAS in connections.settings:
        connections[replica.ALIAS].close()
        del connections[replica.ALIAS]
        del connections.settings[replica.ALIAS]
    if given:
        connections.settings[replica.ALIAS] = given


@pytest.fixture(autouse=True)
def _not_left_aside(standby: Standby) -> None:
    replica._Avoided.until = 0.0


@pytest.fixture
def run(db: None) -> Run:
    for file in FILES:
        import_data(file)
    return Run.objects.get()


@contextmanager
def noting(noted: list[str]) -> Iterator[None]:
    """Collect the queries of the replica, except those for its position."""
    with CaptureQueriesContext(connections[replica.ALIAS]) as captured:
        yield
    noted += [query["sql"] for query in captured if "pg_last_wal_replay_lsn" not in query["sql"]]


def decided(run: Run, reviewer: User, name: str) -> Evaluation:
    record = run.evaluations.get(evaluation_id=f"eval_{name}")
    decide(record, reviewer)
    return record


def sha256(blocks: Any) -> str:
    return hashlib.sha256(b"".join(blocks)).hexdigest()


def by_the_primary(run: Run) -> str:
    """The digest of an export inside a transaction of the primary."""
    with transaction.atomic(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(replica, "_is_fit", lambda: False)
        return sha256(jsonl.export_lines(run))


def where() -> str:
    return str(fetch_value("SELECT CASE WHEN pg_is_in_recovery() THEN 'replica' ELSE 'primary' END"))


def cancel_readers() -> None:
    """Lock a table that an export on the replica has read. Replaying the lock cancels the export."""
    with psycopg.connect(Place.from_settings(connection.settings_dict).url) as other:
        other.execute("SET lock_timeout = '5s'")
        other.execute("LOCK TABLE source_chunk")


class TestExport:
    @pytest.fixture(autouse=True)
    def reads_little_ahead(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let an export still have something to read after its first block."""
        monkeypatch.setattr(chunks, "AHEAD", 1)

    def test_export_is_read_from_the_replica_with_all_earlier_decisions(self, run: Run, ana: User) -> None:
        for number in range(5):
            record = decided(run, ana, f"a{number}")
            noted: list[str] = []
            with noting(noted):
                data = b"".join(jsonl.export_lines(run))
            assert any("source_chunk" in query for query in noted)
            exported = {one["evaluation_id"]: one for one in map(json.loads, data.splitlines())}
            assert exported[record.evaluation_id]["human_reviewer_id"] == "ana"
            assert hashlib.sha256(data).hexdigest() == by_the_primary(run)

    def test_export_shows_one_snapshot_while_the_primary_changes(self, run: Run, ana: User) -> None:
        before = by_the_primary(run)
        blocks = jsonl.export_lines(run)
        begun = next(blocks)
        decided(run, ana, "b7")
        assert where() == "primary"
        assert sha256([begun, *blocks]) == before != by_the_primary(run)

    def test_abandoned_export_ends_its_transaction(self, run: Run, ana: User) -> None:
        blocks = jsonl.export_lines(run)
        next(blocks)
        blocks.close()
        assert not connections[replica.ALIAS].in_atomic_block
        decided(run, ana, "a1")

    def test_export_job_reads_the_replica_and_stores_on_the_primary(
        self, run: Run, lea: User, ana: User
    ) -> None:
        decided(run, ana, "b0")
        export = jobs.enqueue(options=ExportOptions(run), actor=lea)
        noted: list[str] = []
        with noting(noted):
            jobs.build(export_id=export.pk)
        assert any("source_chunk" in query for query in noted)
        assert not any("export_part" in query for query in noted)
        export.refresh_from_db()
        kept = stored_files.stored_range(export, stored_files.Kind.FILE, 0, export.size - 1)
        assert export.sha256 == sha256(kept) == by_the_primary(run)

    def test_cancelled_export_job_continues_on_the_primary(
        self, run: Run, lea: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(stored_files, "PART_SIZE", 1000)
        parts: list[None] = []

        def check_in() -> None:
            if not parts:
                cancel_readers()
            parts.append(None)

        export = jobs.enqueue(options=ExportOptions(run), actor=lea)
        jobs.build(export_id=export.pk, check_in=check_in)
        export.refresh_from_db()
        assert (export.state, export.sha256) == (Export.State.DONE, by_the_primary(run))
        assert "Reading from the primary" in caplog.text

    def test_cancelled_stream_breaks_off_and_is_complete_when_repeated(self, run: Run, lea: User) -> None:
        blocks = downloads.stream_export(options=ExportOptions(run), actor=lea)
        read = iter(blocks)
        next(read)
        cancel_readers()
        with pytest.raises(ReplicaLost, match="The replica failed: "):
            list(read)
        assert sha256(downloads.stream_export(options=ExportOptions(run), actor=lea)) == by_the_primary(run)

    @pytest.mark.parametrize("command", ["export_run", "export_independent_reviews"])
    def test_export_command_rewrites_its_file_after_losing_the_replica(
        self, command: str, run: Run, ana: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        decided(run, ana, "a0")
        failures = iter([ReplicaLost("cancelled")])
        in_place = replica._as_default

        @contextmanager
        def once_lost() -> Iterator[None]:
            for failure in failures:
                raise failure
            with in_place():
                yield

        monkeypatch.setattr(replica, "_as_default", once_lost)
        file = tmp_path / "out.jsonl"
        call_command(command, run.name, output=str(file))
        assert command == "export_independent_reviews" or sha256([file.read_bytes()]) == by_the_primary(run)


def test_export_command_reads_the_replica_in_its_settings(
    standby: Standby, run: Run, ana: User, tmp_path: Path
) -> None:
    primary = Place.from_settings(connection.settings_dict)
    addresses = {"DATABASE_URL": primary.url, "DATABASE_REPLICA_URL": standby.place.url}
    decided(run, ana, "b1")
    before = standby.place.ask(SCANS)
    file = tmp_path / "out.jsonl"
    done = manage_py(tmp_path, "export_run", run.name, "--output", str(file), **addresses)
    assert done.returncode == 0, done.stderr
    assert sha256([file.read_bytes()]) == by_the_primary(run)
    # A connection reports its counts when it ends.
    assert eventually(lambda: standby.place.ask(SCANS) > before)


def test_pool_drops_connection_to_a_standby(standby: Standby) -> None:
    with (
        psycopg.connect(standby.place.url) as opened,
        pytest.raises(psycopg.OperationalError, match="a standby"),
    ):
        check_connection(opened)


class TestUnfitReplica:
    """Everything is then read from the primary, and the log says why, at most once in a while."""

    @pytest.fixture(autouse=True)
    def _impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(replica, "LONGEST_WAIT", 0.3)

    @pytest.fixture
    def export(self, run: Run, ana: User, caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
        """Decide a record, export twice, and return the log message about the replica."""

        def both() -> str:
            record = decided(run, ana, "b3")
            for _ in range(2):
                data = b"".join(jsonl.export_lines(run))
                assert b'"human_reviewer_id": "ana"' in data.splitlines()[record.first_line + 19]
                assert sha256([data]) == by_the_primary(run)
            said = [each.getMessage() for each in caplog.records if each.name == "reviews.database.replica"]
            assert len(said) == 1
            return said[0]

        return both

    def test_stopped_replica_is_avoided(self, standby: Standby, export: Callable[[], str]) -> None:
        with standby.stopped():
            assert "Reading from the primary for the next 30 s. Replica: connection" in export()

    def test_lagging_replica_is_avoided(self, standby: Standby, export: Callable[[], str]) -> None:
        with standby.behind():
            assert "it is more than 0 s behind" in export()

    def test_server_that_is_no_replica_is_avoided(self, export: Callable[[], str]) -> None:
        with configured(Place.from_settings(connection.settings_dict)):
            assert "it is not a replica of the server in DATABASE_URL" in export()

    def test_avoided_replica_is_read_again_after_a_while(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(replica, "LONGEST_WAIT", 30.0)
        replica._avoid(ReplicaLost("It was away."))
        assert read_from_replica(where)() == "primary"
        replica._Avoided.until -= replica.AVOIDED_FOR
        assert read_from_replica(where)() == "replica"


class TestReport:
    PAGES = (
        "judge",
        "judge-errors",
        "judge-flags",
        "judge-models",
        "judge-reviewers",
        "judge-report",
    )

    @pytest.fixture
    def addresses(self, run: Run, ana: User) -> list[str]:
        decided(run, ana, "a4")
        dashboard = [
            reverse("dashboard"),
            reverse("reviewer-activity", args=[ana.pk]),
            reverse("decisions-csv"),
        ]
        files = [
            reverse("judge-table", args=[run.pk, "groups"]),
            reverse("judge-report-json", args=[run.pk]),
            reverse("judge-error-analysis-markdown", args=[run.pk]),
            reverse("judge-few-shot", args=[run.pk]),
            reverse("judge-decisions-csv", args=[run.pk]),
        ]
        return [*dashboard, *files, *(reverse(page, args=[run.pk]) for page in self.PAGES)]

    def test_report_from_the_replica_equals_the_one_from_the_primary(
        self, addresses: list[str], lea: User, client: Client
    ) -> None:
        client.force_login(lea)
        for address in addresses:
            noted: list[str] = []
            with noting(noted):
                shown = client.get(address)
                body = shown.getvalue()
            assert (shown.status_code, bool(noted)) == (200, True), address
            assert not any("django_session" in query for query in noted)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(replica, "_is_fit", lambda: False)
                if address.endswith((".csv", ".md", ".jsonl")):  # other pages have the time or a token
                    assert client.get(address).getvalue() == body, address

    def test_report_that_fails_on_the_replica_is_repeated_on_the_primary(self, run: Run) -> None:
        begun: list[str] = []

        @read_from_replica
        def figures() -> str:
            begun.append(where())
            if begun == ["replica"]:
                execute("SELECT pg_terminate_backend(pg_backend_pid())")
            return where()

        assert figures() == "primary"
        assert begun == ["replica", "primary"]

    def test_read_from_replica_cannot_write(self, run: Run) -> None:
        with pytest.raises(DatabaseError, match="read-only transaction"):
            read_from_replica(Run.objects.create)(name="another")

    def test_report_inside_a_transaction_includes_its_changes(self, run: Run, ana: User) -> None:
        with transaction.atomic():
            decided(run, ana, "a9")
            assert report.build_report(JudgeScope(run)).progress.done == 1
            assert read_from_replica(where)() == "primary"

    def test_nested_read_stays_on_the_replica(self) -> None:
        assert read_from_replica(read_from_replica(where))() == "replica"
