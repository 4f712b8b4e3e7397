"""Agreement of blind scores: of two reviewers, and with the judge."""

import pytest

from reviews.dashboard.reviewer_pairs import BlindAgreement, blind_agreement, pair_agreements
from reviews.dashboard.selection import WorkSelection
from reviews.days import today
from reviews.models import Evaluation, Run, User
from reviews.records.scales import RangeScale
from reviews.records.status import COMPLETED
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.rubrics import rubric_data
from tests.support.work import lock_in_scores

pytestmark = pytest.mark.django_db

JUDGED = {"Clarity": "Yes", "Rigor": "No"}


def scored(run: Run, *given: tuple[User, str, str], status: str = COMPLETED) -> Evaluation:
    """Create a record with the blind scores for Clarity and Rigor of several people."""
    record = EvaluationFactory.create(run=run)
    for person, clarity, rigor in given:
        lock_in_scores(record, person, {"Clarity": clarity, "Rigor": rigor}, judged=JUDGED)
    Evaluation.objects.filter(pk=record.pk).update(human_review_status=status)
    return record


def test_pair_agreement_counts_criteria_that_both_scored_blind(
    run: Run, ana: User, bo: User, lea: User
) -> None:
    scored(run, (ana, "Yes", "No"), (bo, "Yes", "Yes"))
    scored(run, (bo, "No", "No"), (ana, "No", "No"), (lea, "Yes", "No"))
    scored(run, (ana, "Yes", "Yes"))
    found = {(pair.one, pair.other): pair[2:] for pair in pair_agreements(WorkSelection())}
    assert found == {(ana, bo): (2, 4, 3), (ana, lea): (1, 2, 1), (bo, lea): (1, 2, 1)}


def test_pair_agreement_leaves_out_records_in_the_queue_and_hidden_runs(
    run: Run, ana: User, bo: User
) -> None:
    scored(run, (ana, "Yes", "No"), (bo, "Yes", "No"), status="Needs Review")
    assert pair_agreements(WorkSelection()) == []
    scored(run, (ana, "Yes", "No"), (bo, "Yes", "No"))
    assert len(pair_agreements(WorkSelection(run))) == 1
    assert pair_agreements(WorkSelection(RunFactory.create())) == []
    assert pair_agreements(WorkSelection(hidden_runs=(run.pk,))) == []
    assert pair_agreements(WorkSelection(first=today())) != []
    assert WorkSelection(first=today()).before
    assert pair_agreements(WorkSelection(first=today()).before or WorkSelection()) == []


def test_equal_numbers_agree_with_and_without_decimals(run: Run, ana: User, bo: User) -> None:
    """Pipelines write 7.0 where the form of a review has 7."""
    record = EvaluationFactory.create(run=run)
    for person, depth in ((ana, 7), (bo, 7.0)):
        lock_in_scores(record, person, {"Depth": depth, "Form": 0.5}, judged={"Depth": 7.0, "Form": 0.50})
    Evaluation.objects.filter(pk=record.pk).update(human_review_status=COMPLETED)
    assert blind_agreement(WorkSelection()) == BlindAgreement(4, 4)
    [pair] = pair_agreements(WorkSelection())
    assert (pair.scores, pair.same) == (2, 2)


def test_equal_words_agree_in_any_case_and_with_outer_spaces(run: Run, ana: User, bo: User) -> None:
    record = EvaluationFactory.create(run=run)
    for person in (ana, bo):
        lock_in_scores(
            record, person, {"Depth": "Yes", "Form": "No"}, judged={"Depth": "YES", "Form": " no "}
        )
    assert blind_agreement(WorkSelection()) == BlindAgreement(4, 4)


def test_many_numbers_agree_within_a_fifth_of_their_range(run: Run, ana: User, bo: User) -> None:
    """As in the figures about the judge, which compare fifths if there are more than 15 possible scores."""
    Run.objects.filter(pk=run.pk).update(
        rubric=rubric_data("Depth", "Form", scale=RangeScale(0, 1, is_integer=False))
    )
    for number in range(10):
        record = EvaluationFactory.create(run=run)
        for person, depth in ((ana, number / 10), (bo, number / 10 + 0.05)):
            lock_in_scores(record, person, {"Depth": depth, "Form": 0.5}, judged={"Depth": 0.12})
        Evaluation.objects.filter(pk=record.pk).update(human_review_status=COMPLETED)
    [pair] = pair_agreements(WorkSelection())
    assert (pair.records, pair.scores, pair.same) == (10, 10, 10)
    assert blind_agreement(WorkSelection()) == BlindAgreement(20, 4)


def test_blind_agreement_compares_with_the_judge(run: Run, ana: User, bo: User) -> None:
    scored(run, (ana, "Yes", "Yes"), (bo, "Yes", "No"))
    assert blind_agreement(WorkSelection()) == BlindAgreement(4, 3)
    assert blind_agreement(WorkSelection(hidden_runs=(run.pk,))) == BlindAgreement(0, 0)
    assert blind_agreement(WorkSelection(last=today().replace(year=2020))) == BlindAgreement(0, 0)
