"""Exports and reports by a streaming replica: nothing is missing, with it or without."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

from cognireview.postgres.embedded import Server
from cognireview.postgres.server_account import server_account
from reviews.database import replica
from reviews.database.replica import ReplicaLost, read_from_replica
from reviews.exports import jobs, jsonl, stored_files
from reviews.exports.output import ExportOptions
from reviews.judge import report
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Export, Run, User
from tests.support import servers
from tests.support.commands import manage_py
from tests.support.lines import bring_in, file_of, line
from tests.support.servers import Place
from tests.support.waiting import eventually
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "replica"])

SCANS = "SELECT seq_scan + idx_scan FROM pg_stat_user_tables WHERE relname = 'source_chunk'"
# Two files: an export of them takes two steps.
FILES = [file_of(*(line(f"eval_{name}{number}") for number in range(20))) for name in "ab"]


@dataclass(frozen=True)
class Standby:
    """A replica of the tests' own PostgreSQL."""

    place: Place
    server: Server

    @contextmanager
    def behind(self) -> Iterator[None]:
        """It receives, and replays nothing."""
        self.place.ask("SELECT pg_wal_replay_pause()::text")
        try:
            yield
        finally:
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
    """Runs for all tests here, each of which has it as its `DATABASE_REPLICA_URL`."""
    with _sure_commits() as primary, servers.replica(primary, folder) as place:
        # Who is in the way of what is replayed has to go at once.
        place.ask("ALTER SYSTEM SET max_standby_streaming_delay = 0")
        place.ask("SELECT pg_reload_conf()")
        with configured(place):
            yield Standby(place, Server(folder, server_account(), disposable=True))


@contextmanager
def _sure_commits() -> Iterator[Place]:
    """Let the tests' own database write what is committed at once, as others do."""
    primary = Place.of(connection.settings_dict)
    connection.close()
    primary.ask(f"ALTER DATABASE {primary.name} SET synchronous_commit = 'on'")
    try:
        yield primary
    finally:
        primary.ask(f"ALTER DATABASE {primary.name} RESET synchronous_commit")


@contextmanager
def configured(place: Place) -> Iterator[None]:
    """As with that place in `DATABASE_REPLICA_URL`."""
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
        bring_in(file)
    return Run.objects.get()


@contextmanager
def noting(noted: list[str]) -> Iterator[None]:
    """Note what is read by the replica but for the question how far it is."""
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
    with connection.cursor() as cursor:
        cursor.execute("SELECT CASE WHEN pg_is_in_recovery() THEN 'replica' ELSE 'primary' END")
        return str((cursor.fetchone() or [""])[0])


def in_its_way() -> None:
    """Lock what an export on the replica has read: to replay that, it throws the export out."""
    with psycopg.connect(Place.of(connection.settings_dict).url) as other:
        other.execute("SET lock_timeout = '5s'")
        other.execute("LOCK TABLE source_chunk")


