"""Import files of task context: prompts, reference answers and the answers of each model.

The pipeline's ingestion writes such a file: a JSON array of tasks, or one task per line, compressed or not.
Each invalid entry is reported with place, field and reason; the others are imported. An existing task is
replaced as a whole, so importing a file twice changes nothing.
"""

from collections.abc import Iterable

from django.conf import settings
from django.db import transaction

from reviews.audit import events
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.imports import task_entry
from reviews.imports.importer import clean_file_name
from reviews.imports.rejection_limit import RejectionLimit
from reviews.imports.runs import check_open
from reviews.imports.task_entry import Task
from reviews.models import ContextImport, Evaluation, Run, TaskAnswer, TaskContext, User
from reviews.records.schema import LineError
from reviews.review import blind_scoring
from reviews.storage.chunks import BLOCK_SIZE, OVERLONG, MeteredStream, numbered_lines
from reviews.storage.errors import ImportRefused
from reviews.storage.source_text import SourceText

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
    return task_entry.read_task(entry, settings.LIMITS)
