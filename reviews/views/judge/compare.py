"""Compare the judge with that of another run, and judges within the run, on the same responses."""

from collections.abc import Iterator, Sequence

from django.http import Http404, HttpResponse, HttpResponseBase

from cognireview.types.judge import ComparedPart, CriterionComparison
from reviews.http.request import Request
from reviews.judge.comparison import paired
from reviews.judge.comparison.drift import measure_drift
from reviews.judge.comparison.paired import DEFINITION, SIDES, Limits, Pair, PairedComparison, Side
from reviews.judge.comparison.predecessor import find_predecessor
from reviews.judge.scope import JudgeScope
from reviews.models import Run, User
from reviews.records.scores import criterion_title
from reviews.records.wording import counted, quoted
from reviews.search.listing import QueryTooSlow, time_limit
from reviews.views.dot_plots import Dot, DotPlot
from reviews.views.judge import drift
from reviews.views.judge.filters import JudgeFilters, find_other, load_shared, other_runs
from reviews.views.judge.overview import MOST_RECORDS
from reviews.views.judge.pages import render_page
from reviews.views.judge.record_lists import MOST_ROWS, record_titles, render_records
from reviews.views.judge.sections import Section, Tone
from reviews.views.shortcuts import load_run, replica_view
from reviews.views.tables import (
    FEWEST,
    Cell,
    Column,
    LinkedTable,
    Table,
    as_csv,
    count,
    share,
    text_columns,
    words,
)

_TONES: dict[str, Tone] = {"better": "ok", "worse": "bad", "not shown": ""}
_MOST_JUDGES = 10
# Reading the scores of more records takes longer than a page may take.
_PAGE = Limits(scores=20_000, records=MOST_RECORDS)
_RECORDS = Limits(scores=0, records=MOST_RECORDS, parts=False)
_ACCURACY = (
    "How often this judge gives the verdict or the score that a reviewer gives without seeing it. Both "
    "judges are compared on the same responses.\n\n"
    f"The share of all responses that both judged. {DEFINITION}"
)
_DIFFERENCE = (
    "How much more often the second judge is right. If the interval includes 0, either judge may be the "
    "better one.\n\n"
    "For the verdict, ratings of responses with different verdicts alone count, so the difference may not "
    f"quite be that of the two accuracies. {DEFINITION}"
)
_P = (
    "How surprising the difference would be if both judges were equally good. Below 0.05, it is beyond "
    "chance.\n\n"
    "The two-sided p-value of a t-test over tasks, adjusted for all criteria (Holm 1979, Scandinavian "
    "Journal of Statistics 6:65)."
)
# The lists of pairs, by the judge or judges that are right in them.
_LISTS: dict[str, tuple[Side, ...]] = {
    **{side: (side,) for side in SIDES},
    "first_right": ("both", "first"),
    "second_right": ("both", "second"),
}
_WEIGHTED = (
    "Shares weight each rating by the responses that it represents, so they differ from those of the counts "
    "above, and from the accuracy over the whole run."
)
_TOO_SLOW = "The comparison takes too long on this page. Run manage.py judge_report with --compare instead."


@replica_view
def show_compare(request: Request, run_pk: int) -> HttpResponse:
    """Show whether the judge is better than that of an earlier run, and compare judges within the run.

    Without a chosen run, it is the most recent earlier one with the same responses.
    """
    run = load_run(request, run_pk, "lead_review")
    runs = [*other_runs(request, run)]
    chosen = request.GET.get("with", "")
    if chosen:
        other = next((one for one in runs if str(one.pk) == chosen), None)
    else:
        other = find_predecessor(run, request.user)
    filters = load_shared(request, run, other)
    problem = "Choose a run of the list." if chosen and other is None else ""
    sections: list[Section] = []
    try:
        with time_limit():
            between_runs: list[Section] = []
            if other:
                between_runs.append(
                    run_section(paired.compare_runs(other, filters.scope, _PAGE), filters, other)
                )
                between_runs += drift.shift_sections(measure_drift(other, filters.scope), filters, other)
            sections = [*between_runs, *_judge_sections(filters, other)]
    except QueryTooSlow:
        problem = _TOO_SLOW
    own = [("with", chosen)] if chosen else []
    context = {"runs": runs, "other": other, "problem": problem, "sections": sections, "own": own}
    return render_page(request, filters, "judge-compare", context)


