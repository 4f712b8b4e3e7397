"""Pages compare all rated responses and a random sample of the others."""

from typing import Any

import numpy as np
import pytest

from cognireview.types import judge as types
from cognireview.types.encoding import members
from reviews.judge.comparison import judged_records
from reviews.judge.comparison.paired import Limits, compare_judges, compare_runs
from reviews.judge.scope import JudgeScope
from reviews.models import Rating, Run, User
from tests.support.compared_runs import CASES
from tests.support.gold import judged, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def judge_others(*runs: Run, **values: Any) -> None:
    """Import 200 responses that nobody rated, on which all judges agree."""
    for run in runs:
        judged(run, ["Pass"] * 200, tasks=[f"other {number}" for number in range(200)], **values)


@pytest.mark.usefixtures("rated")
def test_rated_responses_and_a_sample_of_the_others_are_compared(first: Run, second: Run) -> None:
    judge_others(first, second)
    whole, sample = (
        compare_runs(first, JudgeScope(second)),
        compare_runs(first, JudgeScope(second), Limits(records=40)),
    )
    assert (whole.responses, whole.n) == (218, 18)
    assert (sample.counts, sample.n) == (whole.counts, 18)
    assert 40 < sample.responses < 59
    assert sample.notes[0].startswith(f"Compared: {sample.responses} common responses, up to 40 rated ones")
    assert not any("sample" in note for note in whole.notes)


@pytest.mark.usefixtures("rated")
def test_sampled_responses_represent_the_others(first: Run, second: Run) -> None:
    judge_others(first, second)
    found = compare_runs(first, JudgeScope(second), Limits(records=40))
    assert found.difference.value == pytest.approx(7 / 218, rel=0.3)
    assert 7 / found.responses > 3 * 7 / 218


@pytest.mark.usefixtures("rated")
def test_many_rated_responses_are_sampled_too(first: Run, second: Run) -> None:
    judge_others(first, second)
    rated = [one.evaluation_id for one in Rating.objects.filter(cell__criterion=None)]
    scopes, judges = (JudgeScope(first), JudgeScope(second)), ((), ())
    selected = judged_records.select_records(scopes, judges, 40)
    side, _ = judged_records.add_rated(selected, scopes, judges, np.array(rated), 10)
    is_rated = np.isin(side.record, rated)
    assert is_rated.sum() == 10
    assert side.weight[is_rated].sum() == pytest.approx(18, rel=0.5)
    assert side.weight.sum() == pytest.approx(218, rel=0.4)


@pytest.mark.usefixtures("rated")
def test_few_common_responses_are_all_compared(first: Run, second: Run) -> None:
    judged(second, ["Pass"] * 30, tasks=[f"other {number}" for number in range(30)])
    whole, limited = (
        compare_runs(first, JudgeScope(second)),
        compare_runs(first, JudgeScope(second), Limits(records=18)),
    )
    assert members(types.Comparison, limited) == members(types.Comparison, whole)


def test_sample_within_a_run_has_all_judges_of_a_response(first: Run, ana: User) -> None:
    rate(judged(first, [case[0] for case in CASES]), ana, [case[2] for case in CASES])
    judged(first, [case[1] for case in CASES], judge_llm_model="judge-2")
    judge_others(first)
    judge_others(first, judge_llm_model="judge-2")
    [found] = compare_judges(JudgeScope(first), Limits(records=40))
    assert found.n == 18
    assert 18 < found.responses < 40
