"""Show whether the order of two responses changes the judge's choice, and list such pairs."""

import json
from collections.abc import Iterator, Sequence

from django.http import Http404, HttpResponseBase

from reviews.http.request import Request
from reviews.judge.comparison.pairwise_choices import BothOrders, Choice
from reviews.judge.comparison.position_bias import DEFINITIONS, PositionBias, measure_position_bias
from reviews.models import User
from reviews.records.scores import criterion_title
from reviews.records.wording import counted
from reviews.views.dot_plots import Dot, DotPlot
from reviews.views.judge.filters import JudgeFilters, load
from reviews.views.judge.record_lists import MOST_ROWS, record_titles, render_records
from reviews.views.judge.sections import Section, linked
from reviews.views.judge.tables import estimate_column
from reviews.views.shortcuts import replica_view
from reviews.views.tables import Cell, Table, as_csv, share, text_columns, words

_HELP = (
    "Does the judge choose a response because of its place? A judge without a bias chooses the same response "
    f"in both orders.\n\n{DEFINITIONS['balanced_share']} {DEFINITIONS['accuracy_difference']}"
)
_ONE_ORDER = (
    "Each pair was judged in one order only. The responses that were shown first may be better, so a share "
    "other than 50% is no bias by itself."
)
_MOST_JUDGES = 3
_ORDERS = {
    "first_share": "First chosen",
    "balanced_share": "First, both orders",
    "changed": "Changed with the order",
    "first_twice": "First both times",
    "second_twice": "Second both times",
}
_CHOICES = {
    "accuracy_first": "Reviewer chose the first",
    "accuracy_second": "Reviewer chose the second",
    "accuracy_difference": "Difference",
}
# The figures of one choice of the reviewer.
_SIDES = ("accuracy_first", "accuracy_second")


def position_bias_sections(filters: JudgeFilters) -> Iterator[Section]:
    found = measure_position_bias(filters.scope)
    if not found:
        return
    yield Section(
        "position-bias",
        "Does the order of two responses matter?",
        answer=" ".join(_answer(one, found) for one in found[:_MOST_JUDGES]),
        tone="warn" if any(one.outcome != "not shown" for one in found) else "",
        help=_HELP,
        plot=DotPlot(
            "Share of choices for the first response",
            [Dot(_subject(one, found), _first(one, filters)) for one in found],
            line=50,
            line_title="no bias, if judged in both orders",
        ),
        notes=[*dict.fromkeys(_notes(found))],
        tables=[
            linked(orders_table(found, filters), filters),
            linked(choices_table(found, filters), filters),
        ],
    )


def _first(bias: PositionBias, filters: JudgeFilters) -> Cell:
    """Return the share for both orders if there are any, otherwise that of all choices."""
    name = "first_share" if bias.balanced_share.value is None else "balanced_share"
    return share(getattr(bias, name), _url(bias, name, filters))


def _notes(found: Sequence[PositionBias]) -> Iterator[str]:
    for one in found:
        if one.first_share.value is not None and one.balanced_share.value is None:
            yield f"{_subject(one, found)}: {_ONE_ORDER}"
        yield from one.notes


def _answer(bias: PositionBias, found: Sequence[PositionBias]) -> str:
    subject = _subject(bias, found)
    if bias.outcome != "not shown":
        sentence = f"{subject}: the judge favours the {bias.outcome} response."
    else:
        sentence = f"{subject}: no bias is shown."
    if bias.changed.value is not None:
        return f"{sentence} The order changed {share(bias.changed).words} of its choices."
    if bias.accuracy_difference.value is None:
        return f"{sentence} No pair was judged in both orders, and there are too few blind ratings."
    first, second = share(bias.accuracy_first).words, share(bias.accuracy_second).words
    return (
        f"{sentence} It agrees with reviewers who chose the first response on {first} of the records, and "
        f"with those who chose the second on {second}."
    )


def _subject(bias: PositionBias, found: Sequence[PositionBias]) -> str:
    judges = {(one.judge, one.template) for one in found}
    title = criterion_title(bias.criterion)
    return title if len(judges) == 1 else f"{title}, {bias.judge}, {bias.template}"


def orders_table(found: Sequence[PositionBias], filters: JudgeFilters) -> Table:
    return _table("position-orders", "Choices by order", found, _ORDERS, filters)


