"""Find the task context of a record: the question, the reference answer, and the model's response."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q

from reviews.models import Evaluation, TaskAnswer, TaskContext


@dataclass(frozen=True, slots=True)
class RecordContext:
    """The task context of a record."""

    prompt: str
    ideal_response: Any
    final_answer: Any
    #: The response of the record's model; None if the context has none.
    response: Any
    metadata: dict[str, Any]

    @property
    def has_reference(self) -> bool:
        return bool(self.final_answer or self.ideal_response)


def find_context(evaluation: Evaluation) -> RecordContext | None:
    """Return the context of the record's task: the run's own, or else the shared one. At most two queries."""
    return find_contexts([evaluation])[0]


def find_contexts(evaluations: Sequence[Evaluation]) -> list[RecordContext | None]:
    """Return the context for each of several records of one run. At most two queries."""
    tasks = {one.task_id for one in evaluations if one.task_id is not None}
    if not tasks:
        return [None] * len(evaluations)
    known = TaskContext.objects.filter(Q(run=evaluations[0].run_id) | Q(run=None), task_id__in=tasks)
    # Contexts of the run come last and replace the shared ones.
    by_task = {found.task_id: found for found in known.order_by(F("run").asc(nulls_first=True))}
    answers = _answers(by_task.values(), {one.model_id for one in evaluations})
    return [_context(by_task.get(one.task_id or ""), one, answers) for one in evaluations]


# By context and model.
_Answers = Mapping[tuple[int, str | None], Sequence[TaskAnswer]]


def _answers(contexts: Collection[TaskContext], models: set[str | None]) -> _Answers:
    found = defaultdict[tuple[int, str | None], list[TaskAnswer]](list)
    named = [model for model in models if model is not None]
    if contexts and named:
        for answer in TaskAnswer.objects.filter(context__in=contexts, model_id__in=named).order_by("pk"):
            found[answer.context_id, answer.model_id].append(answer)
    return found


def _context(found: TaskContext | None, evaluation: Evaluation, answers: _Answers) -> RecordContext | None:
    if found is None or found.task_id != evaluation.task_id:
        return None
    return RecordContext(
        prompt=found.prompt,
        ideal_response=found.ideal_response,
        final_answer=found.final_answer,
        response=_response(answers.get((found.pk, evaluation.model_id), ()), evaluation.response_id),
        metadata=found.metadata,
    )


def _response(answers: Sequence[TaskAnswer], wanted: str | None) -> Any:
    """Return the response of the record's model, preferring the one with the judged response id."""
    if wanted is None:
        in_order = sorted(answers, key=lambda answer: (answer.response_id is None, answer.response_id or ""))
    else:
        fitting = (answer for answer in answers if answer.response_id in {wanted, None})
        in_order = sorted(fitting, key=lambda answer: answer.response_id is None)
    return in_order[0].response if in_order else None
