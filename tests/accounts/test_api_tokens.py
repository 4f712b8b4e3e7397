"""API tokens: creation, authentication, revocation, and the pages that list them."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviews.accounts import api_tokens, people
from reviews.api.urls import api
from reviews.models import ApiToken, AuditEvent, User
from tests.support.pages import text

pytestmark = pytest.mark.django_db


def make(person: User, *scopes: str, days: int = 7) -> api_tokens.NewToken:
    return api_tokens.create(person=person, scopes=scopes or ["read"], days=days, actor=None)


class TestToken:
    @pytest.mark.slow
    def test_token_authenticates_by_text_that_is_not_stored(self, ana: User) -> None:
        made = make(ana, "read", "review")
        assert made.text.startswith(f"{made.token.prefix}_")
        found = api_tokens.authenticate(made.text)
        assert found
        assert (found.person, found.scopes) == (ana, ["review", "read"])
        stored = [str(value) for row in ApiToken.objects.values() for value in row.values()]
        stored += [str(event.detail) for event in AuditEvent.objects.all()]
        secret = made.text.removeprefix(made.token.prefix)
        assert not any(secret in value for value in stored)

    def test_expired_or_unknown_token_is_rejected(self, ana: User) -> None:
        made = make(ana)
        assert api_tokens.authenticate(made.token.prefix) is None
        ApiToken.objects.update(expires_at=timezone.now())
        assert api_tokens.authenticate(made.text) is None
        assert not api_tokens.valid_tokens(ana)

    def test_last_use_is_recorded_once_a_minute(self, ana: User) -> None:
        made = make(ana)
        api_tokens.authenticate(made.text)
        first = ApiToken.objects.get().last_used_at
        assert first
        api_tokens.authenticate(made.text)
        assert ApiToken.objects.get().last_used_at == first
        ApiToken.objects.update(last_used_at=first - timedelta(minutes=1))
        api_tokens.authenticate(made.text)
        assert ApiToken.objects.get(last_used_at__gt=first)

    @pytest.mark.parametrize(
        ("scopes", "days", "sentence"),
        [
            ([], 7, "one or more of the scopes"),
            (["read", "everything"], 7, "one or more of the scopes"),
            (["read"], 0, "1 to 366 days"),
            (["read"], 367, "1 to 366 days"),
            (["read", "import", "export"], 7, "The role of ana does not allow: import, export."),
        ],
    )
    def test_useless_token_is_not_created(
        self, scopes: list[str], days: int, sentence: str, ana: User
    ) -> None:
        with pytest.raises(api_tokens.TokenError, match=sentence):
            api_tokens.create(person=ana, scopes=scopes, days=days, actor=None)

    def test_token_ends_with_account_and_with_provider_role(self, ana: User, bo: User, max: User) -> None:
        of_ana, of_bo = make(ana).text, make(bo).text
        people.deactivate(person=ana, actor=max)
        people.set_role_from_provider(person=bo, role="")
        assert (api_tokens.authenticate(of_ana), api_tokens.authenticate(of_bo)) == (None, None)
        with pytest.raises(api_tokens.TokenError, match="ana is deactivated"):
            make(User.objects.get(pk=ana.pk))


class TestCommand:
    def run(self, *arguments: str) -> str:
        printed = StringIO()
        call_command("create_token", *arguments, stdout=printed, stderr=StringIO())
        return printed.getvalue().strip()

    def test_command_prints_only_the_token(self, ana: User) -> None:
        found = api_tokens.authenticate(self.run("ana", "--scope", "review,read", "--days", "3"))
        assert found
        assert found.scopes == ["review", "read"]
        assert found.expires_at - timezone.now() < timedelta(days=3)

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["nobody", "--scope", "read"], "No user 'nobody'. Users: ana."),
            (["ana", "--scope", "import"], "does not allow: import"),
            (["ana", "--scope", "read,"], "scopes import, export, configure, review, read, manage, tokens"),
        ],
    )
    def test_command_reports_errors(self, arguments: list[str], sentence: str, ana: User) -> None:
        with pytest.raises(CommandError, match=sentence):
            self.run(*arguments)


@pytest.mark.slow
class TestPages:
    def test_account_page_lists_and_revokes_own_tokens(self, ana: User, client: Client) -> None:
        made = make(ana, "read", "review")
        client.force_login(ana)
        shown = text(client.get(reverse("account")))
        assert f"<code>{made.token.prefix}…</code> review, read" in shown
        assert made.text not in shown
        answer = client.post(reverse("revoke-token", args=[made.token.pk]))
        assert answer["Location"] == reverse("account")
        assert api_tokens.authenticate(made.text) is None
        assert [event.action for event in AuditEvent.objects.all()][:1] == ["token revoked"]

    def test_person_page_lists_tokens_for_admin(self, ana: User, max: User, client: Client) -> None:
        made = make(ana)
        client.force_login(max)
        assert made.token.prefix in text(client.get(reverse("person", args=[ana.pk])))
        answer = client.post(reverse("revoke-token", args=[made.token.pk]))
        assert answer["Location"] == reverse("person", args=[ana.pk])
        assert api_tokens.authenticate(made.text) is None

    def test_tokens_of_others_cannot_be_revoked(self, ana: User, lea: User, client: Client) -> None:
        made = make(ana)
        client.force_login(lea)
        assert made.token.prefix not in text(client.get(reverse("account")))
        assert client.post(reverse("revoke-token", args=[made.token.pk])).status_code == 404
        assert api_tokens.authenticate(made.text)

    @pytest.mark.slow
    def test_api_page_lists_operations_with_scopes(self, ana: User, client: Client) -> None:
        client.force_login(ana)
        shown = text(client.get(reverse("api")))
        names = (
            "PUT /api/v1/runs/{run}/evaluations/{evaluation_id}/review",
            "Idempotency-Key",
            "corrected_scores",
        )
        assert [name for name in names if f"<code>{name}</code>" not in shown] == []
        operations = [one for path in api.get_openapi_schema()["paths"].values() for one in path.values()]
        assert all(f'id="{one["operationId"]}"' in shown for one in operations)
        assert shown.count("scope review") == sum(one["x-scope"] == "review" for one in operations)
