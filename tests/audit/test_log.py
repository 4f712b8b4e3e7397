"""Each audit event is sealed when it is committed; later changes to it are found and named."""

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import InternalError, connection, transaction

from reviews import tasks
from reviews.audit import events as audit_events
from reviews.audit import hash_chain
from reviews.audit import log as audit_log
from reviews.audit.events import request_from
from reviews.audit.hash_chain import EMPTY, ChainVerifier, Head
from reviews.database.statements import execute
from reviews.models import AuditEvent, AuditSeal, Import, Run, User
from tests.support.commands import Capture, manage
from tests.support.factories import EvaluationFactory, ImportFactory, RunFactory
from tests.support.threads import together
from tests.support.work import decide

pytestmark = pytest.mark.django_db
NOT_SEALED = "does not match its seal: the event was altered or replaced"


def seal() -> None:
    """Run the deferred triggers, as at the end of a transaction."""
    execute("SET CONSTRAINTS ALL IMMEDIATE")


def found(kept: Head | None = None) -> list[str]:
    return list(audit_log.verify(ChainVerifier(*[kept] if kept else [])))


@pytest.fixture
def events(ana: User) -> list[int]:
    """Five sealed events."""
    written = [audit_events.record("look", actor=ana, number=number) for number in range(5)]
    seal()
    return [event.pk for event in written]


class TestSeals:
    def test_seals_form_a_chain(self, events: list[int]) -> None:
        seals = list(AuditSeal.objects.order_by("position"))
        assert [(one.position, one.event_id) for one in seals] == list(enumerate(events, start=1))
        assert bytes(seals[0].previous) == hash_chain.GENESIS
        assert [bytes(one.previous) for one in seals[1:]] == [bytes(one.hash) for one in seals[:-1]]
        assert found() == []

    def test_trigger_and_verification_use_the_same_text(self, ana: User) -> None:
        evaluation = EvaluationFactory.create()
        with request_from("2001:db8::1"):
            audit_events.record(
                "lóok",
                actor=ana,
                run=evaluation.run,
                source=evaluation.first_import,
                evaluation=evaluation,
                odd=["a\u2028b", '"\\', 1.10, 1e300, -0.0, True, None, {}],
            )
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT audit_event_text(event), {audit_log.EVENT_TEXT} FROM audit_event event")
            by_the_trigger, by_us = cursor.fetchone()
        assert by_the_trigger == by_us
        assert set(json.loads(by_us)) == {
            "id",
            "at",
            "actor",
            "actor_name",
            "address",
            "action",
            "run",
            "run_name",
            "import",
            "evaluation",
            "record",
            "detail",
        }

    def test_sealed_text_has_every_column(self) -> None:
        columns = {field.column for field in AuditEvent._meta.concrete_fields}
        assert {column for column in columns if f"event.{column}" not in audit_log.EVENT_TEXT} == set()

    def test_rolled_back_event_has_no_seal(self, events: list[int], ana: User) -> None:
        with transaction.atomic():
            audit_events.record("look", actor=ana)
            transaction.set_rollback(True)
        assert (AuditSeal.objects.count(), found()) == (5, [])

    @pytest.mark.slow
    @pytest.mark.django_db(transaction=True)
    def test_concurrent_commits_form_one_chain(self, ana: User) -> None:
        def look() -> None:
            for _ in range(5):
                with transaction.atomic():
                    audit_events.record("look", actor=ana)
                    audit_events.record("look again", actor=ana)

        together(*[look] * 4)
        assert AuditSeal.objects.count() == 40
        assert found() == []

    @pytest.mark.django_db(transaction=True)
    def test_open_transaction_does_not_block_others(self, ana: User) -> None:
        def look() -> None:
            with transaction.atomic():
                audit_events.record("look", actor=ana)

        with transaction.atomic():
            audit_events.record("a long import", actor=None)
            together(look)
            assert AuditSeal.objects.count() == 1
        assert list(AuditSeal.objects.values_list("event__action", flat=True).order_by("position")) == [
            "look",
            "a long import",
        ]

    @pytest.mark.django_db(transaction=True)
    def test_event_in_repeatable_read_transaction_is_rejected(self) -> None:
        def look() -> None:
            with transaction.atomic():
                execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                audit_events.record("look", actor=None)

        with pytest.raises(InternalError, match="READ COMMITTED"):
            look()
        assert not AuditEvent.objects.exists()


