"""The work of admins over the API: people, invitations, tokens, webhooks, jobs, and the audit chain."""

import datetime as dt
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from reviews.accounts import api_tokens
from reviews.models import ApiToken, ChainCheck, Evaluation, Export, OneTimeLink, User, Webhook
from reviews.webhooks import deliveries
from tests.support.api_requests import Program, program_of
from tests.support.factories import EvaluationFactory, ExportFactory
from tests.support.work import decide

pytestmark = pytest.mark.django_db


class TestPeople:
    def test_people_are_found(self, of_max: Program, ana: User, lea: User) -> None:
        listed = of_max.get("people?role=lead").json()
        assert [one["username"] for one in listed["people"]] == ["lea"]
        assert of_max.get("people/ana").json()["role"] == "reviewer"

    def test_last_activity_is_that_of_a_decision(self, of_max: Program, ana: User) -> None:
        assert of_max.get("people/ana").json()["last_active_at"] is None
        made = decide(EvaluationFactory.create(), ana)
        found = of_max.get("people/ana").json()["last_active_at"]
        assert dt.datetime.fromisoformat(found) == made.submitted_at

    @pytest.mark.slow
    def test_role_is_changed_and_account_closed_and_opened(self, of_max: Program, ana: User) -> None:
        assert of_max.ask("PUT", "people/ana/role", {"role": "lead"}).json()["role"] == "lead"
        assert of_max.ask("POST", "people/ana/deactivate").json()["is_active"] is False
        assert of_max.ask("POST", "people/ana/reactivate").json()["is_active"] is True

    def test_last_admin_stays(self, of_max: Program, max: User) -> None:
        answer = of_max.ask("POST", "people/max/deactivate")
        assert answer.status_code == 422

    def test_token_does_not_grant_the_admin_role(self, of_max: Program, ana: User) -> None:
        assert of_max.ask("PUT", "people/ana/role", {"role": "admin"}).status_code == 403
        invited = {"people": [{"name": "Eva", "role": "admin"}]}
        assert of_max.ask("POST", "invitations", invited).status_code == 403
        assert not OneTimeLink.objects.exists()

    def test_token_does_not_grant_scopes_that_it_lacks(self, max: User, ana: User) -> None:
        program = program_of(max, "manage", "read", "review")
        assert program.ask("PUT", "people/ana/role", {"role": "lead"}).status_code == 403
        assert program.ask("PUT", "people/ana/role", {"role": "reviewer"}).status_code == 200


class TestInvitations:
    @pytest.mark.slow
    def test_invitation_is_renewed_used_or_withdrawn(self, of_max: Program) -> None:
        sent = {"people": [{"name": "Eva Smith", "email": "eva@example.org", "role": "reviewer"}]}
        (made,) = of_max.ask("POST", "invitations", sent).json()
        assert (made["name"], made["email"], made["role"]) == ("Eva Smith", "eva@example.org", "reviewer")
        again = of_max.ask("POST", f"invitations/{made['id']}/renew").json()
        paths = [address.partition("/join/")[2] for address in (made["url"], again["url"])]
        assert [Client().get(f"/join/{path}").status_code for path in paths] == [404, 200]
        assert [one["id"] for one in of_max.get("invitations").json()] == [again["id"]]
        assert of_max.ask("DELETE", f"invitations/{again['id']}").status_code == 204
        assert of_max.get("invitations").json() == []

    @pytest.mark.parametrize(
        "person",
        [{"role": "lead"}, {"email": "no address", "role": "lead"}, {"email": "a@b", "role": "lead"}],
    )
    def test_invalid_invitation_is_refused(self, person: dict[str, Any], of_max: Program) -> None:
        answer = of_max.ask("POST", "invitations", {"people": [person]})
        assert answer.status_code == 422
        assert not OneTimeLink.objects.exists()


