"""Ratings and records of a run, loaded as columns."""

import datetime as dt
from typing import Any

import numpy as np
import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from reviews.judge.cells import Cell, load_cells
from reviews.judge.ratings import load_all_ratings, load_ratings
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Rating, Run, User
from reviews.records.clusters import task_cluster
from reviews.search import strata
from tests.support.factories import RunFactory
from tests.support.rubrics import rubric_data
from tests.support.work import agree, evaluations, lock_in_scores

pytestmark = pytest.mark.django_db

CLARITY = "Clarity"
PARSED = {CLARITY: {"score": "No", "justification": ""}}
USUAL = ("judge-1", "prompts/judge.txt", "o1")


@pytest.fixture
def run() -> Run:
    return RunFactory.create(rubric=rubric_data(CLARITY), blind_share=0.25)


def records(run: Run, *tasks: str, **values: Any) -> list[Evaluation]:
    given = {"aggregated_score": "Fail", "parsed_rubric_scores": PARSED, "model_id": "o1"}
    return evaluations(run, tasks=tasks, **(given | values))


def test_blind_ratings_are_columns_by_kind(run: Run, ana: User, bo: User) -> None:
    one, other, sampled = records(run, "1", "2", "3")
    Evaluation.objects.filter(pk=sampled.pk).update(
        needs_human_review=False, is_sampled=True, sample_probability=0.5
    )
    sampled.refresh_from_db()
    for record, person, score in [
        (one, ana, "No"),
        (one, bo, "Yes"),
        (other, ana, "No"),
        (sampled, bo, "No"),
    ]:
        lock_in_scores(record, person, {CLARITY: score})
    found = load_ratings(JudgeScope(run))
    cell = Cell(True, "Fail", *USUAL)
    assert [(kind.cell, kind.is_sampled, kind.judge, kind.human) for kind in found.kinds] == [
        (cell, False, "Fail", "Fail"),
        (cell, False, "Fail", "Pass"),
        (cell._replace(is_flagged=False), True, "Fail", "Fail"),
    ]
    assert found.counts.tolist() == [2, 1, 1]
    assert found.cluster.tolist() == [task_cluster(task, "") for task in ("1", "2", "1", "3")]
    # Two people rated the first record; the sample has every second record, of which one in four is blind.
    assert found.weight.tolist() == [2, 4, 2, 8]
    assert [kind.is_representative for kind in found.kinds] == [True] * 3


def test_ratings_of_all_criteria_are_loaded_at_once(
    run: Run, ana: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    [record] = records(run, "1")
    lock_in_scores(record, ana, {CLARITY: "Yes"})
    with django_assert_num_queries(4):
        found = load_all_ratings(JudgeScope(run))
    assert {*found} == {None, CLARITY}
    assert [(kind.judge, kind.human) for kind in found[CLARITY].kinds] == [("No", "Yes")]
    assert len(load_ratings(JudgeScope(run), "Depth")) == 0


def test_assisted_ratings_are_apart(run: Run, ana: User, bo: User) -> None:
    one, other = records(run, "1", "2")
    lock_in_scores(one, ana, {CLARITY: "Yes"})
    agree(other, bo)
    assert len(load_ratings(JudgeScope(run))) == 1
    [kind] = load_ratings(JudgeScope(run), basis="assisted").kinds
    assert (kind.judge, kind.human) == ("Fail", "Fail")


def test_scope_filters_ratings(run: Run, ana: User, bo: User) -> None:
    today = timezone.now().date()
    first, second, third = (
        *records(run, "1"),
        *records(run, "2", judge_llm_model="judge-2"),
        *records(run, "3", model_id=None),
    )
    for record, person in ((first, ana), (second, bo), (third, bo)):
        lock_in_scores(record, person, {CLARITY: "Yes"})
    Rating.objects.filter(evaluation=first).update(at=timezone.now() - dt.timedelta(days=3))
    scopes: list[tuple[dict[str, Any], int]] = [
        ({}, 3),
        ({"judge": "judge-2"}, 1),
        ({"model": ""}, 1),
        ({"reviewer": bo}, 2),
        ({"task": "2"}, 1),
        ({"task": "2", "judge": "judge-1"}, 0),
        ({"since": today - dt.timedelta(days=1)}, 2),
        ({"until": today - dt.timedelta(days=1)}, 1),
        ({"since": today, "until": today, "reviewer": ana}, 0),
    ]
    assert [len(load_ratings(JudgeScope(run, **scope))) for scope, _ in scopes] == [
        count for _, count in scopes
    ]


def test_records_are_counted_by_cell(run: Run) -> None:
    records(run, "1", "1", "2", *map(str, range(10, 20)))
    records(run, "1", aggregated_score=None, parsed_rubric_scores={}, raw_judge_output={})
    records(run, "9", needs_human_review=False, human_review_status="Not Required")
    strata.recount(run, {})
    found = load_cells(JudgeScope(run))
    assert {cell: int(size) for cell, size in zip(found.cells, found.sizes, strict=True)} == {
        Cell(True, "Fail", *USUAL): 13,
        Cell(True, "", *USUAL): 1,
        Cell(False, "Fail", *USUAL): 1,
    }
    place = found.cells.index(Cell(True, "Fail", *USUAL))
    assert np.bincount(found.clusters[place])[task_cluster("1", "")] == 2
    assert found.only(lambda cell: not cell.is_flagged).sizes.tolist() == [1]


def test_unflagged_records_that_no_draw_can_take_are_not_counted(run: Run) -> None:
    drawable = {"needs_human_review": False, "human_review_status": "Not Required"}
    records(run, *map(str, range(20)), **drawable)
    records(run, "1", **drawable | {"human_review_status": "Needs Review"}, is_sampled=True)
    for status in ("Needs Review", "Reviewed", "Completed"):
        records(run, "1", **drawable | {"human_review_status": status})
    strata.recount(run, {})
    for scope, counted in ((JudgeScope(run), 21), (JudgeScope(run, task="1"), 2)):
        found = load_cells(scope)
        assert (found.sizes.tolist(), found.undrawable) == ([counted], 3)
        assert "3 unflagged records whose status is not “Not Required”" in found.sentence


def test_records_of_one_task_are_counted_from_the_records(run: Run) -> None:
    records(run, "1", "1", "2")
    records(run, "1", aggregated_score=None)
    found = load_cells(JudgeScope(run, task="1"))
    assert found.cells == (Cell(True, "Fail", *USUAL),)
    assert found.sizes.tolist() == [3]
    assert set(found.clusters[0].tolist()) == {task_cluster("1", "")}
