"""Print the report on a run's judge as text tables, for a terminal or a pipe."""

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from cognireview.types.estimates import Estimate, Part
from cognireview.types.report_parts import AltTest, FlagChoice, FlagPrecision, RankedModel, ReviewerAgreement
from reviews.judge.accuracy import JudgeVsHuman
from reviews.judge.accuracy_figures import figure_title, parts_sentence
from reviews.judge.alt_test import EPSILONS
from reviews.judge.comparison.drift import Drift
from reviews.judge.comparison.history import History
from reviews.judge.comparison.paired import PairedComparison
from reviews.judge.comparison.position_bias import PositionBias
from reviews.judge.error_analysis import ErrorAnalysis
from reviews.judge.flag_precision import left_out_sentence
from reviews.judge.funnel import Funnel
from reviews.judge.gold.measurement import GoldMeasurement
from reviews.judge.leaderboard import Leaderboard, model_title
from reviews.judge.missed_errors import MissedErrors
from reviews.judge.report import JudgeReport
from reviews.management.text_tables import TextTable, heading, printable, sentences
from reviews.records.wording import percent, rounded

NOTHING = "-"
_PARTS: dict[Part, str] = {"run": "whole run", "flagged": "flagged records", "unflagged": "unflagged records"}


def tables(report: JudgeReport) -> Iterator[RenderableType]:
    """Yield the sections of a report in reading order."""
    yield heading(f"Judge accuracy of {report.scope.run.name!r}, {report.at:%Y-%m-%d %H:%M} UTC")
    yield sentences(
        [*report.data.sentences, f"{report.progress.done:,} of {report.progress.to_review:,} decided."]
    )
    if report.target:
        yield sentences(filter(None, [f"{report.target.sentence}.", report.target.explanation]))
    yield from _judge(report.judge_vs_human)
    yield from _funnel(report.funnel)
    if report.reviewers:
        yield from _reviewers(report.reviewers)
    if report.alt_test:
        yield from _alt_test(report.alt_test)
    if report.position_bias:
        yield from _position_bias(report.position_bias)
    yield from _flag_precision(report.flag_precision)
    yield from _flag_choice(report.flag_choice)
    yield from _missed_errors(report.missed_errors)
    yield from _leaderboard(report.leaderboard)
    yield from _error_analysis(report.error_analysis)
    yield sentences(
        ["All intervals are 95%. --json prints every metric, and the reason if a metric has no value."]
    )


def comparison_lines(found: PairedComparison) -> Iterator[str]:
    """Yield a comparison of two runs as lines of text."""
    yield f"Judge of {found.second!r} compared with {found.first!r}, on the same responses"
    yield f"Accuracy in {found.first!r}: {_share(found.first_accuracy)}"
    yield f"Accuracy in {found.second!r}: {_share(found.second_accuracy)}"
    yield f"Difference: {_points(found.difference)}, n = {found.difference.n:,}: {found.outcome}"
    yield f"Responses: {found.responses:,}, of which {found.different:,} have different verdicts"
    counts = found.counts
    yield (
        f"Both right: {counts['both']:,}; only {found.first!r}: {counts['first']:,}; only "
        f"{found.second!r}: {counts['second']:,}; both wrong: {counts['neither']:,}"
    )
    for one in found.criteria:
        title, difference = printable(figure_title(one.criterion)), _points(one.difference)
        yield f"{title}: {difference}, n = {one.difference.n:,}, p = {one.p:.3f} adjusted for all criteria"
    yield from (change.sentence for change in found.changes)
    yield from (found.difference.why, *found.notes) if found.difference.why else found.notes


def drift_lines(found: Drift) -> Iterator[str]:
    """Yield the shift of a judge between two runs as lines of text."""
    yield f"Shift of the judge from {found.first!r} to {found.second!r}, on the same responses"
    yield f"Pass rate in {found.first!r}: {_share(found.first_rate)}"
    yield f"Pass rate in {found.second!r}: {_share(found.second_rate)}"
    yield f"Shift: {_points(found.shift)}, n = {found.shift.n:,}: {found.outcome}"
    yield f"Changed verdicts: {_share(found.changed)}"
    for scores in found.criteria:
        means = f"mean {scores.first_mean:.2f} → {scores.second_mean:.2f}"
        yield f"{printable(figure_title(scores.criterion))}: {means}, shift {_number(scores.shift)}"
    for one in found.models:
        names = f"{one.second_model} ({found.second}) minus {one.first_model} ({found.first})"
        yield f"{printable(names)}: {_points(one.raw)}, without the shift {_points(one.adjusted)}"
    yield from (change.sentence for change in found.changes)
    yield from (found.shift.why, *found.notes) if found.shift.why else found.notes


