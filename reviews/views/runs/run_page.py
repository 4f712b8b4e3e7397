"""The page of a run: its progress, records and imports."""

from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from reviews.accounts.permissions import can, people_in
from reviews.history import file_conflicts
from reviews.http.request import Request
from reviews.models import Evaluation, Run
from reviews.queue import progress as queue_progress
from reviews.queue.progress import Progress
from reviews.records.rubric import Rubric
from reviews.rubric.run_rubric import run_rubric
from reviews.search import filter_options, indexing, listing, saved_views
from reviews.search.filter_options import FilterOption
from reviews.search.filters import FILTERS, NOBODY, Filters
from reviews.search.listing import RecordList, RecordPage
from reviews.search.verdicts import judge_verdict
from reviews.views.access import load_run
from reviews.views.runs.judge_card import judge_card

# Filters with an input of this type; the others offer the values that occur.
_TYPED = {
    "q": "search",
    "task": "text",
    "created-from": "date",
    "created-until": "date",
    "reviewed-from": "date",
    "reviewed-until": "date",
}
# Rarely used filters are folded.
_RARE = (
    "template",
    "contradiction",
    "parse-error",
    "decided-by",
    "assigned-to",
    "claimed-by",
    *list(_TYPED)[2:],
)


class StatusTab(NamedTuple):
    """A tab with the records of one status."""

    value: str
    title: str
    #: The number of records; None if it is not counted.
    size: int | None
    #: The query string of the tab.
    query: str
    is_current: bool


class Field(NamedTuple):
    """A filter in the form."""

    name: str
    title: str
    #: "choose", or the type of an input.
    kind: str
    #: The entered value of an input.
    value: str
    #: The values that are not chosen yet.
    choices: list[FilterOption]


class Chip(NamedTuple):
    """An active filter."""

    name: str
    value: str
    title: str
    #: The value as shown.
    text: str
    #: The query string without this filter.
    without: str


class Row(NamedTuple):
    """A record in the list."""

    evaluation: Evaluation
    #: None if the judge gave no verdict, or if it is hidden from the reader.
    judge_verdict: str | None
    #: None if nobody decided, or if the judge's verdict is hidden from the reader.
    human_verdict: str | None
    is_claimed: bool
    #: Whether the reader may still review the record blind.
    is_blind: bool


@require_safe
def run_page(request: Request, pk: int) -> HttpResponse:
    """Show a run with a page of its records: filters by name, `sort`, and the cursor `after`."""
    run = load_run(request, pk)
    view = RecordList.parse(request.GET)
    # Going back in the browser history also asks through htmx, but for the whole page.
    part_only = request.htmx and not request.htmx.history_restore_request
    if not part_only and "" in request.GET.values():
        # Leave the empty fields of the form out of the address.
        return HttpResponseRedirect(_address(run, view.query()))
    progress = queue_progress.run_progress(run)
    context = {"run": run, "progress": progress, **_list(request, run, view, progress)}
    if part_only:
        response = render(request, "runs/run_page.html#evaluations", context)
        response.headers["HX-Push-Url"] = _address(run, view.query(after=context["after"]))
    else:
        response = render(request, "runs/run_page.html", context | _around(request, run))
    patch_vary_headers(response, ["HX-Request"])
    return response


def _address(run: Run, query: str) -> str:
    return reverse("run", args=[run.pk]) + (f"?{query}" if query else "")


