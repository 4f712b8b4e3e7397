"""Load the counts of a run, its imports, and whether it has saved views, with one query."""

import datetime as dt
from typing import NamedTuple

from django.db import connection

from reviews.database.prepared_statements import prepared_statements
from reviews.models import Run, User
from reviews.queue.progress import PROGRESS_OF_RUN, Progress, progress_values

_BASIS = f"""
    SELECT counted.*,
           (SELECT count(*) FROM file_conflict WHERE run_id = %(run)s AND outcome = 'open'),
           EXISTS (SELECT FROM saved_view WHERE run_id = %(run)s AND (owner_id = %(reader)s OR is_shared)),
           (SELECT json_agg(
                json_build_array(id, file_name, created_at, state, lines, rejected) ORDER BY id DESC
            ) FROM import WHERE run_id = %(run)s)
    FROM ({PROGRESS_OF_RUN}) counted
"""  # noqa: S608 (a constant)


class ImportEntry(NamedTuple):
    """An import in the list of a run. The fields are those of `Import`."""

    pk: int
    file_name: str
    created_at: dt.datetime
    state: str
    lines: int
    rejected: int


class PageBasis(NamedTuple):
    """The basis of the page of a run."""

    progress: Progress
    #: The number of open conflicts with files.
    conflicts: int
    #: Whether the reader can use a saved view.
    has_views: bool
    #: The newest one first.
    imports: tuple[ImportEntry, ...]


@prepared_statements()
def load_page_basis(run: Run, reader: User) -> PageBasis:
    with connection.cursor() as cursor:
        cursor.execute(_BASIS, {**progress_values(run.pk), "reader": reader.pk})
        [(_run, *counts, conflicts, has_views, imports)] = cursor.fetchall()
    entries = (
        ImportEntry(pk, name, dt.datetime.fromisoformat(at), *rest) for pk, name, at, *rest in imports or []
    )
    return PageBasis(Progress(*counts), conflicts, has_views, tuple(entries))
