"""Access to the API: every operation for every scope and role, and none without a token."""

import re
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from reviews.accounts import api_tokens, people
from reviews.api.urls import api
from reviews.models import ApiToken, BulkChange, Escalation, Evaluation, Export, SavedView, SpotCheck, User
from tests.api.conftest import ALL, Program, program_of
from tests.support.factories import EvaluationFactory, GoldSetFactory

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
    "GET /runs/{run}/comparison": ("read", 403, 422, 422),  # the run is compared with itself
    "GET /runs/{run}/drift": ("read", 403, 422, 422),  # the run is compared with itself
    "GET /runs/{run}/accuracy-over-runs": ("read", 403, 200, 200),
    "GET /gold-sets": ("read", 403, 200, 200),
    "POST /gold-sets": ("configure", None, 415, 415),  # nothing is sent
    "GET /gold-sets/{name}": ("export", None, 200, 200),
    "PATCH /gold-sets/{name}": ("configure", None, 422, 422),  # nothing is sent
    "DELETE /gold-sets/{name}": ("configure", None, 204, 204),
    "POST /runs/{run}/gold-sets": ("configure", None, 422, 422),  # nothing is sent
    "GET /runs/{run}/gold-sets/{name}": ("read", 403, 200, 200),
    "GET /runs/{run}/plan": ("read", 403, 200, 200),
    "PUT /runs/{run}/plan": ("configure", None, 422, 422),
    "DELETE /runs/{run}/plan": ("configure", None, 200, 200),
    "GET /runs/{run}/export": ("export", None, 200, 200),
    "GET /runs/{run}/judge-data": ("export", None, 200, 200),
    "POST /runs/{run}/imports": ("import", None, None, 415),  # nothing is sent
    "PUT /runs/{run}/mapping": ("import", None, None, 415),  # nothing is sent
    "POST /runs/{run}/context": ("import", None, None, 415),  # nothing is sent
    "POST /context": ("import", None, None, 415),  # nothing is sent
    "POST /uploads": ("import", None, None, 412),  # without the version of the protocol
    "HEAD /uploads/{upload_id}": ("import", None, None, 412),
    "GET /uploads/{upload_id}": ("import", None, None, 404),
    "PATCH /uploads/{upload_id}": ("import", None, None, 412),
    "DELETE /uploads/{upload_id}": ("import", None, None, 412),
    "GET /imports/{import_id}": ("import", None, None, 200),
    "GET /imports/{import_id}/rejects": ("import", None, None, 200),
    "GET /runs/{run}/evaluations": ("read", 200, 200, 200),
    "GET /runs/{run}/evaluations/{evaluation_id}": ("read", 200, 200, 200),
    "POST /runs/{run}/claims": ("review", 200, 200, 200),
    "GET /runs/{run}/undo": ("review", 204, 204, 204),
    "POST /runs/{run}/undo": ("review", 409, 409, 409),
    "DELETE /runs/{run}/evaluations/{evaluation_id}/claim": ("review", 204, 204, 204),
    "PUT /runs/{run}/evaluations/{evaluation_id}/blind-scores": ("review", 422, 422, 422),
    "PUT /runs/{run}/evaluations/{evaluation_id}/review": ("review", 422, 422, 422),
    "POST /runs/{run}/evaluations/{evaluation_id}/claim": ("review", 200, 200, 200),
    "PUT /runs/{run}/evaluations/{evaluation_id}/skip": ("review", 204, 204, 204),
    "DELETE /runs/{run}/evaluations/{evaluation_id}/skip": ("review", 204, 204, 204),
    "DELETE /runs/{run}/skips": ("review", 204, 204, 204),
    "POST /runs/{run}/evaluations/{evaluation_id}/escalation": ("review", 422, 422, 422),  # nothing is sent
    "POST /runs/{run}/evaluations/{evaluation_id}/reopening": ("review", 422, 422, 422),  # nothing is sent
    "POST /runs/{run}/evaluations/{evaluation_id}/restoration": ("review", 422, 422, 422),  # nothing is sent
    "PUT /runs/{run}/evaluations/{evaluation_id}/revision": ("review", 422, 422, 422),  # nothing is sent
    "PUT /runs/{run}/evaluations/{evaluation_id}/independent-review": ("review", 422, 422, 422),
    "POST /runs/{run}/evaluations/{evaluation_id}/adjudication": ("review", 403, 409, 409),  # no reviews
    "GET /runs/{run}/independent-reviews/{evaluation_id}": ("review", 403, 200, 200),
    "GET /runs/{run}/decisions/{evaluation_id}": ("read", 200, 200, 200),
    "GET /escalations": ("read", 403, 200, 200),
    "GET /escalations/own": ("read", 200, 200, 200),
    "POST /escalations/{escalation_id}/resolve": ("review", 403, 404, 404),
    "DELETE /escalations/{escalation_id}": ("review", 404, 404, 404),
    "POST /escalations/{escalation_id}/read": ("review", 404, 404, 404),
    "GET /inbox": ("read", 403, 200, 200),
    "POST /inbox/failures/{place}/retry": ("configure", None, 403, 404),
    "DELETE /inbox/failures/{place}": ("configure", None, 403, 404),
    "GET /runs/{run}/bulk-changes": ("read", 403, 200, 200),
    "POST /runs/{run}/bulk-changes": ("configure", None, 422, 422),  # nothing is sent
    "POST /runs/{run}/bulk-changes/preview": ("configure", None, 422, 422),  # nothing is sent
    "POST /bulk-changes/{change_id}/undo": ("configure", None, 404, 404),
    "GET /spot-checks": ("read", 403, 200, 200),
    "POST /spot-checks": ("review", 422, 422, 422),  # nothing is sent
    "POST /runs/{run}/spot-checks": ("review", 422, 422, 422),  # nothing is sent
    "GET /spot-checks/{check_id}": ("read", 403, 404, 404),
    "POST /spot-checks/{check_id}/agree": ("review", 403, 404, 404),
    "POST /spot-checks/{check_id}/reopen": ("review", 403, 404, 404),
    "POST /spot-checks/{check_id}/correct": ("review", 403, 404, 404),
    "GET /runs/{run}/known-answers": ("read", 403, 200, 200),
    "POST /runs/{run}/known-answers": ("review", 422, 422, 422),  # nothing is sent
    "POST /known-answers/{check_id}/end": ("review", 403, 404, 404),
    "GET /runs/{run}/drafts/{evaluation_id}": ("review", 204, 204, 204),
    "PUT /runs/{run}/drafts/{evaluation_id}": ("review", 422, 422, 422),  # nothing is sent
    "DELETE /runs/{run}/drafts/{evaluation_id}": ("review", 204, 204, 204),
    "GET /runs/{run}/settings": ("read", 403, 200, 200),
    "PUT /runs/{run}/settings/queue": ("configure", None, 422, 422),  # nothing is sent
    "PUT /runs/{run}/settings/sampling": ("configure", None, 422, 422),  # nothing is sent
    "GET /runs/{run}/views": ("read", 200, 200, 200),
    "POST /runs/{run}/views": ("review", 422, 422, 422),  # nothing is sent
    "DELETE /runs/{run}/views/{view_id}": ("review", 404, 404, 404),
    "GET /runs/{run}/conflicts": ("read", 403, 200, 200),
    "POST /runs/{run}/conflicts/resolve": ("configure", None, 200, 200),
    "GET /runs/{run}/imports": ("read", 200, 200, 200),
    "GET /imports/{import_id}/exceptions": ("import", None, None, 200),
    "POST /imports/{import_id}/cancel": ("import", None, None, 200),
    "POST /imports/{import_id}/retry": ("import", None, None, 409),
    "POST /imports/{import_id}/new-run": ("import", None, None, 422),  # nothing is sent
    "GET /runs/{run}/exports": ("export", None, 200, 200),
    "POST /runs/{run}/exports": ("export", None, 202, 202),
    "GET /exports/{export_id}": ("export", None, 404, 404),
    "POST /exports/{export_id}/cancel": ("export", None, 404, 404),
    "GET /exports/{export_id}/file": ("export", None, 404, 404),
    "GET /exports/{export_id}/receipt": ("export", None, 404, 404),
    "GET /runs/{run}/independent-reviews": ("export", None, 200, 200),
    "GET /runs/{run}/few-shot": ("export", None, 200, 200),
    "GET /people": ("manage", None, None, 200),
    "GET /people/{username}": ("manage", None, None, 404),
    "PUT /people/{username}/role": ("manage", None, None, 422),  # nothing is sent
    "POST /people/{username}/deactivate": ("manage", None, None, 404),
    "POST /people/{username}/reactivate": ("manage", None, None, 404),
    "GET /invitations": ("manage", None, None, 200),
    "POST /invitations": ("manage", None, None, 422),  # nothing is sent
    "POST /invitations/{link_id}/renew": ("manage", None, None, 404),
    "DELETE /invitations/{link_id}": ("manage", None, None, 404),
    "GET /tokens": ("tokens", 200, 200, 200),
    "GET /tokens/own": ("read", 200, 200, 200),
    "POST /tokens": ("tokens", 422, 422, 422),  # nothing is sent
    "DELETE /tokens/{token_id}": ("tokens", 404, 404, 404),
    "GET /webhooks": ("manage", None, None, 200),
    "POST /webhooks": ("manage", None, None, 422),  # nothing is sent
    "GET /webhooks/{webhook_id}/deliveries": ("manage", None, None, 404),
    "POST /webhooks/{webhook_id}/test": ("manage", None, None, 404),
    "POST /webhooks/{webhook_id}/deliveries/{delivery_id}/resend": ("manage", None, None, 404),
    "GET /webhooks/{webhook_id}/secrets": ("manage", None, None, 404),
    "POST /webhooks/{webhook_id}/secrets": ("manage", None, None, 404),
    "DELETE /webhooks/{webhook_id}/secrets/{secret_id}": ("manage", None, None, 404),
    "DELETE /webhooks/{webhook_id}": ("manage", None, None, 404),
    "GET /jobs": ("manage", None, None, 200),
    "POST /jobs/{kind}/{job_id}/retry": ("manage", None, None, 409),
    "POST /jobs/{kind}/{job_id}/cancel": ("manage", None, None, 409),
    "GET /system": ("manage", None, None, 200),
    "GET /workload": ("read", 403, 200, 200),
    "GET /audit/chain": ("read", 403, 200, 200),
    "POST /audit/chain/check": ("configure", None, 202, 202),
    "GET /audit": ("read", 403, 200, 200),
    "GET /audit/events": ("read", 403, 200, 200),
}
# The key of no row.
_UNKNOWN = 987_654_321
# Bodies of operations whose answer depends on the role only if the body is valid.
BODIES: dict[str, Any] = {
    "POST /escalations/{escalation_id}/resolve": {"outcome": "returned", "answer": "Yes."},
    "POST /spot-checks/{check_id}/reopen": {"reason": "Wrong."},
    "POST /spot-checks/{check_id}/correct": {"corrected_scores": {}, "reason": "Wrong."},
    "POST /runs/{run}/conflicts/resolve": {"keep": "ours", "conflicts": [{"id": 1, "version": 1}]},
}
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
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# Path -> its methods.
TAKEN = {
    path: {name.split(" ")[0] for name in ACCESS if name.split(" ")[1] == path}
    for path in sorted({name.split(" ")[1] for name in ACCESS})
}
# One operation of each scope, and one path of each set of methods.
OF_EACH_SCOPE = sorted({line[0]: name for name, line in ACCESS.items()}.values())
OF_EACH_METHODS = sorted(
    {(*sorted(taken), "{evaluation_id}" in path): path for path, taken in TAKEN.items()}.values()
)