class TestExport:
    def test_is_read_by_the_replica_with_every_decision_made_before(self, run: Run, ana: User) -> None:
        for number in range(5):
            record = decided(run, ana, f"a{number}")
            noted: list[str] = []
            with noting(noted):
                data = b"".join(jsonl.export_lines(run))
            assert any("source_chunk" in query for query in noted)
            told = {one["evaluation_id"]: one for one in map(json.loads, data.splitlines())}
            assert told[record.evaluation_id]["human_reviewer_id"] == "ana"
            assert hashlib.sha256(data).hexdigest() == by_the_primary(run)

    def test_shows_one_moment_while_the_primary_is_written(self, run: Run, ana: User) -> None:
        before = by_the_primary(run)
        blocks = jsonl.export_lines(run)
        begun = next(blocks)
        decided(run, ana, "b7")
        assert where() == "primary"
        assert sha256([begun, *blocks]) == before != by_the_primary(run)

    def test_leaves_the_connection_as_it_was_when_nobody_wants_the_rest(self, run: Run, ana: User) -> None:
        blocks = jsonl.export_lines(run)
        next(blocks)
        blocks.close()
        assert not connections[replica.ALIAS].in_atomic_block
        decided(run, ana, "a1")

    def test_by_a_job_is_read_there_and_kept_here(self, run: Run, lea: User, ana: User) -> None:
        decided(run, ana, "b0")
        export = jobs.enqueue(ExportOptions(run), lea)
        noted: list[str] = []
        with noting(noted):
            jobs.build(export.pk)
        assert any("source_chunk" in query for query in noted)
        assert not any("export_part" in query for query in noted)
        export.refresh_from_db()
        kept = stored_files.stored_range(export, stored_files.Kind.FILE, 0, export.size - 1)
        assert export.sha256 == sha256(kept) == by_the_primary(run)

    def test_by_a_job_that_is_thrown_out_is_built_by_the_primary(
        self, run: Run, lea: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(stored_files, "PART_SIZE", 1000)
        parts: list[None] = []

        def check_in() -> None:
            if not parts:
                in_its_way()
            parts.append(None)

        export = jobs.enqueue(ExportOptions(run), lea)
        jobs.build(export.pk, check_in)
        export.refresh_from_db()
        assert (export.state, export.sha256) == (Export.State.DONE, by_the_primary(run))
        assert "Reading from the primary" in caplog.text

    def test_as_a_stream_breaks_off_when_it_is_thrown_out_and_is_whole_when_asked_again(
        self, run: Run, lea: User
    ) -> None:
        blocks = jobs.stream_export(ExportOptions(run), lea)
        next(blocks)
        in_its_way()
        with pytest.raises(ReplicaLost, match="The replica failed: "):
            list(blocks)
        assert sha256(jobs.stream_export(ExportOptions(run), lea)) == by_the_primary(run)

    @pytest.mark.parametrize("command", ["export_run", "export_independent_reviews"])
    def test_by_a_command_begins_its_file_anew(
        self, command: str, run: Run, ana: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        decided(run, ana, "a0")
        failures = iter([ReplicaLost("thrown out")])
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


def test_by_its_setting_a_command_reads_the_replica(
    standby: Standby, run: Run, ana: User, tmp_path: Path
) -> None:
    primary = Place.of(connection.settings_dict)
    servers_told = {"DATABASE_URL": primary.url, "DATABASE_REPLICA_URL": standby.place.url}
    decided(run, ana, "b1")
    before = standby.place.ask(SCANS)
    file = tmp_path / "out.jsonl"
    done = manage_py(tmp_path, "export_run", run.name, "--output", str(file), **servers_told)
    assert done.returncode == 0, done.stderr
    assert sha256([file.read_bytes()]) == by_the_primary(run)
    # A connection tells its counts when it ends.
    assert eventually(lambda: standby.place.ask(SCANS) > before)


class TestUnfitReplica:
    """Reading from the primary, nothing is missing, and the log says why, once in a while."""

    @pytest.fixture(autouse=True)
    def _impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(replica, "LONGEST_WAIT", 0.3)

    @pytest.fixture
    def export(self, run: Run, ana: User, caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
        """Decide, export twice, and give what the log has of the replica."""

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

    def test_that_has_stopped(self, standby: Standby, export: Callable[[], str]) -> None:
        with standby.stopped():
            assert "Reading from the primary for the next 30 s. Replica: connection" in export()

    def test_that_is_behind(self, standby: Standby, export: Callable[[], str]) -> None:
        with standby.behind():
            assert "it is more than 0 s behind" in export()

    def test_that_is_none(self, export: Callable[[], str]) -> None:
        with configured(Place.of(connection.settings_dict)):
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
        "judge-flag-precision",
        "judge-missed-errors",
        "judge-leaderboard",
        "judge-error-analysis",
        "judge-report",
    )

    @pytest.fixture
    def addresses(self, run: Run, ana: User) -> list[str]:
        decided(run, ana, "a4")
        desk = [reverse("dashboard"), reverse("reviewer-activity", args=[ana.pk]), reverse("decisions-csv")]
        files = [
            reverse("judge-table", args=[run.pk, "groups"]),
            reverse("judge-report-json", args=[run.pk]),
            reverse("judge-error-analysis-markdown", args=[run.pk]),
            reverse("judge-few-shot", args=[run.pk]),
            reverse("judge-decisions-csv", args=[run.pk]),
        ]
        return [*desk, *files, *(reverse(page, args=[run.pk]) for page in self.PAGES)]

    def test_is_read_by_the_replica_and_says_what_the_primary_would(
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
                if address.endswith((".csv", ".md", ".jsonl")):  # others tell the time, or have a token
                    assert client.get(address).getvalue() == body, address

    def test_that_fails_there_is_read_by_the_primary_from_the_start(self, run: Run) -> None:
        begun: list[str] = []

        @read_from_replica
        def figures() -> str:
            begun.append(where())
            if begun == ["replica"]:
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
            return where()

        assert figures() == "primary"
        assert begun == ["replica", "primary"]

    def test_changes_nothing(self, run: Run) -> None:
        with pytest.raises(DatabaseError, match="read-only transaction"):
            read_from_replica(Run.objects.create)(name="another")

    def test_inside_a_transaction_tells_of_that(self, run: Run, ana: User) -> None:
        with transaction.atomic():
            decided(run, ana, "a9")
            assert report.build_report(JudgeScope(run)).progress.done == 1
            assert read_from_replica(where)() == "primary"

    def test_within_a_report_is_read_where_that_is(self) -> None:
        assert read_from_replica(read_from_replica(where))() == "replica"
