"""The home page: the own work of the reader, and of leads."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviews.models import Draft, Run, User
from reviews.queue import claims
from reviews.review import escalations
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import text
from tests.support.work import decide

pytestmark = pytest.mark.django_db
RUNS = "/"


def started(client: Client) -> str:
    """The name of the run that the key starts."""
    return str(client.get(RUNS).context["landing"].run)


@pytest.mark.slow
class TestOwnWork:
    def test_unfinished_records_can_be_continued(self, as_ana: Client, ana: User) -> None:
        claimed, drafted = EvaluationFactory.create_batch(2)
        claims.claim(evaluation_id=claimed.pk, reviewer=ana)
        Draft.objects.create(evaluation=drafted, reviewer=ana, fields=[])
        page = text(as_ana.get(RUNS))
        assert f'href="{reverse("evaluation", args=[claimed.pk])}">Continue' in page
        assert f'action="{reverse("claim", args=[drafted.pk])}"' in page
        assert as_ana.post(reverse("claim", args=[drafted.pk]), follow=True).status_code == 200

    def test_key_starts_the_run_worked_on_last(self, as_ana: Client, ana: User) -> None:
        older = RunFactory.create(name="Older")
        first, *_ = EvaluationFactory.create_batch(2, run=older)
        EvaluationFactory.create(run=RunFactory.create(name="Newer"))
        assert started(as_ana) == "Newer"
        decide(first, ana)
        assert started(as_ana) == "Older"
        older.evaluations.update(human_review_status="Completed")
        assert started(as_ana) == "Newer"

    def test_run_without_a_record_for_the_reader_is_not_offered(
        self, as_ana: Client, ana: User, bo: User
    ) -> None:
        other = EvaluationFactory.create(run=RunFactory.create(name="Other"))
        latest = RunFactory.create(name="Latest")
        first, assigned, claimed = EvaluationFactory.create_batch(3, run=latest)
        decide(first, ana)
        latest.evaluations.filter(pk=assigned.pk).update(assigned_to=bo)
        assert started(as_ana) == "Latest"
        claims.claim(evaluation_id=claimed.pk, reviewer=bo)
        assert started(as_ana) == "Other"
        claims.claim(evaluation_id=other.pk, reviewer=bo)
        page = text(as_ana.get(RUNS))
        assert "Nothing available for you now." in page
        assert f'href="{reverse("review", args=[latest.pk])}">View queue' in page
        assert "reviewing<span" not in page
        assert page.count(">View queue<") == 3

    def test_work_of_archived_and_hidden_runs_is_left_out(self, as_ana: Client, ana: User) -> None:
        archived, hidden, shown = EvaluationFactory.create_batch(3)
        for record in (archived, hidden, shown):
            Draft.objects.create(evaluation=record, reviewer=ana, fields=[])
        Run.objects.filter(pk=archived.run_id).update(archived_at=timezone.now())
        Run.objects.filter(pk=hidden.run_id).update(is_restricted=True)
        landing = as_ana.get(RUNS).context["landing"]
        assert [one.evaluation for one in landing.unfinished] == [shown]

    def test_own_work_says_when_assigned_records_are_due(self, as_ana: Client, ana: User) -> None:
        day = timezone.now().date() + timedelta(days=1)
        record = EvaluationFactory.create(assigned_to=ana, due_on=day)
        assert "Due tomorrow" in text(as_ana.get(RUNS))
        record.due_on = day - timedelta(days=2)
        record.save(update_fields=["due_on"])
        assert "1 overdue" in text(as_ana.get(RUNS))

    def test_caught_up_reviewer_has_one_sentence(self, as_ana: Client) -> None:
        EvaluationFactory.create(human_review_status="Completed")
        assert "All caught up: nothing waits for a review." in text(as_ana.get(RUNS))

    def test_leads_see_runs_with_open_escalations(self, as_lea: Client, ana: User, bo: User) -> None:
        record = EvaluationFactory.create()
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        escalations.escalate(evaluation_id=record.pk, reviewer=ana, kind="question", reason="", note="Which?")
        address = reverse("inbox", query={"run": record.run_id})
        assert f'href="{address}">1 escalated' in text(as_lea.get(RUNS))
        as_lea.force_login(bo)
        assert address not in text(as_lea.get(RUNS))

    @pytest.mark.parametrize("zone", ["Asia/Tokyo", "UTC", "", "../x", "America", "\0", "x" * 5000])
    def test_any_time_zone_of_the_browser_gives_a_page(self, as_ana: Client, zone: str) -> None:
        EvaluationFactory.create()
        as_ana.cookies["timezone"] = zone
        assert as_ana.get(RUNS).status_code == 200
