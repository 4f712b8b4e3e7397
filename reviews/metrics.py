"""Prometheus metrics from the database, the same in every process.

Their cost does not grow with the data: they read stored counts, small tables and partial indexes.
"""

from collections.abc import Iterator

from django.conf import settings
from django.db import Error, transaction
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector

from cognireview.operations import outage
from reviews.audit import log
from reviews.database.statements import execute, fetch_all, fetch_value
from reviews.models import Import, ImportProgress, Run
from reviews.queue import progress as queue_progress

# The newest runs with work have their own series. The others share one.
MOST_RUNS = 50
OTHER_RUNS = "(others)"
_MILLISECONDS = 3000
_LIMIT_TIME = "SELECT set_config('statement_timeout', %s, true)"
_CONFLICTS = """
    SELECT run.name, count(*) FROM file_conflict JOIN run ON run.id = run_id
    WHERE outcome = 'open' AND archived_at IS NULL GROUP BY run.name ORDER BY 2 DESC
"""
_JOBS = "SELECT queue_name, status::text, count(*) FROM procrastinate_jobs GROUP BY 1, 2"
_WORKERS = """
    SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - make_interval(secs => %s)
"""
_IMPORTS = "SELECT state, count(*), coalesce(sum(lines), 0)::bigint FROM import GROUP BY state"
_QUEUES = ("import", "export", "default")
_STATUSES = ("todo", "doing", "failed")


class DatabaseCollector(Collector):
    """Collect the metrics at each scrape. If the database does not answer in time, only that is reported."""

    def collect(self) -> Iterator[Metric]:
        found: list[Metric] = []
        try:
            if not outage.is_active():
                found = _collected()
        except Error as error:
            if outage.is_outage(error):
                outage.start_watch()
        up = "Whether the database metrics could be read at this scrape."
        yield GaugeMetricFamily("cognireview_database_up", up, value=bool(found))
        yield from found


def _collected() -> list[Metric]:
    with transaction.atomic():
        execute(_LIMIT_TIME, [str(_MILLISECONDS)])
        return [*_of_runs(), _conflicts(), *_of_jobs(), *_of_imports(), *_of_audit()]


def _of_audit() -> Iterator[Metric]:
    head = log.chain_head()
    yield GaugeMetricFamily(
        "cognireview_audit_events", "Events in the audit log's hash chain.", value=head.position
    )
    head_help = "The head of that chain, in the format of verify_audit --head."
    yield InfoMetricFamily("cognireview_audit_head", head_help, value={"head": str(head)})


def _of_runs() -> Iterator[Metric]:
    records = GaugeMetricFamily(
        "cognireview_records",
        "Records by run and state: waiting, claimed and escalated, which are the queue; done; not_required.",
        labels=["run", "state"],
    )
    sums: dict[tuple[str, str], int] = {}
    progress_by_run = queue_progress.all_progress(Run.objects.filter(archived_at=None))
    with_work_first = sorted(progress_by_run, key=lambda pair: not pair[1].left)
    for place, (run, progress) in enumerate(with_work_first):
        name = run.name if place < MOST_RUNS else OTHER_RUNS
        for state in ("waiting", "claimed", "escalated", "done", "not_required"):
            sums[name, state] = sums.get((name, state), 0) + getattr(progress, state)
    for labels, number in sums.items():
        records.add_metric(labels, number)
    yield records


def _conflicts() -> Metric:
    conflicts = GaugeMetricFamily(
        "cognireview_open_conflicts", "Imported decisions that differ from those made here.", labels=["run"]
    )
    rows = fetch_all(_CONFLICTS)
    for name, number in rows[:MOST_RUNS]:
        conflicts.add_metric([name], number)
    if rows[MOST_RUNS:]:
        conflicts.add_metric([OTHER_RUNS], sum(number for _, number in rows[MOST_RUNS:]))
    return conflicts


def _of_jobs() -> Iterator[Metric]:
    jobs = GaugeMetricFamily(
        "cognireview_jobs",
        "Jobs by queue and status, without successful ones.",
        labels=["queue", "status"],
    )
    found = {(queue, status): 0 for queue in _QUEUES for status in _STATUSES}
    for queue, status, number in fetch_all(_JOBS):
        found[queue, status] = number
    for labels, number in found.items():
        jobs.add_metric(labels, number)
    yield jobs
    alive = fetch_value(_WORKERS, [settings.STALLED_WORKER_SECONDS])
    yield GaugeMetricFamily("cognireview_workers", "Job workers with a recent heartbeat.", value=alive)


def _of_imports() -> Iterator[Metric]:
    imports = GaugeMetricFamily("cognireview_imports", "Imports by state.", labels=["state"])
    lines = CounterMetricFamily("cognireview_imported_lines", "Lines of all imports that are done.")
    found = {str(state): (0, 0) for state in Import.State}
    found |= {state: (number, read) for state, number, read in fetch_all(_IMPORTS)}
    for state, (number, _) in found.items():
        imports.add_metric([state], number)
    lines.add_metric([], found["done"][1])
    yield imports
    yield lines
    running = ImportProgress.objects.filter(source__state=Import.State.RUNNING, started_at__isnull=False)
    yield GaugeMetricFamily(
        "cognireview_import_lines_per_second",
        "The speed of the running imports.",
        value=sum(one.lines_per_second or 0 for one in running),
    )