# One check looks at the token of every operation.
of_each_scope = pytest.mark.parametrize(
    "names", [OF_EACH_SCOPE, pytest.param([*ACCESS], marks=pytest.mark.exhaustive)]
)


@pytest.fixture
def record() -> Evaluation:
    made = EvaluationFactory.create()
    GoldSetFactory.create(run=made.run)
    return made


def path_values(record: Evaluation, path: str) -> dict[str, Any]:
    """Return the values of a path: those of rows of the record's run, or of no row."""
    run = record.run
    rows: dict[str, type[Model]] = {
        "escalation_id": Escalation,
        "change_id": BulkChange,
        "check_id": SpotCheck,
        "view_id": SavedView,
        "export_id": Export,
    }
    found = {
        name: model._default_manager.filter(run=run).values_list("pk", flat=True).first()
        for name, model in rows.items()
        if f"{{{name}}}" in path
    }
    return {
        "run": run.name,
        "import_id": record.first_import_id,
        "evaluation_id": record.evaluation_id,
        "name": "gold",
        "place": f"mail-{_UNKNOWN}",
        "username": "nobody",
        "kind": "export",
        "upload_id": UUID(int=0),
        **dict.fromkeys(
            ("link_id", "token_id", "webhook_id", "delivery_id", "secret_id", "job_id"), _UNKNOWN
        ),
        **{name: key or _UNKNOWN for name, key in found.items()},
    }


