"""The list of runs."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviews.models import Draft, Run, User
from reviews.queue import claims
from reviews.review import escalations
from tests.support.factories import EvaluationFactory, ImportFactory, RunFactory
from tests.support.pages import text
from tests.support.work import decide

pytestmark = pytest.mark.django_db
RUNS = "/"


def started(client: Client) -> str:
    """The name of the run that the key starts."""
    return str(client.get(RUNS).context["landing"].run)


class TestRunList:
    def test_run_list_without_runs_invites_admin_to_import(self, as_max: Client) -> None:
        page = text(as_max.get(RUNS))
        assert "No runs yet. Import a file to queue its flagged records for review." in page
        assert 'href="/import/"' in page

    def test_run_list_without_runs_asks_reviewer_to_wait(self, as_ana: Client) -> None:
        page = text(as_ana.get(RUNS))
        assert "No runs yet: runs appear here once an admin imports a file." in page
        assert 'href="/import/"' not in page

    def test_run_list_shows_progress(self, as_ana: Client) -> None:
        run = RunFactory.create(name="Algebra")
        for status in ("Needs Review", "Pending", "Completed", "Not Required"):
            EvaluationFactory.create(run=run, human_review_status=status)
        page = text(as_ana.get(RUNS))
        assert '<progress max="3" value="1"' in page
        assert "<strong>1</strong> of 3 records done" in page
        assert "2 waiting" in page
        assert "1 not flagged" in page

    def test_run_list_offers_review_only_for_waiting_records(self, as_ana: Client) -> None:
        done = EvaluationFactory.create(human_review_status="Completed").run
        waiting = EvaluationFactory.create().run
        page = text(as_ana.get(RUNS))
        assert reverse("claim-next", args=[waiting.pk]) in page
        assert reverse("claim-next", args=[done.pk]) not in page

    @pytest.mark.slow
    def test_run_list_offers_export_with_permission(self, as_ana: Client, lea: User) -> None:
        export = f'action="{reverse("export", args=[EvaluationFactory.create().run.pk])}"'
        assert export not in text(as_ana.get(RUNS))
        as_ana.force_login(lea)
        assert export in text(as_ana.get(RUNS))

    def test_run_list_escapes_names(self, as_ana: Client) -> None:
        RunFactory.create(name="<script>alert(1)</script>")
        assert "<script>alert" not in text(as_ana.get(RUNS))

    @pytest.mark.parametrize("count", [1, 3])
    def test_run_list_query_count_is_constant(
        self,
        count: int,
        as_max: Client,
        django_assert_num_queries: Callable[[int], AbstractContextManager[Any]],
    ) -> None:
        EvaluationFactory.create_batch(count)
        with django_assert_num_queries(19):
            as_max.get(RUNS)

    @pytest.mark.slow
    def test_long_list_of_runs_has_pages(self, as_ana: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("reviews.views.runs.run_list.PAGE_SIZE", 2)
        made = RunFactory.create_batch(5)[::-1]
        seen, query = [], "?page=1"
        while query:
            context = as_ana.get(f"{RUNS}{query}").context
            seen += [row.run for row in context["rows"]]
            query = context["next"]
        assert seen == made
        assert as_ana.get(f"{RUNS}?page=none").context["page"].number == 1


class TestRunFilters:
    def names(self, client: Client, **query: str) -> list[str]:
        return [row.run.name for row in client.get(RUNS, query).context["rows"]]

    @pytest.fixture
    def runs(self, max: User, lea: User) -> None:
        """Make an open run, a reviewed one, one without records and an archived one, from the oldest."""
        made: dict[str, tuple[list[str], User | None, dict[str, Any]]] = {
            "algebra A": (["Needs Review", "Completed", "Completed", "Not Required"], max, {"due_on": None}),
            "Algebra B": (["Completed", "Reviewed"], lea, {"due_on": "2026-03-09"}),
            "Calculus": (["Needs Review", "Pending"], lea, {"due_on": "2026-03-02"}),
            "Empty": ([], None, {}),
            "Old algebra": (["Needs Review"], max, {"archived_at": timezone.now()}),
        }
        for day, (name, (statuses, owner, values)) in enumerate(made.items(), start=1):
            run = RunFactory.create(name=name, created_at=f"2026-02-0{day}T12:00:00Z", **values)
            if owner:
                ImportFactory.create(run=run, created_by=owner)
            for status in statuses:
                EvaluationFactory.create(run=run, human_review_status=status)

    @pytest.mark.slow
    @pytest.mark.usefixtures("runs")
    def test_runs_are_found_by_name_state_owner_and_date(self, as_lea: Client) -> None:
        assert self.names(as_lea) == ["Empty", "Calculus", "Algebra B", "algebra A"]
        assert self.names(as_lea, q="ALGEBRA") == ["Algebra B", "algebra A"]
        assert self.names(as_lea, q="100%") == []
        assert self.names(as_lea, state="open") == ["Calculus", "algebra A"]
        assert self.names(as_lea, state="reviewed") == ["Algebra B"]
        assert self.names(as_lea, state="archived") == ["Old algebra"]
        assert self.names(as_lea, owner="lea", q="calc") == ["Calculus"]
        dates = {"created-from": "2026-02-01", "created-until": "2026-02-02"}
        assert self.names(as_lea, **dates) == ["Algebra B", "algebra A"]

    @pytest.mark.slow
    @pytest.mark.usefixtures("runs")
    def test_runs_are_sorted_by_each_column(self, as_lea: Client) -> None:
        alphabetical = ["algebra A", "Algebra B", "Calculus", "Empty"]
        assert self.names(as_lea, sort="name") == alphabetical
        assert self.names(as_lea, sort="-name") == alphabetical[::-1]
        assert self.names(as_lea, sort="created") == alphabetical
        assert self.names(as_lea, sort="-left")[:2] == ["Calculus", "algebra A"]
        assert self.names(as_lea, sort="-progress") == ["Algebra B", "algebra A", "Calculus", "Empty"]
        assert self.names(as_lea, sort="due")[:2] == ["Calculus", "Algebra B"]
        assert self.names(as_lea, sort="-due")[:2] == ["Algebra B", "Calculus"]

    def test_second_click_on_a_header_reverses_the_order(self, as_ana: Client) -> None:
        RunFactory.create()
        headers = as_ana.get(RUNS, {"sort": "name"}).context["list"].headers
        assert [(one.sorted, one.query) for one in headers[:2]] == [
            ("ascending", "sort=-name"),
            ("", "sort=-progress"),
        ]

    @pytest.mark.slow
    def test_filters_without_matches_offer_all_runs(self, as_ana: Client) -> None:
        RunFactory.create()
        assert "No runs match these filters." in text(as_ana.get(RUNS, {"q": "nothing"}))
        assert "No archived runs" in text(as_ana.get(RUNS, {"state": "archived"}))
        Run.objects.update(archived_at=timezone.now())
        assert "All runs are archived." in text(as_ana.get(RUNS))

    @pytest.mark.parametrize(
        "query",
        [
            {"created-from": "soon"},
            {"created-until": "9999-12-31"},
            {"q": "\0"},
            {"state": "x", "sort": "--"},
        ],
    )
    def test_invalid_filters_are_ignored(self, query: dict[str, str], as_ana: Client) -> None:
        run = RunFactory.create()
        assert self.names(as_ana, **query) == [run.name]

    @pytest.mark.slow
    def test_own_work_says_when_assigned_records_are_due(self, as_ana: Client, ana: User) -> None:
        day = timezone.now().date() + timedelta(days=1)
        record = EvaluationFactory.create(assigned_to=ana, due_on=day)
        assert "Due tomorrow" in text(as_ana.get(RUNS))
        record.due_on = day - timedelta(days=2)
        record.save(update_fields=["due_on"])
        assert "1 overdue" in text(as_ana.get(RUNS))

    def test_due_date_of_a_run_is_in_words(self, as_ana: Client) -> None:
        EvaluationFactory.create(run=RunFactory.create(due_on="2026-01-02"))
        assert "Overdue since 2026-01-02" in text(as_ana.get(RUNS))


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
