"""Show the drift of the judge between two runs, and their models without it."""

from collections.abc import Iterator

from django.http import Http404, HttpResponseBase

from reviews.http.request import Request
from reviews.judge.comparison.anchors import Anchors
from reviews.judge.comparison.drift import DEFINITIONS, Drift, measure_drift
from reviews.judge.scope import JudgeScope
from reviews.models import Run, User
from reviews.records.scores import criterion_title
from reviews.records.wording import counted, quoted
from reviews.search.facets import VERDICT_ORDER
from reviews.search.listing import QueryTooSlow, time_limit
from reviews.views.dot_plots import Dot, DotPlot, difference_plot
from reviews.views.judge.filters import JudgeFilters, find_other, list_of_scope, load_shared
from reviews.views.judge.record_lists import MOST_ROWS, record_titles, render_records
from reviews.views.judge.sections import Section
from reviews.views.judge.tables import estimate_column
from reviews.views.shortcuts import load_run, replica_view
from reviews.views.tables import (
    Cell,
    Column,
    LinkedTable,
    Table,
    as_csv,
    count,
    figure,
    share,
    text_columns,
    words,
)

_MODELS = "Models, without the judge's shift"
_HELP = (
    "Does the judge now give other verdicts on the same responses? These responses are in both runs, so only "
    f"the judge can differ.\n\n{DEFINITIONS['shift']}"
)
_MODELS_HELP = (
    "Is a model of one run better than a model of the other, if both had been judged alike? The judge's "
    f"shift is subtracted from the difference of their pass rates.\n\n{DEFINITIONS['adjusted']}"
)
_SAME_NAMES = (
    "Judge, prompt and criteria have the same names in both runs. The shift has another cause, such as a new "
    "version behind the same name."
)
_MOST_DOTS = 12
_OF_RATINGS = {"reviewer", "since", "until"}
_TOO_SLOW = "The comparison takes too long on this page. Run manage.py judge_report with --drift instead."


def shift_sections(found: Drift, filters: JudgeFilters, other: Run) -> Iterator[Section]:
    query = {"with": str(other.pk)}
    yield Section(
        "drift",
        "Did the judge become milder or stricter?",
        answer=answer(found),
        tone="warn" if found.outcome != "not shown" else "",
        help=_HELP,
        plot=_plot(found, filters, query) if found.counts else None,
        figures=[*_figures(found, filters, query)] if found.counts else [],
        notes=[*_changes(found), *found.notes, *_ignored(filters)],
        tables=[_linked(_criteria(found), filters, query)] if found.criteria else [],
    )
    if found.models:
        yield Section(
            "models",
            _MODELS,
            answer=_models_answer(found),
            help=_MODELS_HELP,
            plot=_models_plot(found, filters.scope),
            tables=[_linked(_models(found), filters, query)],
        )


@replica_view
def list_anchors(request: Request, run_pk: int, *, is_csv: bool = False) -> HttpResponseBase:
    """List the pairs of records with two verdicts on the same response, or download them as CSV.

    With `table`, the CSV file has that table of the drift instead.
    """
    filters, found = _find(request, run_pk)
    build = {"criteria": _criteria, "models": _models}.get(request.GET.get("table", ""))
    if is_csv and build:
        table = build(found)
        return as_csv(table, f"{table.name}.csv")
    first, second = _verdicts(request)
    pairs = found.listed_with(first, second)
    if is_csv:
        return as_csv(_table(pairs, request.user), "anchors.csv")
    title, description = _titles(found, first, second)
    return render_records(
        request,
        filters,
        _table(pairs.head(MOST_ROWS), request.user),
        title=title,
        description=description,
        count=len(pairs),
        csv_place="judge-anchors-csv",
        back=filters.address("judge-compare", **{"with": request.GET["with"]}),
    )


def _verdicts(request: Request) -> tuple[str, str]:
    """Return the verdicts whose pairs to list, or empty texts for all pairs. Raises `Http404`."""
    first, second = (request.GET.get(name, "") for name in ("first", "second"))
    if not {first, second} <= {*VERDICT_ORDER, ""}:
        raise Http404
    return first, second


def _titles(found: Drift, first: str, second: str) -> tuple[str, str]:
    if not (first or second):
        return "Common responses", f"The same responses in {found.first} and in {found.second}."
    description = (
        f"The verdict was {first or 'any'} in {found.first} and is {second or 'any'} in {found.second}."
    )
    return f"{first or 'any'} → {second or 'any'}", description


def _find(request: Request, run_pk: int) -> tuple[JudgeFilters, Drift]:
    """Return the drift of the URL with its filters. Raises `Http404`."""
    run = load_run(request, run_pk, "lead_review")
    other = find_other(request, run)
    if other is None:
        raise Http404
    filters = load_shared(request, run, other)
    try:
        with time_limit():
            return filters, measure_drift(other, filters.scope)
    except QueryTooSlow:
        raise Http404(_TOO_SLOW) from None


def answer(found: Drift) -> str:
    """Say in a sentence or two whether the judge gives other verdicts on the same responses."""
    if found.shift.value is None:
        return found.shift.why
    shift = share(found.shift, sign="+").words
    changed = f"The judge changed {share(found.changed).words} of the verdicts."
    if found.outcome == "not shown":
        return f"No shift is shown: the pass rate on the same responses changed by {shift}. {changed}"
    return (
        f"The judge of {found.second} is {found.outcome}: the pass rate on the same responses changed by "
        f"{shift}. {changed}"
    )


