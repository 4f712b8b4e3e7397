"""Print the report on a run's judge as text tables, for a terminal or a pipe."""

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reviews.judge.accuracy import JudgeVsHuman
from reviews.judge.data_summary import percent
from reviews.judge.error_analysis import ErrorAnalysis
from reviews.judge.flag_precision import FlagPrecision
from reviews.judge.leaderboard import Leaderboard
from reviews.judge.missed_errors import MissedErrors
from reviews.judge.report import JudgeReport
from reviews.judge.reviewer_agreement import ReviewerAgreement
from reviews.statistics.intervals import Estimate

NOTHING = "-"


def tables(report: JudgeReport) -> Iterator[RenderableType]:
    """Yield the sections of a report in reading order."""
    yield _title(f"Judge accuracy of {report.scope.run.name!r}, {report.at:%Y-%m-%d %H:%M} UTC")
    yield _sentences(
        [*report.data.sentences, f"{report.progress.done:,} of {report.progress.to_review:,} decided."]
    )
    yield from _judge(report.judge_vs_human)
    if report.reviewers:
        yield from _reviewers(report.reviewers)
    yield from _flag_precision(report.flag_precision)
    yield from _missed_errors(report.missed_errors)
    yield from _leaderboard(report.leaderboard)
    yield from _error_analysis(report.error_analysis)
    yield _sentences(
        ["All intervals are 95%. --json prints every metric, and the reason if a metric has no value."]
    )


def _judge(judge: JudgeVsHuman) -> Iterator[RenderableType]:
    yield _title("Judge vs reviewers")
    if not judge.overall:
        yield _sentences(["No decisions with judge scores yet."])
        return
    headings = ("Score", "Review", "Records", "n", "Agreement", "Kappa", "AC1", "False pass", "False fail")
    rows = []
    for one in judge.overall:
        shares = (_share(one.agreement), _number(one.kappa), _number(one.ac1))
        wrong = (_share(one.false_pass), _share(one.false_fail))
        rows.append((one.title, one.basis, one.population, _count(one.n), *shares, *wrong))
    yield _table(headings, rows, texts=3)
    if any(one.basis == "assisted" for one in judge.overall):
        yield _sentences(["Assisted reviewers saw the judge's scores, which may overstate agreement."])


def _reviewers(reviewers: Iterable[ReviewerAgreement]) -> Iterator[RenderableType]:
    yield _title("Inter-reviewer agreement")
    rows = []
    for one in reviewers:
        alphas = (_number(one.alpha), _number(one.ordinal_alpha))
        rows.append((one.title, _count(one.unanimous.n), _share(one.unanimous), *alphas))
    yield _table(("Score", "n", "Unanimous", "Alpha", "Ordinal alpha"), rows)


def _flag_precision(reasons: FlagPrecision) -> Iterator[RenderableType]:
    yield _title("Flag reasons")
    if not reasons.families:
        yield _sentences([reasons.unknown or "No record of the run has a flag reason."])
        return
    headings = ("Reason", "Flagged", "Reviewed", "Changed", "Verdict too", "Precision", "Minutes per error")
    rows = []
    for one in reasons.families:
        flagged = NOTHING if one.flagged is None else _count(one.flagged)
        counts = map(_count, (one.reviewed, one.changed, one.verdict_changed))
        minutes = NOTHING if one.minutes_per_error is None else f"{one.minutes_per_error:,.1f}"
        rows.append((one.title, flagged, *counts, _share(one.precision), minutes, one.advice))
    yield _table((*headings, "Advice"), rows)
    yield _sentences(filter(None, [reasons.rule, reasons.unknown]))


def _missed_errors(missed: MissedErrors) -> Iterator[RenderableType]:
    yield _title("Missed errors")
    figures = {
        "Miss rate": missed.miss_rate.share,
        "Error rate among flagged": missed.flagged_error_rate.share,
        "Flag recall": missed.flag_recall,
    }
    rows = [(name, _share(figure), _count(figure.n)) for name, figure in figures.items()]
    yield _table(("Figure", "Estimate", "n"), rows)
    yield _sentences(missed.sentences)


def _leaderboard(board: Leaderboard) -> Iterator[RenderableType]:
    yield _title("Models")
    headings = ("Model", "Records", "Judge passes", "Rank", "Humans would pass", "Rank", "Reviewed", "Basis")
    rows = []
    for one in board.models:
        by_judge = NOTHING if one.judge_rate is None else percent(one.judge_rate)
        by_humans = (_share(one.estimate), _rank(one.rank), _count(one.reviewed), one.basis)
        rows.append((one.title, _count(one.records), by_judge, _rank(one.judge_rank), *by_humans))
    yield _table(headings, rows)
    disagreements = (
        f"{pair.behind} before {pair.ahead}, p = {pair.p:.3f}"
        for pair in board.ranking_disagreements
        if pair.is_significant
    )
    yield _sentences([*board.sentences, *disagreements])


def _error_analysis(analysis: ErrorAnalysis) -> Iterator[RenderableType]:
    yield _title("Why the judge was wrong")
    rows = [
        (template.path, cause.title, _count(cause.mentions), cause.criteria[0].title)
        for template in analysis.templates
        for cause in template.causes
    ]
    if rows:
        yield _table(("Prompt", "Cause", "Named", "Most for"), rows, texts=2)
    else:
        yield _sentences(["No reviewer has named a cause yet."])


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]], texts: int = 1) -> Table:
    """Build a table. Its first `texts` columns are left-aligned text; the others are numbers."""
    table = Table(box=None, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < texts else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(_plain, row))
    return table


def _title(text: str) -> Text:
    return Text(f"\n{_printable(text)}", style="bold")


def _sentences(sentences: Iterable[str]) -> Text:
    return Text("\n").join(map(_plain, sentences))


def _plain(text: str) -> Text:
    return Text(_printable(text))


def _printable(text: str) -> str:
    """Replace control characters: names come from files, and a terminal would obey them."""
    kept = text.replace("\u00a0", " ")
    return "".join(character if character.isprintable() else "\ufffd" for character in kept)


def _share(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return NOTHING
    return f"{percent(estimate.value)} ({estimate.low * 100:.0f} to {percent(estimate.high)})"


def _number(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return NOTHING
    # Adding 0 turns -0.00 into 0.00.
    value, low, high = (round(one, 2) + 0 for one in (estimate.value, estimate.low, estimate.high))
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def _count(count: int) -> str:
    return f"{count:,}"


def _rank(rank: int | None) -> str:
    return NOTHING if rank is None else str(rank)