def send(program: Program, name: str, record: Evaluation) -> Any:
    method, path = name.split(" /")
    query = "?earlier={run}" if path.endswith(("/comparison", "/drift")) else ""
    place = f"{path}{query}".format(**path_values(record, path))
    return program.ask(method, place, BODIES.get(name), idempotency_key="one")


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


@of_each_scope
def test_operations_reject_tokens_after_the_role_is_lost(
    names: list[str], record: Evaluation, max: User, lea: User
) -> None:
    of_lea, of_max = (
        {
            scope: program_of(person, scope)
            for scope in {str(line[0]) for line in ACCESS.values() if line[column]}
        }
        for column, person in ((2, lea), (3, max))
    )
    for person in (lea, max):
        person.groups.clear()
    for name in names:
        scope, _, status_of_lea, _ = ACCESS[name]
        program = (of_lea if status_of_lea else of_max)[scope]
        assert send(program, name, record).status_code == 403, name


@pytest.mark.slow
@of_each_scope
def test_operations_reject_missing_and_invalid_tokens(
    names: list[str], record: Evaluation, max: User
) -> None:
    revoked, expired, gone = (program_of(max, *ALL) for _ in range(3))
    made = ApiToken.objects.order_by("pk")
    api_tokens.revoke(token=made[0], actor=max)
    ApiToken.objects.filter(pk=made[1].pk).update(expires_at=timezone.now())
    User.objects.filter(pk=max.pk).update(is_active=False)
    for program in (Program(), Program("cr_nothing"), Program("ä \x7f"), revoked, expired, gone):
        for name in names:
            rejects(send(program, name, record), name)


