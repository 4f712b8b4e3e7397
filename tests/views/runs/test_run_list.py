"""The list of runs: its rows, pages, filters and order."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviews.models import Run, User
from tests.support.factories import EvaluationFactory, ImportFactory, RunFactory
from tests.support.pages import text

pytestmark = pytest.mark.django_db

RUNS = "/"


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

    def test_due_date_of_a_run_is_in_words(self, as_ana: Client) -> None:
        EvaluationFactory.create(run=RunFactory.create(due_on="2026-01-02"))
        assert "Overdue since 2026-01-02" in text(as_ana.get(RUNS))
