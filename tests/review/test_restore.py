"""Restored versions of a decision: their content, permissions and conflicts."""

from uuid import uuid4

import pytest

from reviews.accounts.permissions import Denied
from reviews.models import AuditEvent, Evaluation, Overturn, Review, User
from reviews.records.conflicts import Conflict
from reviews.review.decisions import close, reopen, revise
from reviews.review.undo import undo
from tests.support.factories import EvaluationFactory
from tests.support.lines import file_of, import_data, line
from tests.support.work import ORIGINS, SCORES, decide, restore_version

pytestmark = pytest.mark.django_db

OTHER_SCORES = SCORES | {"Clarity": {"score": "No", "justification": "Nothing follows."}}


@pytest.fixture
def first(ana: User) -> Review:
    return decide(EvaluationFactory.create(), ana, comments="Half of it.", causes={"Clarity": "too strict"})


@pytest.fixture
def record(first: Review, lea: User) -> Evaluation:
    """Decided by ana, and otherwise by lea."""
    return decide(first.evaluation, lea, by=revise, scores=OTHER_SCORES).evaluation


def test_restore_creates_new_version_with_older_content(record: Evaluation, first: Review, lea: User) -> None:
    review = restore_version(record, lea)
    record.refresh_from_db()
    assert (review.version, record.review) == (3, review)
    assert (review.corrected_scores, review.comments) == (SCORES, "Half of it.")
    assert (review.origins, review.causes) == (ORIGINS, {"Clarity": "too strict"})
    assert (record.human_corrected_scores, record.human_review_comments) == (SCORES, "Half of it.")
    assert (record.human_reviewer_id, record.human_review_status) == ("lea", "Completed")
    assert record.human_review_timestamp == review.submitted_at


def test_restore_event_names_version_and_reason(record: Evaluation, lea: User) -> None:
    restore_version(record, lea)
    event = AuditEvent.objects.get(action="restore")
    assert event.actor == lea
    assert event.detail["restored"] == 1
    assert event.detail["version"] == 3
    assert event.detail["reason"] == "It was right."
    human = event.detail["human"]
    assert [human[side]["human_review_status"] for side in ("before", "after")] == ["Completed", "Completed"]


@pytest.mark.slow
def test_restore_shows_overturned_reviewer_the_reason(record: Evaluation, max: User) -> None:
    review = restore_version(record, max)
    overturned = Overturn.objects.get(actor=max)
    assert (overturned.review.version, overturned.by, overturned.reason) == (2, review, "It was right.")


def test_restore_of_own_decision_is_allowed(first: Review, ana: User) -> None:
    second = decide(first.evaluation, ana, by=revise, scores=OTHER_SCORES)
    assert restore_version(second.evaluation, ana).corrected_scores == SCORES


def test_restore_over_decision_of_lead_is_denied(record: Evaluation, ana: User) -> None:
    with pytest.raises(Denied, match="You need the lead role"):
        restore_version(record, ana)


@pytest.mark.slow
def test_undone_version_can_be_restored(first: Review, ana: User) -> None:
    second = decide(first.evaluation, ana, by=revise, scores=OTHER_SCORES)
    undo(run=second.evaluation.run, actor=ana)
    assert restore_version(Evaluation.objects.get(), ana, 2).corrected_scores == OTHER_SCORES


def test_restored_version_without_scores_has_none(ana: User, lea: User) -> None:
    closed = close(evaluation_id=EvaluationFactory.create().pk, actor=lea, comments="Unreadable.")
    revised = decide(closed.evaluation, lea, by=revise)
    restore_version(revised.evaluation, lea)
    record = Evaluation.objects.get()
    assert (record.human_corrected_scores, record.human_review_comments) == (None, "Unreadable.")


@pytest.mark.slow
def test_restore_can_be_undone(record: Evaluation, lea: User) -> None:
    restore_version(record, lea)
    undone = undo(run=record.run, actor=lea).evaluation
    assert undone.human_corrected_scores == OTHER_SCORES
    assert undone.is_done


@pytest.mark.slow
def test_restore_on_changed_evidence_leaves_judge_scores_unknown(lea: User) -> None:
    import_data(file_of(line("eval_1")))
    decide(Evaluation.objects.get(), lea, judged={"Clarity": "Yes"})
    import_data(file_of(line("eval_1", aggregated_score="Fail")))
    second = decide(Evaluation.objects.get(), lea, scores=OTHER_SCORES, judged={"Clarity": "No"})
    third = restore_version(second.evaluation, lea)
    assert third.judged is None
    fourth = restore_version(third.evaluation, lea, 2)
    assert fourth.judged == {"Clarity": "No"}


def test_restore_of_current_version_is_a_conflict(record: Evaluation, lea: User) -> None:
    with pytest.raises(Conflict, match=r"^This version is already the current decision\.$"):
        restore_version(record, lea, 2)


def test_restore_of_record_in_queue_is_a_conflict(record: Evaluation, lea: User) -> None:
    reopen(evaluation_id=record.pk, actor=lea, reason="A second look")
    with pytest.raises(Conflict, match="This record is in the queue"):
        restore_version(Evaluation.objects.get(), lea)


def test_restore_of_changed_record_names_the_change(record: Evaluation, lea: User) -> None:
    restore_version(record, lea)
    record.version -= 1
    with pytest.raises(Conflict, match=r"^lea restored an earlier decision on this at "):
        restore_version(record, lea)


def test_restore_of_missing_version_is_not_found(record: Evaluation, lea: User) -> None:
    with pytest.raises(Review.DoesNotExist):
        restore_version(record, lea, 9)


def test_restore_sent_twice_creates_one_version(record: Evaluation, lea: User) -> None:
    submission = uuid4()
    one, other = (restore_version(record, lea, submission=submission) for _ in range(2))
    assert one == other
    assert record.reviews.count() == 3