def _changes(found: Drift) -> Iterator[str]:
    if not found.changes and found.outcome != "not shown":
        yield _SAME_NAMES
    yield from (change.sentence for change in found.changes)


def _ignored(filters: JudgeFilters) -> Iterator[str]:
    if _OF_RATINGS & {*filters.chosen}:
        yield "The filters by reviewer and date do not apply here: no reviews are needed."


def _plot(found: Drift, filters: JudgeFilters, query: dict[str, str]) -> DotPlot:
    url = filters.address("judge-anchors", **query) if len(found.listed) else ""
    dots = [
        Dot(found.first, share(found.first_rate, url)),
        Dot(found.second, share(found.second_rate, url)),
    ]
    return DotPlot("Pass rate by the judge on the same responses", dots)


def _figures(found: Drift, filters: JudgeFilters, query: dict[str, str]) -> Iterator[tuple[Column, Cell]]:
    yield Column("changed", "Changed verdicts", DEFINITIONS["changed"]), share(found.changed)
    for one in found.counts:
        if one.first != one.second:
            url = filters.address("judge-anchors", **query, first=one.first, second=one.second)
            is_listed = len(found.listed_with(one.first, one.second))
            yield (
                Column(f"{one.first}-{one.second}", f"{one.first} → {one.second}", DEFINITIONS["pairs"]),
                count(one.pairs, url if is_listed else ""),
            )


def _linked(table: Table, filters: JudgeFilters, query: dict[str, str]) -> LinkedTable:
    name = table.name.removeprefix("drift-")
    return LinkedTable(table, filters.address("judge-anchors-csv", **query, table=name))


def _criteria(found: Drift) -> Table:
    columns = [
        *text_columns(criterion="Criterion"),
        Column("pairs", "Pairs"),
        Column("first", f"Mean in {found.first}", DEFINITIONS["mean"]),
        Column("second", f"Mean in {found.second}", DEFINITIONS["mean"]),
        estimate_column("shift", "Shift", DEFINITIONS["score_shift"]),
    ]
    rows = [
        [
            words(criterion_title(one.criterion)),
            count(one.pairs),
            _mean(one.first_mean),
            _mean(one.second_mean),
            figure(one.shift, sign="+"),
        ]
        for one in found.criteria
    ]
    return Table("drift-criteria", "Mean scores on the same responses", columns, rows, "No scores.")


def _mean(value: float) -> Cell:
    return Cell(f"{value:,.2f}", round(value, 4))


def _models_answer(found: Drift) -> str:
    shown = [one for one in found.models if one.adjusted.low is not None and one.adjusted.high is not None]
    better = [one for one in shown if (one.adjusted.low or 0) > 0 or (one.adjusted.high or 0) < 0]
    if not better:
        return "No difference between models of the two runs is shown without the judge's shift."
    largest = max(better, key=lambda one: abs(one.adjusted.value or 0))
    return (
        f"{counted(len(better), 'pair')} of {len(found.models):,} differ beyond chance. The largest "
        f"difference: {largest.second_model} in {quoted(found.second)} and {largest.first_model} in "
        f"{quoted(found.first)}, {share(largest.adjusted, sign='+').words}."
    )


def _models_plot(found: Drift, scope: JudgeScope) -> DotPlot:
    largest = sorted(found.models, key=lambda one: -abs(one.adjusted.value or 0))[:_MOST_DOTS]
    dots = [
        Dot(
            f"{one.second_model} now, {one.first_model} before",
            share(one.adjusted, list_of_scope(scope, model=one.second_model), sign="+"),
            other=None if one.raw.value is None else 100 * one.raw.value,
        )
        for one in largest
    ]
    title = (
        f"Pass rate in {quoted(found.second)} minus that in {quoted(found.first)}, without the judge's shift"
    )
    plot = difference_plot(title, dots)
    reach = max(plot.high, *(abs(dot.other or 0) for dot in dots))
    return plot._replace(low=-reach, high=reach, other_title="with the shift")


def _models(found: Drift) -> Table:
    columns = [
        *text_columns(second_model=f"Model in {found.second}", first_model=f"Model in {found.first}"),
        estimate_column("second_rate", "Pass rate", DEFINITIONS["rate"]),
        estimate_column("first_rate", "Pass rate, earlier run", DEFINITIONS["rate"]),
        estimate_column("raw", "Difference", DEFINITIONS["raw"]),
        estimate_column("adjusted", "Without the shift", _MODELS_HELP),
    ]
    rows = [
        [
            words(one.second_model),
            words(one.first_model),
            share(one.second_rate),
            share(one.first_rate),
            share(one.raw, sign="+"),
            share(one.adjusted, sign="+"),
        ]
        for one in found.models
    ]
    return Table("drift-models", _MODELS, columns, rows, "No models to compare.", folds=True)


def _table(pairs: Anchors, reader: User) -> Table:
    columns = [
        *text_columns(first_record="First record", first="First verdict"),
        *text_columns(second_record="Second record", second="Second verdict"),
    ]
    return Table("anchors", counted(len(pairs), "pair"), columns, [*_rows(pairs, reader)], "No such records.")


def _rows(pairs: Anchors, reader: User) -> Iterator[list[Cell]]:
    titles = record_titles({*pairs.first.tolist(), *pairs.second.tolist()}, reader)
    columns = (pairs.first, pairs.first_verdict, pairs.second, pairs.second_verdict)
    for first, verdict, second, later in zip(*(column.tolist() for column in columns), strict=True):
        yield [titles[first], words(VERDICT_ORDER[verdict]), titles[second], words(VERDICT_ORDER[later])]
