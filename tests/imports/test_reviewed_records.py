"""Imports of records that people have reviewed since."""

import json

import pytest
from django.db import transaction

from reviews.models import Evaluation, User
from reviews.queue import claims
from reviews.review import decisions
from tests.support.factories import UserFactory
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.repeated_imports import THREE, evaluation, outcomes
from tests.support.threads import start_and_wait_for_lock
from tests.support.work import decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestNewerEvidenceAfterReview:
    """The review is kept, but outdated: it was based on other evidence."""

    NEWER = line(task_id="4712", model_id="other")

    @pytest.fixture
    def reviewed(self, ana: User) -> Evaluation:
        import_data(file_of(line()))
        decide(evaluation(), ana, comments="Checked.")
        return evaluation()

    @pytest.mark.slow
    def test_new_evidence_for_a_reviewed_record_is_accepted_and_reported(self, reviewed: Evaluation) -> None:
        again = import_data(file_of(self.NEWER))
        sentence = "task_id, model_id taken from the file: the review by ana is kept, but outdated"
        assert outcomes(again) == [(1, "updated", "", sentence)]
        assert (evaluation().task_id, evaluation().is_outdated) == ("4712", True)
        assert evaluation().version == reviewed.version + 1

    @pytest.mark.slow
    def test_new_evidence_returns_a_reviewed_record_to_the_queue(self, reviewed: Evaluation) -> None:
        import_data(file_of(self.NEWER))
        assert evaluation().human_review_status == "Needs Review"
        kept = ("human_reviewer_id", "human_review_timestamp", "human_corrected_scores", "review_id")
        assert [getattr(evaluation(), name) for name in kept] == [getattr(reviewed, name) for name in kept]
        assert claims.claim_next(run=reviewed.run, reviewer=UserFactory.create(role="reviewer")) == reviewed

    @pytest.mark.slow
    def test_new_evidence_is_exported_with_the_outdated_review(self, reviewed: Evaluation) -> None:
        """A record with unreviewed evidence never counts as done."""
        before = json.loads(export_data())
        import_data(file_of(self.NEWER))
        exported = json.loads(export_data())
        assert exported == before | {
            "task_id": "4712", "model_id": "other", "human_review_status": "Needs Review",
        }  # fmt: skip
        assert export_data(only="reviewed") == b""

    @pytest.mark.slow
    def test_outdated_review_counts_again_after_a_new_decision(self, reviewed: Evaluation, bo: User) -> None:
        import_data(file_of(self.NEWER))
        review = decide(evaluation(), bo)
        assert (review.version, evaluation().review, evaluation().is_outdated) == (2, review, False)
        assert json.loads(export_data())["human_reviewer_id"] == "bo"
        assert import_data(file_of(self.NEWER)).unchanged == 1

    @pytest.mark.slow
    def test_new_evidence_may_be_imported_repeatedly(self, reviewed: Evaluation) -> None:
        for number in range(3):
            assert import_data(file_of(line(task_id=f"again {number}"))).updated == 1
        assert (evaluation().is_outdated, evaluation().human_reviewer_id) == (True, "ana")

    def test_respelled_evidence_keeps_the_review(self, reviewed: Evaluation) -> None:
        import_data(file_of(self.NEWER))
        again = import_data(file_of(self.NEWER.replace(b'"4712"', rb'"\u0034712"')))
        assert (again.updated, evaluation().is_outdated) == (1, True)

    @pytest.mark.slow
    @pytest.mark.parametrize("when", ["before", "after"])
    def test_our_own_export_is_no_conflict(self, reviewed: Evaluation, when: str) -> None:
        before = export_data()
        import_data(file_of(self.NEWER))
        exported = export_data()
        again = import_data(before if when == "before" else exported)
        assert again.conflicts == 0
        assert evaluation().is_outdated
        assert evaluation().human_corrected_scores == reviewed.human_corrected_scores

    def test_new_evidence_with_another_decision_is_a_conflict(self, reviewed: Evaluation) -> None:
        again = import_data(file_of(line(task_id="4712", human_review_comments="Not so.")))
        sentence = (
            "task_id, human_review_comments changed in the file: its evidence is taken, "
            "the review by ana is kept until a lead resolves the conflict"
        )
        assert outcomes(again) == [(1, "conflict", "", sentence)]
        assert (evaluation().task_id, evaluation().human_review_comments) == ("4712", "Checked.")
        assert evaluation().is_outdated


class TestImportedHumanValues:
    @pytest.mark.slow
    def test_human_values_of_a_file_are_accepted_without_a_review_here(self) -> None:
        import_data(file_of(line()))
        decided = line(
            human_review_status="Reviewed",
            human_reviewer_id="carla",
            human_review_timestamp="2026-11-19T10:00:00Z",
            human_corrected_scores={"Clarity": {"score": "No"}},
        )
        again = import_data(file_of(decided))
        assert again.updated == 1
        assert (evaluation().human_review_status, evaluation().human_reviewer_id) == ("Reviewed", "carla")
        assert export_data() == file_of(decided)

    @pytest.mark.slow
    def test_different_human_values_are_a_conflict(self, ana: User) -> None:
        import_data(file_of(line()))
        decide(evaluation(), ana)
        again = import_data(file_of(line(human_review_comments="Not so.")))
        sentence = "changed in the file: the review by ana is kept until a lead resolves the conflict"
        assert outcomes(again) == [(1, "conflict", "human_review_comments", sentence)]
        assert (again.conflicts, evaluation().human_review_comments) == (1, None)

    @pytest.mark.slow
    def test_exported_human_values_are_the_current_decision(self, ana: User) -> None:
        import_data(file_of(THREE[0], b"", THREE[1], b"no record", THREE[2], b"", b""))
        decide(
            evaluation("eval_2"), ana, comments="Zähler und Nenner ≠ vertauscht", scores={"A": {"score": 0.1}}
        )
        exported = export_data()
        before = evaluation("eval_2")
        again = import_data(exported)
        assert (again.unchanged, again.blank, again.lines) == (3, 3, 6)
        assert outcomes(again)[1] == (3, "unchanged", "", "has the current decision")
        assert Evaluation.objects.filter(pk=before.pk).values().get() == {
            field.attname: getattr(before, field.attname) for field in Evaluation._meta.concrete_fields
        }
        assert export_data() == exported

    @pytest.mark.parametrize(
        ("comment", "outcome"), [(b"null", "unchanged"), (b'"Not so."', "conflict")], ids=["same", "another"]
    )
    def test_exported_human_values_of_a_reopened_record_are_unchanged(
        self, ana: User, lea: User, comment: bytes, outcome: str
    ) -> None:
        import_data(file_of(line()))
        decide(evaluation(), ana)
        exported = export_data().replace(
            b'"human_review_comments": null', b'"human_review_comments": ' + comment
        )
        decisions.reopen(evaluation_id=evaluation().pk, actor=lea, reason="Look again.")
        again = import_data(exported)
        assert [found for _, found, _, _ in outcomes(again)] == [outcome]
        kept = evaluation()
        assert (kept.human_review_status, kept.human_review_comments) == ("Needs Review", None)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_concurrent_review_is_not_overwritten_by_an_import() -> None:
    ana = UserFactory.create(username="ana", role="reviewer")
    import_data(file_of(line()))
    with transaction.atomic():
        decide(evaluation(), ana)
        waiting = start_and_wait_for_lock(lambda: import_data(file_of(line(task_id="4712"))))
    assert waiting.result().updated == 1
    assert (evaluation().human_reviewer_id, evaluation().is_outdated) == ("ana", True)