class TestTokens:
    def test_token_creates_a_lesser_one(self, of_ana: Program, ana: User) -> None:
        made = of_ana.ask("POST", "tokens", {"name": "Nightly", "scopes": ["read"], "days": 366}).json()
        assert Program(made["text"]).get("runs").status_code == 200
        assert (
            Program(made["text"]).ask("POST", "tokens", {"name": "x", "scopes": ["read"]}).status_code == 403
        )
        first, second = ApiToken.objects.order_by("pk")
        assert second.expires_at == first.expires_at
        assert [one["id"] for one in of_ana.get("tokens").json()] == [second.pk, first.pk]
        assert "text" not in of_ana.get("tokens").json()[0]

    @pytest.mark.parametrize("scopes", [["import"], ["review", "tokens"]])
    def test_token_does_not_pass_on_more_than_it_has(self, scopes: list[str], max: User) -> None:
        program = program_of(max, "review", "tokens")
        assert program.ask("POST", "tokens", {"name": "x", "scopes": scopes}).status_code == 403
        assert ApiToken.objects.count() == 1

    def test_people_revoke_their_own_tokens_and_admins_revoke_all(
        self, of_ana: Program, of_bo: Program, of_max: Program, ana: User
    ) -> None:
        token = api_tokens.create(person=ana, scopes=["read"], actor=None).token
        assert of_bo.ask("DELETE", f"tokens/{token.pk}").status_code == 404
        assert of_ana.ask("DELETE", f"tokens/{token.pk}").status_code == 204
        other = api_tokens.create(person=ana, scopes=["read"], actor=None).token
        assert of_max.ask("DELETE", f"tokens/{other.pk}").status_code == 204
        assert not api_tokens.valid_tokens(ana).filter(pk__in=[token.pk, other.pk]).exists()

    def test_admin_without_the_scope_manage_revokes_own_tokens_only(self, max: User, ana: User) -> None:
        token = api_tokens.create(person=ana, scopes=["read"], actor=None).token
        program = program_of(max, "tokens")
        assert program.ask("DELETE", f"tokens/{token.pk}").status_code == 404
        assert [one["person"] for one in program.get("tokens").json()] == ["max"]