@pytest.fixture
def tamper(events: list[int]) -> Callable[..., None]:
    """SQL as somebody runs it who may switch the triggers off."""

    def run(statement: str, *parameters: object) -> None:
        for table in ("audit_event", "audit_seal"):
            execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        execute(statement, parameters)

    return run


class TestFaults:
    @pytest.mark.parametrize(
        "change",
        [
            "actor_name = 'bo'",
            "address = '192.0.2.1'",
            "actor_id = NULL",
            "action = 'submit'",
            "at = at - interval '1 microsecond'",
            "detail = '{\"number\": 2.0}'",
            "record = 'eval_a'",
            "run_name = 'evaluations'",
        ],
    )
    def test_altered_event_is_found(
        self, events: list[int], tamper: Callable[..., None], change: str
    ) -> None:
        tamper(f"UPDATE audit_event SET {change} WHERE id = %s", events[2])
        assert found() == [f"event {events[2]} (position 3) {NOT_SEALED}"]

    def test_altered_seal_is_found(self, events: list[int], tamper: Callable[..., None]) -> None:
        tamper("UPDATE audit_seal SET hash = sha256(hash) WHERE position = 3")
        assert found() == [f"event {events[2]} (position 3) does not match its seal: the seal was altered"]

    def test_event_altered_with_its_seal_is_found(
        self, events: list[int], tamper: Callable[..., None]
    ) -> None:
        tamper("UPDATE audit_event SET action = 'submit' WHERE id = %s", events[2])
        tamper(
            "UPDATE audit_seal SET"
            " hash = sha256(previous || sha256(convert_to(audit_event_text(event), 'UTF8')))"
            " FROM audit_event event WHERE event.id = event_id AND position = 3"
        )
        [problem] = found()
        assert problem.startswith(f"event {events[3]} (position 4) does not continue the previous seal")

    def test_altered_end_is_found(self, events: list[int], tamper: Callable[..., None]) -> None:
        tamper("UPDATE audit_event SET action = 'submit' WHERE id = %s", events[4])
        assert found() == [
            f"event {events[4]} (position 5) does not match its seal: the event or the seal was altered"
        ]

    def test_removed_event_is_found(self, events: list[int], tamper: Callable[..., None]) -> None:
        tamper("DELETE FROM audit_event WHERE id = %s", events[2])
        assert found() == [f"event {events[2]} (position 3) is missing, but its seal exists"]

    def test_removed_seal_is_found(self, events: list[int], tamper: Callable[..., None]) -> None:
        tamper("DELETE FROM audit_seal WHERE position = 3")
        assert found() == [
            "position 3 is missing",
            f"event {events[2]} has no seal: the event was inserted, or its seal was removed",
        ]

    def test_removed_event_with_seal_is_found(self, events: list[int], tamper: Callable[..., None]) -> None:
        tamper("DELETE FROM audit_event WHERE id = ANY(%s)", events[1:3])
        tamper("DELETE FROM audit_seal WHERE position IN (2, 3)")
        assert found() == ["positions 2 to 3 are missing"]

    def test_removed_end_is_found_by_stored_head(
        self, events: list[int], tamper: Callable[..., None]
    ) -> None:
        kept = audit_log.chain_head()
        tamper("DELETE FROM audit_event WHERE id = ANY(%s)", events[3:])
        tamper("DELETE FROM audit_seal WHERE position > 3")
        assert found() == []
        assert found(kept) == ["positions 4 to 5 are missing: the chain ends before the stored head"]

    def test_rewritten_chain_is_found_by_stored_head(
        self, events: list[int], tamper: Callable[..., None]
    ) -> None:
        kept = audit_log.chain_head()
        tamper("DELETE FROM audit_seal")
        tamper("UPDATE audit_event SET actor_name = 'bo'")
        for event in events:
            tamper(
                """
                INSERT INTO audit_seal (position, event_id, previous, hash)
                SELECT head.position + 1, event.id, head.hash,
                       sha256(head.hash || sha256(convert_to(audit_event_text(event), 'UTF8')))
                FROM audit_event event, (
                    SELECT position, hash FROM audit_seal
                    UNION ALL SELECT 0, decode(repeat('00', 32), 'hex') ORDER BY 1 DESC LIMIT 1
                ) head
                WHERE event.id = %s
                """,
                event,
            )
        assert found() == []
        [problem] = found(kept)
        assert problem.startswith(f"event {events[4]} (position 5) differs from the stored head")

    def test_inserted_event_is_found(self, events: list[int], tamper: Callable[..., None]) -> None:
        tamper(
            "INSERT INTO audit_event (action, actor_name, run_name, record, detail, at)"
            " VALUES ('submit', 'ana', '', '', '{}', now())"
        )
        slipped_in = AuditEvent.objects.latest("pk").pk
        assert found() == [f"event {slipped_in} has no seal: the event was inserted, or its seal was removed"]

    def test_swapped_events_are_found(self, events: list[int], tamper: Callable[..., None]) -> None:
        # In two steps, because no event may have two seals.
        tamper("UPDATE audit_seal SET event_id = -1 WHERE position = 2")
        tamper("UPDATE audit_seal SET event_id = %s WHERE position = 3", events[1])
        tamper("UPDATE audit_seal SET event_id = %s WHERE position = 2", events[2])
        assert found() == [
            f"event {events[2]} (position 2) {NOT_SEALED}",
            f"event {events[1]} (position 3) {NOT_SEALED}",
        ]


