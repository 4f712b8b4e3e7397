"""Comparisons of judges stay in memory until one of their runs changes."""

import random
from contextlib import suppress
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from cognireview.types import judge as types
from cognireview.types.encoding import members
from reviews.audit import events
from reviews.judge import figure_cache
from reviews.judge.comparison.paired import SIDES, PairedComparison, compare_judges, compare_runs
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Run, User
from reviews.records.conflicts import Conflict
from reviews.records.status import NEEDS_REVIEW
from reviews.review.rubric_changes import change_rubric
from reviews.runs.changes import rename_run
from tests.support.compared_runs import rate_first, run_of
from tests.support.gold import CLARITY, judged
from tests.support.rubrics import rubric_of
from tests.support.work import decide, fresh, lock_in_scores

pytestmark = pytest.mark.django_db(transaction=True)

RUNS = "monday", "tuesday"
EVENTS = "rating", "rating", "decision", "file", "share", "rubric", "name", "other"


@pytest.fixture(autouse=True)
def _empty_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_cache, "_cache", figure_cache._Cache())


@pytest.fixture
def runs(ana: User) -> tuple[Run, ...]:
    first, second = made = tuple(map(run_of, RUNS))
    rate_first(first, second, ana)
    for run in made:
        touch(run)
    return loaded(made)


@transaction.atomic
def touch(run: Run, record: Evaluation | None = None) -> None:
    """Leave an event of the run, as each change does."""
    events.record("claim" if record else "rename", actor=None, run=run, evaluation=record)


def loaded(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """Load the runs again."""
    return tuple(Run.objects.get(pk=run.pk) for run in runs)


def compare(runs: tuple[Run, ...]) -> PairedComparison:
    first, second = runs
    return compare_runs(first, JudgeScope(second))


def all_figures(runs: tuple[Run, ...]) -> list[Any]:
    found = [compare(runs), *compare_judges(JudgeScope(runs[1]))]
    return [(members(types.Comparison, one), [one.list_pairs(side) for side in SIDES]) for one in found]


def change(chance: random.Random, runs: tuple[Run, ...], kind: str, bo: User) -> None:
    run = Run.objects.get(pk=chance.choice(runs).pk)
    unrated = Evaluation.objects.filter(run=run, review=None, blind_scores=None).first()
    match kind:
        case "rating" if unrated:
            lock_in_scores(unrated, bo, {CLARITY: chance.choice(["Yes", "No"])})
            touch(run, unrated)
        case "decision" if unrated:
            # A record that is to be scored blind is no longer decided without scores.
            with suppress(Conflict):
                decide(fresh(unrated), bo)
        case "file":
            judged(run, ["Fail"], tasks=[f"{chance.random()}"], judge_llm_model="judge-3")
            touch(run)
        case "share":
            Run.objects.filter(pk=run.pk).update(blind_share=chance.choice([0, 0.5, 1]))
            touch(run)
        case "rubric":
            change_rubric(run_id=run.pk, actor=None, rubric=rubric_of(f"Depth {chance.random()}"))
        case "name":
            rename_run(run_id=run.pk, actor=None, name=f"Renamed {chance.random()}")
        case "other":
            touch(run_of(f"{chance.random()}"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "steps"),
    [(0, 12), *(pytest.param(seed, 20, marks=pytest.mark.exhaustive) for seed in range(1, 10))],
)
def test_kept_comparisons_equal_fresh_ones_after_any_history(
    seed: int, steps: int, runs: tuple[Run, ...], bo: User
) -> None:
    chance = random.Random(seed)
    for _ in range(steps):
        change(chance, runs, chance.choice(EVENTS), bo)
        runs = loaded(runs)
        kept = all_figures(runs)
        with transaction.atomic():
            assert all_figures(runs) == kept


def test_comparison_of_unchanged_runs_reads_no_records(runs: tuple[Run, ...]) -> None:
    first = compare(runs)
    with CaptureQueriesContext(connection) as queries:
        assert compare(loaded(runs)) is first
    assert not [query for query in queries if "evaluation_facets" in query["sql"] or "rating" in query["sql"]]


@pytest.mark.parametrize("place", [0, 1], ids=RUNS)
def test_comparison_follows_a_rating_of_either_run(place: int, runs: tuple[Run, ...], bo: User) -> None:
    before = compare(runs).n
    record = runs[place].evaluations.first()
    assert record
    lock_in_scores(record, bo, {CLARITY: "Yes"})
    touch(runs[place], record)
    assert compare(runs).n == before + 1


def test_comparison_for_a_run_loaded_before_its_change_is_not_kept(runs: tuple[Run, ...]) -> None:
    runs[1].evaluations.update(human_review_status=NEEDS_REVIEW)
    for run in runs:
        Run.objects.filter(pk=run.pk).update(name=f"{run.name} again", blind_share=1)
        touch(run)
    assert compare(runs).n == 18
    found = compare(loaded(runs))
    # All pairs have a record that can now be scored blind, and are so few that they are left out.
    assert (found.first, found.second, found.n) == ("monday again", "tuesday again", 0)
