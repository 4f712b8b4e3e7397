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
from reviews.records.verdict import VerdictRule
from reviews.review import decisions
from reviews.statistics.intervals import wilson
from tests.support.factories import RunFactory
from tests.support.work import decide, evaluations

pytestmark = pytest.mark.django_db

CLARITY = "Clarity"
JUDGED = {CLARITY: "Yes"}


@pytest.fixture
def run() -> Run:
    return RunFactory.create(rubric={"criteria": [CLARITY, "Depth"]}, blind_share=0)


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
    """A new record of the run, decided: criterion -> score, the human's, the judge's, those given blind."""
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


class TestTheTable:
    def test_has_the_judge_by_the_human_in_the_order_of_the_rubric(
        self, run: Run, ana: User, bo: User
    ) -> None:
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

    def test_of_the_verdict_comes_first(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "No", "Depth": "Yes"}, judge={CLARITY: "Yes", "Depth": "Yes"})
        found = compare_with_humans(JudgeScope(run)).overall
        assert [figures.title for figures in found] == ["Verdict", "Clarity", "Depth"]
        assert found[0].table.counts == ((0, 0, 1), (0, 0, 0), (0, 0, 0))
        assert found[0].false_pass == wilson(1, 1)

    def test_follows_what_is_in_force(self, run: Run, ana: User, lea: User) -> None:
        evaluation = review(run, ana, {CLARITY: "No"})
        assert only(compare_with_humans(JudgeScope(run)).overall).n == 1
        decided = Evaluation.objects.get(pk=evaluation.pk)
        right = {CLARITY: {"score": "Yes", "justification": ""}}
        decide(decided, lea, by=decisions.revise, scores=right, origins={CLARITY: "human"}, judged=JUDGED)
        assert only(compare_with_humans(JudgeScope(run)).overall).agreement == wilson(1, 1)
        decisions.undo(run=run, reviewer=lea)
        assert only(compare_with_humans(JudgeScope(run)).overall).agreement == wilson(0, 1)
        decisions.undo(run=run, reviewer=ana)
        assert compare_with_humans(JudgeScope(run)).overall == ()

    def test_leaves_out_what_the_judge_is_not_known_to_have_said(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "No"}, judge=None)
        assert compare_with_humans(JudgeScope(run)).overall == ()

    def test_counts_apart_where_only_one_of_the_two_scored(self, run: Run, ana: User) -> None:
        both = {CLARITY: "Yes", "Depth": "Yes"}
        review(run, ana, {CLARITY: "Yes"}, judge=both)
        review(run, ana, both, judge={CLARITY: "Yes", "Depth": None})
        review(run, ana, both, judge=both)
        figures = only(compare_with_humans(JudgeScope(run)).overall, "Depth")
        assert (figures.n, figures.judge_only, figures.human_only) == (1, 1, 1)

    def test_has_a_place_for_scores_that_nobody_knows(self, run: Run, ana: User) -> None:
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

    def test_puts_together_what_counts_as_the_same_where_scores_are_very_many(
        self, run: Run, ana: User
    ) -> None:
        run.rubric["scores"] = [100, 50, 0]
        run.verdict_rule = VerdictRule("mean", (), (), (), 60, 30).as_json()
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


class TestWhatIsKeptApart:
    def test_is_blind_and_assisted(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "Yes"})
        review(run, ana, {CLARITY: "Yes"}, blind={CLARITY: "No"})
        found = [one for one in compare_with_humans(JudgeScope(run)).overall if one.criterion == CLARITY]
        assert [(one.basis, one.agreement.value) for one in found] == [("blind", 0), ("assisted", 1)]

    def test_of_the_verdict_is_blind_what_the_blind_scores_came_to(self, run: Run, ana: User) -> None:
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
    def test_is_why_the_record_was_reviewed(
        self, run: Run, ana: User, record: dict[str, Any], population: Population
    ) -> None:
        review(run, ana, {CLARITY: "No"}, **record)
        found = compare_with_humans(JudgeScope(run))
        assert {one.population for one in found.overall} == {population}
        assert found.reviews == {("assisted", population): 1}

    def test_is_judge_template_and_model(self, run: Run, ana: User) -> None:
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


