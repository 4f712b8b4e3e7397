"""Saved views, bulk changes of listed records, and search suggestions."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviews.dashboard import bulk_changes
from reviews.models import BulkChange, Run, SavedView, User
from reviews.search import saved_views
from reviews.search.filters import Filters
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import text
from tests.support.work import evaluations

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(db: None) -> Run:
    return RunFactory.create(name="Algebra")


class TestTasks:
    def test_task_ids_are_suggested_by_prefix(self, as_ana: Client, run: Run) -> None:
        evaluations(run, tasks=["5493", "5500", "6"])
        page = text(as_ana.get(reverse("tasks", args=[run.pk], query={"task": "5"})))
        assert page == '<option value="5493"></option><option value="5500"></option>'

    @pytest.mark.parametrize("beginning", ["", "\0", "x" * 1000])
    def test_unknown_prefix_suggests_no_task_ids(self, beginning: str, as_ana: Client, run: Run) -> None:
        evaluations(run, tasks=["5493"])
        assert not text(as_ana.get(reverse("tasks", args=[run.pk], query={"task": beginning})))


class TestSavedViews:
    def save(self, client: Client, run: Run, **posted: str) -> str:
        response = client.post(reverse("save-view", args=[run.pk]), posted, follow=True)
        return text(response)

    def test_saved_view_redirects_to_the_list(self, as_ana: Client, run: Run) -> None:
        page = self.save(as_ana, run, name="Fails of o1", query="sort=task&verdict=Fail&model=o1")
        assert "View “Fails of o1” saved." in page
        assert f"{reverse('run', args=[run.pk])}?model=o1&amp;verdict=Fail&amp;sort=task" in page

    def test_saved_view_keeps_only_known_filters(self, as_ana: Client, run: Run) -> None:
        self.save(as_ana, run, name="odd", query="next=//evil.example&model=o1&verdict=Great")
        assert SavedView.objects.get().query == "model=o1"

    def test_saved_view_requires_a_name(self, as_ana: Client, run: Run) -> None:
        assert "Enter a name of at most" in self.save(as_ana, run, name=" ", query="model=o1")

    def test_saved_view_can_be_shared_by_leads(self, as_lea: Client, run: Run) -> None:
        assert "shared" in self.save(as_lea, run, name="ours", query="model=o1", shared="on")
        assert SavedView.objects.get().is_shared

    def test_saved_view_cannot_be_shared_by_reviewers(self, as_ana: Client, run: Run) -> None:
        response = as_ana.post(reverse("save-view", args=[run.pk]), {"name": "ours", "shared": "on"})
        assert response.status_code == 403

    def test_saved_view_can_be_removed(self, as_ana: Client, ana: User, run: Run) -> None:
        view = saved_views.save(run=run, owner=ana, name="mine", query="model=o1", is_shared=False)
        as_ana.post(reverse("remove-view", args=[view.pk]))
        assert not SavedView.objects.exists()

    def test_saved_view_of_another_is_not_found(self, as_ana: Client, bo: User, run: Run) -> None:
        view = saved_views.save(run=run, owner=bo, name="of bo", query="", is_shared=False)
        assert as_ana.post(reverse("remove-view", args=[view.pk])).status_code == 404


class TestBulkChange:
    def look(self, client: Client, run: Run, **query: str) -> str:
        return text(client.get(reverse("bulk-change", args=[run.pk], query=query)))

    def test_bulk_change_preview_writes_nothing(self, as_lea: Client, run: Run, ana: User, bo: User) -> None:
        evaluations(run, tasks=["1", "2"])
        evaluations(run, tasks=["3"], claimed_by=ana, claimed_until=timezone.now() + timedelta(hours=1))
        page = self.look(as_lea, run, kind="assign", to="bo")
        assert "This will assign 2 records to bo; 1 is claimed by someone else and stays as it is." in page
        assert not run.evaluations.filter(assigned_to=bo).exists()

    @pytest.mark.parametrize(
        ("query", "sentence"),
        [
            ({"kind": "assign", "to": "nobody"}, "No records to assign."),
            ({"kind": "prioritise", "priority": "1"}, "This will give priority to 1 record."),
            ({"kind": "prioritise", "priority": "0"}, "No records to set to normal priority."),
            ({"kind": "release"}, "No records to release."),
        ],
    )
    def test_bulk_change_is_described_in_a_sentence(
        self, query: dict[str, str], sentence: str, as_lea: Client, run: Run
    ) -> None:
        evaluations(run, tasks=["1"])
        assert sentence in self.look(as_lea, run, **query)

    @pytest.mark.parametrize(
        "query",
        [{}, {"kind": "agree"}, {"kind": "assign", "to": "eve"}, {"kind": "prioritise", "priority": "99999"}],
    )
    def test_invalid_bulk_change_has_no_preview(
        self, query: dict[str, str], as_lea: Client, run: Run, eve: User
    ) -> None:
        assert "Apply" not in self.look(as_lea, run, **query)

    def test_bulk_change_applies_to_the_previewed_list(self, as_lea: Client, run: Run, bo: User) -> None:
        evaluations(run, tasks=["1", "2"])
        posted = {"kind": "assign", "to": "bo", "list": "task=2"}
        response = as_lea.post(reverse("bulk-change", args=[run.pk]), posted, follow=True)
        assert "Assigned 1 record to bo." in text(response)
        assert run.evaluations.get(assigned_to=bo).task_id == "2"

    def test_bulk_change_can_be_undone(self, as_lea: Client, run: Run, lea: User, bo: User) -> None:
        evaluations(run, tasks=["1", "2"])
        change = bulk_changes.apply(bulk_changes.BulkOrder(run, Filters(), bulk_changes.Kind.ASSIGN, bo), lea)
        run.evaluations.filter(task_id="1").update(assigned_to=None)
        response = as_lea.post(reverse("undo-bulk-change", args=[change.pk]), follow=True)
        assert "Undone: 1 record restored. Changed since, not restored: 1 record." in text(response)
        again = as_lea.post(reverse("undo-bulk-change", args=[change.pk]), follow=True)
        assert "This change was already undone." in text(again)

    def test_bulk_change_page_lists_latest_changes(self, as_lea: Client, run: Run, lea: User) -> None:
        EvaluationFactory.create(run=run)
        bulk_changes.apply(
            bulk_changes.BulkOrder(
                run, Filters.from_query_string("verdict=Fail"), bulk_changes.Kind.PRIORITISE, priority=1
            ),
            lea,
        )
        page = self.look(as_lea, run)
        assert "1 record set to priority" in page
        assert "verdict=Fail" in page

    def test_invalid_bulk_change_writes_nothing(self, as_lea: Client, run: Run) -> None:
        response = as_lea.post(reverse("bulk-change", args=[run.pk]), {"kind": "agree"})
        assert response.status_code == 422
        assert not BulkChange.objects.exists()
