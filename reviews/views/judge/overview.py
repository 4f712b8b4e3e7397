"""The cards of the overview: short answers to further questions about the judge, with their records."""

import re
from collections.abc import Iterator
from contextlib import suppress

from cognireview.types.estimates import Change
from reviews.judge import missed_errors, planning
from reviews.judge.accuracy_figures import AccuracyFigures
from reviews.judge.comparison import paired
from reviews.judge.comparison.paired import Limits, PairedComparison
from reviews.judge.comparison.predecessor import find_predecessor
from reviews.judge.comparison.shared_filters import read_shared_filters
from reviews.judge.drilldown import OTHER_SCORE
from reviews.judge.planning import JudgePlan
from reviews.queue.progress import run_progress, waiting_for_others
from reviews.records.wording import counted, percent, quoted
from reviews.search.listing import QueryTooSlow, time_limit
from reviews.statistics.intervals import complement
from reviews.views.judge import confusion, tables
from reviews.views.judge.filters import JudgeFilters
from reviews.views.judge.sections import Card, Mark
from reviews.views.shortcuts import record_list
from reviews.views.tables import FEWEST, Cell, figure, prominent, share

_MOST_MARKS = 3
_FOLDERS = re.compile(r"[^\s,]*/(?=[^\s,/])")
#: Of more records with common responses, pages compare about as many rated ones and as many others.
MOST_RECORDS = 10_000
_COMPARED = {
    "better": "is more accurate",
    "worse": "is less accurate",
    "not shown": "is not shown to be more or less accurate",
}


def error_cards(filters: JudgeFilters) -> Iterator[Card]:
    """Give the share of wrong verdicts, the most frequent confusions and the least accurate criterion."""
    known = tables.best(filters.compared)
    figures = filters.compared.figures_of(*known) if known else []
    verdict = next((one for one in figures if one.criterion is None), None)
    if verdict is None:
        return
    wrong = share(complement(verdict.accuracy), filters.ratings_of(verdict, human_said=OTHER_SCORE))
    of_which = tables.RECORDS[verdict.part] if verdict.basis == "blind" else "the decided records"
    whose = "" if verdict.basis == "blind" else ", by reviewers who saw them"
    yield Card(
        "What does it get wrong?",
        f"Share of wrong verdicts on {of_which}{whose}.",
        filters.address("judge-errors"),
        figure=prominent(wrong),
        marks=[*_confusions(verdict, filters), *_weakest(figures, filters)],
    )


def _confusions(verdict: AccuracyFigures, filters: JudgeFilters) -> Iterator[Mark]:
    """Yield the most frequent pairs of different verdicts, by the share of records if it is known."""
    lines = confusion.confusion_table(verdict, filters).lines
    pairs = [
        (crossing, verdict.shares[row][column] if verdict.shares else None)
        for row, line in enumerate(lines)
        for column, crossing in enumerate(line.crossings)
        if not crossing.is_same and crossing.cell.value
    ]
    pairs.sort(key=lambda pair: -(pair[1] if pair[1] is not None else float(pair[0].cell.value or 0)))
    for crossing, part in pairs[:_MOST_MARKS]:
        ratings = counted(int(crossing.cell.value or 0), "rating")
        of_all = "records" if verdict.basis == "blind" else "decisions"
        text = ratings if part is None or verdict.n < FEWEST else f"{percent(part)} of {of_all} ({ratings})"
        yield Mark(crossing.title, text, crossing.cell.url)


def _weakest(figures: list[AccuracyFigures], filters: JudgeFilters) -> Iterator[Mark]:
    """Yield the criterion with the lowest accuracy, among those with enough ratings."""
    known = [
        one
        for one in figures
        if one.criterion is not None and one.n >= FEWEST and one.accuracy.value is not None
    ]
    lowest = min(known, key=lambda one: one.accuracy.value or 0, default=None)
    if lowest and len(known) > 1 and lowest.accuracy.value != 1:
        wrong = share(complement(lowest.accuracy))
        yield Mark(
            f"Least accurate criterion: {lowest.title}",
            f"{wrong.text} wrong ({wrong.note})",
            filters.ratings_of(lowest, human_said=OTHER_SCORE),
        )


