"""Judge accuracy measured by current decisions."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from cognireview.types import report_parts
from cognireview.types.encoding import encode
from cognireview.types.estimates import Part
from cognireview.types.report_parts import JudgeGroup
from reviews.judge.accuracy import BASES, PARTS, compare_with_humans, estimate_accuracy
from reviews.judge.accuracy_figures import AccuracyFigures, parts_sentence
from reviews.judge.missed_errors import estimate_missed_errors
from reviews.judge.scope import JudgeScope, scope_choices
from reviews.models import Evaluation, Run, RunCount, User
from reviews.records.scales import RangeScale
from reviews.review import decisions, undo
from reviews.search import strata
from tests.support.factories import RunFactory
from tests.support.population import count_records, rated, stratum
from tests.support.rubrics import rubric_data
from tests.support.work import decide, evaluations, lock_in_scores

pytestmark = pytest.mark.django_db

CLARITY = "Clarity"
JUDGED = {CLARITY: "Yes"}


@pytest.fixture
def run() -> Run:
    return RunFactory.create(rubric=rubric_data(CLARITY, "Depth"), blind_share=0)


def review(
    run: Run,
    reviewer: User,
    human: Mapping[str, Any],
    *,
    judge: Mapping[str, Any] | None = JUDGED,
    blind: Mapping[str, Any] | None = None,
    verdict: str | None = None,
    **record: Any,
) -> Evaluation:
    """Create a decided record. `human`, `judge` and `blind` map criteria to scores."""
    [evaluation] = evaluations(run, tasks=["1"], aggregated_score=verdict, **record)
    if blind is not None:
        lock_in_scores(evaluation, reviewer, blind, judged=judge)
    scores = {name: {"score": score, "justification": ""} for name, score in human.items()}
    decide(evaluation, reviewer, scores=scores, origins=dict.fromkeys(scores, "human"), judged=judge)
    return evaluation


def only(found: tuple[AccuracyFigures, ...], criterion: str | None = CLARITY) -> AccuracyFigures:
    [figures] = [one for one in found if (one.criterion, one.part) == (criterion, "run")]
    return figures


class TestConfusionMatrix:
    def test_confusion_matrix_has_judge_by_human_in_rubric_order(self, run: Run, ana: User, bo: User) -> None:
        review(run, ana, {CLARITY: "Yes"})
        review(run, bo, {CLARITY: "Yes"})
        review(run, ana, {CLARITY: "No"})
        review(run, ana, {CLARITY: "Partial"}, judge={CLARITY: "No"})
        figures = only(compare_with_humans(JudgeScope(run)).overall)
        assert [category.label for category in figures.table.categories] == ["Yes", "Partial", "No"]
        assert figures.table.counts == ((2, 0, 1), (0, 0, 0), (0, 1, 0))
        assert (figures.n, figures.title, figures.basis) == (4, "Clarity", "assisted")
        assert (figures.accuracy.value, figures.accuracy.n) == (0.5, 4)
        assert (figures.false_pass.value, figures.false_pass.n) == (1, 1)
        assert figures.leniency.value == 0

    def test_verdict_figures_come_first(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "No", "Depth": "Yes"}, judge={CLARITY: "Yes", "Depth": "Yes"})
        found = compare_with_humans(JudgeScope(run)).overall
        assert [one.title for one in found if one.part == "run"] == ["Verdict", "Clarity", "Depth"]
        assert found[0].table.counts == ((0, 0, 1), (0, 0, 0), (0, 0, 0))
        assert (found[0].false_pass.value, found[0].false_pass.n) == (1, 1)

    @pytest.mark.slow
    def test_confusion_matrix_counts_current_decisions(self, run: Run, ana: User, lea: User) -> None:
        evaluation = review(run, ana, {CLARITY: "No"})
        assert only(compare_with_humans(JudgeScope(run)).overall).n == 1
        decided = Evaluation.objects.get(pk=evaluation.pk)
        right = {CLARITY: {"score": "Yes", "justification": ""}}
        decide(decided, lea, by=decisions.revise, scores=right, origins={CLARITY: "human"}, judged=JUDGED)
        assert only(compare_with_humans(JudgeScope(run)).overall).accuracy.value == 1
        undo.undo(run=run, actor=lea)
        assert only(compare_with_humans(JudgeScope(run)).overall).accuracy.value == 0
        undo.undo(run=run, actor=ana)
        assert compare_with_humans(JudgeScope(run)).overall == ()

    def test_decisions_without_known_judge_scores_are_not_counted(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "No"}, judge=None)
        assert compare_with_humans(JudgeScope(run)).overall == ()

    def test_pairs_with_only_one_score_are_counted_separately(self, run: Run, ana: User) -> None:
        both = {CLARITY: "Yes", "Depth": "Yes"}
        review(run, ana, {CLARITY: "Yes"}, judge=both)
        review(run, ana, both, judge={CLARITY: "Yes", "Depth": None})
        review(run, ana, both, judge=both)
        figures = only(compare_with_humans(JudgeScope(run)).overall, "Depth")
        assert (figures.n, figures.judge_only, figures.human_only) == (1, 1, 1)

    def test_unknown_scores_get_a_category(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "Yes"}, judge={CLARITY: "mostly, but…"})
        review(run, ana, {CLARITY: 4}, judge={CLARITY: True})
        review(run, ana, {CLARITY: "Yes"}, judge={CLARITY: "x" * 500})
        review(run, ana, {CLARITY: "Yes"}, judge={CLARITY: {"nested": 1}})
        figures = only(compare_with_humans(JudgeScope(run)).overall)
        labels = {category.label for category in figures.table.categories}
        assert {"Yes", "Partial", "No", "mostly, but…", "4", "true"} < labels
        assert (figures.n, figures.accuracy.value, figures.human_only) == (3, 0, 1)
        assert figures.false_pass.value is None
        assert encode(report_parts.PartMetrics, figures)

    @pytest.mark.slow
    def test_many_scores_are_grouped_by_level(self, run: Run, ana: User) -> None:
        run.rubric = rubric_data(CLARITY, scale=RangeScale(0, 100, pass_from=60, partial_from=30))
        run.save()
        for number in range(20):
            review(run, ana, {CLARITY: 90 if number else "none"}, judge={CLARITY: 5 * number})
        figures = only(compare_with_humans(JudgeScope(run)).overall)
        assert [category.label for category in figures.table.categories] == [
            "counts as Yes",
            "counts as Partial",
            "counts as No",
        ]
        assert figures.table.counts == ((8, 0, 0), (6, 0, 0), (5, 0, 0))
        assert figures.out_of_scale == 1

    @pytest.mark.slow
    def test_numbers_without_a_limit_for_passing_are_compared_as_fifths_of_their_range(
        self, run: Run, ana: User
    ) -> None:
        run.rubric = rubric_data(CLARITY, scale=RangeScale(0, 1, is_integer=False))
        run.save()
        for number in range(20):
            review(run, ana, {CLARITY: 0.5}, judge={CLARITY: number / 32})
        found = compare_with_humans(JudgeScope(run)).overall
        figures = only(found)
        assert (figures.n, figures.out_of_scale, figures.accuracy.value) == (20, 0, 7 / 20)
        assert figures.leniency.value == pytest.approx(-13 / 20)
        assert figures.false_pass.value is None
        assert parts_sentence(found).startswith(
            "Clarity: scores count as equal if they are in the same fifth"
        )

    @pytest.mark.slow
    def test_scores_outside_of_a_wide_range_have_no_figures_and_say_why(self, run: Run, ana: User) -> None:
        run.rubric = rubric_data(CLARITY, scale=RangeScale(0, 1, is_integer=False))
        run.save()
        for number in range(20):
            review(run, ana, {CLARITY: 0.5}, judge={CLARITY: 2 + number})
        found = compare_with_humans(JudgeScope(run)).overall
        figures = only(found)
        assert (figures.n, figures.out_of_scale, figures.accuracy.value) == (0, 20, None)
        assert "Check the scale" in figures.accuracy.why


class TestParts:
    def test_blind_and_assisted_ratings_are_counted_separately(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "Yes"})
        review(run, ana, {CLARITY: "Yes"}, blind={CLARITY: "No"})
        strata.recount(run, {})
        found = [
            one
            for one in compare_with_humans(JudgeScope(run)).overall
            if (one.criterion, one.part) == (CLARITY, "run")
        ]
        assert [(one.basis, one.accuracy.value) for one in found] == [("blind", 0), ("assisted", 1)]

    def test_blind_verdict_comes_from_blind_scores(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "Yes"}, blind={CLARITY: "No"})
        strata.recount(run, {})
        assert only(compare_with_humans(JudgeScope(run)).overall, None).table.counts[0] == (0, 0, 1)

    @pytest.mark.parametrize(
        ("record", "parts"),
        [
            ({}, ["run", "flagged"]),
            ({"needs_human_review": False, "is_sampled": True}, ["run", "unflagged"]),
            ({"needs_human_review": False}, ["run", "unflagged"]),
        ],
    )
    def test_flagged_and_unflagged_records_are_counted_separately(
        self, run: Run, ana: User, record: dict[str, Any], parts: list[Part]
    ) -> None:
        review(run, ana, {CLARITY: "No"}, **record)
        found = compare_with_humans(JudgeScope(run))
        assert [one.part for one in found.overall if one.criterion is None] == parts
        assert dict(found.ratings) == {("assisted", part): 1 for part in parts}

    def test_blind_ratings_of_unflagged_records_that_were_not_sampled_do_not_count(
        self, run: Run, ana: User
    ) -> None:
        review(run, ana, {CLARITY: "No"}, blind={CLARITY: "No"}, needs_human_review=False)
        strata.recount(run, {})
        found = compare_with_humans(JudgeScope(run))
        assert (found.overall, found.unsampled) == ((), 1)

    def test_judges_templates_and_models_are_counted_separately(self, run: Run, ana: User) -> None:
        for model, score in (("b", "Yes"), ("a", "No"), (None, "No")):
            review(run, ana, {CLARITY: score}, blind={CLARITY: score}, model_id=model)
        strata.recount(run, {})
        found = compare_with_humans(JudgeScope(run))
        usual = ("judge-1", "prompts/judge.txt")
        groups = [one for one in found.groups if one.criterion == CLARITY]
        assert [one.group for one in groups] == [
            JudgeGroup(*usual, ""),
            JudgeGroup(*usual, "a"),
            JudgeGroup(*usual, "b"),
        ]
        assert [one.accuracy.n for one in groups] == [1, 1, 1]


class TestWholeRun:
    """Accuracy over all records, from blind ratings."""

    def test_flagged_and_unflagged_records_count_by_their_numbers(self, run: Run, ana: User) -> None:
        flagged, others = (
            stratum(run, {"Pass": 100}),
            stratum(run, {"Pass": 800, "Fail": 100}, is_flagged=False),
        )
        rated(flagged, ana, "Pass", "Fail", 30)
        rated(flagged, ana, "Pass", "Pass", 20)
        rated(others, ana, "Pass", "Pass", 18)
        rated(others, ana, "Pass", "Fail", 2)
        rated(others, ana, "Fail", "Fail", 10)
        found = compare_with_humans(JudgeScope(run))
        assert found.headline
        assert found.headline.accuracy.value == pytest.approx((100 * 0.4 + 800 * 0.9 + 100) / 1000)
        assert found.headline.accuracy.n == found.headline.n == 80
        assert found.headline.shares
        assert found.headline.shares[0][0] == pytest.approx((100 * 0.4 + 800 * 0.9) / 1000)
        assert found.headline.false_pass.value == pytest.approx((60 + 80) / (60 + 80 + 100))
        parts = {one.part: one.accuracy.value for one in found.overall}
        assert parts == {
            "run": found.headline.accuracy.value,
            "flagged": pytest.approx(0.4),
            "unflagged": pytest.approx(820 / 900),
        }

    def test_ratings_with_a_smaller_probability_weigh_more(self, run: Run, ana: User) -> None:
        flagged = stratum(run, {"Pass": 100})
        rated(flagged, ana, "Pass", "Pass", 10, probability=0.1)
        rated(flagged, ana, "Pass", "Fail", 10, probability=0.5)
        assert compare_with_humans(JudgeScope(run)).overall[0].accuracy.value == pytest.approx(100 / 120)

    def test_accuracy_is_unknown_without_ratings_of_unflagged_records(self, run: Run, ana: User) -> None:
        rated(stratum(run, {"Pass": 100}), ana, "Pass", "Pass", 20)
        stratum(run, {"Pass": 300}, is_flagged=False)
        found = compare_with_humans(JudgeScope(run))
        assert found.headline
        assert found.headline.accuracy.why == (
            "No unflagged record with a verdict by the judge has a blind rating, so nothing is known about "
            "300 of 400 records."
        )
        assert found.overall[1].accuracy.value == 1
        assert [one.part for one in found.groups] == ["flagged"]

    def test_ratings_of_records_without_a_verdict_represent_no_others(self, run: Run, ana: User) -> None:
        """The judge gave no verdict on the only unflagged records that were rated."""
        rated(stratum(run, {"Pass": 100}), ana, "Pass", "Pass", 20)
        others = stratum(run, {"Pass": 200, "": 50}, is_flagged=False)
        rated(others, ana, None, "Pass", 9)
        found = compare_with_humans(JudgeScope(run))
        assert found.headline
        assert (found.headline.accuracy.value, found.headline.n, found.headline.human_only) == (None, 20, 9)
        assert "nothing is known about 200 of 300 records" in found.headline.accuracy.why
        [sentence] = estimate_missed_errors(JudgeScope(run)).sentences
        assert sentence.startswith("None of 200 unflagged records with a verdict is sampled.")
        # Nor are they pooled with records that have one.
        rated(others, ana, "Pass", "Fail", 5)
        accuracy = compare_with_humans(JudgeScope(run)).overall[0].accuracy
        assert accuracy.value == pytest.approx(100 / 300)

    def test_accuracy_of_ratings_without_verdicts_says_so(self, run: Run, ana: User) -> None:
        counted = stratum(run, {"": 50})
        assert estimate_accuracy(JudgeScope(run)).why == "No blind scores were submitted yet."
        rated(counted, ana, None, None, 20)
        found = estimate_accuracy(JudgeScope(run))
        assert found.why == "The records have no verdict that could be compared."

    @pytest.mark.slow
    def test_interval_is_wider_if_the_ratings_of_a_task_are_alike(self, run: Run, ana: User) -> None:
        tasks = [task for task in range(40) for _ in range(5)]
        apart, together = (RunFactory.create() for _ in range(2))
        widths = []
        for one, clusters in ((apart, range(200)), (together, tasks)):
            counted = stratum(one, {})
            count_records(counted, "Pass", [*clusters])
            RunCount.objects.create(run=one, status="Needs Review", evaluations=200)
            rated(counted, ana, "Pass", "Fail", 100, clusters=[*clusters][:100])
            rated(counted, ana, "Pass", "Pass", 100, clusters=[*clusters][100:])
            accuracy = compare_with_humans(JudgeScope(one)).overall[0].accuracy
            assert accuracy.low is not None
            assert accuracy.high is not None
            widths.append(accuracy.high - accuracy.low)
        assert 1.8 < widths[1] / widths[0] < 2.6

    def test_assisted_ratings_do_not_change_the_blind_figures(self, run: Run, ana: User) -> None:
        counted = stratum(run, {"Pass": 100})
        rated(counted, ana, "Pass", "Fail", 20)
        before = compare_with_humans(JudgeScope(run)).headline
        rated(counted, ana, "Pass", "Pass", 50, is_blind=False)
        after = compare_with_humans(JudgeScope(run)).headline
        assert before
        assert after
        assert before.accuracy == after.accuracy


class TestScope:
    @pytest.fixture
    def several(self, run: Run, ana: User, bo: User) -> Run:
        """Create four records. Each filter (reviewer, judge, template, model) matches one of them."""
        review(run, bo, {CLARITY: "No"})
        review(run, ana, {CLARITY: "No"}, judge_llm_model="judge-2")
        review(run, ana, {CLARITY: "No"}, judge_prompt_template_path="prompts/new.txt")
        review(run, ana, {CLARITY: "No"}, model_id=None)
        return run

    @pytest.mark.parametrize(
        "narrowed", [{"judge": "judge-2"}, {"template": "prompts/new.txt"}, {"model": ""}]
    )
    def test_scope_filters_by_judge_template_and_model(self, several: Run, narrowed: dict[str, Any]) -> None:
        assert only(compare_with_humans(JudgeScope(several)).overall).n == 4
        assert only(compare_with_humans(JudgeScope(several, **narrowed)).overall).n == 1

    def test_scope_filters_by_reviewer(self, several: Run, bo: User) -> None:
        found = compare_with_humans(JudgeScope(several, reviewer=bo))
        assert only(found.overall).n == 1
        assert found.as_json()["scope"]["reviewer"] == "bo"

    @pytest.mark.slow
    def test_scope_is_limited_to_its_run(self, several: Run) -> None:
        assert compare_with_humans(JudgeScope(RunFactory.create())).overall == ()

    def test_scope_choices_are_values_with_decisions(
        self, several: Run, ana: User, bo: User, lea: User
    ) -> None:
        found = scope_choices(several)
        assert found.judges == ("judge-1", "judge-2")
        assert found.templates == ("prompts/judge.txt", "prompts/new.txt")
        assert found.models == ("", "openai/gpt-4o")
        assert found.reviewers == (ana, bo)


class TestAfterReveal:
    @pytest.mark.slow
    def test_changes_after_reveal_are_counted_by_direction(self, run: Run, ana: User) -> None:
        for before, after in [("Yes", "Yes"), ("No", "No"), ("No", "Yes"), ("No", "Partial"), ("Yes", "No")]:
            review(run, ana, {CLARITY: after}, blind={CLARITY: before})
        review(run, ana, {CLARITY: "No"})
        [verdict, clarity] = compare_with_humans(JudgeScope(run)).after_reveal
        assert (clarity.criterion, clarity.changed.value, clarity.changed.n) == (CLARITY, 0.6, 5)
        assert (clarity.towards_judge, clarity.away_from_judge) == (1, 1)
        assert (verdict.criterion, verdict.changed.value) == (None, 0.6)

    def test_criterion_removed_after_reveal_counts_as_changed(self, run: Run, ana: User) -> None:
        judged = {CLARITY: "Yes", "Depth": "Yes"}
        review(run, ana, {CLARITY: "Yes"}, judge=judged, blind=judged)
        depth = compare_with_humans(JudgeScope(run)).after_reveal[-1]
        assert (depth.criterion, depth.changed.value, depth.away_from_judge) == ("Depth", 1, 1)

    def test_after_reveal_is_empty_without_blind_reviews(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "No"})
        assert compare_with_humans(JudgeScope(run)).after_reveal == ()


class TestAsJson:
    def test_accuracy_json_has_every_figure_with_its_subject(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "No"}, blind={CLARITY: "Partial"})
        review(run, ana, {CLARITY: "No"})
        strata.recount(run, {})
        answer = json.loads(json.dumps(compare_with_humans(JudgeScope(run)).as_json(), allow_nan=False))
        assert answer["ratings"] == [
            {"basis": basis, "part": part, "ratings": 1}
            for basis in ("blind", "assisted")
            for part in ("run", "flagged")
        ]
        assert [one["criterion"] for one in answer["overall"]] == [None] * 4 + [CLARITY] * 4
        assert answer["groups"][0]["group"]["judge"] == "judge-1"
        assert answer["overall"][0]["kappa"]["why"].startswith("There is only one pair")
        assert answer["after_reveal"][0]["changed"]["value"] == 1

    def test_accuracy_json_names_the_biases(self) -> None:
        assert "may overstate" in BASES["assisted"]
        assert {*PARTS} == {"run", "flagged", "unflagged"}


@pytest.mark.slow
def test_accuracy_takes_a_constant_number_of_queries(
    run: Run, ana: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    review(run, ana, {CLARITY: "Yes"})
    strata.recount(run, {})
    with django_assert_max_num_queries(9):
        compare_with_humans(JudgeScope(run))
    for score in ("No", "Partial"):
        review(run, ana, {CLARITY: score}, model_id=score, blind=JUDGED)
    strata.recount(run, {})
    run.blind_share = 0
    # Two more load the assisted ratings, which only their estimates need.
    with django_assert_max_num_queries(11):
        compare_with_humans(JudgeScope(run)).as_json()
    with django_assert_max_num_queries(3):
        scope_choices(run)


@pytest.mark.slow
def test_weighted_kappa_uses_distances_of_numeric_scores(run: Run, ana: User) -> None:
    run.rubric = rubric_data(CLARITY, scale=RangeScale(1, 5, pass_from=4, partial_from=2))
    run.save()
    for judge, human in [(5, 4), (4, 4.0), (1, 2), (3, 3), (2, 2), (5, 5)]:
        review(run, ana, {CLARITY: human}, judge={CLARITY: judge})
    figures = only(compare_with_humans(JudgeScope(run)).overall)
    assert figures.accuracy.value == pytest.approx(4 / 6)
    assert figures.weighted_kappa.value is not None
    assert figures.kappa.value is not None
    assert figures.weighted_kappa.value > figures.kappa.value


def test_criterion_that_some_records_lack_has_the_weight_of_its_part(run: Run, ana: User) -> None:
    flagged, other = stratum(run, {"Pass": 40}), stratum(run, {"Pass": 100}, is_flagged=False)
    for counted in (flagged, other):
        rated(counted, ana, "Pass", "Pass", 20)
    rated(flagged, ana, '"Yes"', '"No"', 20, criterion=CLARITY, verdict="Pass")
    rated(other, ana, '"Yes"', '"Yes"', 4, criterion=CLARITY, verdict="Pass")
    found = compare_with_humans(JudgeScope(run)).find(CLARITY, "blind", "run")
    assert found
    # All 40 flagged records have the criterion, and a fifth of the 100 others.
    assert found.accuracy.value == pytest.approx(20 / 60)
    assert found.n == found.accuracy.n == 24
    assert found.judge_only == found.human_only == found.out_of_scale == 0
