"""Show the judge's accuracy over runs."""

from collections.abc import Iterator

from django.http import HttpResponseBase
from django.urls import reverse

from reviews.http.request import Request
from reviews.judge.accuracy import DEFINITIONS
from reviews.judge.comparison.history import (
    DEFINITION,
    MOST_POINTS,
    RELATIONS,
    History,
    HistoryPoint,
    accuracy_over_runs,
    read_relation,
)
from reviews.models import Run
from reviews.records.wording import counted, quoted
from reviews.views.dot_plots import Dot, DotPlot
from reviews.views.judge.filters import JudgeFilters, load
from reviews.views.judge.pages import render_page
from reviews.views.judge.sections import Section
from reviews.views.judge.tables import estimate_column
from reviews.views.shortcuts import replica_view
from reviews.views.tables import Cell, LinkedTable, Table, as_csv, moment, share, text_columns, words

_TITLE = "Accuracy over runs"
_HELP = (
    "Is the judge getting better from run to run? Each dot is the accuracy over a run, the oldest run "
    f"first.\n\n{DEFINITION}"
)
_ONLY_ONE = "No other run that you can see has the same judge, prompt or criteria."
_OTHER_RECORDS = (
    "The runs may have different records. The page Compare shows the difference on the same responses."
)
# Choosing runs sends this parameter, so that a choice of none differs from no choice.
_PICKED = "pick"


@replica_view
def show_history(request: Request, run_pk: int, *, is_csv: bool = False) -> HttpResponseBase:
    """Show the accuracy of the judge in the run and in related runs, or download it as CSV."""
    filters = load(request, run_pk)
    found = _find(request, filters)
    if is_csv:
        return as_csv(history_table(found, filters), "accuracy-over-runs.csv")
    context = {
        "relations": RELATIONS,
        "by": request.GET.get("by", ""),
        "picked": _PICKED,
        "related": [one for one in found.related if one.run != found.run],
        "sections": [_section(found, request, filters)],
        "own": [(name, value) for name in ("by", _PICKED, "run") for value in request.GET.getlist(name)],
    }
    return render_page(request, filters, "judge-history", context)


def _find(request: Request, filters: JudgeFilters) -> History:
    keys = [int(key) for key in request.GET.getlist("run") if key.isdecimal() and len(key) < 19]
    return accuracy_over_runs(
        filters.scope,
        Run.objects.visible_to(request.user),
        by=read_relation(request.GET.get("by", "")),
        chosen=keys if _PICKED in request.GET else None,
    )


def _section(found: History, request: Request, filters: JudgeFilters) -> Section:
    csv_url = reverse("judge-history-csv", args=[found.run.pk]) + f"?{request.GET.urlencode()}"
    return Section(
        "history",
        _TITLE,
        answer=_answer(found),
        help=_HELP,
        plot=_plot(found, filters),
        notes=[*_notes(found)],
        tables=[LinkedTable(history_table(found, filters), csv_url)] if found.points else [],
    )


def _answer(found: History) -> str:
    known = [point for point in found.points if point.accuracy.value is not None]
    if not known:
        return found.points[-1].accuracy.why if found.points else "This run has no records."
    parts = [f"{quoted(point.run.name)}: {share(point.accuracy).words}" for point in reversed(known[-2:])]
    return f"{'. The run before, '.join(parts)}."


def _plot(found: History, filters: JudgeFilters) -> DotPlot | None:
    dots = []
    for point in found.points:
        if point.accuracy.value is not None:
            ratings = _url(point, "judge-decisions", filters, basis="blind", part="run")
            dots.append(Dot(point.run.name, share(point.accuracy, ratings)))
    line = f"target of {filters.scope.run.name}"
    return DotPlot(_TITLE, dots, line=filters.target, line_title=line) if dots else None


def _url(point: HistoryPoint, place: str, filters: JudgeFilters, **more: str) -> str:
    """Return the URL of a page of a run on the line, with the filters of this page."""
    return reverse(place, args=[point.run.pk], query=filters.chosen | more)


def _notes(found: History) -> Iterator[str]:
    if not [one for one in found.related if one.run != found.run]:
        yield _ONLY_ONE
    if len(found.points) > 1:
        yield _OTHER_RECORDS
    for point in found.points:
        if point.changes:
            changes = " ".join(change.sentence for change in point.changes)
            yield f"“{point.run.name}” differs from the run before it. {changes}"
    for point in found.points:
        if point.accuracy.value is None:
            yield f"{point.run.name}: {point.accuracy.why}"
    if found.omitted:
        older = counted(found.omitted, "older run")
        yield f"Only the newest {MOST_POINTS} runs are shown, without {older}."


def history_table(found: History, filters: JudgeFilters) -> Table:
    columns = [
        *text_columns(run="Run", at="Created", judge="Judge", template="Prompt", related_by="In common"),
        *text_columns(changes="Changed since the run before"),
        estimate_column("accuracy", "Accuracy", DEFINITIONS["accuracy"]),
    ]
    rows = [_row(point, found, filters) for point in found.points]
    return Table("history", _TITLE, columns, rows, _ONLY_ONE)


def _row(point: HistoryPoint, found: History, filters: JudgeFilters) -> list[Cell]:
    common = ", ".join(RELATIONS[one] for one in point.related_by)
    return [
        words(point.run.name, url=_url(point, "judge", filters)),
        moment(point.at),
        words(", ".join(point.judges)),
        words(", ".join(point.templates)),
        words(common or ("this run" if point.run == found.run else "")),
        words(" ".join(change.sentence for change in point.changes)),
        share(point.accuracy),
    ]
