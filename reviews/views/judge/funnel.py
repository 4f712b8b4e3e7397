"""Show what became of the records that are to be scored blind, and list those behind a number."""

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from cognireview.types.report_parts import Funnel
from reviews.database.pagination import all_rows
from reviews.database.replica import yield_from_replica
from reviews.http.request import Request
from reviews.judge.funnel import DEFINITIONS, AssignedRecord, ListedState, list_records
from reviews.views.judge.filters import JudgeFilters, load
from reviews.views.judge.record_lists import render_pages
from reviews.views.judge.sections import Section, linked
from reviews.views.shortcuts import replica_view
from reviews.views.tables import Cell, Column, Table, as_csv, count, record_cell, text_columns, words

_STATES = {
    "assigned": "Assigned",
    "locked_in": "Locked in",
    "changed": "Changed afterwards",
    "escalated": "Escalated",
    "closed": "Closed",
}
_LISTED: tuple[ListedState, ...] = get_args(ListedState)
_TITLES: dict[ListedState, str] = {
    "assigned": "Records assigned to blind review",
    "closed": "Records that a lead closed",
}
_COLUMNS = text_columns(record="Record", status="Status", scored="Scored blind")


def _figures(found: Funnel, filters: JudgeFilters) -> list[tuple[Column, Cell]]:
    ratings = {"basis": "blind", "part": "run"}
    urls = {state: filters.address("judge-blind-records", state=state) for state in _LISTED} | {
        "locked_in": filters.address("judge-decisions", **ratings),
        "changed": filters.address("judge-decisions", **ratings, changed="any"),
        "escalated": filters.address("judge-decisions", **ratings, escalated="yes"),
    }
    return [
        (Column(name, title, DEFINITIONS[name]), count(getattr(found, name), urls.get(name, "")))
        for name, title in _STATES.items()
    ]


def funnel_table(found: Funnel, filters: JudgeFilters) -> Table:
    columns = [
        Column("state", "State", is_number=False),
        Column("records", "Records", DEFINITIONS["bounds"]),
    ]
    return Table(
        "funnel",
        "Blind review",
        columns,
        [[words(column.title), cell] for column, cell in _figures(found, filters)],
        "",
    )


def funnel_sections(filters: JudgeFilters) -> Iterator[Section]:
    """Show the records of each state, and the bounds that the missing ones leave."""
    found = filters.followed
    if found.assigned:
        yield Section(
            "funnel",
            "Blind review",
            help=DEFINITIONS["bounds"],
            figures=_figures(found, filters),
            tables=[linked(funnel_table(found, filters), filters)],
        )


@replica_view
def show_records(request: Request, run_pk: int) -> HttpResponse:
    """List the records behind a number of blind review, its `state`, in the order of the run."""
    filters, state = load(request, run_pk), _read_state(request)
    return render_pages(
        request,
        filters,
        lambda after: list_records(filters.scope, state, after=after),
        lambda rows: _records_table(state, list(_rows(rows))),
        place="judge-blind-records",
        query={"state": state},
        title=_TITLES[state],
        description=DEFINITIONS[state].partition("\n\n")[2],
        back=filters.address("judge"),
    )


@require_safe
def records_csv(request: Request, run_pk: int) -> StreamingHttpResponse:
    """Download the records of all pages as CSV."""
    filters, state = load(request, run_pk), _read_state(request)
    return as_csv(_records_table(state, _all_rows(filters, state)), f"{state}.csv")


def _read_state(request: Request) -> ListedState:
    for state in _LISTED:
        if request.GET.get("state", "assigned") == state:
            return state
    raise Http404


@yield_from_replica
def _all_rows(filters: JudgeFilters, state: ListedState) -> Iterator[list[Cell]]:
    yield from _rows(all_rows(lambda after: list_records(filters.scope, state, after=after)))


def _records_table(state: ListedState, rows: Iterable[Sequence[Cell]]) -> Table:
    return Table("blind-records", _TITLES[state], _COLUMNS, rows, "No such records.")


def _rows(records: Iterable[AssignedRecord]) -> Iterator[list[Cell]]:
    for record, is_locked_in in records:
        yield [
            record_cell(record),
            words(record.shown_status),
            words("yes" if is_locked_in else "no"),
        ]
