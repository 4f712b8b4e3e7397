"""Responses that a judge scored, and people scored blind."""

from collections.abc import Sequence
from typing import Any

from reviews.models import Evaluation, Run, User
from reviews.records.status import COMPLETED
from reviews.search import indexing
from tests.support.factories import EvaluationFactory, ImportFactory
from tests.support.work import lock_in_many

CLARITY = "Clarity"
SCORES = {"Pass": "Yes", "Fail": "No"}
#: Verdicts of the judge and of the reviewer on each response.
RATED = [("Pass", "Pass")] * 6 + [("Pass", "Fail")] * 3 + [("Fail", "Fail")] * 2 + [("Fail", "Pass")]


def judged(
    run: Run, verdicts: list[str], *, tasks: Sequence[str | None] = (), **values: Any
) -> list[Evaluation]:
    """Import a file with a record for each verdict of the judge: the response of its task."""
    source = ImportFactory.create(run=run, lines=len(verdicts))
    records = []
    numbers = tasks or [str(place) for place in range(len(verdicts))]
    for place, (task, verdict) in enumerate(zip(numbers, verdicts, strict=True), 1):
        given: dict[str, Any] = {
            "aggregated_score": verdict,
            "parsed_rubric_scores": {CLARITY: {"score": SCORES[verdict]}},
            "structured_model_response": {"response": f"Answer {task}"},
            "task_id": task,
        }
        given |= {"run": run, "first_import": source, "first_line": place} | values
        records.append(EvaluationFactory.build(**given))
    Evaluation.objects.bulk_create(records)
    indexing.index_at_once(run, [source])
    return records


def rate(records: list[Evaluation], reviewer: User, verdicts: list[str], *, is_done: bool = True) -> None:
    """Score records blind. They leave the queue unless the test says otherwise."""
    lock_in_many(records, reviewer, [{CLARITY: SCORES[verdict]} for verdict in verdicts])
    if is_done:
        Evaluation.objects.filter(pk__in=[one.pk for one in records]).update(human_review_status=COMPLETED)


def rated_records(run: Run, reviewer: User) -> list[Evaluation]:
    """Import and rate the responses of `RATED`."""
    records = judged(run, [judge for judge, _ in RATED])
    rate(records, reviewer, [human for _, human in RATED])
    return records
