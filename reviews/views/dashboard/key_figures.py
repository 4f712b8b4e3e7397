"""The figures at the top of the dashboard: done, left, expected finish, time and agreement."""

import datetime as dt
from calendar import day_abbr
from typing import NamedTuple

from django.urls import reverse

from reviews.dashboard import pace as team_pace
from reviews.dashboard import reviewer_pairs
from reviews.dashboard.daily_counts import criterion_overrides
from reviews.dashboard.pace import Pace, WorkPerDay
from reviews.dashboard.reviewer_activity import DEFINITIONS, median_active_time
from reviews.days import today
from reviews.records.wording import counted, per_day
from reviews.views.dashboard.filters import DashboardFilters
from reviews.views.shortcuts import record_list
from reviews.views.tables import FEWEST, NOTHING, Cell, count, percent

_DEFINITIONS = {
    "done_today": DEFINITIONS["done"],
    "pace": team_pace.DEFINITION,
    "left": "Records in the queue: waiting, claimed and escalated. Archived runs are left out.",
    "finish": team_pace.FINISH_DEFINITION,
    "median_seconds": DEFINITIONS["median_seconds"],
    "override_rate": "The share of the judge's scores that reviewers changed or removed. Scores that differ "
    "only in case, such as YES and Yes, are the same. No value is right by itself: it depends on the judge.",
    "blind_agreement": "The share of scores, given before the judge's scores were shown, that equal the "
    f"judge's. {reviewer_pairs.SAME_SCORE} Each score counts once, so criteria and flagged records count as "
    "often as they were scored. The accuracy on the judge's page represents all records of a run instead. "
    f"Blind agreement has no value below {FEWEST} scores.",
}


class KeyFigure(NamedTuple):
    """A large figure with its link, its base and the figure before."""

    name: str
    title: str
    cell: Cell
    #: The value of the period before; empty if there is none.
    trend: str = ""

    @property
    def help(self) -> str:
        return _DEFINITIONS[self.name]


def key_figures(scope: DashboardFilters) -> list[KeyFigure]:
    return [*_progress(scope), *_quality(scope)]


def _progress(scope: DashboardFilters) -> list[KeyFigure]:
    decisions = team_pace.decisions_by_day(scope.selection)
    week_before = ""
    if decisions.pace_before.per_day is not None:
        week_before = f"{per_day(decisions.pace_before.per_day)} a day the week before"
    paces = scope.paces
    records = team_pace.together(one.workload for one in paces)
    left, to_review = (sum(getattr(one.progress, name) for one in paces) for name in ("left", "to_review"))
    window = "in the 7 days before today" if records.pace.first != records.pace.last else "today so far"
    chosen = scope.selection.run
    unfinished = [("status", status) for status in ("waiting", "claimed", "escalated")]
    in_queue = record_list(chosen, *unfinished) if chosen else reverse("runs")
    return [
        KeyFigure(
            "done_today",
            "Done today",
            count(decisions.done_today, scope.decisions(decisions.today, decisions.today), "decisions, UTC"),
            f"{decisions.done_yesterday:,} yesterday",
        ),
        KeyFigure("pace", "Pace", _pace(scope, decisions.pace), week_before),
        KeyFigure(
            "left",
            "Left",
            count(left, in_queue, f"of {to_review:,} records to review"),
            f"{records.pace.total:,} finished {window}" if records.pace.days else "",
        ),
        _finish(left, records, "#runs-title"),
    ]


def _pace(scope: DashboardFilters, pace: Pace) -> Cell:
    if pace.per_day is None:
        return Cell("No pace yet", note="no decisions in 7 days")
    return Cell(
        f"{per_day(pace.per_day)} a day",
        pace.per_day,
        scope.decisions(pace.first, pace.last),
        f"{counted(pace.total, 'decision')} {working_days(pace)}",
    )


def _finish(left: int, records: WorkPerDay, url: str) -> KeyFigure:
    cell, pace = finish_cell(left, records, url), records.pace_before
    earlier = records.finish(left, pace) if pace.days and left else None
    trend = f"{day_words(earlier)} at the pace of the week before" if earlier else ""
    return KeyFigure("finish", "Expected finish", cell, trend)


