"""Compare each decision in an export with the audit log, and each decision in the log with the export."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from reviews.audit import log
from reviews.database.statements import execute
from reviews.exports.output import ExportOptions, ExportOutput
from reviews.exports.verify_log import AuditLogFile, UnreadableAuditLog, verify_with_log
from reviews.exports.verify_receipt import InvalidReceipt
from reviews.models import Evaluation, Run, User
from reviews.records.line_splice import splice
from reviews.records.schema import Limits
from reviews.review import decisions as review_decisions
from reviews.review import escalations, independent_reviews, undo
from reviews.runs.changes import rename_run
from tests.support.commands import Capture, manage
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide

pytestmark = pytest.mark.django_db

A, B, C = line("eval_a"), line("eval_b"), line("eval_c")
FILE = file_of(A, b"no record", B, C)


def record(evaluation_id: str = "eval_a") -> Evaluation:
    return Evaluation.objects.get(evaluation_id=evaluation_id)


class Files:
    """A run's original, its export, its receipt and the audit log as files."""

    def __init__(self, folder: Path) -> None:
        self.original = folder / "original.jsonl"
        self.exported = folder / "exported.jsonl"
        self.audit_log = folder / "audit.jsonl"
        self.receipt: dict[str, Any] = {}
        self.original.write_bytes(FILE)

    def write(self, run: Run | None = None, **order: Any) -> None:
        """Write the current state of all files."""
        self.write_audit_log()
        output = ExportOutput(ExportOptions(run or Run.objects.get(), **order))
        self.exported.write_bytes(b"".join(output))
        self.receipt = json.loads(b"".join(output.receipt("exported.jsonl")))

    def write_audit_log(self, run: Run | None = None) -> None:
        execute("SET CONSTRAINTS ALL IMMEDIATE")
        self.audit_log.write_bytes(b"".join(log.jsonl_lines(run.pk if run else None)))

    def change_export(self, evaluation_id: str, **human: Any) -> None:
        lines = self.exported.read_bytes().splitlines()
        changed = [splice(one, human) if evaluation_id.encode() in one else one for one in lines]
        self.exported.write_bytes(file_of(*changed))

    def problems(self, *, with_receipt: bool = False) -> list[str]:
        with self.audit_log.open("rb") as file:
            audit_log = AuditLogFile(file, "audit.jsonl")
            receipt = self.receipt if with_receipt else None
            return verify_with_log(audit_log, [self.original], self.exported, Limits(), receipt).problems


@pytest.fixture(scope="module")
def _imported(module_world: None) -> None:
    import_data(FILE)


@pytest.fixture
def files(tmp_path: Path, _imported: None) -> Files:
    return Files(tmp_path)


def submitted(ana: User, lea: User) -> None:
    decide(record(), ana)


def revised(ana: User, lea: User) -> None:
    decide(record(), ana)
    evaluation = record()
    review_decisions.revise(
        evaluation_id=evaluation.pk,
        reviewer=ana,
        version=evaluation.version,
        submission=uuid4(),
        scores={"Clarity": {"score": 1.50, "justification": "\u00e4 \\ \u2028"}},
        comments='He said "no".',
        origins={},
    )


def undone(ana: User, lea: User) -> None:
    decide(record(), ana)
    undo.undo(run=record().run, actor=ana)


def reopened(ana: User, lea: User) -> None:
    decide(record(), ana)
    review_decisions.reopen(evaluation_id=record().pk, actor=lea, reason="A second look.")


def closed(ana: User, lea: User) -> None:
    raised = escalations.escalate(
        evaluation_id=record().pk, reviewer=ana, kind="cannot judge", reason="no response", note=""
    )
    escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="closed", answer="Nobody can.")


def settled_for_the_file(ana: User, lea: User) -> None:
    decide(record(), ana)
    theirs = {"human_review_status": "Reviewed", "human_reviewer_id": "carla"}
    import_data(file_of(splice(A, theirs)))
    conflict = record().conflicts.get()
    review_decisions.resolve_conflict(
        run=conflict.run, conflict_id=conflict.pk, version=record().version, theirs=True, actor=lea
    )


def given_as_independent_reviews(ana: User, lea: User) -> None:
    """Create independent reviews: both agree on one record, one waits, and one is withdrawn."""
    Run.objects.update(overlap_share=1)
    for name, person in (("eval_a", ana), ("eval_a", lea), ("eval_b", ana), ("eval_c", ana)):
        decide(record(name), person)
    undo.undo(run=Run.objects.get(), actor=ana)


def differed_over(ana: User, lea: User) -> None:
    """Let a lead adjudicate two independent reviews, and add one to a decided record."""
    Run.objects.update(overlap_share=1)
    other = {"Clarity": {"score": "No", "justification": ""}}
    decide(record("eval_a"), ana)
    decide(record("eval_a"), lea, scores=other)
    decide(record("eval_a"), lea)
    Run.objects.update(overlap_share=0)
    decide(record("eval_b"), ana)
    decide(record("eval_b"), lea, by=independent_reviews.add, scores=other)


