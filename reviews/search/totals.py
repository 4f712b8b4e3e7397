"""The numbers of records of lists that are known without counting their records."""

from reviews.models import Run
from reviews.queue.progress import Progress
from reviews.search import strata
from reviews.search.filters import Filters


def status_sizes(progress: Progress) -> dict[str, int]:
    """Return the number of records by counted status. The key "" has the number of all records."""
    return {
        "": progress.total,
        "waiting": progress.waiting,
        "claimed": progress.claimed,
        "escalated": progress.escalated,
        "done": progress.done,
        "not-required": progress.not_required,
    }


def known_total(run: Run, filters: Filters, progress: Progress) -> int | None:
    """Return the number of records that a reader finds by filters, if it is kept; None otherwise."""
    names = {name for name, _ in filters.values}
    if names <= {"status"}:
        statuses = filters.values_of("status") or [""]
        return status_sizes(progress).get(statuses[0]) if len(statuses) == 1 else None
    # The number of records that a reader may still review blind depends on the reader.
    if not names <= strata.FILTERS.keys() or (run.blind_share and filters.reveals("judge output")):
        return None
    if strata.why_not_counted(run):
        return None
    return strata.count(run, {name: filters.values_of(name) for name in names})
