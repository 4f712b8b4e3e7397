"""Access to the API: every operation for every scope and role, and none without a token."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from reviews.accounts import api_tokens, people
from reviews.api.urls import api
from reviews.models import ApiToken, Evaluation, User
from tests.api.conftest import ALL, Program, program_of
from tests.support.factories import EvaluationFactory

pytestmark = pytest.mark.django_db

# Operation -> its scope, and the status for a token of a reviewer, a lead and an admin with that scope (None:
# their role gets no such token).
ACCESS: dict[str, tuple[str, int | None, int | None, int]] = {
    "GET /runs": ("read", 200, 200, 200),
    "GET /runs/{run}": ("read", 200, 200, 200),
    "DELETE /runs/{run}": ("configure", None, 403, 422),  # not confirmed
    "PATCH /runs/{run}": ("configure", None, 422, 422),  # nothing is sent
    "GET /runs/{run}/members": ("read", 403, 200, 200),
    "PUT /runs/{run}/members": ("configure", None, 422, 422),
    "GET /runs/{run}/guideline": ("read", 200, 200, 200),
    "PUT /runs/{run}/guideline": ("configure", None, 422, 422),
    "GET /runs/{run}/rubric": ("read", 200, 200, 200),
    "PUT /runs/{run}/rubric": ("configure", None, 415, 415),
    "GET /runs/{run}/report": ("read", 403, 200, 200),
    "GET /runs/{run}/export": ("export", None, 200, 200),
    "POST /runs/{run}/imports": ("import", None, None, 415),  # nothing is sent
    "PUT /runs/{run}/mapping": ("import", None, None, 415),  # nothing is sent
    "POST /runs/{run}/context": ("import", None, None, 415),  # nothing is sent
    "POST /context": ("import", None, None, 415),  # nothing is sent
    "GET /imports/{import_id}": ("import", None, None, 200),
    "GET /imports/{import_id}/rejects": ("import", None, None, 200),
    "GET /runs/{run}/evaluations": ("read", 200, 200, 200),
    "GET /runs/{run}/evaluations/{evaluation_id}": ("read", 200, 200, 200),
    "POST /runs/{run}/claims": ("review", 200, 204, 204),  # the one record is ana's then
    "GET /runs/{run}/undo": ("review", 204, 204, 204),
    "POST /runs/{run}/undo": ("review", 409, 409, 409),
    "DELETE /runs/{run}/evaluations/{evaluation_id}/claim": ("review", 204, 204, 204),
    "PUT /runs/{run}/evaluations/{evaluation_id}/blind-scores": ("review", 422, 422, 422),
    "PUT /runs/{run}/evaluations/{evaluation_id}/review": ("review", 422, 422, 422),
    "GET /audit": ("read", 403, 200, 200),
}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@pytest.fixture
def record() -> Evaluation:
    return EvaluationFactory.create()


def send(program: Program, name: str, record: Evaluation) -> Any:
    method, path = name.split(" /")
    values = {
        "run": record.run.name,
        "import_id": record.first_import_id,
        "evaluation_id": record.evaluation_id,
    }
    return program.ask(method, path.format(**values))


def test_access_table_has_every_operation() -> None:
    schema = api.get_openapi_schema()
    scopes = {
        f"{method.upper()} {path.removeprefix('/api/v1')}": operation["x-scope"]
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    }
    assert schema["openapi"] == "3.1.0"
    assert scopes == {name: line[0] for name, line in ACCESS.items()}


@pytest.mark.parametrize("name", ACCESS)
class TestOperation:
    def test_operation_accepts_token_with_scope_and_role(
        self, name: str, record: Evaluation, ana: User, lea: User, max: User
    ) -> None:
        scope, *statuses = ACCESS[name]
        for person, status in zip((ana, lea, max), statuses, strict=True):
            if status is None:
                with pytest.raises(api_tokens.TokenError, match=scope):
                    program_of(person, scope)
            else:
                assert send(program_of(person, scope), name, record).status_code == status

    def test_operation_rejects_other_scopes(self, name: str, record: Evaluation, max: User) -> None:
        others = [scope for scope in ALL if scope != ACCESS[name][0]]
        answer = send(program_of(max, *others), name, record)
        assert answer.status_code == 403
        assert answer.json()["detail"] == f"This token does not have the scope {ACCESS[name][0]}."

    def test_operation_rejects_token_after_role_is_lost(
        self, name: str, record: Evaluation, max: User, lea: User
    ) -> None:
        program = program_of(lea if ACCESS[name][2] else max, ACCESS[name][0])
        for person in (lea, max):
            person.groups.clear()
        assert send(program, name, record).status_code == 403

    def test_operation_rejects_missing_and_invalid_tokens(
        self, name: str, record: Evaluation, max: User
    ) -> None:
        revoked, expired, gone = (program_of(max, *ALL) for _ in range(3))
        made = ApiToken.objects.order_by("pk")
        api_tokens.revoke(token=made[0], actor=max)
        ApiToken.objects.filter(pk=made[1].pk).update(expires_at=timezone.now())
        User.objects.filter(pk=max.pk).update(is_active=False)
        for program in (Program(), Program("cr_nothing"), Program("ä \x7f"), revoked, expired, gone):
            answer = send(program, name, record)
            assert (answer.status_code, answer["Content-Type"]) == (401, "application/problem+json")
            assert answer["WWW-Authenticate"].startswith("Bearer")

    def test_operation_rejects_session(self, name: str, record: Evaluation, max: User) -> None:
        program = Program()
        program._client.force_login(max)
        assert send(program, name, record).status_code == 401

    def test_operation_rejects_other_methods(self, name: str, record: Evaluation, of_max: Program) -> None:
        path = name.split(" ")[1]
        taken = {one.split(" ")[0] for one in ACCESS if one.split(" ")[1] == path}
        if "{evaluation_id}" in path:
            taken.add("GET")  # of the record whose id ends like the path
        for other in set(METHODS) - taken:
            answer = send(of_max, f"{other} {path}", record)
            assert answer.status_code == 405
            assert set(re.split(", ?", answer["Allow"])) == taken
            if other != "HEAD":
                assert (answer.json()["status"], answer.json()["title"]) == (405, "Method Not Allowed")


def test_reactivated_person_has_no_tokens(max: User, ana: User) -> None:
    program = program_of(ana)
    people.deactivate(person=ana, actor=max)
    people.reactivate(person=ana, actor=max)
    assert program.get("runs").status_code == 401


def test_schema_is_public_and_unknown_address_is_a_problem(client: Client) -> None:
    assert client.get("/api/v1/openapi.json").json()["info"]["title"] == "CogniReview"
    for path in ("", "nothing", "runs/"):
        answer = client.get(f"/api/v1/{path}")
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
        assert answer.json() == {
            "type": "about:blank",
            "title": "Not Found",
            "status": 404,
            "detail": "Not found. Check the address.",
        }
