"""Import files of task context: prompts, reference answers and the answers of each model.

The pipeline's ingestion writes such a file: a JSON array of tasks, or one task per line, compressed or not.
Each invalid entry is reported with place, field and reason; the others are imported. An existing task is
replaced as a whole, so importing a file twice changes nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction

from reviews.audit import events
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.imports.importer import clean_file_name
from reviews.imports.rejection_limit import RejectionLimit
from reviews.imports.runs import check_open
from reviews.models import ContextImport, Evaluation, Run, TaskAnswer, TaskContext, User
from reviews.records.line_splice import members
from reviews.records.schema import Limits, LineError, bounded, missing, read_object, typed
from reviews.review import blind_scoring
from reviews.storage.chunks import BLOCK_SIZE, OVERLONG, MeteredStream, numbered_lines
from reviews.storage.errors import ImportRefused
from reviews.storage.source_text import SourceText


class Answer(NamedTuple):
    """The answer of a model: a string or an object."""

    model_id: str
    response_id: str | None
    response: Any


class Task(NamedTuple):
    """A task. Its JSON values can be stored by PostgreSQL."""

    task_id: str
    prompt: str
    ideal_response: Any
    final_answer: Any
    metadata: dict[str, Any]
    answers: list[Answer]


def read_task(entry: bytes, limits: Limits) -> Task:
    """Parse one entry. Unknown keys are ignored. Raises `LineError`."""
    data = read_object(entry, limits)
    if absent := dict(_absent(data)):
        raise missing(absent)
    return Task(
        task_id=_task_id(data, entry, limits),
        prompt=typed("prompt", data["prompt"], str, "a string"),
        ideal_response=_text_or_object("ideal_response", data.get("ideal_response")),
        final_answer=data.get("final_answer"),
        metadata=typed("metadata", data.get("metadata"), dict | None, "an object") or {},
        answers=_answers(data, limits),
    )


def _absent(data: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield the required fields without a value, also those of answers, and whether each is null."""
    for name in ("task_id", "prompt"):
        if data.get(name) is None:
            yield name, name in data
    listed = data.get("model_responses")
    for number, answer in enumerate(listed if isinstance(listed, list) else ()):
        for name in ("model_id", "response_text") if isinstance(answer, dict) else ():
            if answer.get(name) is None:
                yield f"model_responses[{number}].{name}", name in answer


def _task_id(data: dict[str, Any], entry: bytes, limits: Limits) -> str:
    """Return the id as in an evaluation: a number keeps its spelling."""
    value = data["task_id"]
    if isinstance(value, int | float) and not isinstance(value, bool):
        spelled = [entry[member.start : member.end] for member in members(entry) if member.key == "task_id"]
        value = spelled[-1].decode()
    return _id("task_id", value, limits)


def _id(name: str, value: Any, limits: Limits) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not typed(name, value, str, "a string or a number").strip():
        raise LineError(name, "is empty")
    return bounded(name, value, limits)


def _text_or_object(name: str, value: Any) -> Any:
    return typed(name, value, str | dict | None, "a string or an object")


def _answers(data: dict[str, Any], limits: Limits) -> list[Answer]:
    """Return the answers, one per model and response. Exact repeats are ignored."""
    listed = typed("model_responses", data.get("model_responses"), list | None, "an array")
    found: dict[tuple[str, str | None], Answer] = {}
    for number, entry in enumerate(listed or []):
        answer = _answer(f"model_responses[{number}]", entry, limits)
        if found.setdefault(answer[:2], answer) != answer:
            name = f"model_responses[{number}].model_id"
            raise LineError(name, f"is {answer.model_id[:40]!r} again, with another response")
    return list(found.values())


def _answer(name: str, entry: Any, limits: Limits) -> Answer:
    typed(name, entry, dict, "an object")
    response_id, response = entry.get("response_id"), entry["response_text"]
    return Answer(
        model_id=_id(f"{name}.model_id", entry["model_id"], limits),
        response_id=None if response_id is None else _id(f"{name}.response_id", response_id, limits),
        response=_text_or_object(f"{name}.response_text", response),
    )


MAX_LISTED = 1_000
# Bytes of the file per batch of rows.
_BATCH = 4 * BLOCK_SIZE


