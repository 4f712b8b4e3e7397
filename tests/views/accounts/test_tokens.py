"""The pages that create, list and revoke API tokens."""

import pytest
from django.test import Client
from django.urls import reverse

from reviews.accounts import api_tokens
from reviews.models import ApiToken, AuditEvent, User
from tests.support.factories import PASSWORD
from tests.support.pages import text

pytestmark = pytest.mark.django_db
NEW = {"name": "Nightly", "scopes": ["read", "review"], "days": "30"}


def proven(client: Client) -> Client:
    client.post(reverse("reauthenticate"), {"password": PASSWORD})
    return client


@pytest.mark.slow
def test_reviewer_creates_a_token_for_themselves_only(as_ana: Client, max: User) -> None:
    page = text(proven(as_ana).get(reverse("add-token"), {"person": max.pk}))
    assert "Acts as" not in page
    assert 'value="import"' not in page
    created = proven(as_ana).post(reverse("add-token"), NEW | {"person": max.pk})
    [token] = ApiToken.objects.all()
    assert (token.person.username, token.name, token.scopes) == ("ana", "Nightly", ["review", "read"])
    assert created.context["made"].text in text(created)
    assert '<span>Copy</span><span class="visually-hidden"> token</span></button>' in text(created)
    assert "no-store" in created["Cache-Control"]


@pytest.mark.slow
def test_admin_creates_a_token_for_somebody_else(as_max: Client, ana: User) -> None:
    form = proven(as_max).get(reverse("add-token"), {"person": ana.pk}).context["form"]
    assert form["person"].value() == ana.pk
    as_max.post(reverse("add-token"), NEW | {"person": ana.pk})
    assert ApiToken.objects.get().person == ana
    event = AuditEvent.objects.get(action="token made")
    assert (event.actor_name, event.detail["username"], event.detail["name"]) == ("max", "ana", "Nightly")


@pytest.mark.slow
def test_new_token_leads_back_to_the_page_it_came_from(as_bo: Client, as_max: Client, ana: User) -> None:
    new, account, person = reverse("add-token"), reverse("account"), reverse("person", args=[ana.pk])
    assert f'href="{new}?from=tokens"' in text(as_max.get(reverse("tokens")))
    for client, query, back in (
        (as_max, "?from=tokens", reverse("tokens")),
        (as_max, f"?person={ana.pk}", person),
        (as_max, "?person=0", account),
        (as_bo, "?from=tokens", account),
    ):
        assert f'href="{back}">Cancel</a>' in text(proven(client).get(new + query))
        created = text(client.post(new + query, NEW | {"person": ana.pk}))
        assert f'href="{back}">Done</a>' in created
        assert f'<a href="{back}">' in created.partition("<main")[0]


@pytest.mark.parametrize(
    ("wrong", "field", "sentence"),
    [
        ({"scopes": ["import"]}, "scopes", "The role of ana does not allow: import."),
        ({"scopes": ["everything"]}, "scopes", "everything is not one of the available choices."),
        ({"days": "367"}, "days", "Enter a whole number from 1 to 366"),
        ({"person": "0"}, "person", "That choice is not one of the available choices."),
    ],
)
def test_invalid_token_is_refused_at_its_field(
    wrong: dict[str, object], field: str, sentence: str, as_max: Client, ana: User
) -> None:
    posted = proven(as_max).post(reverse("add-token"), {**NEW, "person": ana.pk, **wrong})
    assert posted.status_code == 422
    assert sentence in " ".join(posted.context["form"].errors[field])
    assert not ApiToken.objects.exists()


def test_token_list_separates_valid_and_ended_tokens(as_max: Client, ana: User) -> None:
    kept, ended = (
        api_tokens.create(person=ana, scopes=["read"], name=name, actor=None).token
        for name in ("kept", "ended")
    )
    revoke = reverse("revoke-token", args=[ended.pk])
    sender = f"http://testserver{reverse('tokens')}"
    assert as_max.post(revoke, headers={"referer": sender})["Location"] == reverse("tokens")
    valid, over = as_max.get(reverse("tokens")), as_max.get(reverse("tokens"), {"ended": "1"})
    assert [token.name for token in valid.context["page"].rows] == ["kept"]
    assert [token.name for token in over.context["page"].rows] == ["ended"]
    assert kept.prefix in text(valid)


def test_token_list_has_pages(as_max: Client, ana: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reviews.views.accounts.tokens._PAGE_SIZE", 1)
    older, newer = (api_tokens.create(person=ana, scopes=["read"], actor=None).token for _ in range(2))
    first = as_max.get(reverse("tokens"))
    assert first.context["page"].rows == [newer]
    assert f'href="{reverse("tokens")}?after={newer.pk}"' in text(first)
    assert as_max.get(reverse("tokens"), {"after": newer.pk}).context["page"].rows == [older]
