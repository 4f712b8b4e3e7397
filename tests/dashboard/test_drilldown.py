"""Overturned decisions are shown with the scores that differ."""

import pytest

from reviews.dashboard.drilldown import OverturnedDecision, describe_overturned
from reviews.dashboard.selection import WorkSelection
from reviews.models import Evaluation, User
from reviews.review import decisions
from reviews.review.decisions import revise
from tests.support.factories import EvaluationFactory
from tests.support.work import ORIGINS, SCORES, decide

pytestmark = pytest.mark.django_db

ALL_YES = {name: {**entry, "score": "Yes"} for name, entry in SCORES.items()}


@pytest.fixture
def decided(ana: User) -> Evaluation:
    record = EvaluationFactory.create()
    decide(record, ana)
    record.refresh_from_db()
    return record


def overturned(reviewer: User) -> list[OverturnedDecision]:
    return describe_overturned(WorkSelection(reviewer=reviewer))


def test_revised_decision_has_the_scores_and_the_verdict_that_differ(
    decided: Evaluation, ana: User, lea: User
) -> None:
    decide(decided, lea, by=revise, scores=ALL_YES, comments="It does conclude.")
    [one] = overturned(ana)
    assert one.changes == [("Conclusion Accuracy", "No", "Yes")]
    assert one.verdict_change == ("Fail", "Pass")
    assert (one.overturn.actor, one.overturn.reason) == (lea, "It does conclude.")
    assert overturned(lea) == []


def test_excluded_criterion_has_no_score_in_the_later_decision(
    decided: Evaluation, ana: User, lea: User
) -> None:
    kept = "Clarity"
    decide(decided, lea, by=revise, scores={kept: SCORES[kept]}, origins={kept: ORIGINS[kept]})
    [one] = overturned(ana)
    assert one.changes == [("Conclusion Accuracy", "No", "")]


def test_reopened_decision_has_its_reason_and_no_changes(decided: Evaluation, ana: User, lea: User) -> None:
    decisions.reopen(evaluation_id=decided.pk, actor=lea, reason="Look again.")
    [one] = overturned(ana)
    assert (one.changes, one.verdict_change, one.overturn.reason) == ([], None, "Look again.")
