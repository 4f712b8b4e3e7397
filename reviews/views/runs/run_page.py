"""The page of a run: its progress, records and imports."""

import datetime as dt
from functools import cache, lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from reviews.accounts.permissions import can, denial_reason
from reviews.accounts.preferences import active_key
from reviews.database.compiled_queries import CompiledStatement, with_constants
from reviews.http.request import Request
from reviews.judge import accuracy, missed_errors
from reviews.judge.accuracy import DEFINITIONS
from reviews.judge.accuracy_figures import AccuracyFigures
from reviews.judge.figure_cache import cache_figures
from reviews.judge.loading import shares_loads
from reviews.judge.scope import JudgeScope
from reviews.models import Run, User
from reviews.queue.progress import PROGRESS_OF_RUN, Progress
from reviews.search import indexing, listing, saved_views
from reviews.search.filters import FILTERS, Filters
from reviews.search.listing import RecordList
from reviews.search.sort_orders import SORTS
from reviews.views.runs import filter_menu
from reviews.views.runs.bulk_changes import ACTIONS
from reviews.views.runs.rows import rows_of
from reviews.views.shortcuts import RUN, load_run
from reviews.views.tables import Cell, prominent, share


class CardFigure(NamedTuple):
    name: str
    title: str
    definition: str
    cell: Cell
    caution: str = ""


class JudgeCard(NamedTuple):
    """The figures, measured by this number of `ratings`; without ratings there are no figures."""

    ratings: int
    figures: tuple[CardFigure, ...]


_BIASED = "May overstate the judge's accuracy: the reviewers saw its verdict."


def judge_card(run: Run) -> JudgeCard:
    """Measure the accuracy of verdicts and missed errors over the whole run."""
    return _measure(JudgeScope(run))


@cache_figures
@shares_loads
def _measure(scope: JudgeScope) -> JudgeCard:
    compared = accuracy.compare_with_humans(scope)
    figures = [
        figure
        for basis in accuracy.BASES
        if (found := compared.find(None, basis, "run"))
        for figure in _verdict_figures(found)
    ]
    missed = missed_errors.estimate_missed_errors(scope)
    if missed.ratings:
        estimates = {
            "miss_rate": ("Miss rate", missed.miss_rate),
            "flag_recall": ("Flag recall", missed.flag_recall),
        }
        figures += [
            CardFigure(name, title, missed_errors.DEFINITIONS[name], prominent(share(estimate)))
            for name, (title, estimate) in estimates.items()
        ]
    bases = [compared.ratings.get((basis, "run"), 0) for basis in accuracy.BASES]
    return JudgeCard(sum(bases), tuple(figures))


def _verdict_figures(verdict: AccuracyFigures) -> list[CardFigure]:
    caution = _BIASED if verdict.basis == "assisted" else ""
    estimates = {
        "accuracy": ("Accuracy of verdicts", verdict.accuracy),
        "false_pass": ("False pass", verdict.false_pass),
    }
    return [
        CardFigure(
            f"{verdict.basis}-{name}",
            f"{title} ({verdict.basis})",
            DEFINITIONS[name],
            prominent(share(estimate)),
            caution,
        )
        for name, (title, estimate) in estimates.items()
    ]


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


_SORTS = tuple((name, order.title) for name, order in SORTS.items())
_CHANGES = tuple(ACTIONS.items())


class RunActions(NamedTuple):
    #: The key and the name of the run.
    run: int
    name: str
    is_restricted: bool
    is_archived: bool
    #: Whether records wait or are claimed.
    has_work: bool
    has_records: bool
    #: The sentence that denies an export to the reader; empty if it is allowed.
    export_refusal: str
    #: Whether the reader is a lead, and whether they may change the settings.
    is_lead: bool
    may_configure: bool
    #: The key that starts a review; empty if shortcuts are off.
    start_key: str


class ViewEntry(NamedTuple):
    pk: int
    name: str
    query: str
    is_shared: bool
    #: The name of the other person who shared it; empty for the reader's own views.
    shared_by: str
    #: Whether the reader may remove it.
    is_removable: bool


class StatusTab(NamedTuple):
    value: str
    title: str
    #: The number of records; None if it is not counted.
    size: int | None
    #: The query string of the tab.
    query: str
    is_current: bool


