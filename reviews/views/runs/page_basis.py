"""Load a run, its counts and imports, and whether it has saved views, with one query."""

import datetime as dt
from functools import cache
from typing import NamedTuple

from reviews.database.compiled_queries import CompiledStatement, with_constants
from reviews.http.request import Request
from reviews.models import Run
from reviews.queue.progress import PROGRESS_OF_RUN, Progress
from reviews.views.access import RUN, load_run

_BASIS = """
    SELECT known.*, (
        SELECT json_build_array(
            to_json(counted),
            (SELECT count(*) FROM file_conflict WHERE run_id = %(run)s AND outcome = 'open'),
            EXISTS (
                SELECT FROM saved_view WHERE run_id = %(run)s AND (owner_id = %(reader)s OR is_shared)
            ),
            (SELECT json_agg(
                json_build_array(id, file_name, created_at, state, lines, rejected) ORDER BY id DESC
            ) FROM import WHERE run_id = %(run)s)
        ) FROM ({progress}) counted
    ) AS basis
    FROM ({run}) known
"""


class ImportEntry(NamedTuple):
    """An import in the list of a run. The fields are those of `Import`."""

    pk: int
    file_name: str
    created_at: dt.datetime
    state: str
    lines: int
    rejected: int


class PageBasis(NamedTuple):
    progress: Progress
    #: The number of open conflicts with files.
    conflicts: int
    #: Whether the reader can use a saved view.
    has_views: bool
    #: The newest one first.
    imports: tuple[ImportEntry, ...]


def load_with_basis(request: Request, pk: int) -> tuple[Run, PageBasis]:
    """Return a run as `load_run` does, and the basis of its page."""

    def load(key: int) -> Run | None:
        found = _statement().rows({"run": key, "reader": request.user.pk})
        return next(iter(found), None)

    run = load_run(request, pk, load=load)
    counts, conflicts, has_views, imports = vars(run)["basis"]
    progress = Progress(*(counts[name] for name in Progress._fields))
    entries = (
        ImportEntry(pk, name, dt.datetime.fromisoformat(at), *rest) for pk, name, at, *rest in imports or []
    )
    return run, PageBasis(progress, conflicts, has_views, tuple(entries))


@cache
def _statement() -> CompiledStatement[Run]:
    statement, values = RUN.queryset.query.sql_with_params()
    run, [_key] = with_constants(statement, list(values), parameters=["key"])
    return CompiledStatement(Run, _BASIS.format(progress=PROGRESS_OF_RUN, run=run.replace("%s", "%(run)s")))