@transaction.atomic
def import_context(
    *, blocks: Iterable[bytes], file_name: str, run_name: str | None, actor: User | None
) -> ContextImport:
    """Import a file for one run, or with None for every run without its own context for a task.

    Raises `ImportRefused` for an unreadable file, for one without tasks, and for an unknown or archived run.
    """
    locks.acquire(Lock.TASK_CONTEXT)
    target = ContextImport.objects.create(
        run=_run(run_name), file_name=clean_file_name(file_name), size=0, created_by=actor
    )
    meter = MeteredStream(blocks)
    _ContextImport(target).run(SourceText(meter, most=settings.MAX_UNPACKED_BYTES, limits=settings.LIMITS))
    if not (target.tasks or target.rejected_count):
        raise ImportRefused("The file has no tasks.")
    target.size, target.sha256 = meter.size, meter.sha256
    target.save()
    counts = {"tasks": target.tasks, "answers": target.answers, "rejected": target.rejected_count}
    events.record(
        "import context", actor=actor, run=target.run, sha256=target.sha256, size=target.size, counts=counts
    )
    return target


def _run(name: str | None) -> Run | None:
    if name is None:
        return None
    try:
        run = Run.objects.get(name=name)
    except Run.DoesNotExist:
        raise ImportRefused(f"There is no run named {name!r}.", "run") from None
    check_open(run)
    return run


class _ContextImport:
    """The state of one import while its file is read."""

    def __init__(self, target: ContextImport) -> None:
        self._target = target
        self._limit = RejectionLimit(settings.MAX_REJECTED_LINES, "task context")

    def run(self, blocks: Iterable[bytes]) -> None:
        """Read the file entry by entry and write the tasks in batches. Memory stays within a batch."""
        waiting: dict[int, Task] = {}
        size = 0
        # The place of an entry is the number of its line or array element.
        for place, entry in numbered_lines(blocks, line_bytes=settings.LIMITS.line_bytes):
            try:
                waiting[place] = _read(entry)
                self._limit.count(good=1)
            except LineError as error:
                self._reject(place, error)
            size += len(entry)
            if size > _BATCH:
                self._write(waiting)
                waiting, size = {}, 0
        self._write(waiting)

    def _reject(self, place: int, error: LineError) -> None:
        self._target.rejected_count += 1
        self._limit.count(rejected=[(place, error.field, error.reason)])
        if len(self._target.rejected) < MAX_LISTED:
            self._target.rejected.append({"place": place, "field": error.field, "reason": error.reason})

    def _write(self, read: dict[int, Task]) -> None:
        """Insert tasks with their answers, replacing tasks with the same ids."""
        tasks = self._without_repeats(read)
        self._reveal_served(tasks)
        contexts = TaskContext.objects.bulk_create(
            [self._context(task) for task in tasks],
            update_conflicts=True,
            unique_fields=["task_id", "run"],
            update_fields=["source", "prompt", "ideal_response", "final_answer", "metadata"],
        )
        TaskAnswer.objects.filter(context__in=contexts).delete()
        answers = TaskAnswer.objects.bulk_create(
            TaskAnswer(context=context, **answer._asdict())
            for context, task in zip(contexts, tasks, strict=True)
            for answer in task.answers
        )
        self._target.tasks += len(contexts)
        self._target.answers += len(answers)

    def _reveal_served(self, tasks: list[Task]) -> None:
        """Record reveals to reviewers who have these tasks' records open: the answers may now be hidden."""
        runs = [self._target.run] if self._target.run else list(Run.objects.filter(blind_share__gt=0))
        ids = [task.task_id for task in tasks if task.answers]
        if runs and ids:
            blind_scoring.reveal_served(Evaluation.objects.filter(run__in=runs, task_id__in=ids))

    def _without_repeats(self, read: dict[int, Task]) -> list[Task]:
        """Return the tasks that are new in the file, and reject repeated ones."""
        ids = {task.task_id for task in read.values()}
        before = TaskContext.objects.filter(source=self._target, run=self._target.run, task_id__in=ids)
        seen = set(before.values_list("task_id", flat=True))
        found = []
        for place, task in read.items():
            if task.task_id in seen:
                self._reject(place, LineError("task_id", f"repeats {task.task_id[:40]!r}"))
            else:
                seen.add(task.task_id)
                found.append(task)
        return found

    def _context(self, task: Task) -> TaskContext:
        columns = {name: value for name, value in task._asdict().items() if name != "answers"}
        return TaskContext(run=self._target.run, source=self._target, **columns)


def _read(entry: bytes) -> Task:
    if entry is OVERLONG:
        limit = settings.LIMITS.line_bytes
        raise LineError("", f"is longer than {limit:,} bytes (COGNIREVIEW_MAX_LINE_BYTES)")
    return read_task(entry, settings.LIMITS)
