"""The workload page counts assigned records of all visible runs, with links to them."""

import datetime as dt

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from reviews.dashboard.workload import Workload
from reviews.days import today
from reviews.models import ReviewerDay, User
from reviews.review.decisions import undo
from tests.support.factories import RunFactory
from tests.support.pages import text
from tests.support.work import decide, evaluations

pytestmark = pytest.mark.django_db
ADDRESS = reverse("workload")
YESTERDAY = timezone.now().date() - dt.timedelta(days=1)


def works(client: Client) -> dict[str, Workload]:
    return {work.person.username: work for work, _ in client.get(ADDRESS).context["rows"]}


@pytest.mark.slow
def test_assigned_records_lead_to_their_lists(as_lea: Client, ana: User) -> None:
    run, late = RunFactory.create(name="Algebra"), RunFactory.create(name="Late", due_on=YESTERDAY)
    evaluations(run, tasks=["1", "2"], assigned_to=ana)
    evaluations(late, tasks=["1"], assigned_to=ana)
    found = works(as_lea)["ana"]
    assert (found.records, found.overdue, found.first_due) == (3, 1, YESTERDAY)
    page = text(as_lea.get(ADDRESS))
    for query, number in (("assigned-to=ana&amp;due=overdue", 1), ("assigned-to=ana", 1)):
        address = f"{reverse('run', args=[late.pk])}?{query}"
        assert address in page
        assert as_lea.get(address.replace("&amp;", "&")).context["page"].total == number
    address = f"{reverse('bulk-change', args=[run.pk])}?list=assigned-to%3Dana"
    assert address in page
    assert "with assigned to <strong>ana</strong>" in text(as_lea.get(address))


@pytest.mark.slow
def test_person_without_work_is_offered_records_that_nobody_has(as_lea: Client, ana: User, bo: User) -> None:
    run, busy, restricted = (
        RunFactory.create(name=name, is_restricted=name == "Secret") for name in ("Algebra", "Busy", "Secret")
    )
    restricted.members.add(User.objects.get(username="lea"))
    evaluations(run, tasks=["1", "2"])
    for taken in (run, busy):
        evaluations(taken, tasks=["3"], assigned_to=ana)
    evaluations(restricted, tasks=["1"])
    page = text(as_lea.get(ADDRESS))
    address = f"{reverse('bulk-change', args=[run.pk])}?list=assigned-to%3Dnobody&amp;kind=assign&amp;to=bo"
    assert address in page
    assert "kind=assign&amp;to=ana" not in page
    assert "This will assign 2 records to bo." in text(as_lea.get(address.replace("&amp;", "&")))
    run.evaluations.update(assigned_to=ana)
    assert "Nothing assigned" in text(as_lea.get(ADDRESS))


def test_pace_counts_whole_days_before_today(as_lea: Client, ana: User) -> None:
    """With four decisions a day for nine days, the pace is four, whatever the time of day."""
    kept = RunFactory.create(), RunFactory.create(archived_at=timezone.now())
    for days in range(9):
        day = today() - dt.timedelta(days=days)
        for run in kept:
            ReviewerDay.objects.create(run=run, reviewer=ana, day=day, decisions=2, changed=0)
    found = works(as_lea)["ana"]
    assert (found.done, found.days, found.pace) == (28, 7, 4.0)
    page = text(as_lea.get(ADDRESS))
    assert "Decisions are those of the 7 days before today (UTC)" in page


@pytest.mark.slow
def test_pace_counts_decisions_of_today_without_others(as_lea: Client, ana: User) -> None:
    run = RunFactory.create()
    first, second, third = evaluations(run, tasks=["1", "2", "3"])
    decide(first, ana)
    decide(second, ana)
    undone = decide(third, ana)
    undo(review=undone)
    evaluations(run, tasks=["4", "5", "6", "7"], assigned_to=ana)
    found = works(as_lea)["ana"]
    assert (found.done, found.days, found.pace) == (2, 1, 2.0)
    assert found.days_of_work(found.records) == 2.0
    assert works(as_lea)["lea"].pace is None


def test_hidden_runs_do_not_count(as_lea: Client, ana: User) -> None:
    hidden = RunFactory.create(is_restricted=True, name="Secret")
    evaluations(hidden, tasks=["1"], assigned_to=ana)
    assert works(as_lea)["ana"].records == 0
    assert "Secret" not in text(as_lea.get(ADDRESS))


def test_workload_query_count_is_constant(as_lea: Client, ana: User, bo: User) -> None:
    def queries() -> int:
        for person in (ana, bo):
            evaluations(RunFactory.create(), tasks=["1"], assigned_to=person)
        with CaptureQueriesContext(connection) as captured:
            as_lea.get(ADDRESS)
        return len(captured)

    assert queries() == queries()
