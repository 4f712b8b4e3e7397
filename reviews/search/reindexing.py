"""Index the records of a run again when its rubric changes, because the index has their verdicts."""

from django.db.models import QuerySet, Sum
from procrastinate.contrib.django import app as jobs

from reviews.models import Import, Run, UnindexedImport
from reviews.search import indexing

# A request indexes at most so many lines itself.
MAX_LINES_IN_REQUEST = 2_000


def index_again(run: Run, *, except_for: Import | None = None) -> None:
    """Index all records of a run, those of a large run in a job.

    With `except_for`, an import waits for it, and not a request. The caller has acquired the lock by
    `indexing.lock_before_run`.
    """
    sources: QuerySet[Import] = run.imports.filter(state=Import.State.DONE, new__gt=0)
    if except_for:
        sources = sources.exclude(pk=except_for.pk)
    lines = sources.aggregate(sum=Sum("lines"))["sum"] or 0
    if lines > (indexing.MAX_RECORDS_INLINE if except_for else MAX_LINES_IN_REQUEST):
        left = [UnindexedImport(source=source, line=0, evaluations=source.new) for source in sources]
        UnindexedImport.objects.bulk_create(
            left, update_conflicts=True, unique_fields=["source"], update_fields=["line", "evaluations"]
        )
        jobs.configure_task(indexing.JOB).defer()
    elif lines:
        indexing.index_at_once(run, sources)
