"""Records whose judges are compared stay in memory until a file, a rubric or task context changes them."""

import random
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from reviews.judge import figure_cache
from reviews.judge.comparison.judged_records import select_records
from reviews.judge.comparison.judges import JudgeAndPrompt, load_scope_judges
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Run, User
from reviews.review.rubric_changes import change_rubric
from reviews.search import indexing
from reviews.search.indexing import index_again
from tests.support.contexts import bring, task
from tests.support.lines import file_of, import_data, line
from tests.support.rubrics import rubric_of
from tests.support.work import decide, fresh

pytestmark = pytest.mark.django_db(transaction=True)

RUNS = "monday", "tuesday"
TASKS = "1", "2", "3", "4"
EVENTS = (
    "decision", "decision", "decision", "file", "context", "context of all", "rubric", "other", "index",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _empty_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_cache, "_cache", figure_cache._Cache())


def bring_records(run: str, *verdicts: Any) -> Run:
    """Import a record of each task with these verdicts. Every other one has no answer of its own."""
    lines = [
        line(
            f"e-{name}",
            task_id=name,
            model_id="o1",
            judge_llm_model=f"judge-{number // 2}",
            aggregated_score=verdict,
            structured_model_response={"final_answer": name} if number % 2 else None,
        )
        for number, (name, verdict) in enumerate(zip(TASKS, verdicts, strict=True))
    ]
    return import_data(file_of(*lines), run=run).target_run


def columns(scopes: tuple[JudgeScope, ...], most: int | None) -> list[Any]:
    """Select the records of scopes, and return their columns."""
    names: list[tuple[JudgeAndPrompt, ...]] = [load_scope_judges(scope).pairs for scope in scopes]
    found = select_records(scopes, tuple(names), most)
    return [
        found.last,
        *(
            [[*value] if hasattr(value, "__iter__") else value for value in vars(side).values()]
            for side in found.sides
        ),
    ]


def change(chance: random.Random, runs: tuple[Run, ...], kind: str, ana: User) -> None:
    run = Run.objects.get(pk=chance.choice(runs).pk)
    match kind:
        case "decision":
            record = chance.choice(Evaluation.objects.filter(run=run, review=None) or [None])
            if record:
                decide(fresh(record), ana)
        case "file":
            bring_records(run.name, *(chance.choice(["Pass", "Fail", "Partial", None]) for _ in TASKS))
        case "context" | "context of all":
            answer = {"model_id": "o1", "response_text": f"{chance.random()}"}
            name = run.name if kind == "context" else None
            bring(task(task_id=chance.choice(TASKS), model_responses=[answer]), run=name)
        case "rubric":
            change_rubric(run_id=run.pk, actor=None, rubric=rubric_of(f"Clarity {chance.random()}"))
        case "other":
            bring_records("wednesday", *["Pass"] * len(TASKS))
        case "index":
            with transaction.atomic():
                indexing.lock_before_run()
                index_again(run)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "steps"),
    [(0, 12), *(pytest.param(seed, 20, marks=pytest.mark.exhaustive) for seed in range(10))],
)
def test_kept_records_equal_fresh_ones_after_any_history(seed: int, steps: int, ana: User) -> None:
    chance = random.Random(seed)
    runs = tuple(bring_records(name, "Pass", "Fail", "Pass", None) for name in RUNS)
    for _ in range(steps):
        change(chance, runs, chance.choice(EVENTS), ana)
        scopes = tuple(JudgeScope(run) for run in chance.choice([runs, runs[:1]]))
        for most in (None, 1):
            known = columns(scopes, most)
            with transaction.atomic():
                assert columns(scopes, most) == known


@pytest.mark.slow
def test_decisions_load_no_records_again(ana: User) -> None:
    runs = tuple(bring_records(name, "Pass", "Fail", "Pass", None) for name in RUNS)
    scopes = tuple(map(JudgeScope, runs))
    selected = select_records(scopes, ((), ()), None)
    decide(fresh(runs[0].evaluations.all()[0]), ana)
    with CaptureQueriesContext(connection) as queries:
        assert select_records(scopes, ((), ()), None) is selected
    assert not [query for query in queries if "evaluation_facets" in query["sql"]]
    bring(task(task_id="1", model_responses=[{"model_id": "o1", "response_text": "54"}]))
    assert [len(side) for side in select_records(scopes, ((), ()), None).sides] == [3, 3]
    assert [len(side) for side in selected.sides] == [2, 2]
