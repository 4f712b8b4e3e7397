"""Tests of the checks that end the load and fault tests."""

import uuid
from pathlib import Path

import pytest
from django.utils import timezone

from reviews.api.saved_decision import _SUBMISSIONS
from reviews.database.statements import execute
from reviews.models import Evaluation, Export, Import, Review, User
from reviews.queue import claims
from tests.load import imports, invariants, recounts
from tests.load.reviewers import after
from tests.load.reviewing import Accepted
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.work import SCORES, agree, decide

KEY = "ana-1"
DATA = file_of(line("eval_1"), line("eval_2"))


def decided(ana: User) -> Accepted:
    """A decision sent by a program, with the site's response."""
    record = Evaluation.objects.get(evaluation_id="eval_1")
    review = decide(record, ana, comments=KEY, submission=uuid.uuid5(_SUBMISSIONS, f"{ana.pk} {KEY}"))
    scores = {name: entry["score"] for name, entry in SCORES.items()}
    return Accepted("eval_1", "ana", KEY, review.version, scores)


def brought(folder: Path) -> Path:
    """Write the imported file under its original name."""
    path = folder / Import.objects.get().file_name
    path.write_bytes(DATA)
    return path


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
class TestChecks:
    @pytest.fixture(autouse=True)
    def _imported_file(self) -> None:
        import_data(DATA)

    def test_checks_find_nothing_after_a_correct_run(self, ana: User, tmp_path: Path) -> None:
        accepted, original, exported = decided(ana), brought(tmp_path), tmp_path / "exported.jsonl"
        exported.write_bytes(export_data())
        assert list(after([accepted], [original], once=True)) == []
        assert list(invariants.check_export([original], exported, [accepted])) == []

    def test_checks_find_lost_and_unknown_decisions(self, ana: User) -> None:
        accepted = decided(ana)
        lost = Accepted("eval_2", "ana", "ana-2", 1, accepted.scores)
        [found, not_current] = invariants.check_decisions([accepted, lost], once=True)
        assert found == "the decision ana-2 on eval_2 was accepted, and is lost"
        assert not_current == "the decision ana-2 on eval_2 is not the current one"
        [unaccepted, decided_anyway] = invariants.check_decisions([], once=True)
        assert unaccepted.startswith(f"the decision {KEY} on ")
        assert unaccepted.endswith(" is saved, but was not accepted")
        assert decided_anyway == "eval_1 is decided, but no decision was accepted"

    def test_checks_find_a_different_decision(self, ana: User) -> None:
        accepted = decided(ana)
        other = Accepted("eval_1", "ana", KEY, 1, accepted.scores | {"Clarity": "No"})
        assert list(invariants.check_decisions([other], once=True)) == [
            f"the decision {KEY} on eval_1 is not as it was accepted"
        ]

    def test_checks_find_a_record_that_was_decided_twice(self, ana: User) -> None:
        accepted = decided(ana)
        twice = list(invariants.check_decisions([accepted, accepted], once=True))
        assert f"eval_1 was decided by {KEY} and by {KEY}" in twice

    def test_checks_find_a_missing_version_and_a_submit_without_audit_event(self, ana: User) -> None:
        accepted = decided(ana)
        record = Evaluation.objects.get(evaluation_id="eval_1")
        common = {"evaluation": record, "run": record.run, "reviewer": ana, "submitted_at": timezone.now()}
        Review.objects.create(version=3, comments="by nobody", **common)
        found = "\n".join(invariants.check_decisions([accepted], once=True))
        assert "reviews whose versions have a gap" in found
        assert "reviews that the audit log does not have once" in found

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"lines": 3}, "has 3 lines and accounts for"),
            (
                {"new": 1, "rejected": 1},
                "has 1 lines that are rejected, and lists 0 (by heap: 0, by index: 0)",
            ),
            ({"sha256": "0" * 64}, "keeps other bytes than were brought"),
            ({"state": "running"}, "it is running, 2 records are new, and 2 show"),
            ({"state": "failed", "error": "a bug"}, "is failed: a bug"),
        ],
    )
    def test_checks_find_an_import_with_wrong_counts(
        self, changes: dict[str, object], sentence: str, tmp_path: Path
    ) -> None:
        Import.objects.update(**changes)
        assert sentence in "\n".join(imports.check_imports([brought(tmp_path)]))

    def test_checks_find_open_claims_and_unfinished_jobs(self, ana: User) -> None:
        record = Evaluation.objects.get(evaluation_id="eval_1")
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        Export.objects.create(run=record.run, with_rejected=False, created_by=ana)
        assert list(invariants.check_claims()) == ["eval_1 is still claimed by ana"]
        assert "is unfinished" in "\n".join(invariants.check_jobs())

    @pytest.mark.parametrize(
        ("statement", "what"),
        [
            ("UPDATE run_count SET evaluations = evaluations + 1", "records by status"),
            ("UPDATE criterion_day SET overridden = overridden + 1", "overrides by day"),
            ("UPDATE reviewer_day SET decisions = decisions + 1", "decisions by day"),
            ("UPDATE record_day SET records = records + 1", "records by day"),
            ("DELETE FROM rating", "assisted ratings"),
            ("UPDATE stratum_count SET evaluations = evaluations + 1", "records by stratum"),
            ("UPDATE facet_count SET evaluations = evaluations + 1", "records by facet"),
            ("DELETE FROM evaluation_words", "records with words"),
        ],
    )
    def test_checks_find_a_wrong_count(self, statement: str, what: str, ana: User) -> None:
        agree(Evaluation.objects.get(evaluation_id="eval_1"), ana)
        assert list(recounts.check_counts()) == []
        execute(statement)
        assert what in "\n".join(recounts.check_counts())

    def test_checks_find_an_exported_line_with_another_decision(self, ana: User, tmp_path: Path) -> None:
        accepted, original = decided(ana), brought(tmp_path)
        found = list(invariants.check_export([original], original, [accepted]))
        assert found == [
            f"the export has another decision on eval_1 than {KEY}",
            "0 lines are not as they came, and 1 records were decided",
        ]
        torn = tmp_path / "torn.jsonl"
        torn.write_bytes(DATA.replace(b"eval_2", b"eval_3"))
        assert "line 2 of the export is not in the original" in invariants.check_export([original], torn, [])