class TestRestrictedRun:
    def whole(self, reader: User | None) -> list[str]:
        """Return the actions of the events that the reader gets in full."""
        seal()
        lines = [json.loads(line) for line in audit_log.jsonl_lines(reader=reader)]
        return [line["event"]["action"] for line in lines if "event" in line]

    def test_events_of_hidden_runs_are_digests(self, ana: User, lea: User, max: User) -> None:
        hidden, shown = RunFactory.create(is_restricted=True), RunFactory.create(is_restricted=True)
        shown.members.add(lea)
        for run in (hidden, shown, None):
            audit_events.record("look", actor=ana, run=run, name=str(run))
        assert len(self.whole(lea)) == 2
        assert hidden.name.encode() not in b"".join(audit_log.jsonl_lines(reader=lea))
        assert len(self.whole(max)) == len(self.whole(None)) == 3

    def test_uploads_without_run_are_digests(self, lea: User, max: User) -> None:
        source = ImportFactory.create(run=None, state=Import.State.FAILED)
        audit_events.record("upload begun", actor=max, file_name="secret.jsonl")
        audit_events.record("import failed", actor=max, source=source, error="secret.jsonl")
        audit_events.record("user added", actor=max, username="kim")
        assert self.whole(lea) == ["user added"]
        assert self.whole(max) == ["upload begun", "import failed", "user added"]