def _list(request: Request, run: Run, view: RecordList, progress: Progress) -> dict[str, Any]:
    """Return the context of the list: a page of records, its filters and its links."""
    after = request.GET.get("after", "")
    known = _known(view.filters, progress)
    try:
        page = listing.load_page(
            run, view.filters, reader=request.user, sort=view.sort, after=after, known=known
        )
    except listing.QueryTooSlow:
        page = None
    rubric = run_rubric(run)
    offered = _choices(run)
    uncovered = indexing.unindexed_count(run) if view.needs_index else 0
    return {
        "view": view,
        "notes": listing.hidden_record_notes(run, view.filters, sort=view.sort),
        "query": view.query(),
        "filtered": view.filters.query_string,
        "page": page,
        "rows": [_row(evaluation, page, rubric) for evaluation in page.rows] if page else [],
        "next": view.query(after=page.after) if page and page.after else "",
        "after": after,
        "tabs": _tabs(view, progress),
        "fields": [_field(name, view.filters, offered) for name in FILTERS if name not in {"status", *_RARE}],
        "rare": [_field(name, view.filters, offered) for name in FILTERS if name in _RARE],
        "rare_is_open": any(view.filters.values_of(name) for name in _RARE),
        "kept": [pair for pair in view.filters.values if pair[0] not in _TYPED],
        "chips": _chips(view, offered),
        "sorts": listing.SORTS,
        "most_counted": listing.MAX_COUNTED,
        "uncovered": uncovered,
        "covered": progress.total - uncovered,
        "change_query": urlencode({"list": view.filters.query_string}),
        "views": saved_views.visible_to(run, request.user),
        "is_lead": can(request.user, "lead_review"),
    }


def _around(request: Request, run: Run) -> dict[str, Any]:
    """Return the context of the page around the list."""
    return {
        "imports": run.imports.order_by("-pk"),
        "may_import": can(request.user, "import_file"),
        "may_export": can(request.user, "export_run"),
        "conflicts": file_conflicts.count_open(run) if can(request.user, "resolve_conflict") else 0,
        "card": judge_card(run) if can(request.user, "lead_review") else None,
    }


def _sizes(progress: Progress) -> dict[str, int]:
    return {
        "": progress.total,
        "waiting": progress.waiting,
        "claimed": progress.claimed,
        "escalated": progress.escalated,
        "done": progress.done,
        "not-required": progress.not_required,
    }


def _known(filters: Filters, progress: Progress) -> int | None:
    """Return the number of records if the progress has already counted them."""
    statuses = filters.values_of("status")
    if len(filters.values) != len(statuses) or len(statuses) > 1:
        return None
    return _sizes(progress).get(statuses[0] if statuses else "")


def _tabs(view: RecordList, progress: Progress) -> list[StatusTab]:
    sizes, current = _sizes(progress), view.filters.values_of("status")
    titles = {"": "All"} | dict(FILTERS["status"].options)
    return [
        StatusTab(
            value,
            title,
            sizes.get(value),
            view.query(view.filters.with_only("status", value)),
            current == ([value] if value else []),
        )
        for value, title in titles.items()
    ]


def _choices(run: Run) -> dict[str, list[FilterOption]]:
    """Return the options of each filter."""
    people = [FilterOption(person.username, person.name) for person in people_in(run)]
    fixed = {
        name: [FilterOption(value, title) for value, title in known.options.items()]
        for name, known in FILTERS.items()
        if known.options
    }
    return (
        fixed
        | filter_options.facet_options(run, *indexing.FACETS_WITH_OPTIONS)
        | {
            "decided-by": [FilterOption(name, name) for name in filter_options.decided_by_names(run)],
            "assigned-to": [FilterOption(NOBODY, NOBODY), *people],
            "claimed-by": people,
        }
    )


def _field(name: str, filters: Filters, offered: dict[str, list[FilterOption]]) -> Field:
    values = filters.values_of(name)
    value = values[-1] if values and name in _TYPED else ""
    remaining = [choice for choice in offered.get(name, []) if choice.value not in values]
    return Field(name, FILTERS[name].title, _TYPED.get(name, "choose"), value, remaining)


def _chips(view: RecordList, offered: dict[str, list[FilterOption]]) -> list[Chip]:
    chips = []
    for name, value in view.filters.values:
        title = next((choice.title for choice in offered.get(name, []) if choice.value == value), value)
        without = view.query(view.filters.without((name, value)))
        chips.append(Chip(name, value, FILTERS[name].title, title, without))
    return chips


def _row(evaluation: Evaluation, page: RecordPage, rubric: Rubric) -> Row:
    if evaluation.pk in page.hidden:
        return Row(evaluation, None, None, evaluation.is_in_progress, is_blind=True)
    human = rubric.verdict(evaluation.human_corrected_scores)
    judged = judge_verdict(evaluation, rubric)
    return Row(evaluation, judged, human, evaluation.is_in_progress, is_blind=False)
