"""What a task is about, for a record of it: the question, the reference, and what the model answered."""

from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q

from reviews.models import Evaluation, TaskAnswer, TaskContext


@dataclass(frozen=True, slots=True)
class Context:
    """What files of task context say of a record's task; `response` is None where its model has no answer."""

    prompt: str
    ideal_response: Any
    final_answer: Any
    response: Any
    metadata: dict[str, Any]

    @property
    def has_reference(self) -> bool:
        return bool(self.final_answer or self.ideal_response)


def of(evaluation: Evaluation) -> Context | None:
    """The context of the record's task: its run's own, or else what every run has. At most two queries."""
    if evaluation.task_id is None:
        return None
    found = (
        TaskContext.objects.filter(Q(run=evaluation.run_id) | Q(run=None), task_id=evaluation.task_id)
        .order_by(F("run").asc(nulls_last=True))
        .first()
    )
    if found is None:
        return None
    return Context(
        prompt=found.prompt,
        ideal_response=found.ideal_response,
        final_answer=found.final_answer,
        response=_answer(found, evaluation),
        metadata=found.metadata,
    )


def _answer(context: TaskContext, evaluation: Evaluation) -> Any:
    """What the record's model answered: the very response that was judged, if the file tells."""
    if evaluation.model_id is None:
        return None
    answers = TaskAnswer.objects.filter(context=context, model_id=evaluation.model_id)
    if evaluation.response_id is not None:
        answers = answers.filter(Q(response_id=evaluation.response_id) | Q(response_id=None))
    found = answers.order_by(F("response_id").asc(nulls_last=True), "pk").first()
    return found.response if found else None