class TestLogChainHead:
    def test_chain_head_is_logged(self, events: list[int], caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level("INFO", "reviews.audit.log"):
            tasks.publish_audit_head(timestamp=0)
        assert [record.getMessage() for record in caplog.records] == [f"audit head {audit_log.chain_head()}"]

    def test_empty_chain_head_is_not_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level("INFO", "reviews.audit.log"):
            audit_log.log_chain_head()
        assert caplog.records == []


class TestVerifyAudit:
    def test_verify_audit_prints_chain_head(self, events: list[int], capsysbinary: Capture) -> None:
        finished = manage(capsysbinary, "verify_audit")
        assert (finished.status, finished.err) == (0, "")
        sealed, end = finished.out.decode().splitlines()
        assert sealed == f"5 events sealed, head {audit_log.chain_head()}"
        assert end.startswith("End not checked: ")

    def test_verify_audit_accepts_empty_log(self, capsysbinary: Capture) -> None:
        assert manage(capsysbinary, "verify_audit").status == 0
        assert audit_log.chain_head() == EMPTY

    def test_verify_audit_reports_faults(
        self, events: list[int], tamper: Callable[..., None], capsysbinary: Capture
    ) -> None:
        tamper("DELETE FROM audit_event WHERE id = %s", events[2])
        finished = manage(capsysbinary, "verify_audit")
        assert finished.status == 1
        assert f"event {events[2]} (position 3) is missing" in finished.err
        assert finished.err.endswith("Differences: 1\n")

    def test_verify_audit_accepts_printed_head(
        self, events: list[int], ana: User, capsysbinary: Capture
    ) -> None:
        kept = str(audit_log.chain_head())
        audit_events.record("look", actor=ana)
        assert manage(capsysbinary, "verify_audit", "--head", kept).status == 0
        another = f"5:{'0' * 64}"
        finished = manage(capsysbinary, "verify_audit", "--head", another)
        assert (finished.status, "the chain was rewritten" in finished.err) == (1, True)

    def test_verify_audit_finds_removed_end_by_head_in_log_file(
        self, events: list[int], tamper: Callable[..., None], tmp_path: Path, capsysbinary: Capture
    ) -> None:
        log = tmp_path / "work.log"
        log.write_text(
            f"INFO reviews.audit.log: audit head {audit_log.chain_head()}\nINFO other: 12:30 is no head\n"
        )
        assert manage(capsysbinary, "verify_audit", "--heads", str(log)).status == 0
        tamper("DELETE FROM audit_event WHERE id = %s", events[4])
        tamper("DELETE FROM audit_seal WHERE position = 5")
        assert manage(capsysbinary, "verify_audit").status == 0
        finished = manage(capsysbinary, "verify_audit", "--heads", str(log))
        assert finished.status == 1
        assert "position 5 is missing: the chain ends before the stored head" in finished.err

    def test_verify_audit_prints_checked_heads(
        self, events: list[int], ana: User, capsysbinary: Capture
    ) -> None:
        early = str(audit_log.chain_head())
        audit_events.record("look", actor=ana)
        seal()
        late = str(audit_log.chain_head())
        finished = manage(capsysbinary, "verify_audit", "--head", late, "--head", early)
        assert finished.out.decode().endswith("Checked against 2 stored heads, the last at position 6\n")
        another = f"5:{'0' * 64}"
        assert manage(capsysbinary, "verify_audit", "--head", another, "--head", late).status == 1

    @pytest.mark.parametrize("head", ["", "5", "5:abc", f"-1:{'0' * 64}", f"5:{'g' * 64}"])
    def test_verify_audit_rejects_invalid_head(self, head: str, capsysbinary: Capture) -> None:
        assert manage(capsysbinary, "verify_audit", f"--head={head}").status in {1, 2}


class TestExportAudit:
    def test_export_audit_writes_sealed_events(self, ana: User, capsysbinary: Capture) -> None:
        evaluation = EvaluationFactory.create()
        decide(evaluation, ana)
        seal()
        finished = manage(capsysbinary, "export_audit")
        [line] = map(json.loads, finished.out.splitlines())
        event = AuditEvent.objects.get()
        assert (line["position"], line["previous"]) == (1, "0" * 64)
        assert line["hash"] == audit_log.chain_head().hash.hex()
        assert line["event"] == {
            "id": event.pk,
            "at": event.at.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "actor": ana.pk,
            "actor_name": "ana",
            "address": None,
            "action": "submit",
            "run": evaluation.run_id,
            "run_name": evaluation.run.name,
            "import": None,
            "evaluation": evaluation.pk,
            "record": evaluation.evaluation_id,
            "detail": event.detail,
        }

    def test_export_audit_of_run_has_digests_of_other_events(
        self, ana: User, tmp_path: Path, capsysbinary: Capture
    ) -> None:
        mine, other = RunFactory.create(name="mine"), RunFactory.create(name="other")
        for run in (other, mine, None):
            audit_events.record("look", actor=ana, run=run)
        seal()
        target = tmp_path / "audit.jsonl"
        assert manage(capsysbinary, "export_audit", "--run", "mine", "-o", str(target)).status == 0
        lines = [json.loads(line) for line in target.read_bytes().splitlines()]
        assert [sorted(line) for line in lines] == [
            ["digest", "hash", "position", "previous"],
            ["event", "hash", "position", "previous"],
            ["digest", "hash", "position", "previous"],
        ]
        for line in lines:
            if "digest" in line:
                previous, digest = bytes.fromhex(line["previous"]), bytes.fromhex(line["digest"])
                assert hash_chain.seal_hash(previous, digest).hex() == line["hash"]

    def test_export_audit_rejects_unknown_run(self, capsysbinary: Capture) -> None:
        finished = manage(capsysbinary, "export_audit", "--run", "nothing")
        assert (finished.status, finished.err) == (2, "No run 'nothing'. There are no runs yet.")
        assert not Run.objects.exists()