class TestSite:
    def test_webhook_is_tested_and_removed(self, of_max: Program, max: User) -> None:
        webhook = Webhook.objects.create(url="https://hooks.example.org/", created_by=max)
        (listed,) = of_max.get("webhooks").json()
        assert listed["id"] == webhook.pk
        assert "secret" not in listed
        sent = of_max.ask("POST", f"webhooks/{webhook.pk}/test").json()
        deliveries.attempt_delivery(sent["id"], 1)
        (delivery,) = of_max.get(f"webhooks/{webhook.pk}/deliveries").json()
        (attempt,) = delivery.pop("attempts")
        assert (delivery["id"], sent["attempts"], attempt["number"]) == (sent["id"], [], 1)
        assert (attempt["status"], attempt["reason"][:14]) == (None, "No secret can ")
        assert of_max.ask("DELETE", f"webhooks/{webhook.pk}").status_code == 204
        assert of_max.get("webhooks").json() == []

    def test_delivered_message_is_sent_again(self, of_max: Program, max: User) -> None:
        webhook = Webhook.objects.create(url="https://hooks.example.org/", created_by=max)
        sent = of_max.ask("POST", f"webhooks/{webhook.pk}/test").json()
        path = f"webhooks/{webhook.pk}/deliveries/{sent['id']}/resend"
        assert of_max.ask("POST", path).status_code == 409
        webhook.deliveries.update(state="delivered")
        again = of_max.ask("POST", path).json()
        assert (again["state"], again["message_id"]) == ("waiting", sent["message_id"])

    @pytest.mark.slow
    def test_webhook_changes_its_secret(self, of_max: Program, settings: LazySettings) -> None:
        settings.WEBHOOK_HOSTS = ["hooks.example.org"]
        made = of_max.ask("POST", "webhooks", {"url": "https://hooks.example.org/"}).json()
        path = f"webhooks/{made['id']}/secrets"
        (first,) = of_max.get(path).json()
        refused = of_max.ask("DELETE", f"{path}/{first['id']}")
        assert (refused.status_code, "only secret" in refused.json()["detail"]) == (409, True)
        second = of_max.ask("POST", path).json()
        assert second["secret"].startswith("whsec_")
        assert second["secret"] != made["secret"]
        assert [one["id"] for one in of_max.get(path).json()] == [second["id"], first["id"]]
        assert all("secret" not in one for one in of_max.get(path).json())
        assert of_max.ask("DELETE", f"{path}/{first['id']}").status_code == 204
        assert of_max.ask("DELETE", f"{path}/{first['id']}").status_code == 404

    def test_webhook_has_five_secrets_at_most(self, of_max: Program, settings: LazySettings) -> None:
        settings.WEBHOOK_HOSTS = ["hooks.example.org"]
        webhook = of_max.ask("POST", "webhooks", {"url": "https://hooks.example.org/"}).json()["id"]
        statuses = [of_max.ask("POST", f"webhooks/{webhook}/secrets").status_code for _ in range(5)]
        assert statuses == [200] * 4 + [409]

    @pytest.mark.parametrize(
        ("sent", "field"),
        [
            ({"url": "https://elsewhere.example.org/"}, "url"),
            ({"url": "https://hooks.example.org/", "events": ["nothing"]}, "events"),
        ],
    )
    def test_invalid_webhook_names_the_field(self, sent: dict[str, Any], field: str, of_max: Program) -> None:
        answer = of_max.ask("POST", "webhooks", sent)
        assert (answer.status_code, answer.json()["errors"][0]["field"].partition(".")[0]) == (422, field)

    def test_jobs_are_listed_and_retried(self, of_max: Program, max: User) -> None:
        failed = ExportFactory.create(state=Export.State.FAILED, finished_at=timezone.now())
        (job,) = of_max.get("jobs?kind=export").json()
        assert (job["id"], job["state"], job["can_retry"]) == (failed.pk, "failed", True)
        assert of_max.ask("POST", f"jobs/export/{failed.pk}/retry").status_code == 204
        assert of_max.ask("POST", f"jobs/export/{failed.pk}/retry").status_code == 409
        assert of_max.ask("POST", f"jobs/nothing/{failed.pk}/retry").status_code == 404

    def test_audit_log_is_checked_in_a_job(self, of_lea: Program) -> None:
        assert of_lea.get("audit/chain").json()["running"] is None
        answer = of_lea.ask("POST", "audit/chain/check")
        assert answer.status_code == 202
        assert answer.json()["running"]["finished_at"] is None
        assert ChainCheck.objects.count() == 1

    def test_workload_counts_assigned_records(self, of_lea: Program, ana: User) -> None:
        record = EvaluationFactory.create(assigned_to=ana, due_on=dt.date(2026, 1, 31))
        work = {one["person"]: one for one in of_lea.get("workload").json()}
        assert (work["ana"]["records"], work["ana"]["runs"][0]["run"]) == (1, record.run.name)
        assert work["lea"]["records"] == 0


class TestExports:
    @pytest.fixture
    def record(self) -> Evaluation:
        return EvaluationFactory.create()

    @pytest.mark.slow
    def test_waiting_export_is_cancelled(self, record: Evaluation, of_lea: Program, of_ana: Program) -> None:
        path = f"runs/{record.run.name}/exports"
        made = of_lea.ask("POST", path, {"only": "reviewed"}).json()
        assert made["state"] == "unfinished"
        cancelled = of_lea.ask("POST", f"exports/{made['id']}/cancel").json()
        assert cancelled["state"] == "cancelled"
        assert [one["state"] for one in of_lea.get(path).json()] == ["cancelled"]
        assert of_lea.get(f"exports/{made['id']}/file").status_code == 404

    def test_invalid_options_are_refused(self, record: Evaluation, of_lea: Program) -> None:
        path = f"runs/{record.run.name}/exports"
        assert of_lea.ask("POST", path, {"only": "reviewed", "with_rejected": True}).status_code == 422
        assert of_lea.ask("POST", path, {"import_id": 987_654_321}).status_code == 422