def gold_tables(found: GoldMeasurement) -> Iterator[RenderableType]:
    """Yield a judge against a gold set."""
    yield heading(f"Judge of {found.scope.run.name!r} against the gold set {found.gold_set.name!r}")
    rows = []
    for basis, figures in found.figures.items():
        for one in figures:
            shares = (
                _share(one.accuracy),
                _number(one.kappa),
                *map(_share, (one.false_pass, one.false_fail)),
            )
            rows.append((one.title, basis, _count(one.n), *shares))
    if rows:
        yield TextTable(
            ("Score", "Ratings", "n", "Accuracy", "Kappa", "False pass", "False fail"), rows, texts=2
        )
    yield sentences(filter(None, [found.unknown, *found.notes]))


def history_lines(found: History) -> Iterator[RenderableType]:
    """Yield the accuracy over runs as a table, then the judges and prompts of the first and the changes."""
    rows = [
        (f"{point.at:%Y-%m-%d}", point.run.name, _count(point.accuracy.n), _share(point.accuracy))
        for point in found.points
    ]
    yield TextTable(("Created", "Run", "n", "Accuracy"), rows, texts=2)
    for point in found.points:
        lines = [point.accuracy.why]
        if point is found.points[0]:
            lines += [f"Judge: {', '.join(point.judges)}", f"Prompt: {', '.join(point.templates)}"]
        lines += [f"Changed since the run before. {change.sentence}" for change in point.changes]
        if described := [line for line in lines if line]:
            yield heading(point.run.name)
            yield sentences(described)


def _judge(judge: JudgeVsHuman) -> Iterator[RenderableType]:
    yield heading("Judge vs reviewers")
    if not judge.overall:
        yield sentences(["Nobody has scored a record with judge scores yet."])
        return
    for basis, part in judge.rated:
        yield Text(f"\n{basis.capitalize()} ratings, {_PARTS[part]}")
        rows = []
        for one in judge.figures_of(basis, part):
            shares = (_share(one.accuracy), _number(one.kappa), _number(one.ac1))
            wrong = (_share(one.false_pass), _share(one.false_fail))
            rows.append((one.title, _count(one.n), *shares, *wrong))
        yield TextTable(("Score", "n", "Accuracy", "Kappa", "AC1", "False pass", "False fail"), rows)
    notes = [judge.unknown, judge.left_out, parts_sentence(judge.overall)]
    notes += [one.accuracy.why for one in judge.figures_of("blind", "run")]
    if any(one.basis == "assisted" for one in judge.overall):
        notes.append("Assisted reviewers saw the judge's scores, which may overstate its accuracy.")
    yield sentences(dict.fromkeys(filter(None, notes)))


def _funnel(funnel: Funnel) -> Iterator[RenderableType]:
    yield heading("Blind review")
    yield sentences(funnel.sentences)


def _reviewers(reviewers: Iterable[ReviewerAgreement]) -> Iterator[RenderableType]:
    yield heading("Inter-reviewer agreement")
    rows = []
    for one in reviewers:
        alphas = (_number(one.alpha), _number(one.ordinal_alpha))
        rows.append((figure_title(one.criterion), _count(one.unanimous.n), _share(one.unanimous), *alphas))
    yield TextTable(("Score", "n", "Unanimous", "Alpha", "Ordinal alpha"), rows)


def _alt_test(tests: Iterable[AltTest]) -> Iterator[RenderableType]:
    yield heading("May the judge replace a reviewer?")
    rows = []
    for one in tests:
        title, answers = figure_title(one.criterion), [answer.outcome for answer in one.answers]
        rows.append((one.judge, title, _count(one.records), _share(one.advantage), *answers))
    epsilons = [f"epsilon {epsilon:g} ({suits})" for epsilon, suits in EPSILONS.items()]
    yield TextTable(("Judge", "Score", "Records", "Advantage", *epsilons), rows, texts=2)
    missing = {
        f"{one.judge}, {figure_title(one.criterion)}, epsilon {answer.epsilon:g}: {answer.missing}"
        for one in tests
        for answer in one.answers[:1]
        if one.criterion is None and answer.missing
    }
    yield sentences(sorted(missing))


def _position_bias(found: Iterable[PositionBias]) -> Iterator[RenderableType]:
    yield heading("Order of two responses")
    headings = ("Criterion", "Judge", "Prompt", "First chosen", "Both orders", "Changed", "Right: first")
    rows = [
        (
            figure_title(one.criterion),
            one.judge,
            one.template,
            *map(_share, (one.first_share, one.balanced_share, one.changed)),
            *map(_share, (one.accuracy_first, one.accuracy_second)),
        )
        for one in found
    ]
    yield TextTable((*headings, "Second"), rows, texts=3)
    yield sentences([note for one in found for note in one.notes])


