"""Build the tables of the dashboard and of the decisions behind its figures."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from django.db.models import Count
from django.urls import reverse

from reviews.dashboard import daily_counts, spot_checks
from reviews.dashboard import pace as team_pace
from reviews.dashboard.daily_counts import CriterionOverrides
from reviews.dashboard.drilldown import LISTED, Narrowed, list_decisions, list_overturned
from reviews.dashboard.presence import active_reviewers
from reviews.dashboard.reviewer_activity import DEFINITIONS, OF_A_REVIEW, ReviewerFigures
from reviews.dashboard.reviewer_pairs import DEFINITION as PAIR_DEFINITION
from reviews.dashboard.reviewer_pairs import FEWEST_RECORDS, pair_agreements
from reviews.database.pagination import all_rows
from reviews.database.replica import yield_from_replica
from reviews.models import FileConflict, Review, Run, User
from reviews.queue.progress import Progress
from reviews.records.scores import criterion_title
from reviews.statistics.intervals import wilson
from reviews.views.dashboard.filters import DashboardFilters
from reviews.views.dashboard.key_figures import duration, finish_cell, with_base
from reviews.views.shortcuts import record_list
from reviews.views.tables import (
    NOTHING,
    Cell,
    Column,
    Table,
    count,
    moment,
    percent,
    record_cell,
    share,
    text_columns,
    words,
)


def _figure(name: str, title: str, *parts: str) -> Column:
    return Column(name, title, DEFINITIONS[name], parts=parts)


# The column of each figure, and the function that formats its cells.
_FIGURES: list[tuple[Column, Callable[[ReviewerFigures, Callable[..., str]], Cell]]] = [
    (_figure("done", "Decisions"), lambda work, to: count(work.done, to())),
    (
        _figure("median_seconds", "Median active time", "timed"),
        lambda work, _: with_base(duration(work.median_seconds), work.timed),
    ),
    (
        _figure("change_rate", "Changed records", "changed", "compared"),
        lambda work, to: percent(work.changed, work.compared, to(signal="changed")),
    ),
    (
        _figure("override_rate", "Changed scores", "overridden", "judged"),
        lambda work, _: percent(work.overridden, work.judged),
    ),
    (
        _figure("verdict_change_rate", "Changed verdicts", "verdict_changes", "verdicts"),
        lambda work, to: percent(work.verdict_changes, work.verdicts, to(signal="verdict-changed")),
    ),
    (
        _figure("current_agreement", "Current agreement streak", "longest_agreement"),
        lambda work, to: count(
            work.current_agreement, to(signal="unchanged"), f"longest {work.longest_agreement:,}"
        )._replace(parts=(work.longest_agreement,)),
    ),
    (
        _figure("fast_rate", "Faster than reading time", "fast", "read"),
        lambda work, to: percent(work.fast, work.read, to(signal="fast")),
    ),
    (_figure("skipped", "Skipped"), lambda work, _: count(work.skipped)),
    (_figure("returned", "Released"), lambda work, _: count(work.returned)),
    (_figure("escalated", "Escalated"), lambda work, _: count(work.escalated)),
    (_figure("overturned", "Overturned"), lambda work, _: count(work.overturned)),
    (
        _figure("agreement_rate", "Spot checks agreed", "agreement_low", "agreement_high", "checked"),
        lambda work, to: _agreement(work, to(signal="checked")),
    ),
]


def _agreement(work: ReviewerFigures, url: str) -> Cell:
    return share(wilson(work.upheld, work.checked, "spot checks"), url) if work.checked else NOTHING


def figures(work: ReviewerFigures, scope: DashboardFilters) -> list[tuple[Column, Cell]]:
    def to(**more: str) -> str:
        return scope.address(reverse("decisions"), reviewer=work.reviewer.username, **more)

    return [(column, read(work, to)) for column, read in _FIGURES]


def reviewers(scope: DashboardFilters) -> Table:
    rows = [
        [_person(work.reviewer, scope), *(cell for _, cell in figures(work, scope))]
        for work in scope.team.reviewers
    ]
    return Table(
        "reviewers",
        "Reviewers",
        [*text_columns(reviewer="Reviewer"), *(column for column, _ in _FIGURES)],
        rows,
        "No decisions yet.",
    )


def now(scope: DashboardFilters) -> Table:
    columns = [
        *text_columns(reviewer="Reviewer", record="Record", run="Run", claimed_until="Claimed until"),
        Column("last_seen", "Last active", "The time of the last action.", is_number=False),
        Column("release", "Release", is_number=False, is_action=True),
    ]
    rows = []
    for present in active_reviewers(scope.selection):
        seen = moment(present.last_seen)
        person = _person(present.reviewer, scope)
        if not present.claims:
            rows.append([person, words("none"), Cell(""), Cell(""), seen, Cell("")])
        for claim in present.claims:
            run = words(claim.run.name, url=record_list(claim.run, ("status", "claimed")))
            until = moment(claim.claimed_until) if claim.claimed_until else words("")
            release = scope.address(reverse("dashboard-release", args=[claim.pk]))
            rows.append([person, record_cell(claim), run, until, seen, Cell("Release", post=release)])
    return Table("now", "Working now", columns, rows, "Nobody is active right now.")


# The states of records, which add up to all of them, as `Progress` names them.
_STATES = {
    "waiting": "Waiting",
    "claimed": "Claimed",
    "escalated": "Escalated",
    "done": "Done",
    "not_required": "Not flagged",
}


def runs(scope: DashboardFilters) -> Table:
    disputed = FileConflict.objects.filter(outcome=FileConflict.Outcome.OPEN).values_list("run")
    conflicts = dict(disputed.annotate(Count("pk")).order_by())
    columns = [
        *text_columns(run="Run"),
        *(Column(state, title) for state, title in _STATES.items()),
        Column("total", "All records"),
        Column("conflicts", "Conflicts", "An imported file disagrees with a decision made here."),
        Column(
            "finish",
            "Expected finish",
            team_pace.FINISH_DEFINITION,
            is_number=False,
            parts=("pace", "working_days"),
        ),
        Column("change", "Change", is_number=False, is_action=True),
    ]
    rows = [
        [
            words(run.name, url=reverse("run", args=[run.pk])),
            *_state_cells(run, progress),
            count(conflicts.get(run.pk, 0), reverse("conflicts", args=[run.pk])),
            finish_cell(progress.left, workload),
            Cell("Assign or prioritise", url=reverse("bulk-change", args=[run.pk])),
        ]
        for run, progress, workload in scope.paces
    ]
    return Table("runs", "Runs", columns, rows, "There are no runs yet.")


def _state_cells(run: Run, progress: Progress) -> list[Cell]:
    counted = [(state.replace("_", "-"), getattr(progress, state)) for state in _STATES]
    cells = [count(number, record_list(run, ("status", status))) for status, number in counted]
    return [*cells, count(progress.total, record_list(run))]


def criteria(scope: DashboardFilters) -> Table:
    rows = [_criterion(overrides, scope) for overrides in daily_counts.criterion_overrides(scope.selection)]
    return Table(
        "criteria",
        "Changed scores by criterion",
        [*text_columns(criterion="Criterion"), *_criterion_columns()],
        rows,
        "No decisions with judge scores yet.",
    )


def criteria_by_reviewer(scope: DashboardFilters) -> Table:
    rows = [
        [_person(overrides.reviewer, scope), *_criterion(overrides, scope)]
        for overrides in daily_counts.criterion_overrides_by_reviewer(scope.selection)
        if overrides.reviewer
    ]
    return Table(
        "criteria-by-reviewer",
        "Changed scores by reviewer and criterion",
        [*text_columns(reviewer="Reviewer", criterion="Criterion"), *_criterion_columns()],
        rows,
        "No decisions with judge scores yet.",
        folds=True,
    )


def _criterion_columns() -> list[Column]:
    return [
        _figure("override_rate", "Changed"),
        Column("overridden", "Scores changed"),
        Column("judged", "Scores compared"),
    ]


def _criterion(overrides: CriterionOverrides, scope: DashboardFilters) -> list[Cell]:
    rate = percent(overrides.overridden, overrides.judged)
    overridden = count(overrides.overridden, overriding_url(overrides, scope))
    return [words(criterion_title(overrides.criterion)), rate, overridden, count(overrides.judged)]


def overriding_url(overrides: CriterionOverrides, scope: DashboardFilters) -> str:
    """Return the URL of the decisions that override the criterion."""
    reviewer = overrides.reviewer or scope.selection.reviewer
    who = {"reviewer": reviewer.username} if reviewer else {}
    return scope.address(reverse("decisions"), **who, criterion=overrides.criterion)


def days(scope: DashboardFilters, most: int | None = None) -> Table:
    """Build the table of days with decisions, or of the last ones."""
    found = daily_counts.day_figures(scope.selection)
    rows = []
    for day, of_day in groupby(sorted(found, key=lambda one: one.day), key=lambda one: one.day):
        each = list(of_day)
        done, changed = sum(one.done for one in each), sum(one.changed for one in each)
        shown_day = words(day.isoformat(), url=scope.decisions(day, day))
        rows.append([shown_day, count(done), count(changed), count(len(each))])
    columns = [
        Column("day", "Day", "Days with decisions, in UTC.", is_number=False),
        _figure("done", "Decisions"),
        _figure("changed", "Changed records"),
        Column("reviewers", "Reviewers"),
    ]
    shown = rows if most is None else rows[-most:]
    intro = f"The last {most} days with decisions. The CSV file has all." if len(shown) < len(rows) else ""
    return Table("days", "Day by day", columns, shown, "No decisions yet.", intro, folds=True)


def agreement(scope: DashboardFilters) -> Table:
    """Build the table of pairs of reviewers, for CSV."""
    rows = [
        [
            Cell(pair.one.name, pair.one.username),
            Cell(pair.other.name, pair.other.username),
            percent(pair.same, pair.scores),
            count(pair.records),
        ]
        for pair in pair_agreements(scope.selection)
        if pair.records >= FEWEST_RECORDS
    ]
    columns = [
        *text_columns(reviewer="Reviewer", other="Other reviewer"),
        Column("agreement", "Same score", PAIR_DEFINITION, parts=("same", "scores")),
        Column("records", "Records"),
    ]
    return Table("agreement", "Agreement between reviewers", columns, rows, "No pairs with enough records.")


def overturns(scope: DashboardFilters, most: int = LISTED) -> Table:
    rows = [
        [
            record_cell(one.review.evaluation),
            _person(one.review.reviewer, scope),
            words(one.get_kind_display().capitalize()),
            words(one.actor.name),
            words(one.reason),
            moment(one.at),
        ]
        for one in list_overturned(scope.selection, most)
    ]
    columns = [
        *text_columns(record="Record", reviewer="Decided by", what="Outcome"),
        *text_columns(by="Changed by", reason="Reason", at="When"),
    ]
    none, intro = "No overturned decisions.", DEFINITIONS["overturned"]
    return Table("overturned", "Overturned decisions", columns, rows, none, intro, folds=True)


def checks(scope: DashboardFilters, most: int = spot_checks.LISTED) -> Table:
    found = spot_checks.completed_checks(scope.selection, most + 1)
    rows = [
        [
            record_cell(check.review.evaluation),
            _person(check.review.reviewer, scope),
            words(check.get_outcome_display().capitalize()),
            words(check.resolved_by.name if check.resolved_by else ""),
            words(check.note),
            moment(check.resolved_at) if check.resolved_at else NOTHING,
        ]
        for check in found[:most]
    ]
    columns = [
        *text_columns(record="Record", reviewer="Decided by", outcome="Outcome"),
        *text_columns(by="Checked by", note="Note", at="When"),
    ]
    intro = f"The newest {most}." if len(found) > most else ""
    none = "No completed spot checks."
    return Table("checks", "Completed spot checks", columns, rows, none, intro, folds=True)


_DECISIONS = [
    *text_columns(record="Record", run="Run", reviewer="Reviewer", at="When"),
    *text_columns(judged_verdict="Judge's verdict", verdict="Verdict"),
    Column("changes", "Changes", "Criteria that differ from the judge's scores."),
    Column("active_seconds", "Active time", OF_A_REVIEW["active_seconds"]),
    Column("words", "Words to read", OF_A_REVIEW["words"]),
]


def decisions_table(rows: Iterable[Sequence[Cell]], title: str) -> Table:
    """Build a table of the rows that `decided` returns."""
    return Table("decisions", title, _DECISIONS, rows, "No such decisions.")


def decided(review: Review, scope: DashboardFilters) -> list[Cell]:
    return [
        record_cell(review.evaluation),
        words(review.evaluation.run.name, url=reverse("run", args=[review.evaluation.run_id])),
        _person(review.reviewer, scope),
        moment(review.submitted_at),
        words(review.judged_verdict or ""),
        words(review.verdict or ""),
        count(review.changes),
        duration(None if review.active_ms is None else review.active_ms / 1000),
        count(review.words),
    ]


@yield_from_replica
def all_decided(scope: DashboardFilters, signal: str, narrowed: Narrowed) -> Iterator[list[Cell]]:
    found = all_rows(
        lambda after: list_decisions(scope.selection, signal=signal, narrowed=narrowed, after=after)
    )
    yield from (decided(review, scope) for review in found)


# The tables by their name in the URL of the CSV file.
TABLES: dict[str, Callable[[DashboardFilters], Table]] = {
    "now": now,
    "runs": runs,
    "reviewers": reviewers,
    "criteria": criteria,
    "criteria-by-reviewer": criteria_by_reviewer,
    "days": days,
    "agreement": agreement,
    "overturned": overturns,
    "checks": checks,
}


def _person(person: User, scope: DashboardFilters) -> Cell:
    """Return a cell that links to the reviewer's figures, except on their own page."""
    url = "" if scope.selection.reviewer else scope.activity(person)
    return Cell(person.name, person.username, url)