def rejects(answer: Any, name: str) -> None:
    """Assert that an answer asks for a token."""
    assert (answer.status_code, answer["Content-Type"]) == (401, "application/problem+json"), name
    assert answer["WWW-Authenticate"].startswith("Bearer"), name


@pytest.mark.slow
@of_each_scope
def test_operations_reject_sessions(names: list[str], record: Evaluation, max: User) -> None:
    program = Program()
    program._client.force_login(max)
    for name in names:
        rejects(send(program, name, record), name)


@pytest.mark.slow
@pytest.mark.parametrize("paths", [OF_EACH_METHODS, pytest.param([*TAKEN], marks=pytest.mark.exhaustive)])
def test_operations_reject_other_methods(paths: list[str], record: Evaluation, of_max: Program) -> None:
    for path in paths:
        # GET of such a path is that of the record whose id ends like the path.
        taken = TAKEN[path] | ({"GET"} if "{evaluation_id}" in path else set())
        for other in set(METHODS) - taken:
            answer = send(of_max, f"{other} {path}", record)
            assert answer.status_code == 405, (other, path)
            assert set(re.split(", ?", answer["Allow"])) == taken, (other, path)
            if other != "HEAD":
                assert (answer.json()["status"], answer.json()["title"]) == (405, "Method not allowed")


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
            "type": "/api/problems/not-found/",
            "title": "Not found",
            "status": 404,
            "detail": "Not found. Check the address.",
        }