def _flag_precision(reasons: FlagPrecision) -> Iterator[RenderableType]:
    yield heading("Flag reasons")
    if not reasons.families:
        yield sentences([reasons.unknown or "No record of the run has a flag reason."])
        return
    headings = ("Reason", "Flagged", "Ratings", "Wrong", "Precision", "Recall", "Minutes per error")
    rows = []
    for one in reasons.families:
        flagged = NOTHING if one.flagged is None else _count(one.flagged)
        counts = map(_count, (one.ratings, one.wrong))
        minutes = NOTHING if one.minutes_per_error is None else f"{one.minutes_per_error:,.1f}"
        shares = (_share(one.precision), _share(one.recall))
        rows.append((one.title, flagged, *counts, *shares, minutes, one.advice))
    yield TextTable((*headings, "Advice"), rows)
    yield sentences(filter(None, [reasons.rule, left_out_sentence(reasons.left_out), reasons.unknown]))


def _flag_choice(choice: FlagChoice) -> Iterator[RenderableType]:
    yield heading("Flag reasons that can be dropped")
    rows = [
        (
            step.dropped or "none",
            _share(step.error_rate),
            _count(step.flagged),
            "yes" if step.is_shown else "not shown",
        )
        for step in choice.steps
    ]
    if rows:
        limit = f"Below {percent(choice.limit)}?"
        yield TextTable(("Dropped", "Error rate among unflagged", "Records to review", limit), rows)
    yield sentences([choice.sentence])


def _missed_errors(missed: MissedErrors) -> Iterator[RenderableType]:
    yield heading("Missed errors")
    figures = {
        "Miss rate": missed.miss_rate,
        "Error rate among flagged": missed.flagged_error_rate,
        "Flag recall": missed.flag_recall,
    }
    rows = [
        (name, _share(figure), NOTHING if figure.value is None else _count(figure.n))
        for name, figure in figures.items()
    ]
    yield TextTable(("Figure", "Estimate", "n"), rows)
    yield sentences(missed.sentences)


def _leaderboard(board: Leaderboard) -> Iterator[RenderableType]:
    yield heading("Models")
    headings = ("Model", "Records", "Judge passes", "Rank", "Reviewers would pass", "Ranks", "Ratings")
    rows = []
    for one in board.models:
        rate = NOTHING if one.judge_rate is None else percent(one.judge_rate)
        by_judge = (rate, NOTHING if one.judge_rank is None else str(one.judge_rank))
        by_humans = (_share(one.estimate), _ranks(one), _count(one.ratings))
        rows.append((model_title(one.model), _count(one.records), *by_judge, *by_humans))
    yield TextTable(headings, rows)
    disagreements = (
        f"{pair.behind} before {pair.ahead}, p = {pair.p:.3f}"
        for pair in board.ranking_disagreements
        if pair.is_significant
    )
    yield sentences([*board.sentences, *disagreements])


def _error_analysis(analysis: ErrorAnalysis) -> Iterator[RenderableType]:
    yield heading("Why the judge was wrong")
    rows = [
        (template.template, cause.title, _count(cause.mentions), cause.criteria[0].title)
        for template in analysis.templates
        for cause in template.causes
    ]
    if rows:
        yield TextTable(("Prompt", "Cause", "Named", "Most for"), rows, texts=2)
    else:
        yield sentences(["No reviewer has named a cause yet."])


def _share(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return NOTHING
    return f"{percent(estimate.value)} ({rounded(100 * estimate.low)} to {percent(estimate.high)})"


def _points(estimate: Estimate) -> str:
    """Format a difference of two shares in percentage points."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return NOTHING
    value, low, high = (_signed(100 * one) for one in (estimate.value, estimate.low, estimate.high))
    return f"{value} points ({low} to {high})"


def _signed(number: float) -> str:
    text = rounded(number)
    return text.lstrip("-") if not text.strip("-0") else text if number < 0 else f"+{text}"


def _number(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return NOTHING
    value, low, high = (rounded(one, 2) for one in (estimate.value, estimate.low, estimate.high))
    return f"{value} ({low} to {high})"


def _count(count: int) -> str:
    return f"{count:,}"


def _ranks(model: RankedModel) -> str:
    first, last = model.best_rank, model.worst_rank
    if first is None or last is None:
        return NOTHING
    return f"{first}" if first == last else f"{first} to {last}"
