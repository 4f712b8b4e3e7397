"""Access to the API: every operation for every scope and role."""

import re

import pytest
from django.db import transaction
from django.test import Client

from reviews.accounts import api_tokens
from reviews.api.urls import api
from reviews.models import Evaluation, User
from tests.api.access import ACCESS, send
from tests.support.api_requests import ALL, program_of

pytestmark = pytest.mark.django_db

# The first words of operation ids.
VERBS = {
    "add",
    "adjudicate",
    "agree",
    "append",
    "apply",
    "cancel",
    "change",
    "check",
    "claim",
    "compare",
    "correct",
    "create",
    "deactivate",
    "delete",
    "discard",
    "dismiss",
    "download",
    "draw",
    "end",
    "escalate",
    "export",
    "freeze",
    "get",
    "import",
    "invite",
    "list",
    "lock",
    "mark",
    "measure",
    "preview",
    "reactivate",
    "read",
    "release",
    "remove",
    "rename",
    "renew",
    "reopen",
    "resend",
    "resolve",
    "restore",
    "retry",
    "revise",
    "revoke",
    "save",
    "select",
    "send",
    "serve",
    "set",
    "skip",
    "start",
    "stop",
    "submit",
    "undo",
    "unskip",
    "withdraw",
}


def test_access_table_has_every_operation() -> None:
    schema = api.get_openapi_schema()
    scopes = {
        f"{method.upper()} {path.removeprefix('/api/v1')}": operation["x-scope"]
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    }
    assert schema["openapi"] == "3.1.0"
    assert scopes == {name: line[0] for name, line in ACCESS.items()}


def test_operation_ids_are_unique_and_begin_with_a_verb() -> None:
    schema = api.get_openapi_schema()
    ids = [one["operationId"] for methods in schema["paths"].values() for one in methods.values()]
    assert len({*ids}) == len(ids)
    assert [name for name in ids if not re.fullmatch("[a-z]+(_[a-z]+)+", name)] == []
    assert {name.partition("_")[0] for name in ids} <= VERBS


def is_usual(column: int, statuses: list[int | None]) -> bool:
    """Return whether a role's answer is always tried: of each status, that of the role next to the limit.

    Higher roles may do all that lower roles may do.
    """
    alike = [one for one, status in enumerate(statuses) if status == statuses[column]]
    return column == (alike[-1] if statuses[column] == 403 else alike[0])


@pytest.mark.slow
@pytest.mark.parametrize("is_rest", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_operations_accept_tokens_with_scope_and_role(
    is_rest: bool, record: Evaluation, ana: User, lea: User, max: User
) -> None:
    for column, person in enumerate((ana, lea, max), start=1):
        scopes = {str(line[0]) for line in ACCESS.values() if line[column] is not None}
        programs = {scope: program_of(person, scope) for scope in scopes}
        # A person gets a token of a scope or does not, so none of the scope's operations is for them.
        for scope in {str(line[0]) for line in ACCESS.values() if line[column] is None}:
            assert scope not in scopes
            with pytest.raises(api_tokens.TokenError, match=scope):
                api_tokens.create(person=person, scopes=[scope], actor=None)
        wanted = {
            name: status
            for name, (_, *statuses) in ACCESS.items()
            if (status := statuses[column - 1]) is not None and is_usual(column - 1, statuses) != is_rest
        }
        seen = {}
        for name in wanted:
            with transaction.atomic():
                seen[name] = send(programs[ACCESS[name][0]], name, record).status_code
                transaction.set_rollback(True)
        assert seen == wanted


@pytest.mark.slow
def test_operations_reject_other_scopes(record: Evaluation, max: User) -> None:
    for scope in sorted({str(line[0]) for line in ACCESS.values()}):
        program = program_of(max, *(other for other in ALL if other != scope))
        for name in (name for name, line in ACCESS.items() if line[0] == scope):
            answer = send(program, name, record)
            assert answer.status_code == 403, name
            if not name.startswith("HEAD "):
                assert answer.json()["detail"] == f"This token does not have the scope {scope}.", name


def test_schema_is_public_and_unknown_address_is_a_problem(client: Client) -> None:
    assert client.get("/api/v1/openapi.json").json()["info"]["title"] == "CogniReview"
    for path in ("", "nothing", "runs/"):
        answer = client.get(f"/api/v1/{path}")
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
        assert answer.json() == {
            "type": "/api/problems/not-found/",
            "title": "Not found",
            "status": 404,
            "detail": "Not found. Check the address.",
        }