@replica_view
def list_pairs(request: Request, run_pk: int, *, is_csv: bool = False) -> HttpResponseBase:
    """List the records behind a count of a comparison, or download them as CSV."""
    filters, found, chosen = _chosen(request, run_pk)
    pairs = [pair for side in _LISTS[chosen] for pair in found.list_pairs(side)]
    if is_csv:
        return as_csv(_table(pairs, request.user), "pairs.csv")
    description = f"Verdicts on the same responses: {found.first} first, {found.second} second."
    return render_records(
        request,
        filters,
        _table(pairs[:MOST_ROWS], request.user),
        title=_titles_of(found)[chosen],
        description=description,
        count=len(pairs),
        csv_place="judge-pairs-csv",
        back=filters.address("judge-compare", **_kept(request)),
    )


def _kept(request: Request) -> dict[str, str]:
    return {"with": chosen} if (chosen := request.GET.get("with")) else {}


def _chosen(request: Request, run_pk: int) -> tuple[JudgeFilters, PairedComparison, str]:
    """Return the comparison of the URL and the name in `_LISTS` of the pairs to list. Raises `Http404`."""
    run, side = load_run(request, run_pk, "lead_review"), request.GET.get("side", "")
    if side not in _LISTS:
        raise Http404
    other = find_other(request, run)
    # Which filters apply depends on the run that the page compares with.
    filters = load_shared(request, run, other)
    try:
        with time_limit():
            found = _find(request, filters.scope, other)
    except QueryTooSlow:
        raise Http404(_TOO_SLOW) from None
    if found is None:
        raise Http404
    return filters, found, side


def _find(request: Request, scope: JudgeScope, other: Run | None) -> PairedComparison | None:
    names = (request.GET.get("first"), request.GET.get("second"))
    if any(names):
        found = paired.compare_judges(scope, _RECORDS)
        return next((one for one in found if (one.first, one.second) == names), None)
    return paired.compare_runs(other, scope, _RECORDS) if other else None


def run_section(found: PairedComparison, filters: JudgeFilters, other: Run) -> Section:
    return _section("runs", f"Compared with {other.name}", found, filters, {"with": str(other.pk)})


def _judge_sections(filters: JudgeFilters, other: Run | None) -> Iterator[Section]:
    found = sorted(paired.compare_judges(filters.scope, _PAGE), key=lambda one: -one.n)
    for number, one in enumerate(found[:_MOST_JUDGES], start=1):
        query = {"first": one.first, "second": one.second} | ({"with": str(other.pk)} if other else {})
        yield _section(f"judges-{number}", f"{one.first} and {one.second}", one, filters, query)


def _section(
    name: str, title: str, found: PairedComparison, filters: JudgeFilters, query: dict[str, str]
) -> Section:
    return Section(
        name,
        title,
        answer=answer(found),
        tone=_TONES[found.outcome] if found.difference.n >= FEWEST else "",
        help=(
            "Did the judge get better? Both judges scored the same responses, and people scored some of them "
            f"blind.\n\n{DEFINITION}"
        ),
        plot=_plot(found, filters, query) if found.n else None,
        figures=[*_figures(found, filters, query)] if found.n else [],
        notes=[
            *(change.sentence for change in found.changes),
            *([_WEIGHTED] if found.n >= FEWEST else []),
            *found.notes,
        ],
        tables=[
            *([LinkedTable(_parts(found, f"{name}-parts"), "")] if found.parts else []),
            *([LinkedTable(_criteria(found, f"{name}-criteria"), "")] if found.criteria else []),
        ],
    )


def _parts(found: PairedComparison, name: str) -> Table:
    columns = [*text_columns(kind="", part="Judge or prompt"), *_accuracy_columns(found)]
    rows = [[words(part.kind), words(part.name), *_accuracies(part)] for part in found.parts]
    return Table(name, "By judge and by prompt", columns, rows, "")


