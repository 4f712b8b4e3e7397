"""Saved views and search suggestions."""

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Run, SavedView, User
from reviews.search import saved_views
from tests.support.pages import text
from tests.support.work import evaluations

pytestmark = pytest.mark.django_db


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