def missed_error_cards(filters: JudgeFilters) -> Iterator[Card]:
    """Give the share of errors that the flags miss, and their number."""
    found = missed_errors.estimate_missed_errors(filters.scope)
    wrong = filters.address("judge-decisions", basis="blind", part="unflagged", human_said=OTHER_SCORE)
    marks = []
    if found.missed.value is not None and found.missed.n >= FEWEST:
        marks = [
            Mark("Missed errors", figure(found.missed, digits=0).words, wrong),
            Mark("Wrong verdicts among unflagged records", share(found.miss_rate).words, wrong),
        ]
    missed = complement(found.flag_recall)
    yield Card(
        "What do the flags miss?",
        "Share of all wrong verdicts that are on unflagged records."
        if missed.value is not None
        else missed.why,
        filters.address("judge-flags"),
        figure=prominent(share(missed, wrong)) if missed.value is not None else None,
        marks=marks,
    )


def comparison_cards(filters: JudgeFilters) -> Iterator[Card]:
    """Compare the judge with that of the run it replaces, or with another judge or prompt of the run."""
    title, run, url = "Did it get better?", filters.scope.run, filters.address("judge-compare")
    before = find_predecessor(run, filters.reader) if filters.reader else None
    found: PairedComparison | None = None
    limits = Limits(scores=0, records=MOST_RECORDS, parts=False)
    scope = read_shared_filters(before, run, filters.chosen).scope
    with suppress(QueryTooSlow), time_limit():
        if before:
            found = paired.compare_runs(before, scope, limits)
        else:
            within = paired.compare_judges(scope, limits)
            found = max(within, key=lambda one: one.n, default=None)
    if found:
        yield _comparison_card(title, found, url)
    elif before:
        answer = f"Compare the judge with that of {quoted(before.name)} on the same responses."
        yield Card(title, answer, url, "Compare")
    else:
        yield Card(title, "No earlier run that you can see has the same responses.", url, "Compare")


def _comparison_card(title: str, found: PairedComparison, url: str) -> Card:
    marks = [Mark(change.kind, _change(change)) for change in found.changes]
    if found.difference.value is None:
        answer = f"Compared with {quoted(found.first)}: {found.difference.why}"
        return Card(title, answer, url, "Compare", marks=marks)
    on = f"{counted(found.responses, 'common response')} with {counted(found.n, 'rating')}"
    answer = f"{quoted(found.second)} {_COMPARED[found.outcome]} than {quoted(found.first)}, on {on}."
    difference = prominent(share(found.difference, url, sign="+"))
    return Card(title, answer, url, "Compare", figure=difference, marks=marks)


def _change(change: Change) -> str:
    """Return the names before and after a change, those of prompts without folders if they differ then."""
    short = [_FOLDERS.sub("", names) for names in (change.first, change.second)]
    is_short = change.kind == "Prompt" and short[0] != short[1]
    first, second = short if is_short else (change.first, change.second)
    return f"{first} → {second}"


def plan_cards(filters: JudgeFilters) -> Iterator[Card]:
    """Answer what to review next."""
    plan = planning.plan_reviews(filters.scope)
    answer = plan.sentences[0]
    if plan.more and plan.parts[0].is_reachable:
        target = planning.points(plan.target)
        answer = f"They narrow the interval of the accuracy {_now(plan)}to ±{target} points."
    elif plan.more:
        answer = f"These are all records that can still be reviewed blind. {_best(plan)}"
    more = Cell(counted(plan.more, "more blind review")) if plan.more else None
    url = filters.address("judge-plan")
    yield Card("What should we review next?", answer, url, "Plan", figure=more, marks=[*_next(plan)])


def _best(plan: JudgePlan) -> str:
    """Say how narrow the interval can get if the target is out of reach."""
    whole, target = plan.parts[0], planning.points(plan.target)
    if whole.best_half_width is None:
        return plan.sentences[0]
    best = planning.points(whole.best_half_width)
    if whole.half_width is not None and best == planning.points(whole.half_width):
        return f"They hardly narrow the interval of the accuracy (±{best} points)."
    return (
        f"They narrow the interval of the accuracy {_now(plan)}to ±{best} points. ±{target} is out of reach."
    )


def _now(plan: JudgePlan) -> str:
    """Return “from ±13 ”, or nothing if the interval is unknown."""
    width = plan.parts[0].half_width
    return "" if width is None else f"from ±{planning.points(width)} "


def _next(plan: JudgePlan) -> Iterator[Mark]:
    """Yield what to review, the most urgent first."""
    progress = run_progress(plan.run)
    if progress.escalated:
        url = record_list(plan.run, ("status", "escalated"))
        yield Mark("Escalations", f"{counted(progress.escalated, 'record')} for a lead to resolve", url)
    if second := waiting_for_others(plan.run):
        yield Mark("Independent reviews", f"{counted(second, 'record')} with reviews still missing")
    for part in plan.parts:
        if part.name != "run" and part.more:
            yield Mark(
                f"{part.name.capitalize()} records", f"{counted(part.more, 'blind review')} of the plan"
            )
