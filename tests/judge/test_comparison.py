"""Comparison of judges on the same responses, between runs and within a run."""

import pytest

from cognireview.types.estimates import Change
from reviews.judge.comparison import matches
from reviews.judge.comparison.paired import SIDES, Limits, compare_judges, compare_runs
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Rating, Run, User
from reviews.records.rubric import VerdictRule
from reviews.records.scales import RangeScale
from reviews.records.status import COMPLETED
from reviews.views.judge.filters import JudgeFilters
from reviews.views.judge.overview import comparison_cards
from tests.support.compared_runs import CASES, RatedOnce, rate_first, run_of
from tests.support.factories import UserFactory
from tests.support.gold import CLARITY, judged, rate
from tests.support.rubrics import rubric_data
from tests.support.work import lock_in_many

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="class")
def _rated_once(class_world: None) -> None:
    """Create the rated runs for the tests of a class, which undo their changes."""
    ana = UserFactory.create(username="ana", role="reviewer")
    rate_first(run_of("monday"), run_of("tuesday"), ana)


class TestRuns(RatedOnce):
    @pytest.mark.slow
    def test_ratings_of_one_run_apply_to_both_judges(self, first: Run, second: Run) -> None:
        found = compare_runs(first, JudgeScope(second))
        assert found.counts == {"both": 6, "first": 1, "second": 8, "neither": 3}
        assert found.first_accuracy.value == pytest.approx(7 / 18)
        assert found.second_accuracy.value == pytest.approx(14 / 18)
        assert found.difference.value == pytest.approx(7 / 18)
        assert found.difference.low is not None
        assert 0 < found.difference.low < 7 / 18
        assert (found.outcome, found.difference.n, found.difference.clusters) == ("better", 18, 18)
        assert sum(len(found.list_pairs(side)) for side in SIDES) == 18
        assert (found.responses, found.different) == (18, 9)

    def test_comparison_in_the_other_direction_is_reversed(self, first: Run, second: Run) -> None:
        forth, back = compare_runs(first, JudgeScope(second)), compare_runs(second, JudgeScope(first))
        assert back.difference.value == pytest.approx(-7 / 18)
        assert back.outcome == "worse"
        assert back.p == pytest.approx(forth.p)
        assert (back.counts["first"], back.counts["second"]) == (8, 1)

    def test_changes_are_named(self, first: Run, second: Run) -> None:
        assert compare_runs(first, JudgeScope(second)).changes == [Change("Judge", "judge-1", "judge-2")]
        Run.objects.filter(pk=second.pk).update(rubric=rubric_data(CLARITY, "Depth"))
        second.refresh_from_db()
        assert compare_runs(first, JudgeScope(second)).changes[1] == Change(
            "Rubric", "Clarity", "Clarity, Depth"
        )

    def test_ratings_are_weighted_by_their_probability(self, first: Run, second: Run) -> None:
        only_second = Rating.objects.filter(evaluation__run=first, cell__judge="Pass", cell__human="Fail")
        only_second.filter(evaluation__task_id="7").update(probability=0.1)
        found = compare_runs(first, JudgeScope(second))
        assert found.difference.value == pytest.approx((10 + 7 - 1) / (10 + 8) * 9 / 18)
        assert found.difference.n == 18

    @pytest.mark.slow
    def test_unflagged_responses_without_ratings_are_not_described(self, first: Run, second: Run) -> None:
        for run in (first, second):
            judged(run, ["Pass"] * 2, tasks=["u", "v"], needs_human_review=False)
        found = compare_runs(first, JudgeScope(second))
        assert found.responses == 18
        assert found.difference.value == pytest.approx(7 / 18)
        assert any("do not describe 2 unflagged responses" in note for note in found.notes)

    def test_differing_responses_without_ratings_widen_the_interval(self, first: Run, second: Run) -> None:
        judged(first, ["Pass"] * 2, tasks=["u", "v"], needs_human_review=False)
        judged(second, ["Fail"] * 2, tasks=["u", "v"])
        before = compare_runs(first, JudgeScope(second))
        assert before.difference.low is not None
        assert any("No rating represents 2 responses" in note for note in before.notes)

    def test_criteria_are_compared_by_score(self, first: Run, second: Run) -> None:
        [clarity] = compare_runs(first, JudgeScope(second)).criteria
        assert clarity.criterion == CLARITY
        assert clarity.first_accuracy.value == pytest.approx(7 / 18)
        assert clarity.second_accuracy.value == pytest.approx(14 / 18)
        assert clarity.difference.value == pytest.approx(7 / 18)
        assert clarity.p < 0.05

    def test_several_records_of_a_response_share_its_weight(self, first: Run, second: Run) -> None:
        again = judged(second, ["Fail"], tasks=["0"], judge_llm_model="judge-2")
        found = compare_runs(first, JudgeScope(second))
        assert sum(found.counts.values()) == 19
        assert found.second_accuracy.value == pytest.approx((14 - 0.5) / 18)
        assert again[0].pk in {pair.second.record for pair in found.list_pairs("first")}

    def test_response_with_many_records_forms_a_limited_number_of_pairs(
        self, first: Run, second: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        judged(second, ["Fail"], tasks=["0"], judge_llm_model="judge-2")
        monkeypatch.setattr(matches, "MOST_PARTNERS", 1)
        found = compare_runs(first, JudgeScope(second))
        assert found.n == 18
        assert found.second_accuracy.value == pytest.approx((14 - 0.5) / 18)


def test_many_numbers_of_a_criterion_are_compared_as_fifths_of_their_range(
    first: Run, second: Run, ana: User
) -> None:
    scale, rule = RangeScale(0, 1, is_integer=False), VerdictRule("mean", pass_from=0.5)
    Run.objects.update(rubric=rubric_data(CLARITY, scale=scale, rule=rule))
    for run in (first, second):
        run.refresh_from_db()
    for number in range(20):
        score, tasks = number / 20, [str(number)]
        records = [
            judged(run, ["Pass"], tasks=tasks, parsed_rubric_scores={CLARITY: {"score": given}})
            for run, given in ((first, score), (second, 1 - score))
        ]
        lock_in_many(records[0], ana, [{CLARITY: score + 0.01}])
    Evaluation.objects.update(human_review_status=COMPLETED)
    [clarity] = compare_runs(first, JudgeScope(second)).criteria
    assert clarity.first_accuracy.value == 1
    assert clarity.second_accuracy.value is not None
    assert clarity.second_accuracy.value < 0.4


def test_ratings_of_records_that_represent_no_others_do_not_count(first: Run, second: Run, ana: User) -> None:
    rate(judged(first, ["Pass"], needs_human_review=False), ana, ["Pass"])
    judged(second, ["Pass"])
    assert compare_runs(first, JudgeScope(second)).n == 0


class TestJudges:
    def test_judges_of_one_run_are_compared_on_the_same_responses(self, first: Run, ana: User) -> None:
        records = judged(first, [case[0] for case in CASES])
        judged(first, [case[1] for case in CASES], judge_llm_model="judge-2")
        rate(records, ana, [case[2] for case in CASES])
        [found] = compare_judges(JudgeScope(first))
        assert (found.first, found.second) == ("judge-1", "judge-2")
        assert found.difference.value == pytest.approx(7 / 18)

    def test_prompts_are_compared_with_ratings_of_either(self, first: Run, ana: User, bo: User) -> None:
        old = judged(first, ["Pass", "Pass"])
        new = judged(first, ["Fail", "Fail"], judge_prompt_template_path="v2")
        rate(old[:1], ana, ["Fail"])
        rate(new[1:], bo, ["Fail"])
        [found] = compare_judges(JudgeScope(first))
        assert (found.first, found.second) == ("prompts/judge.txt", "v2")
        assert found.counts == {"both": 0, "first": 0, "second": 2, "neither": 0}
        assert found.changes == [Change("Prompt", "prompts/judge.txt", "v2")]
        [card] = comparison_cards(JudgeFilters(JudgeScope(first), (), {}))
        assert [(mark.title, mark.text) for mark in card.marks] == [("Prompt", "judge.txt → v2")]

    def test_run_with_one_judge_has_nothing_to_compare(self, first: Run, ana: User) -> None:
        rate(judged(first, ["Pass"]), ana, ["Pass"])
        assert compare_judges(JudgeScope(first)) == ()


class TestParts:
    """Runs with several judges or prompts in common are compared for each of them, too."""

    @pytest.mark.slow
    def test_runs_with_two_judges_are_compared_by_judge(self, first: Run, second: Run, ana: User) -> None:
        for judge, verdicts in (("judge-1", ["Fail", "Pass"]), ("judge-2", ["Fail", "Fail"])):
            for run, verdict in zip((first, second), verdicts, strict=True):
                records = judged(run, [verdict] * 12, judge_llm_model=judge)
                rate(records, ana, ["Pass"] * 12)
        found = compare_runs(first, JudgeScope(second))
        assert [(part.kind, part.name, part.difference.value) for part in found.parts] == [
            ("Judge", "judge-1", 1),
            ("Judge", "judge-2", 0),
        ]
        assert found.difference.value == pytest.approx(0.5)
        sample = compare_runs(first, JudgeScope(second), Limits(records=20))
        assert [part.name for part in sample.parts] == ["judge-1", "judge-2"]
        assert sample.difference.value == pytest.approx(0.5, abs=0.2)

    @pytest.mark.slow
    @pytest.mark.usefixtures("rated")
    def test_runs_with_one_judge_each_have_no_parts(self, first: Run, second: Run) -> None:
        assert compare_runs(first, JudgeScope(second)).parts == []
