"""The pages of jobs and of the system."""

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from reviews.models import Export, Import, User
from tests.support.factories import ExportFactory, ImportFactory
from tests.support.pages import text

pytestmark = pytest.mark.django_db


def test_jobs_page_shows_error_owner_and_run(as_max: Client, ana: User) -> None:
    export = ExportFactory.create(state=Export.State.FAILED, error="The disk is full.", created_by=ana)
    page = text(as_max.get(reverse("jobs"), {"kind": "export", "state": "failed"}))
    assert "The disk is full." in page
    assert reverse("export-page", args=[export.pk]) in page
    assert reverse("run", args=[export.run_id]) in page
    assert reverse("person", args=[ana.pk]) in page


def test_jobs_page_has_pages(as_max: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reviews.views.site.operations._PAGE_SIZE", 2)
    for number in range(3):
        ImportFactory.create(file_name=f"file {number}")
    first = as_max.get(reverse("jobs"), {"kind": "import"})
    assert first.context["next"] == "?kind=import&page=2"
    second = as_max.get(reverse("jobs") + first.context["next"])
    assert [row["title"] for row in second.context["rows"]] == ["file 0"]
    assert second.context["previous"] == "?kind=import"
    page = text(as_max.get(reverse("jobs"), {"kind": "import", "page": "9" * 17}))
    assert "No job matches." in page
    assert "Show all jobs" in page


@pytest.mark.parametrize("query", ["?kind=x&state=y&page=-1", "?page=", "?kind=%00"])
def test_unknown_filters_show_every_job(query: str, as_max: Client) -> None:
    ImportFactory.create()
    assert len(as_max.get(reverse("jobs") + query).context["rows"]) == 1


def test_jobs_page_query_count_is_constant(
    as_max: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    ImportFactory.create()
    as_max.get(reverse("jobs"))
    with django_assert_num_queries(5):
        as_max.get(reverse("jobs"))
    for _ in range(3):
        ImportFactory.create()
    with django_assert_num_queries(5):
        as_max.get(reverse("jobs"))


def test_retry_returns_to_the_filtered_list(as_max: Client) -> None:
    export = ExportFactory.create(state=Export.State.FAILED)
    sender = f"http://testserver{reverse('jobs')}?state=failed"
    address = reverse("retry-job", args=["export", export.pk])
    response = as_max.post(address, headers={"referer": sender}, follow=True)
    assert response.redirect_chain == [("/jobs/?state=failed", 303)]
    assert "The job is queued again." in text(response)
    again = as_max.post(address, follow=True)
    assert "This job cannot be repeated." in text(again)


def test_queued_import_is_cancelled(as_max: Client) -> None:
    queued = ImportFactory.create(state=Import.State.QUEUED)
    as_max.post(reverse("cancel-job", args=["import", queued.pk]))
    queued.refresh_from_db()
    assert queued.state == Import.State.CANCELLED
    late = as_max.post(reverse("cancel-job", args=["import", queued.pk]), follow=True)
    assert "cannot be cancelled" in text(late)


def test_system_page_says_what_needs_attention(as_max: Client) -> None:
    page = text(as_max.get(reverse("system")))
    assert "The system needs attention" in page
    assert "None is running: jobs wait." in page
    assert "CogniReview 0." in page
