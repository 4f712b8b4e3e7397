"""Show whether the judge may replace a reviewer."""

from collections.abc import Iterator, Sequence

from cognireview.types.report_parts import AltTest, Epsilon
from reviews.judge import alt_test
from reviews.judge.accuracy_figures import figure_title
from reviews.judge.alt_test import DEFINITIONS, EPSILONS
from reviews.records.wording import counted, percent
from reviews.statistics.alt_test import FEWEST_RECORDS
from reviews.views.dot_plots import Dot, DotPlot, difference_plot
from reviews.views.judge.filters import JudgeFilters
from reviews.views.judge.sections import Section, Tone, linked, precisely
from reviews.views.judge.tables import estimate_column
from reviews.views.tables import Cell, Column, Table, count, share, text_columns, words

_TITLE = "May the judge replace a reviewer?"
_HELP = (
    "Each reviewer in turn is compared with the judge: which of the two gives the same score as more of the "
    "others? The judge may replace reviewers if it is shown to be the closer one almost as often."
    "\n\n"
    f"{precisely(DEFINITIONS['epsilon'])} {precisely(DEFINITIONS['winning_rate'])}"
)
_NOBODY = (
    "No record has blind scores of two reviewers. Let several reviewers score the same blind records, under "
    "“Sampling and blind review”."
)
_TONES: dict[str, Tone] = {"passed": "ok", "shown worse": "bad", "not shown yet": ""}
_LEAST_REACH = 30  # of the axis, in percentage points, so that every epsilon is on it
_MOST_JUDGES = 3


def alt_test_sections(filters: JudgeFilters) -> Iterator[Section]:
    """Show the test of the verdict, and the answers for the criteria behind it."""
    found = alt_test.run_alt_tests(filters.scope)
    verdicts = _verdicts(found)
    answers = [(one, one.answers[0]) for one in verdicts]
    yield Section(
        "alt-test",
        _TITLE,
        answer=" ".join(_answer(one, answer) for one, answer in answers[:_MOST_JUDGES]) or _NOBODY,
        tone=_TONES[answers[0][1].outcome] if len(answers) == 1 else "",
        help=_HELP,
        plot=_plot(verdicts, filters) if any(one.reviewers for one in verdicts) else None,
        notes=missing(verdicts[:_MOST_JUDGES]),
        tables=[linked(answers_table(found), filters), linked(reviewers_table(found), filters)]
        if found
        else [],
    )


def _verdicts(found: Sequence[AltTest]) -> list[AltTest]:
    """Return the tests of verdicts, or else those of criteria."""
    return [one for one in found if one.criterion is None] or [*found]


def missing(found: Sequence[AltTest]) -> list[str]:
    """Return which reviews the first answer of each judge needs."""
    answers = [(one, one.answers[0]) for one in _verdicts(found)]
    return [f"{_subject(one)}: {answer.missing}" for one, answer in answers if answer.missing]


def _subject(tested: AltTest) -> str:
    return tested.judge if tested.criterion is None else f"{tested.judge}, {figure_title(tested.criterion)}"


def _answer(tested: AltTest, answer: Epsilon) -> str:
    judge, whom = _subject(tested), f"{answer.suits} (epsilon {answer.epsilon:g})"
    if answer.winning_rate is None:
        return f"{judge}: not shown yet, because too few records were scored blind by several reviewers."
    close = f"it is close enough to {len(answer.replaces)} of {counted(answer.tested, 'reviewer')}"
    if answer.outcome == "passed":
        return f"{judge} may replace {whom}: {close}."
    if answer.outcome == "shown worse":
        return f"{judge} may not replace {whom}: it is shown to be further from the others than most of them."
    return f"Whether {judge} may replace {whom} is not shown yet: {close}."


def _scored_together(filters: JudgeFilters, tested: AltTest, reviewer: str) -> str:
    """Return the URL of a reviewer's ratings of records that others scored blind as well."""
    return filters.blind_ratings(tested.criterion, shared="yes", judge=tested.judge, reviewer=reviewer)


def _plot(verdicts: Sequence[AltTest], filters: JudgeFilters) -> DotPlot:
    epsilon = next(iter(EPSILONS))
    compared = [(tested, one) for tested in verdicts for one in tested.reviewers]
    dots = [
        Dot(
            one.reviewer if len(verdicts) == 1 else f"{_subject(tested)}: {one.reviewer}",
            share(one.difference, _scored_together(filters, tested, one.reviewer), sign="+"),
            fewest=FEWEST_RECORDS,
        )
        for tested, one in sorted(compared, key=lambda pair: -(pair[1].difference.value or 0))
    ]
    plot = difference_plot("How much more often the judge is closer than each reviewer", dots)
    reach = max(_LEAST_REACH, plot.high)
    title = f"allowed with epsilon {epsilon:g}"
    return plot._replace(low=-reach, high=reach, line=-100 * epsilon, line_title=title)


_SUBJECT = text_columns(judge="Judge", criterion="Criterion")


def answers_table(found: Sequence[AltTest]) -> Table:
    rows = [
        [
            words(tested.judge),
            words(figure_title(tested.criterion)),
            count(tested.records),
            share(tested.advantage),
            *(_outcome(answer) for answer in tested.answers),
        ]
        for tested in found
    ]
    columns = [
        *_SUBJECT,
        Column("records", "Records"),
        estimate_column("advantage", "Advantage", DEFINITIONS["advantage"]),
        *(
            Column(
                f"epsilon_{epsilon:g}",
                f"\N{GREEK SMALL LETTER EPSILON} = {epsilon:g}",
                f"Whether the judge may do the work of {suits}. It passes if it can replace at least half of "
                f"the reviewers.\n\n"
                f"{precisely(DEFINITIONS['epsilon'])} {precisely(DEFINITIONS['winning_rate'])}",
                is_number=False,
                parts=(f"epsilon_{epsilon:g}_replaced", f"epsilon_{epsilon:g}_tested"),
            )
            for epsilon, suits in EPSILONS.items()
        ),
    ]
    return Table("alt-test", _TITLE, columns, rows, _NOBODY)


def _outcome(answer: Epsilon) -> Cell:
    if answer.winning_rate is None:
        return Cell(answer.outcome, answer.outcome, why=answer.missing, parts=(None, answer.tested))
    close = f"close to {len(answer.replaces):,} of {answer.tested:,}"
    parts = (len(answer.replaces), answer.tested)
    return Cell(answer.outcome, answer.outcome, note=close, why=answer.missing, parts=parts)


def reviewers_table(found: Sequence[AltTest]) -> Table:
    rows = [
        [
            words(tested.judge),
            words(figure_title(tested.criterion)),
            words(one.reviewer),
            *map(_rate, (one.judge_closer, one.reviewer_closer)),
            share(one.difference, sign="+"),
        ]
        for tested in found
        for one in tested.reviewers
    ]
    columns = [
        *_SUBJECT,
        *text_columns(reviewer="Reviewer"),
        Column("judge_closer", "Judge as close", DEFINITIONS["judge_closer"]),
        Column("reviewer_closer", "Reviewer as close", DEFINITIONS["reviewer_closer"]),
        estimate_column("difference", "Difference", DEFINITIONS["difference"]),
    ]
    return Table("alt-test-reviewers", "Judge and each reviewer", columns, rows, _NOBODY, folds=True)


def _rate(value: float) -> Cell:
    return Cell(percent(value), round(value, 4))
