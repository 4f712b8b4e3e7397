"""Ratings that triggers keep for the judge's figures."""

from itertools import product
from typing import Any

import pytest

from reviews.database.statements import fetch_value
from reviews.models import Evaluation, Rating, Run, User
from reviews.records.clusters import task_cluster
from reviews.review import decisions, undo
from reviews.search import strata
from tests.support.factories import RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.rubrics import rubric_data
from tests.support.work import decide, end_claim, evaluations, lock_in_scores

pytestmark = pytest.mark.django_db

CLARITY, DEPTH = "Clarity", "Depth"
JUDGED = {CLARITY: "Yes", DEPTH: "No"}


@pytest.fixture
def run() -> Run:
    return RunFactory.create(rubric=rubric_data(CLARITY, DEPTH), blind_share=0.5)


@pytest.fixture
def record(run: Run) -> Evaluation:
    parsed = {name: {"score": score, "justification": ""} for name, score in JUDGED.items()}
    [record] = evaluations(run, tasks=["7"], aggregated_score="Fail", parsed_rubric_scores=parsed)
    return record


def found(**condition: Any) -> list[tuple[Any, ...]]:
    """Return (criterion, judge's score, human score, final score) of the ratings, the verdict first."""
    ratings = Rating.objects.filter(**condition).order_by("pk").select_related("cell")
    rows = sorted(ratings, key=lambda rating: rating.cell.criterion or "")
    return [(one.cell.criterion, one.cell.judge, one.cell.human, one.final) for one in rows]


def agreed(**scores: Any) -> dict[str, Any]:
    entries = {name.title(): {"score": score, "justification": ""} for name, score in scores.items()}
    return {"scores": entries, "origins": dict.fromkeys(entries, "human"), "judged": JUDGED}


def test_blind_scores_are_rated_at_lock_in(record: Evaluation, ana: User) -> None:
    lock_in_scores(record, ana, {CLARITY: "Yes", DEPTH: "Yes"})
    assert found() == [
        (None, "Fail", "Pass", None),
        (CLARITY, '"Yes"', '"Yes"', None),
        (DEPTH, '"No"', '"Yes"', None),
    ]
    verdict = Rating.objects.get(cell__criterion=None)
    assert (verdict.cell.is_blind, verdict.cell.verdict, verdict.probability) == (True, "Fail", 0.5)
    assert (verdict.families, verdict.cluster) == (
        ["final-answer-does-not-match"],
        task_cluster("7", record.evaluation_id),
    )


def test_blind_ratings_note_what_their_reviewer_submits(record: Evaluation, ana: User, bo: User) -> None:
    lock_in_scores(record, ana, {CLARITY: "Yes", DEPTH: "Yes"})
    lock_in_scores(record, bo, {CLARITY: "No", DEPTH: "Yes"})
    decide(record, ana, **agreed(clarity="Yes"))
    assert found(reviewer=ana) == [
        (None, "Fail", "Pass", "Pass"),
        (CLARITY, '"Yes"', '"Yes"', '"Yes"'),
        (DEPTH, '"No"', '"Yes"', "null"),
    ]
    assert [final for *_, final in found(reviewer=bo)] == [None] * 3


def test_blind_ratings_remain_after_an_undo_and_a_decision_by_another_person(
    run: Run, record: Evaluation, ana: User, lea: User
) -> None:
    lock_in_scores(record, ana, {CLARITY: "No", DEPTH: "No"})
    decide(record, ana, **agreed(clarity="No", depth="No"))
    blind = found(blind_scores__isnull=False)
    undo.undo(run=run, actor=ana)
    assert found() == blind
    end_claim(record)
    record.refresh_from_db()
    decide(record, lea, **agreed(clarity="Yes", depth="No"))
    assert found(blind_scores__isnull=False) == blind
    assert found(blind_scores=None, cell__criterion=CLARITY) == [(CLARITY, '"Yes"', '"Yes"', None)]