def finish_cell(left: int, records: WorkPerDay, url: str = "") -> Cell:
    """Return the day on which `left` records will be finished, with the pace that it assumes."""
    pace = records.pace
    parts = () if pace.per_day is None else (round(pace.per_day, 4), working_days(pace).removeprefix("on "))
    if not left:
        return Cell("Nothing left", parts=parts)
    if pace.per_day is None:
        return Cell("No pace yet", note="no records finished in 7 days")
    records_a_day = "1 record" if pace.per_day == 1 else f"{per_day(pace.per_day)} records"
    assumed = f"at {records_a_day} a day, {working_days(pace)}"
    day = records.finish(left)
    if day is None:
        return Cell("Over 10 years", None, url, assumed, parts=parts)
    return Cell(day_words(day), day.isoformat(), url, assumed, parts=parts)


def working_days(pace: Pace) -> str:
    """Name the days of the week with work: "on Mon\N{EN DASH}Fri", "on Tue, Thu" or "today so far"."""
    if pace.first == pace.last:
        return "today so far"
    days = pace.weekdays
    if len(days) > 2 and days[-1] - days[0] == len(days) - 1:
        return f"on {day_abbr[days[0]]}\N{EN DASH}{day_abbr[days[-1]]}"
    return "on " + ", ".join(day_abbr[day] for day in days)


def day_words(day: dt.date) -> str:
    """Write a day with its day of the week, like `times.js`: "Thu 3 Dec", or "Mon 4 Jan 2027"."""
    year = "" if day.year == today().year else f" {day.year}"
    text = f"{day:%a} {day.day} {day:%b}{year}"
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _quality(scope: DashboardFilters) -> list[KeyFigure]:
    team, before, when = scope.team, scope.selection.before, scope.before_words
    overridden, judged = (
        sum(getattr(one, name) for one in team.reviewers) for name in ("overridden", "judged")
    )
    blind = reviewer_pairs.blind_agreement(scope.selection)
    earlier_time = median_active_time(before) if before else None
    earlier_overrides = criterion_overrides(before) if before else []
    earlier_blind = reviewer_pairs.blind_agreement(before) if before else None

    def to(**more: str) -> str:
        return scope.address(reverse("decisions"), **more)

    return [
        KeyFigure(
            "median_seconds",
            "Median active time",
            with_base(duration(team.median.seconds), team.median.timed, to()),
            f"{duration(earlier_time.seconds).text} {when}" if earlier_time and earlier_time.timed else "",
        ),
        KeyFigure(
            "override_rate",
            "Changed scores",
            _of_scores(percent(overridden, judged, to(signal="changed"))),
            _share_before(
                sum(one.overridden for one in earlier_overrides),
                sum(one.judged for one in earlier_overrides),
                when,
            ),
        ),
        KeyFigure(
            "blind_agreement",
            "Blind agreement",
            _of_scores(percent(blind.same, blind.scores, to(signal="blind")))
            if blind.scores >= FEWEST
            else Cell(NOTHING.text, note=f"{blind.scores:,} blind scores, {FEWEST} needed"),
            _share_before(earlier_blind.same, earlier_blind.scores, when)
            if earlier_blind and earlier_blind.scores >= FEWEST
            else "",
        ),
    ]


def _of_scores(cell: Cell) -> Cell:
    return cell._replace(note=f"{cell.note} scores" if cell.note else "no scores to compare")


def with_base(cell: Cell, n: int, url: str = "") -> Cell:
    """Return a cell with a time, and with the number of decisions behind it as a note."""
    note = counted(n, "decision") if n else "no timed decisions"
    return cell._replace(url=url if n else "", note=note, parts=(n,))


def _share_before(part: int, whole: int, when: str) -> str:
    return f"{percent(part, whole).text} {when}, of {whole:,}" if whole else ""


def duration(seconds: float | None) -> Cell:
    """Return a cell with a time in minutes and seconds."""
    if seconds is None:
        return NOTHING
    minutes, rest = divmod(round(seconds), 60)
    text = f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return Cell(text.replace(" ", "\N{NO-BREAK SPACE}"), round(seconds, 1))
