"""Judge accuracy measured by current decisions."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from reviews.judge.accuracy import (
    BASES,
    DEFINITIONS,
    FIGURES,
    POPULATIONS,
    AccuracyFigures,
    JudgeGroup,
    Population,
    compare_with_humans,
)
from reviews.judge.scope import JudgeScope, scope_choices
from reviews.models import BlindScores, Evaluation, Run, User
from reviews.records.scales import RangeScale
from reviews.review import decisions, undo
from reviews.statistics.intervals import wilson
from tests.support.factories import RunFactory
from tests.support.rubrics import rubric_data
from tests.support.work import decide, evaluations

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
        BlindScores.objects.create(
            evaluation=evaluation,
            reviewer=reviewer,
            source_import=evaluation.source_import,
            source_line=evaluation.source_line,
            scores=blind,
        )
    scores = {name: {"score": score, "justification": ""} for name, score in human.items()}
    decide(evaluation, reviewer, scores=scores, origins=dict.fromkeys(scores, "human"), judged=judge)
    return evaluation


def only(found: tuple[AccuracyFigures, ...], criterion: str | None = CLARITY) -> AccuracyFigures:
    [figures] = [one for one in found if one.criterion == criterion]
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
        assert (figures.n, figures.title, figures.basis, figures.population) == (
            4,
            "Clarity",
            "assisted",
            "flagged",
        )
        assert figures.agreement == wilson(2, 4)
        assert figures.false_pass == wilson(1, 1)
        assert figures.leniency.value == 0

    def test_verdict_figures_come_first(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "No", "Depth": "Yes"}, judge={CLARITY: "Yes", "Depth": "Yes"})
        found = compare_with_humans(JudgeScope(run)).overall
        assert [figures.title for figures in found] == ["Verdict", "Clarity", "Depth"]
        assert found[0].table.counts == ((0, 0, 1), (0, 0, 0), (0, 0, 0))
        assert found[0].false_pass == wilson(1, 1)

    def test_confusion_matrix_counts_current_decisions(self, run: Run, ana: User, lea: User) -> None:
        evaluation = review(run, ana, {CLARITY: "No"})
        assert only(compare_with_humans(JudgeScope(run)).overall).n == 1
        decided = Evaluation.objects.get(pk=evaluation.pk)
        right = {CLARITY: {"score": "Yes", "justification": ""}}
        decide(decided, lea, by=decisions.revise, scores=right, origins={CLARITY: "human"}, judged=JUDGED)
        assert only(compare_with_humans(JudgeScope(run)).overall).agreement == wilson(1, 1)
        undo.undo(run=run, actor=lea)
        assert only(compare_with_humans(JudgeScope(run)).overall).agreement == wilson(0, 1)
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
        assert (figures.n, figures.agreement.value, figures.human_only) == (3, 0, 1)
        assert figures.false_pass.value is None
        assert figures.as_json()

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


class TestStrata:
    def test_blind_and_assisted_reviews_are_counted_separately(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "Yes"})
        review(run, ana, {CLARITY: "Yes"}, blind={CLARITY: "No"})
        found = [one for one in compare_with_humans(JudgeScope(run)).overall if one.criterion == CLARITY]
        assert [(one.basis, one.agreement.value) for one in found] == [("blind", 0), ("assisted", 1)]

    def test_blind_verdict_comes_from_blind_scores(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "Yes"}, blind={CLARITY: "No"})
        assert only(compare_with_humans(JudgeScope(run)).overall, None).table.counts[0] == (0, 0, 1)

    @pytest.mark.parametrize(
        ("record", "population"),
        [
            ({}, "flagged"),
            ({"needs_human_review": False, "is_sampled": True}, "sampled"),
            ({"needs_human_review": False}, "picked"),
        ],
    )
    def test_flagged_sampled_and_picked_records_are_counted_separately(
        self, run: Run, ana: User, record: dict[str, Any], population: Population
    ) -> None:
        review(run, ana, {CLARITY: "No"}, **record)
        found = compare_with_humans(JudgeScope(run))
        assert {one.population for one in found.overall} == {population}
        assert found.reviews == {("assisted", population): 1}

    def test_judges_templates_and_models_are_counted_separately(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "Yes"}, model_id="b")
        review(run, ana, {CLARITY: "No"}, model_id="a")
        review(run, ana, {CLARITY: "No"}, model_id=None)
        found = compare_with_humans(JudgeScope(run))
        usual = ("judge-1", "prompts/judge.txt")
        groups = [one for one in found.groups if one.criterion == CLARITY]
        assert [one.group for one in groups] == [
            JudgeGroup(*usual, ""),
            JudgeGroup(*usual, "a"),
            JudgeGroup(*usual, "b"),
        ]
        assert [one.agreement.value for one in groups] == [0, 0, 1]
        assert only(found.overall).agreement == wilson(1, 3)


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
    def test_changes_after_reveal_are_counted_by_direction(self, run: Run, ana: User) -> None:
        for before, after in [("Yes", "Yes"), ("No", "No"), ("No", "Yes"), ("No", "Partial"), ("Yes", "No")]:
            review(run, ana, {CLARITY: after}, blind={CLARITY: before})
        review(run, ana, {CLARITY: "No"})
        [verdict, clarity] = compare_with_humans(JudgeScope(run)).after_reveal
        assert (clarity.title, clarity.population) == ("Clarity", "flagged")
        assert clarity.changed == wilson(3, 5)
        assert (clarity.towards_judge, clarity.away_from_judge) == (1, 1)
        assert (verdict.title, verdict.changed) == ("Verdict", wilson(3, 5))

    def test_criterion_removed_after_reveal_counts_as_changed(self, run: Run, ana: User) -> None:
        judged = {CLARITY: "Yes", "Depth": "Yes"}
        review(run, ana, {CLARITY: "Yes"}, judge=judged, blind=judged)
        depth = compare_with_humans(JudgeScope(run)).after_reveal[-1]
        assert (depth.criterion, depth.changed, depth.away_from_judge) == ("Depth", wilson(1, 1), 1)

    def test_after_reveal_is_empty_without_blind_reviews(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "No"})
        assert compare_with_humans(JudgeScope(run)).after_reveal == ()


class TestAsJson:
    def test_accuracy_json_has_every_figure_with_its_subject(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "No"}, blind={CLARITY: "Partial"})
        review(run, ana, {CLARITY: "No"})
        answer = json.loads(json.dumps(compare_with_humans(JudgeScope(run)).as_json(), allow_nan=False))
        assert answer["reviews"] == [
            {"basis": "blind", "population": "flagged", "reviews": 1},
            {"basis": "assisted", "population": "flagged", "reviews": 1},
        ]
        assert [one["criterion"] for one in answer["overall"]] == [None, None, CLARITY, CLARITY]
        assert answer["overall"][2]["group"] is None
        assert answer["groups"][0]["group"]["judge"] == "judge-1"
        assert answer["overall"][0]["kappa"]["why"].startswith("There is only one pair")
        assert answer["after_reveal"][0]["changed"]["value"] == 1

    def test_accuracy_json_names_the_biases(self) -> None:
        assert "may overstate agreement" in BASES["assisted"]
        assert {*POPULATIONS} == {"flagged", "sampled", "picked"}


def test_every_accuracy_figure_has_a_definition() -> None:
    assert {*FIGURES, "changed"} <= {*DEFINITIONS}


def test_accuracy_takes_two_queries_for_any_number_of_decisions(
    run: Run, ana: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    review(run, ana, {CLARITY: "Yes"})
    with django_assert_num_queries(2):
        compare_with_humans(JudgeScope(run))
    for score in ("No", "Partial"):
        review(run, ana, {CLARITY: score}, model_id=score, blind=JUDGED)
    with django_assert_num_queries(2):
        compare_with_humans(JudgeScope(run)).as_json()
    with django_assert_num_queries(2):
        scope_choices(run)


def test_weighted_kappa_uses_distances_of_numeric_scores(run: Run, ana: User) -> None:
    run.rubric = rubric_data(CLARITY, scale=RangeScale(1, 5, pass_from=4, partial_from=2))
    run.save()
    for judge, human in [(5, 4), (4, 4.0), (1, 2), (3, 3), (2, 2), (5, 5)]:
        review(run, ana, {CLARITY: human}, judge={CLARITY: judge})
    figures = only(compare_with_humans(JudgeScope(run)).overall)
    assert figures.agreement == wilson(4, 6)
    assert figures.weighted_kappa.value is not None
    assert figures.kappa.value is not None
    assert figures.weighted_kappa.value > figures.kappa.value
