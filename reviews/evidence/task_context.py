"""Find the task context of a record: the question, the reference answer, and the models' responses.

A record has its own by the mapping of its run, or that of its task from a file of task context.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import F, Q

from cognireview.types.records import NamedResponse
from reviews.database.compiled_queries import CompiledQuery, is_any_of, parameter
from reviews.models import Evaluation, TaskAnswer, TaskContext
from reviews.records import responses


@dataclass(frozen=True, slots=True)
class RecordContext:
    """The task context of a record. `records.task_context` describes the values."""

    prompt: str = ""
    conversation: list[dict[str, Any]] = field(default_factory=list)
    passages: list[dict[str, Any]] = field(default_factory=list)
    ideal_response: Any = None
    final_answer: Any = None
    #: At most one from the context of a task, and two in a record that compares two.
    responses: list[NamedResponse] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    #: The fields of this class that come from the record itself.
    own: frozenset[str] = frozenset()

    @property
    def has_question(self) -> bool:
        return bool(self.prompt or self.conversation)

    @property
    def has_reference(self) -> bool:
        return bool(self.final_answer or self.ideal_response)

    @property
    def has_answer(self) -> bool:
        return any(responses.has_answer(one.response) for one in self.responses)

    @property
    def compares_two(self) -> bool:
        return len(self.responses) > 1

    @property
    def response(self) -> Any:
        """The response of the record's model; None without one, and if the record compares two."""
        return self.responses[0].response if len(self.responses) == 1 else None

    def without_own_metadata(self) -> "RecordContext":
        """Leave out metadata that the judge may have written."""
        return replace(self, metadata={}) if "metadata" in self.own else self


# Contexts of the run come last and replace the shared ones.
_CONTEXTS = CompiledQuery(
    lambda: TaskContext.objects.filter(
        Q(run=parameter("run")) | Q(run=None), is_any_of("task_id", "tasks")
    ).order_by(F("run").asc(nulls_first=True))
)


def find_context(evaluation: Evaluation) -> RecordContext | None:
    """Return the context of a record. At most two queries."""
    return find_contexts([evaluation])[0]


def find_contexts(evaluations: Sequence[Evaluation]) -> list[RecordContext | None]:
    """Return the context for each of several records of one run. At most two queries.

    The context of a task is that of the run, or else the shared one.
    """
    tasks = {one.task_id for one in evaluations if one.task_id is not None}
    by_task: dict[str, TaskContext] = {}
    if tasks:
        known = _CONTEXTS.rows(run=evaluations[0].run_id, tasks=[*tasks])
        by_task = {found.task_id: found for found in known}
    answers = _answers(by_task.values(), {one.model_id for one in evaluations})
    return [_with_own(_of_task(by_task.get(one.task_id or ""), one, answers), one) for one in evaluations]


def _with_own(of_task: RecordContext | None, evaluation: Evaluation) -> RecordContext | None:
    """Return the record's own context, with the fields that only its task has."""
    given = evaluation.task_context
    if not given:
        return of_task
    named = [NamedResponse(**one) for one in given.get("responses", ())]
    own = {
        "prompt": given.get("prompt"),
        "conversation": given.get("conversation"),
        "passages": given.get("context"),
        "ideal_response": given.get("reference"),
        "responses": named if any(responses.has_answer(one.response) for one in named) else [],
        "metadata": given.get("metadata"),
    }
    own = {name: value for name, value in own.items() if value}
    found = of_task or RecordContext()
    if "prompt" in own or "conversation" in own:
        found = replace(found, prompt="", conversation=[])
    if "ideal_response" in own:
        found = replace(found, final_answer=None)
    return replace(found, **own, own=frozenset(own))


# By context and model.
_Answers = Mapping[tuple[int, str | None], Sequence[TaskAnswer]]


def _answers(contexts: Collection[TaskContext], models: set[str | None]) -> _Answers:
    found = defaultdict[tuple[int, str | None], list[TaskAnswer]](list)
    named = [model for model in models if model is not None]
    if contexts and named:
        for answer in TaskAnswer.objects.filter(context__in=contexts, model_id__in=named).order_by("pk"):
            found[answer.context_id, answer.model_id].append(answer)
    return found


def _of_task(found: TaskContext | None, evaluation: Evaluation, answers: _Answers) -> RecordContext | None:
    if found is None or found.task_id != evaluation.task_id:
        return None
    response = _response(answers.get((found.pk, evaluation.model_id), ()), evaluation.response_id)
    return RecordContext(
        prompt=found.prompt,
        ideal_response=found.ideal_response,
        final_answer=found.final_answer,
        responses=[] if response is None else [NamedResponse(evaluation.model_id or "", response)],
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