@require_safe
@shares_loads
def run_page(request: Request, pk: int) -> HttpResponse:
    """Show a run with a page of its records: filters by name or in `find`, `sort`, and the cursor `after`."""
    run, basis = load_with_basis(request, pk)
    entered = filter_menu.read(run, request.user, request.GET)
    view = entered.view
    # Going back in the browser history also sends a request of htmx, but for the whole page.
    part_only = request.htmx and not request.htmx.history_restore_request
    is_form = filter_menu.FIND in request.GET or "" in request.GET.values()
    if is_form and not part_only and not entered.problems:
        # The address has each filter by its name, and no empty fields of the form.
        return HttpResponseRedirect(_address(run, view.query()))
    progress = basis.progress
    menu = filter_menu.menu(run, progress, view) if filter_menu.MENU in request.GET else None
    context: dict[str, Any] = {"run": run, "progress": progress, "view": view, "menu": menu}
    if menu is not None and part_only:
        shown = {"run": run.pk, "menu": menu, "sort": view.sort, "values": view.filters.values}
        return _varying(render(request, "runs/filter_menu.html", shown))
    context |= _list(request, run, view, basis)
    context["finder"] = filter_menu.finder(run, entered)
    if part_only:
        response = render(request, "runs/run_page.html#evaluations", context)
        response.headers["HX-Push-Url"] = _address(run, view.query(after=request.GET.get("after", "")))
    else:
        response = render(request, "runs/run_page.html", context | _around(request, run, basis))
    return _varying(response)


def _varying(response: HttpResponse) -> HttpResponse:
    patch_vary_headers(response, ["HX-Request"])
    return response


def _address(run: Run, query: str) -> str:
    return reverse("run", args=[run.pk]) + (f"?{query}" if query else "")


def _list(request: Request, run: Run, view: RecordList, basis: PageBasis) -> dict[str, Any]:
    """Return the context of the list: a page of records, its filters and its links."""
    after, progress = request.GET.get("after", ""), basis.progress
    known = listing.known_total(run, view.filters, progress)
    try:
        page = listing.load_page(
            run, view.filters, reader=request.user, sort=view.sort, after=after, known=known
        )
    except listing.QueryTooSlow:
        page = None
    uncovered = indexing.unindexed_count(run) if view.needs_index else 0
    is_lead = can(request.user, "lead_review")
    selects = is_lead and not run.archived_at
    address, query, filtered = _address(run, ""), view.query(), view.filters.query_string
    return {
        "notes": listing.hidden_record_notes(run, view.filters, sort=view.sort),
        "query": query,
        "filtered": filtered,
        "page": page,
        "rows": rows_of(page, run, request.user, selects=selects) if page else "",
        "first": f"{address}?{query}" if after else "",
        "next": f"{address}?{view.query(after=page.after)}" if page and page.after else "",
        "after": after,
        "tabs": _tabs(view.filters, view.sort, progress),
        "sorts": _SORTS,
        "filter_names": filter_menu.NAMES,
        "uncovered": uncovered,
        "covered": progress.total - uncovered,
        "change_query": urlencode({"list": filtered}),
        "views": _views(run, request.user, is_lead=is_lead) if basis.has_views else (),
        "is_lead": is_lead,
        "selects": selects,
        "changes": _CHANGES,
    }


def _views(run: Run, reader: User, *, is_lead: bool) -> tuple[ViewEntry, ...]:
    return tuple(
        ViewEntry(
            view.pk,
            view.name,
            view.query,
            view.is_shared,
            "" if view.owner == reader else view.owner.name,
            view.owner == reader or is_lead,
        )
        for view in saved_views.load_visible(run, reader)
    )


def _around(request: Request, run: Run, basis: PageBasis) -> dict[str, Any]:
    """Return the context of the page around the list."""
    reader = request.user
    return {
        "actions": _actions(run, basis.progress, reader),
        "imports": basis.imports,
        "may_import": can(reader, "import_file"),
        "may_export": can(reader, "export_run"),
        "conflicts": basis.conflicts if can(reader, "resolve_conflict") else 0,
        "card": judge_card(run) if can(reader, "lead_review") else None,
    }


def _actions(run: Run, progress: Progress, reader: User) -> RunActions:
    return RunActions(
        run=run.pk,
        name=run.name,
        is_restricted=run.is_restricted,
        is_archived=run.archived_at is not None,
        has_work=bool(progress.waiting or progress.claimed),
        has_records=bool(progress.total),
        export_refusal=denial_reason(reader, "export_run"),
        is_lead=can(reader, "lead_review"),
        may_configure=can(reader, "configure_run"),
        start_key=active_key(reader, "start"),
    )


@lru_cache(maxsize=64)
def _tabs(filters: Filters, sort: str, progress: Progress) -> tuple[StatusTab, ...]:
    view, sizes = RecordList(filters, sort), listing.status_sizes(progress)
    current = filters.values_of("status")
    titles = {"": "All"} | dict(FILTERS["status"].options)
    return tuple(
        StatusTab(
            value,
            title,
            sizes.get(value),
            view.query(filters.with_only("status", value)),
            current == ([value] if value else []),
        )
        for value, title in titles.items()
    )
