"""The pace of the team and the expected finish of a run."""

import datetime as dt

import pytest
from django.utils import timezone

from reviews.dashboard.pace import WorkPerDay, decisions_by_day, records_by_day, run_paces, together
from reviews.dashboard.selection import WorkSelection
from reviews.days import today
from reviews.models import RecordDay, Run, User
from reviews.queue.members import configure_members
from reviews.review import decisions
from reviews.runs.changes import archive_run
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.work import decide

MONDAY = dt.date(2026, 3, 2)
DAY = dt.timedelta(days=1)


def workload(*counts: int, today: dt.date = MONDAY) -> WorkPerDay:
    """Return work on the days before today, from the newest back, where the first count is today's."""
    return WorkPerDay(today, {today - number * DAY: count for number, count in enumerate(counts)})


class TestPace:
    def test_pace_divides_by_the_days_with_work(self) -> None:
        pace = workload(5, 0, 0, 30, 20, 10, 0, 0).pace
        assert (pace.per_day, pace.total) == (20, 60)
        assert pace.weekdays == (2, 3, 4)
        assert (pace.first, pace.last) == (MONDAY - 7 * DAY, MONDAY - DAY)

    def test_pace_of_the_week_before_ends_eight_days_ago(self) -> None:
        work = workload(0, *[1] * 7, *[4] * 7, 100)
        assert (work.pace.per_day, work.pace_before.per_day) == (1, 4)

    def test_pace_of_the_first_day_is_that_of_today(self) -> None:
        assert (workload(6).pace.per_day, workload(6).pace.first) == (6, MONDAY)
        assert workload(6).finish(7) == MONDAY + 2 * DAY

    def test_no_work_has_no_pace_and_no_finish(self) -> None:
        work = workload(0, *[0] * 7, 12)
        assert work.pace.per_day is None
        assert work.finish(10) is None


class TestFinish:
    @pytest.mark.parametrize(
        ("left", "days"),
        [
            (0, 0),
            (1, 0),
            (10, 0),
            (11, 1),
            (30, 2),
            (50, 4),
            (51, 7),
            (60, 7),
            (100, 11),
            (101, 14),
            (5_000, 697),
        ],
    )
    def test_finish_skips_days_of_the_week_without_work(self, left: int, days: int) -> None:
        work = workload(0, 0, 0, 10, 10, 10, 10, 10)
        assert work.finish(left) == MONDAY + days * DAY

    def test_finish_counts_what_is_left_of_today(self) -> None:
        work = workload(8, *[10] * 7)
        assert [work.finish(left) for left in (2, 3)] == [MONDAY, MONDAY + DAY]
        assert workload(25, *[10] * 7).finish(10) == MONDAY + DAY

    def test_finish_beyond_ten_years_is_unknown(self) -> None:
        assert workload(0, *[1] * 7).finish(3_000) is not None
        assert workload(0, *[1] * 7).finish(10**9) is None

    @pytest.mark.slow
    def test_finish_day_is_the_one_of_a_walk_day_by_day(self) -> None:
        for counts in ((0, 3, 0, 4), (2, 0, 9), (0, 1, 2, 3, 4, 5, 6, 7), (7, 0, 0, 0, 0, 0, 0, 5)):
            work = workload(*counts)
            for left in range(1, 120):
                rest, day = float(left), MONDAY
                if day.weekday() in work.pace.weekdays:
                    rest -= max(0, round(work.pace.per_day or 0) - work.done_today)
                while rest > 1e-6:
                    day += DAY
                    rest -= (work.pace.per_day or 0) if day.weekday() in work.pace.weekdays else 0
                assert work.finish(left) == day, (counts, left)


@pytest.mark.django_db
class TestCounts:
    def test_decisions_and_records_of_today_are_counted_until_undone(self, ana: User, bo: User) -> None:
        run = RunFactory.create()
        first, second = (EvaluationFactory.create(run=run) for _ in range(2))
        decide(first, ana)
        review = decide(second, bo)
        second.refresh_from_db()
        decide(second, bo, by=decisions.revise)
        assert decisions_by_day(WorkSelection()).done_today == 3
        assert records_by_day([run])[run.pk].done_today == 2
        second.refresh_from_db()
        decisions.undo(review=second.reviews.get(version=2))
        decisions.undo(review=review)
        assert decisions_by_day(WorkSelection(run)).done_today == 1
        assert records_by_day([run])[run.pk].done_today == 1

    def test_pace_leaves_out_hidden_and_archived_runs(self, ana: User, bo: User, lea: User) -> None:
        shown, hidden, archived = (RunFactory.create() for _ in range(3))
        for run in (shown, hidden, archived):
            decide(EvaluationFactory.create(run=run), ana)
        configure_members(run_id=hidden.pk, actor=None, members=[bo.username])
        archive_run(run_id=archived.pk, actor=None)
        runs = Run.objects.visible_to(lea)
        assert [one.run for one in run_paces(runs)] == [shown]
        assert [one.run for one in run_paces(runs, archived)] == [archived]
        assert together(one.workload for one in run_paces(runs)).done_today == 1
        assert decisions_by_day(WorkSelection(hidden_runs=(hidden.pk,))).done_today == 2

    def test_revision_by_another_reviewer_moves_the_record_to_them(self, ana: User, lea: User) -> None:
        record = EvaluationFactory.create()
        decide(record, ana)
        record.refresh_from_db()
        decide(record, lea, by=decisions.revise, reason="Step 2 is wrong.")
        kept = RecordDay.objects.filter(records__gt=0).values_list("reviewer__username", "day", "records")
        assert list(kept) == [("lea", today(), 1)]


def test_period_before_has_the_same_length() -> None:
    today = timezone.now().astimezone(dt.UTC).date()
    week = WorkSelection(first=today - 6 * DAY)
    assert week.before == WorkSelection(first=today - 13 * DAY, last=today - 7 * DAY)
    two = WorkSelection(first=MONDAY, last=MONDAY + DAY)
    assert two.before == WorkSelection(first=MONDAY - 2 * DAY, last=MONDAY - DAY)
    assert WorkSelection(last=today).before is None
    assert WorkSelection(first=dt.date.min, last=dt.date.max).before is None
