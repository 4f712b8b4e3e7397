"""Agreement between reviewers."""

import pytest

from reviews.judge import reviewer_agreement
from reviews.models import AgreementPattern, Run
from reviews.statistics import reliability
from tests.support.factories import RunFactory
from tests.support.rubrics import rubric_data

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create(rubric=rubric_data("Rigor", "Clarity"))


def gave(run: Run, criterion: str | None, patterns: dict[str, int]) -> None:
    """Store score patterns: a JSON array of scores -> the number of records with these scores."""
    for pattern, records in patterns.items():
        AgreementPattern.objects.create(run=run, criterion=criterion, pattern=pattern, evaluations=records)


def test_reviewer_agreement_is_empty_without_a_second_review(run: Run) -> None:
    assert reviewer_agreement.measure_reviewer_agreement(run) == ()


def test_verdict_precedes_criteria_in_rubric_order(run: Run) -> None:
    for criterion in (None, "Another", "Clarity", "Rigor"):
        gave(run, criterion, {'["Yes", "Yes"]': 1})
    assert [one.title for one in reviewer_agreement.measure_reviewer_agreement(run)] == [
        "Verdict",
        "Rigor",
        "Clarity",
        "Another",
    ]


def test_reviewer_agreement_has_alpha_with_its_interval(run: Run) -> None:
    gave(run, "Rigor", {'["Yes", "Yes"]': 6, '["No", "No"]': 5, '["No", "Yes"]': 1, '["Partial", "Yes"]': 1})
    [rigor] = reviewer_agreement.measure_reviewer_agreement(run)
    units = {("a", "a"): 6, ("c", "c"): 5, ("a", "c"): 1, ("a", "b"): 1}
    assert rigor.alpha == reliability.alpha(units)
    ordinal = reliability.alpha(units, order=["a", "b", "c"])
    assert rigor.ordinal_alpha.value == pytest.approx(ordinal.value)
    assert rigor.ordinal_alpha.value != pytest.approx(rigor.alpha.value)
    assert (rigor.unanimous.value, rigor.unanimous.n) == (11 / 13, 13)
    assert rigor.fleiss_kappa == reliability.fleiss_kappa(units)


def test_equal_numbers_are_the_same_score(run: Run) -> None:
    gave(run, "Rigor", {"[4, 4.0]": 3, "[1, true]": 1})
    [rigor] = reviewer_agreement.measure_reviewer_agreement(run)
    assert (rigor.unanimous.value, rigor.unanimous.n) == (0.75, 4)


def test_undefined_agreement_has_a_reason(run: Run) -> None:
    gave(run, "Rigor", {'["Yes", "Yes"]': 4})
    [rigor] = reviewer_agreement.measure_reviewer_agreement(run)
    assert rigor.alpha.value is None
    assert rigor.as_json()["alpha"]["why"] == rigor.alpha.why != ""