def test_each_blind_rating_of_a_record_has_the_number_of_raters(
    record: Evaluation, ana: User, bo: User
) -> None:
    lock_in_scores(record, ana, {CLARITY: "No", DEPTH: "No"})
    assert {one.raters for one in Rating.objects.all()} == {1}
    lock_in_scores(record, bo, {CLARITY: "No", DEPTH: "No"})
    assert {one.raters for one in Rating.objects.all()} == {2}


@pytest.mark.slow
def test_assisted_ratings_are_those_of_the_current_decision(run: Run, record: Evaluation, ana: User) -> None:
    decide(record, ana, **agreed(clarity="No", depth="No"))
    assert found() == [
        (None, "Fail", "Fail", None),
        (CLARITY, '"Yes"', '"No"', None),
        (DEPTH, '"No"', '"No"', None),
    ]
    record.refresh_from_db()
    decide(record, ana, by=decisions.revise, **agreed(clarity="Yes", depth="Yes"))
    assert found() == [
        (None, "Fail", "Pass", None),
        (CLARITY, '"Yes"', '"Yes"', None),
        (DEPTH, '"No"', '"Yes"', None),
    ]
    undo.undo(run=run, actor=ana)
    undo.undo(run=run, actor=ana)
    assert not Rating.objects.exists()


def test_reopened_decision_has_no_assisted_ratings(
    run: Run, record: Evaluation, ana: User, lea: User
) -> None:
    decide(record, ana, **agreed(clarity="No", depth="No"))
    decisions.reopen(evaluation_id=record.pk, actor=lea, reason="Look again.")
    assert not Rating.objects.exists()
    record.refresh_from_db()
    again = decide(record, ana, **agreed(clarity="Yes", depth="No"))
    assert {one.review_id for one in Rating.objects.all()} == {again.pk}
    undo.undo(run=run, actor=ana)
    assert not Rating.objects.exists()


def test_outdated_decision_has_no_assisted_ratings(ana: User) -> None:
    import_data(file_of(line("one", human_review_status="Needs Review")))
    decide(Evaluation.objects.get(), ana, **agreed(clarity="No", depth="No"))
    assert Rating.objects.exists()
    import_data(
        file_of(line("one", human_review_status="Needs Review", structured_model_response={"steps": []}))
    )
    assert Evaluation.objects.get().is_outdated
    assert not Rating.objects.exists()


@pytest.mark.parametrize(
    ("changes", "remain"),
    [
        ({"human_review_comments": "Seen."}, True),
        ({"aggregated_score": "Pass"}, False),
        ({"structured_model_response": {"steps": []}}, False),
        ({"needs_human_review": False}, False),
        ({"task_id": "8"}, False),
    ],
)
def test_blind_ratings_are_dropped_if_a_file_changes_what_was_rated(
    record: Evaluation, ana: User, changes: dict[str, Any], remain: bool
) -> None:
    lock_in_scores(record, ana, {CLARITY: "Yes", DEPTH: "Yes"})
    Evaluation.objects.filter(pk=record.pk).update(content_hash=b"other", **changes)
    assert Rating.objects.exists() == remain


def test_clusters_of_records_are_the_same_in_sql(run: Run) -> None:
    texts = ["1", "é😀", "", "task"]
    for task, record in product([*texts, None], texts):
        assert fetch_value("SELECT task_cluster(%s, %s)", [task, record]) == task_cluster(task, record)


def test_recount_stores_the_clusters_of_each_stratum(run: Run) -> None:
    made = evaluations(run, tasks=["1", "1", "2", None], aggregated_score="Pass")
    strata.recount(run, {})
    [counted] = run.strata.get().counts.all()
    numbers = memoryview(bytes(counted.clusters)).tobytes()
    stored = [int.from_bytes(numbers[at : at + 2], signed=True) + 32_768 for at in range(0, len(numbers), 2)]
    assert sorted(stored) == sorted(task_cluster(one.task_id, one.evaluation_id) for one in made)