def _accuracy_columns(found: PairedComparison) -> list[Column]:
    return [
        Column("first", found.first, _ACCURACY),
        Column("second", found.second, _ACCURACY),
        Column("difference", "Difference", _DIFFERENCE),
    ]


def _accuracies(one: PairedComparison | CriterionComparison | ComparedPart) -> list[Cell]:
    return [share(one.first_accuracy), share(one.second_accuracy), share(one.difference, sign="+")]


def _criteria(found: PairedComparison, name: str) -> Table:
    columns = [
        *text_columns(criterion="Criterion"),
        *_accuracy_columns(found),
        Column("p", "p", _P),
    ]
    rows = [
        [words(criterion_title(one.criterion)), *_accuracies(one), words(f"{one.p:.3f}")]
        for one in found.criteria
    ]
    return Table(name, "Scores by criterion", columns, rows, "No criterion has scores to compare.")


def answer(found: PairedComparison) -> str:
    """Say in a sentence or two which judge is more accurate."""
    if found.difference.value is None:
        return found.difference.why
    if found.n < FEWEST:
        return (
            f"{counted(found.n, 'rating')} of common responses so far. A comparison needs {FEWEST} or more."
        )
    first, second = quoted(found.first), quoted(found.second)
    on = f"{counted(found.responses, 'common response')}, by {counted(found.n, 'rating')} of either run"
    rates = (
        f"{second} is right on {share(found.second_accuracy).text} of {on}, {first} on "
        f"{share(found.first_accuracy).text}."
    )
    difference = share(found.difference, sign="+").words
    match found.outcome:
        case "better":
            return f"{second} is more accurate: {difference}. {rates}"
        case "worse":
            return f"{second} is less accurate: {difference}. {rates}"
    return f"No difference is shown: {difference}. {rates}"


def _plot(found: PairedComparison, filters: JudgeFilters, query: dict[str, str]) -> DotPlot:
    dots = [
        Dot(found.first, share(found.first_accuracy, _address(found, filters, query, "first_right"))),
        Dot(found.second, share(found.second_accuracy, _address(found, filters, query, "second_right"))),
    ]
    line = f"target of {filters.scope.run.name}"
    return DotPlot("Accuracy on the same responses", dots, line=filters.target, line_title=line)


def _address(found: PairedComparison, filters: JudgeFilters, query: dict[str, str], side: str) -> str:
    """Return the URL of the pairs of `_LISTS`; empty if none may be listed."""
    is_listed = any(found.lists(one) for one in _LISTS[side])
    return filters.address("judge-pairs", **query, side=side) if is_listed else ""


def _figures(
    found: PairedComparison, filters: JudgeFilters, query: dict[str, str]
) -> Iterator[tuple[Column, Cell]]:
    titles = _titles_of(found)
    for side in SIDES:
        yield Column(side, titles[side]), count(found.counts[side], _address(found, filters, query, side))


def _titles_of(found: PairedComparison) -> dict[str, str]:
    return {
        "both": "Both right",
        "first": f"Only {found.first} right",
        "second": f"Only {found.second} right",
        "neither": "Both wrong",
        "first_right": f"{found.first} right",
        "second_right": f"{found.second} right",
    }


def _table(pairs: Sequence[Pair], reader: User) -> Table:
    columns = [
        *text_columns(first_record="First record", first="First verdict"),
        *text_columns(second_record="Second record", second="Second verdict"),
        Column("human", "Human", "The verdict of a blind rating.", is_number=False),
    ]
    return Table("pairs", counted(len(pairs), "pair"), columns, [*_rows(pairs, reader)], "No such records.")


def _rows(pairs: Sequence[Pair], reader: User) -> Iterator[list[Cell]]:
    keys = {side.record for pair in pairs for side in (pair.first, pair.second)}
    records = record_titles(keys, reader)
    for pair in pairs:
        yield [
            records[pair.first.record],
            words(pair.first.verdict),
            records[pair.second.record],
            words(pair.second.verdict),
            words(pair.human),
        ]