DECISIONS = [
    submitted,
    revised,
    undone,
    reopened,
    closed,
    settled_for_the_file,
    given_as_independent_reviews,
    differed_over,
]


class TestVerified:
    @pytest.mark.slow
    @pytest.mark.parametrize("decisions", DECISIONS)
    def test_audit_log_explains_all_decisions(
        self, files: Files, ana: User, lea: User, decisions: Callable[[User, User], None]
    ) -> None:
        decisions(ana, lea)
        for only in ("all", "reviewed"):
            files.write(only=only)
            assert files.problems(with_receipt=True) == [], only

    @pytest.mark.slow
    def test_audit_log_explains_new_evidence(self, files: Files, ana: User) -> None:
        decide(record("eval_b"), ana)
        newer = file_of(A, b"no record", line("eval_b", aggregated_score="Fail"), C)
        import_data(newer)
        files.original.write_bytes(newer)
        files.write()
        assert b'"Needs Review", "human_reviewer_id": "ana"' in files.exported.read_bytes()
        assert files.problems() == files.problems(with_receipt=True) == []

    def test_audit_log_explains_an_export_without_decisions(self, files: Files) -> None:
        files.write()
        assert files.problems() == files.problems(with_receipt=True) == []

    def test_audit_log_explains_an_older_export_with_its_receipt(self, files: Files, ana: User) -> None:
        decide(record("eval_a"), ana)
        files.write()
        decide(record("eval_b"), ana)
        files.write_audit_log()
        assert files.problems(with_receipt=True) == []
        [problem] = files.problems()
        assert problem.startswith("line 2 of the export (eval_b) is not as event ")

    @pytest.mark.slow
    def test_same_record_decided_in_two_runs_needs_a_receipt(self, files: Files, ana: User) -> None:
        decide(record(), ana)
        files.write()
        import_data(FILE, run="other")
        decide(Evaluation.objects.get(run__name="other", evaluation_id="eval_a"), ana)
        files.write_audit_log()
        assert files.problems(with_receipt=True) == []
        with pytest.raises(UnreadableAuditLog, match="eval_a was decided in evaluations and other"):
            files.problems()

    @pytest.mark.slow
    def test_audit_log_explains_decisions_before_a_rename(self, files: Files, ana: User, lea: User) -> None:
        decide(record(), ana)
        run = rename_run(run_id=Run.objects.get().pk, actor=lea, name="renamed")
        other = import_data(FILE, run="evaluations").run
        assert other
        decide(other.evaluations.get(evaluation_id="eval_b"), ana)
        files.write(run=run)
        assert files.receipt["run"] == "renamed"
        assert files.problems(with_receipt=True) == []
        files.write(run=other)
        assert files.problems(with_receipt=True) == []

    @pytest.mark.slow
    def test_audit_log_of_the_run_is_sufficient(self, files: Files, ana: User) -> None:
        import_data(file_of(line("eval_x")), run="other")
        decide(record("eval_x"), ana)
        decide(record("eval_a"), ana)
        run = Run.objects.get(name="evaluations")
        execute("SET CONSTRAINTS ALL IMMEDIATE")
        output = ExportOutput(ExportOptions(run))
        files.exported.write_bytes(b"".join(output))
        files.receipt = json.loads(b"".join(output.receipt("exported.jsonl")))
        files.write_audit_log(run)
        assert b"eval_x" not in files.audit_log.read_bytes()
        assert files.problems() == files.problems(with_receipt=True) == []