class TestAScope:
    @pytest.fixture
    def several(self, run: Run, ana: User, bo: User) -> Run:
        """Four records, of which each narrowing holds one: by reviewer, judge, template and model."""
        review(run, bo, {CLARITY: "No"})
        review(run, ana, {CLARITY: "No"}, judge_llm_model="judge-2")
        review(run, ana, {CLARITY: "No"}, judge_prompt_template_path="prompts/new.txt")
        review(run, ana, {CLARITY: "No"}, model_id=None)
        return run

    @pytest.mark.parametrize(
        "narrowed", [{"judge": "judge-2"}, {"template": "prompts/new.txt"}, {"model": ""}]
    )
    def test_narrows_by_what_judged_and_what_answered(self, several: Run, narrowed: dict[str, Any]) -> None:
        assert only(compare_with_humans(JudgeScope(several)).overall).n == 4
        assert only(compare_with_humans(JudgeScope(several, **narrowed)).overall).n == 1

    def test_narrows_by_reviewer(self, several: Run, bo: User) -> None:
        found = compare_with_humans(JudgeScope(several, reviewer=bo))
        assert only(found.overall).n == 1
        assert found.as_json()["scope"]["reviewer"] == "bo"

    def test_is_of_one_run(self, several: Run) -> None:
        assert compare_with_humans(JudgeScope(RunFactory.create())).overall == ()

    def test_offers_what_there_are_decisions_of(self, several: Run, ana: User, bo: User, lea: User) -> None:
        found = scope_choices(several)
        assert found.judges == ("judge-1", "judge-2")
        assert found.templates == ("prompts/judge.txt", "prompts/new.txt")
        assert found.models == ("", "openai/gpt-4o")
        assert found.reviewers == (ana, bo)


class TestAfterTheReveal:
    def test_counts_what_was_changed_and_in_which_direction(self, run: Run, ana: User) -> None:
        for before, after in [("Yes", "Yes"), ("No", "No"), ("No", "Yes"), ("No", "Partial"), ("Yes", "No")]:
            review(run, ana, {CLARITY: after}, blind={CLARITY: before})
        review(run, ana, {CLARITY: "No"})
        [verdict, clarity] = compare_with_humans(JudgeScope(run)).after_reveal
        assert (clarity.title, clarity.population) == ("Clarity", "flagged")
        assert clarity.changed == wilson(3, 5)
        assert (clarity.towards_judge, clarity.away_from_judge) == (1, 1)
        assert (verdict.title, verdict.changed) == ("Verdict", wilson(3, 5))

    def test_counts_a_criterion_that_was_taken_away_as_changed(self, run: Run, ana: User) -> None:
        judged = {CLARITY: "Yes", "Depth": "Yes"}
        review(run, ana, {CLARITY: "Yes"}, judge=judged, blind=judged)
        depth = compare_with_humans(JudgeScope(run)).after_reveal[-1]
        assert (depth.criterion, depth.changed, depth.away_from_judge) == ("Depth", wilson(1, 1), 1)

    def test_says_nothing_without_a_blind_review(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "No"})
        assert compare_with_humans(JudgeScope(run)).after_reveal == ()


class TestAsJson:
    def test_it_holds_every_figure_and_what_it_is_of(self, run: Run, ana: User) -> None:
        review(run, ana, {CLARITY: "No"}, blind={CLARITY: "Partial"})
        review(run, ana, {CLARITY: "No"})
        told = json.loads(json.dumps(compare_with_humans(JudgeScope(run)).as_json(), allow_nan=False))
        assert told["reviews"] == [
            {"basis": "blind", "population": "flagged", "reviews": 1},
            {"basis": "assisted", "population": "flagged", "reviews": 1},
        ]
        assert [one["criterion"] for one in told["overall"]] == [None, None, CLARITY, CLARITY]
        assert told["overall"][2]["group"] is None
        assert told["groups"][0]["group"]["judge"] == "judge-1"
        assert told["overall"][0]["kappa"]["why"].startswith("There is only one pair")
        assert told["after_reveal"][0]["changed"]["value"] == 1

    def test_it_says_what_is_biased(self) -> None:
        assert "may overstate agreement" in BASES["assisted"]
        assert {*POPULATIONS} == {"flagged", "sampled", "picked"}


def test_every_figure_is_defined() -> None:
    assert {*FIGURES, "changed"} <= {*DEFINITIONS}


def test_it_takes_two_queries_however_many_decisions(
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


def test_a_rubric_of_numbers_weighs_how_far_apart_scores_are(run: Run, ana: User) -> None:
    run.rubric["scores"] = [5, 4, 3, 2, 1]
    run.verdict_rule = VerdictRule("mean", (), (), (), 4, 2).as_json()
    run.save()
    for judge, human in [(5, 4), (4, 4.0), (1, 2), (3, 3), (2, 2), (5, 5)]:
        review(run, ana, {CLARITY: human}, judge={CLARITY: judge})
    figures = only(compare_with_humans(JudgeScope(run)).overall)
    assert figures.agreement == wilson(4, 6)
    assert figures.weighted_kappa.value is not None
    assert figures.kappa.value is not None
    assert figures.weighted_kappa.value > figures.kappa.value