def choices_table(found: Sequence[PositionBias], filters: JudgeFilters) -> Table:
    return _table("position-accuracy", "Accuracy by the reviewer's choice", found, _CHOICES, filters)


def _table(
    name: str,
    title: str,
    found: Sequence[PositionBias],
    figures: dict[str, str],
    filters: JudgeFilters,
) -> Table:
    columns = [
        *text_columns(criterion="Criterion", judge="Judge", template="Prompt"),
        *(estimate_column(figure, heading, DEFINITIONS[figure]) for figure, heading in figures.items()),
    ]
    rows = [
        [
            words(criterion_title(one.criterion)),
            words(one.judge),
            words(one.template),
            *(
                share(
                    getattr(one, figure),
                    _url(one, figure, filters),
                    sign="+" if "difference" in figure else "",
                )
                for figure in figures
            ),
        ]
        for one in found
    ]
    return Table(name, title, columns, rows, "The judge compares no responses.")


def _url(bias: PositionBias, figure: str, filters: JudgeFilters) -> str:
    """Return the URL of the records that a figure counts, if there are any to list."""
    judge = {"judge": bias.judge, "template": bias.template}
    if figure in _CHOICES:
        place = {"criterion": bias.criterion, "basis": "blind", "part": "run"}
        if figure in _SIDES:
            place["human_said"] = json.dumps(bias.scores[_SIDES.index(figure)])
        return filters.address("judge-decisions", **judge, **place)
    is_listed = bias.listed_choices if figure == "first_share" else bias.pairs_of(figure)
    return filters.address("judge-orders", **judge, of=bias.criterion, figure=figure) if is_listed else ""


@replica_view
def list_orders(request: Request, run_pk: int, *, is_csv: bool = False) -> HttpResponseBase:
    """List the choices, or pairs of choices in both orders, that a figure counts, or download them as CSV."""
    filters = load(request, run_pk)
    found, figure = _chosen(request, filters)
    table, count = _listed(found, figure, request.user, most=None if is_csv else MOST_ROWS)
    if is_csv:
        return as_csv(table, "orders.csv")
    return render_records(
        request,
        filters,
        table,
        title=f"{criterion_title(found.criterion)}: {_ORDERS[figure].lower()}",
        description=DEFINITIONS[figure],
        count=count,
        csv_place="judge-orders-csv",
        back=filters.address("judge-errors"),
    )


def _chosen(request: Request, filters: JudgeFilters) -> tuple[PositionBias, str]:
    """Return the criterion and the figure of the URL. Raises `Http404`."""
    figure = request.GET.get("figure", "")
    measured = measure_position_bias(filters.scope) if figure in _ORDERS else ()
    found = next((one for one in measured if one.criterion == filters.criterion), None)
    if found is None:
        raise Http404
    return found, figure


def _listed(bias: PositionBias, figure: str, reader: User, most: int | None) -> tuple[Table, int]:
    """Return the first `most` rows of what a figure counts, and the number of all rows."""
    if figure == "first_share":
        return _choices_table(bias.listed_choices[:most], reader), len(bias.listed_choices)
    pairs = bias.pairs_of(figure)
    return _pairs_table(pairs[:most], reader), len(pairs)


def _choices_table(choices: Sequence[Choice], reader: User) -> Table:
    titles = record_titles({choice.record for choice in choices}, reader)
    rows = [[titles[choice.record], words(choice.position)] for choice in choices]
    columns = [*text_columns(record="Record", chosen="Chosen")]
    return Table("orders", counted(len(choices), "choice"), columns, rows, "No such records.")


def _pairs_table(pairs: Sequence[BothOrders], reader: User) -> Table:
    columns = [
        *text_columns(first_record="Record", first="Chosen"),
        *text_columns(second_record="Record in the other order", second="Chosen there"),
    ]
    titles = record_titles({choice.record for pair in pairs for choice in (pair.one, pair.other)}, reader)
    rows = [
        [
            cell
            for choice in (pair.one, pair.other)
            for cell in (titles[choice.record], words(choice.position))
        ]
        for pair in pairs
    ]
    return Table("orders", counted(len(pairs), "pair"), columns, rows, "No such records.")