class TestDifferences:
    @pytest.fixture
    def decided(self, files: Files, ana: User) -> Files:
        decide(record("eval_a"), ana, comments="Checked.")
        files.write()
        return files

    def test_changed_value_is_unexplained(self, decided: Files) -> None:
        decided.change_export("eval_a", human_review_comments="Never checked.")
        [problem] = decided.problems()
        assert problem.startswith("line 1 of the export (eval_a) is not as event ")
        assert problem.endswith("(submit by ana) left it: human_review_comments")

    def test_decision_missing_in_the_export_is_found(self, decided: Files) -> None:
        decided.exported.write_bytes(file_of(A, B, C))
        [problem] = decided.problems()
        assert "left it: human_review_status, human_reviewer_id, human_review_timestamp" in problem

    def test_change_without_a_decision_is_unexplained(self, decided: Files) -> None:
        decided.change_export("eval_b", human_review_status="Completed", human_reviewer_id="ana")
        [problem] = decided.problems()
        assert problem.startswith("line 2 of the export (eval_b) has changed in human_review_status,")
        assert problem.endswith("and the audit log has no decision on it")

    def test_score_of_another_type_is_unexplained(self, files: Files, ana: User) -> None:
        decide(record("eval_a"), ana, scores={"Rigor": {"score": 1}})
        files.write()
        files.change_export("eval_a", human_corrected_scores={"Rigor": {"score": True}})
        assert files.problems()[0].endswith("left it: human_corrected_scores")

    def test_omitted_decided_record_is_found(self, files: Files, ana: User) -> None:
        decide(record("eval_a"), ana)
        decide(record("eval_b"), ana)
        files.write(only="reviewed")
        kept = files.exported.read_bytes().splitlines(keepends=True)
        files.exported.write_bytes(kept[0])
        files.receipt["left_out"] = [{**files.receipt["left_out"][0], "first_line": 2, "last_line": 4}]
        assert any(
            problem.startswith("eval_b is not in the export, and was decided in event ")
            for problem in files.problems(with_receipt=True)
        )

    def test_decided_record_outside_all_files_is_found(self, decided: Files) -> None:
        decided.original.write_bytes(file_of(B, C))
        decided.exported.write_bytes(file_of(B, C))
        assert any(
            problem.startswith("eval_a was decided in event ")
            for problem in decided.problems(with_receipt=True)
        )

    def test_altered_event_is_found(self, decided: Files) -> None:
        decided.audit_log.write_bytes(decided.audit_log.read_bytes().replace(b"Checked.", b"Never checked."))
        decided.change_export("eval_a", human_review_comments="Never checked.")
        assert any("does not match its seal" in problem for problem in decided.problems())

    def test_missing_end_of_the_audit_log_is_found(self, decided: Files) -> None:
        lines = decided.audit_log.read_bytes().splitlines(keepends=True)
        decided.audit_log.write_bytes(b"".join(lines[:-1]))
        assert any("before the stored head" in one for one in decided.problems(with_receipt=True))

    def test_missing_event_of_the_audit_log_is_found(self, decided: Files) -> None:
        lines = decided.audit_log.read_bytes().splitlines(keepends=True)
        decided.audit_log.write_bytes(b"".join(lines[1:]))
        assert "position 1 is missing" in decided.problems()

    def test_reordered_audit_log_is_found(self, decided: Files) -> None:
        lines = decided.audit_log.read_bytes().splitlines(keepends=True)
        decided.audit_log.write_bytes(b"".join([*lines, lines[0]]))
        assert any(f"comes after position {len(lines)}" in one for one in decided.problems())


class TestFilesThatAreNoAuditLog:
    @pytest.mark.parametrize(
        "text", [b"\n", b"{}\n", b'{"position": 1}\n', A + b"\n", b"\xff\n"]
    )  # fmt: skip
    def test_other_file_is_not_an_audit_log(self, files: Files, text: bytes) -> None:
        files.write()
        files.audit_log.write_bytes(text)
        with pytest.raises(UnreadableAuditLog, match="line 1 was not written by export_audit"):
            files.problems()

    def test_truncated_line_is_refused(self, files: Files) -> None:
        files.write()
        files.audit_log.write_bytes(files.audit_log.read_bytes()[:-10])
        with pytest.raises(UnreadableAuditLog):
            files.problems()

    def test_receipt_without_audit_head_is_refused(self, files: Files) -> None:
        files.write()
        del files.receipt["audit_head"]
        with pytest.raises(InvalidReceipt):
            files.problems(with_receipt=True)

    def test_table_cannot_be_compared_with_an_audit_log(self, files: Files) -> None:
        files.write(format="csv")
        with pytest.raises(InvalidReceipt, match="Only an export as JSONL"):
            files.problems(with_receipt=True)


class TestVerifyExport:
    def test_verify_export_command_accepts_an_audit_log(
        self, files: Files, ana: User, capsysbinary: Capture
    ) -> None:
        decide(record(), ana)
        files.write()
        arguments = [str(files.original), str(files.exported), "--audit-log", str(files.audit_log)]
        finished = manage(capsysbinary, "verify_export", *arguments)
        assert finished.status == 0
        assert finished.out.decode().endswith(f"; matches the audit log up to {log.chain_head()}\n")
        files.change_export("eval_a", human_reviewer_id="bo")
        finished = manage(capsysbinary, "verify_export", *arguments)
        assert (finished.status, "(submit by ana) left it: human_reviewer_id" in finished.err) == (1, True)

    def test_verify_export_command_refuses_another_file_as_audit_log(
        self, files: Files, capsysbinary: Capture
    ) -> None:
        files.write()
        original, exported = str(files.original), str(files.exported)
        finished = manage(capsysbinary, "verify_export", original, exported, "--audit-log", original)
        assert (finished.status, finished.err.endswith("line 1 was not written by export_audit")) == (
            2,
            True,
        )
        missing = str(files.audit_log.with_name("nothing"))
        assert manage(capsysbinary, "verify_export", original, exported, "--audit-log", missing).status == 2
