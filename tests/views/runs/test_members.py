"""The page with the members of a run."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Run, User
from reviews.queue.members import configure_members, current_members
from tests.support.pages import text

pytestmark = pytest.mark.django_db


def page_of(run: Run) -> str:
    return reverse("run-members", args=[run.pk])


def save(client: Client, run: Run, access: str, *members: str) -> Any:
    seen = client.get(page_of(run)).context["form"]["seen"].value()
    return client.post(page_of(run), {"seen": seen, "access": access, "members": members})


def members_of(run: Run) -> list[str] | None:
    return current_members(Run.objects.get(pk=run.pk))


def test_page_offers_reviewers_and_leads(as_lea: Client, run: Run, ana: User, max: User, eve: User) -> None:
    shown = text(as_lea.get(page_of(run)))
    assert "ana · reviewer" in shown
    assert "lea · lead" in shown
    assert 'value="max"' not in shown
    assert 'value="eve"' not in shown


@pytest.mark.slow
def test_page_is_linked_from_settings(as_lea: Client, run: Run) -> None:
    settings = reverse("run-settings", args=[run.pk])
    assert page_of(run) in text(as_lea.get(settings))
    assert "Everybody can see this run." in text(as_lea.get(settings))
    save(as_lea, run, "members", "lea")
    assert "Only its members and admins can see this run." in text(as_lea.get(settings))


@pytest.mark.slow
def test_restricted_run_is_marked_in_the_list_and_on_its_page(as_lea: Client, run: Run) -> None:
    pages = [reverse("runs"), reverse("run", args=[run.pk])]
    assert ["Members only" in text(as_lea.get(page)) for page in pages] == [False, False]
    save(as_lea, run, "members", "lea")
    assert ["Members only" in text(as_lea.get(page)) for page in pages] == [True, True]


@pytest.mark.slow
def test_lead_restricts_and_opens_a_run(as_lea: Client, run: Run, ana: User) -> None:
    assert save(as_lea, run, "members", "ana", "lea").status_code == 302
    assert members_of(run) == ["ana", "lea"]
    assert as_lea.get(page_of(run)).context["form"]["members"].value() == ["ana", "lea"]
    assert save(as_lea, run, "everybody", "ana").status_code == 302
    assert members_of(run) is None


@pytest.mark.parametrize(
    ("access", "members", "sentence"),
    [
        ("members", ["max"], "Select a valid choice. max is not one of the available choices."),
        ("members", [], "Add yourself (lea), or you lose access to this run."),
        ("", ["lea"], "This field is required."),
        ("nobody", ["lea"], "nobody is not one of the available choices."),
    ],
)
def test_invalid_members_keep_entries(
    as_lea: Client, run: Run, access: str, members: list[str], sentence: str
) -> None:
    response = save(as_lea, run, access, *members)
    assert response.status_code == 422
    assert sentence in text(response)
    assert response.context["form"]["members"].value() == members
    assert members_of(run) is None


@pytest.mark.slow
def test_concurrent_change_of_members_is_reported(
    as_lea: Client, run: Run, ana: User, bo: User, lea: User
) -> None:
    seen = as_lea.get(page_of(run)).context["form"]["seen"].value()
    configure_members(run_id=run.pk, actor=None, members=["bo", "lea"])
    posted = {"seen": seen, "access": "members", "members": ["ana", "lea"]}
    response = as_lea.post(page_of(run), posted)
    assert response.status_code == 409
    assert members_of(run) == ["bo", "lea"]
    again = posted | {"seen": response.context["form"]["seen"].value()}
    assert as_lea.post(page_of(run), again).status_code == 302
    assert members_of(run) == ["ana", "lea"]


@pytest.mark.slow
def test_member_without_role_stays_listed(as_lea: Client, run: Run, ana: User, lea: User) -> None:
    configure_members(run_id=run.pk, actor=None, members=["ana", "lea"])
    User.objects.filter(pk=ana.pk).update(is_active=False)
    assert "ana · deactivated" in text(as_lea.get(page_of(run)))
    assert save(as_lea, run, "members", "ana", "lea").status_code == 302
    assert members_of(run) == ["ana", "lea"]
