"""Agreement between reviewers who scored the same records blind."""

from collections.abc import Mapping
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from cognireview.types.encoding import encode
from cognireview.types.estimates import Estimate
from cognireview.types.report_parts import ReviewerAgreement
from reviews.judge import reviewer_agreement
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Run, User
from reviews.records.scales import RangeScale
from reviews.statistics import intervals, reliability
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.joint import rate_together
from tests.support.rubrics import rubric_data
from tests.support.work import decide, lock_in_scores

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create(rubric=rubric_data("Rigor", "Clarity"), blind_share=1)


def measured(run: Run, **scope: Any) -> Mapping[str, ReviewerAgreement]:
    found = reviewer_agreement.measure_reviewer_agreement(JudgeScope(run, **scope))
    return {one.criterion or "Verdict": one for one in found}


def width(estimate: Estimate) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.high - estimate.low


def test_reviewer_agreement_is_empty_without_a_second_rating(run: Run, ana: User) -> None:
    lock_in_scores(EvaluationFactory.create(run=run), ana, {"Rigor": "Yes"})
    assert measured(run) == {}


def test_verdict_precedes_criteria_in_rubric_order(run: Run, ana: User, bo: User) -> None:
    for criterion in ("Another", "Clarity", "Rigor", None):
        score = "Yes" if criterion else "Pass"
        rate_together(run, [ana, bo], [(score, [score, score])], criterion=criterion)
    assert [*measured(run)] == ["Verdict", "Rigor", "Clarity", "Another"]


def test_reviewer_agreement_has_alpha_with_its_interval(run: Run, ana: User, bo: User) -> None:
    counts = {("Yes", "Yes"): 6, ("No", "No"): 5, ("No", "Yes"): 1, ("Yes", "Partial"): 1}
    scores = [("Yes", pattern) for pattern, records in counts.items() for _ in range(records)]
    rate_together(run, [ana, bo], scores, criterion="Rigor")
    rigor = measured(run)["Rigor"]
    units = {("a", "a"): 6, ("c", "c"): 5, ("a", "c"): 1, ("a", "b"): 1}
    expected = reliability.alpha(units)
    assert (rigor.alpha.value, rigor.alpha.low) == pytest.approx((expected.value, expected.low))
    ordinal = reliability.alpha(units, order=["a", "b", "c"])
    assert rigor.ordinal_alpha.value == pytest.approx(ordinal.value)
    assert rigor.ordinal_alpha.value != pytest.approx(rigor.alpha.value)
    assert (rigor.unanimous.value, rigor.unanimous.n) == (11 / 13, 13)
    assert rigor.fleiss_kappa.value == pytest.approx(reliability.fleiss_kappa(units).value)


def test_reviewer_agreement_is_about_all_records_of_the_run(run: Run, ana: User, bo: User) -> None:
    rate_together(run, [ana, bo], [("Pass", ["Pass", "Fail"])] * 4, probability=1)
    rate_together(
        run, [ana, bo], [("Pass", ["Pass", "Pass"])] * 2, is_flagged=False, is_sampled=True, probability=0.1
    )
    # Picked records represent no others.
    rate_together(run, [ana, bo], [("Pass", ["Fail", "Fail"])] * 7, is_flagged=False)
    verdict = measured(run)["Verdict"]
    assert verdict.unanimous.value == pytest.approx(20 / 24)
    assert verdict.unanimous.n == verdict.alpha.n == 6
    # Records of unequal weight count as fewer.
    assert width(verdict.unanimous) > width(intervals.wilson(5, 6))


def test_scores_before_the_reveal_count_and_decisions_do_not(run: Run, ana: User, bo: User) -> None:
    """Both reviewers change their score to the judge's after the reveal."""
    judged = {"Rigor": "Yes"}
    record, other = EvaluationFactory.create_batch(2, run=run)
    for person, score in ((ana, "No"), (bo, "Partial")):
        lock_in_scores(record, person, {"Rigor": score}, judged=judged)
    for one in (record, other):
        decide(Evaluation.objects.get(pk=one.pk), ana, scores={"Rigor": {"score": "Yes"}}, origins={})
    rigor = measured(run)["Rigor"]
    assert (rigor.unanimous.value, rigor.unanimous.n) == (0, 1)


def test_reviewer_agreement_counts_the_records_of_the_scope(run: Run, ana: User, bo: User) -> None:
    rate_together(run, [ana, bo], [("Pass", ["Pass", "Fail"])] * 3)
    rate_together(run, [ana, bo], [("Pass", ["Pass", "Pass"])] * 2, judge="judge-2")
    assert measured(run)["Verdict"].unanimous.n == 5
    assert measured(run, judge="judge-2")["Verdict"].unanimous.value == 1
    assert measured(run, reviewer=ana)["Verdict"].unanimous.n == 5


def test_reviewers_without_a_score_are_left_out(run: Run, ana: User, bo: User, lea: User) -> None:
    rate_together(
        run, [ana, bo, lea], [("Yes", ["Yes", None, "No"]), (None, ["Yes", None, None])], criterion="Rigor"
    )
    rigor = measured(run)["Rigor"]
    assert (rigor.unanimous.value, rigor.unanimous.n) == (0, 1)


def test_undefined_agreement_has_a_reason(run: Run, ana: User, bo: User) -> None:
    rate_together(run, [ana, bo], [("Yes", ["Yes", "Yes"])] * 4, criterion="Rigor")
    rigor = measured(run)["Rigor"]
    assert rigor.alpha.value is None
    assert encode(ReviewerAgreement, rigor)["alpha"]["why"] == rigor.alpha.why != ""


def test_reviewer_agreement_takes_two_queries(
    run: Run, ana: User, bo: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for criterion in (None, "Rigor", "Clarity"):
        rate_together(run, [ana, bo], [("Pass", ["Pass", "Fail"])] * 2, criterion=criterion)
    with django_assert_num_queries(2):
        measured(run)


def test_few_continuous_scores_agree_within_a_fifth_of_their_range(run: Run, ana: User, bo: User) -> None:
    run.rubric = rubric_data("Rigor", scale=RangeScale(0, 1, is_integer=False))
    run.save()
    scores = [("0.5", ["0.61", "0.62"]), ("0.5", ["0.11", "0.12"]), ("0.5", ["0.31", "0.72"])]
    rate_together(run, [ana, bo], scores, criterion="Rigor")
    assert measured(run)["Rigor"].unanimous.value == pytest.approx(2 / 3)
