"""`Idempotency-Key`: repeated requests get the first response and have no effect, whatever the operation."""

import json
import re
import threading
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import LazySettings
from django.db import connections
from django.utils import timezone

from reviews.accounts import api_tokens
from reviews.api.urls import api
from reviews.http import repeatable_requests
from reviews.maintenance import retention
from reviews.models import (
    ApiToken,
    AuditEvent,
    RepeatableRequest,
    User,
)
from tests.api.unsafe_requests import JSONL, REQUESTS, TUS, World
from tests.support.api_requests import JSON, Program, program_of
from tests.support.factories import (
    RunFactory,
    UserFactory,
)

# Operations that change something and store no response -> the reason.
WITHOUT_STORED_RESPONSE = {
    **dict.fromkeys(
        (
            "PUT /runs/{run}/evaluations/{evaluation_id}/review",
            "PUT /runs/{run}/evaluations/{evaluation_id}/revision",
            "PUT /runs/{run}/evaluations/{evaluation_id}/independent-review",
            "POST /runs/{run}/evaluations/{evaluation_id}/restoration",
            "POST /spot-checks/{check_id}/correct",
        ),
        "the decision has the key, which is required (tests/api/test_decisions.py and others)",
    ),
    "PATCH /uploads/{upload_id}": "a repeated part has a wrong offset (tests/api/test_uploads.py)",
}
# A request of each kind: with and without a body, with a file, with parameters and headers that count, and
# for each type of response. Exhaustive tests send the others, and `wrapped_operations` names all of them.
USUAL = {
    "DELETE /runs/{run}",
    "DELETE /runs/{run}/evaluations/{evaluation_id}/claim",
    "PATCH /runs/{run}",
    "POST /escalations/{escalation_id}/resolve",
    "POST /gold-sets",
    "POST /runs/{run}/claims",
    "POST /runs/{run}/exports",
    "POST /runs/{run}/imports",
    "POST /runs/{run}/undo",
    "POST /spot-checks",
    "POST /tokens",
    "POST /uploads",
    "POST /webhooks",
    "PUT /people/{username}/role",
    "PUT /runs/{run}/drafts/{evaluation_id}",
    "PUT /runs/{run}/evaluations/{evaluation_id}/skip",
    "PUT /runs/{run}/mapping",
}


def unsafe_operations() -> dict[str, dict[str, Any]]:
    """Return the operations of the OpenAPI schema that change something, by method and path."""
    return {
        f"{method.upper()} {path.removeprefix('/api/v1')}": operation
        for path, methods in api.get_openapi_schema()["paths"].items()
        for method, operation in methods.items()
        if method not in {"get", "head"}
    }


def wrapped_operations() -> set[str]:
    """Return the operations whose view answers repeated requests and whose response is stored."""
    return {
        re.sub(r"{\w+:(\w+)}", r"{\1}", f"{method} {path}")
        for _, router in api._routers
        for path, view in router.path_operations.items()
        for operation in view.operations
        for method in operation.methods
        if is_wrapped(operation)
    }


def is_wrapped(operation: Any) -> bool:
    stores, answers = operation.run, operation.view_func.__wrapped__
    return (
        "stores_response" in stores.__code__.co_qualname
        and "_answer_repeated" in answers.__code__.co_qualname
    )


def ask(program: Program, method: str, request: tuple[Any, ...], key: str = "one") -> Any:
    defaults: tuple[Any, ...] = (None, JSON, {})
    path, body, kind, headers = (*request, *defaults[len(request) - 1 :])
    return program.ask(method, path, body, kind=kind, idempotency_key=key, **headers)


def other(request: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a request that means the same, with another body."""
    path, body, *more = (*request, None)[: max(2, len(request))]
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return (path, data + b" ", *more)


def headers_of(answer: Any) -> dict[str, str]:
    """Return the headers without those of each request."""
    changing = {"RateLimit", "X-Request-ID", "Idempotency-Replayed"}
    return {name: value for name, value in answer.items() if name not in changing}


def test_every_operation_that_changes_something_takes_a_key() -> None:
    operations = unsafe_operations()
    assert operations.keys() == REQUESTS.keys() | WITHOUT_STORED_RESPONSE.keys()
    without = {
        name
        for name, operation in operations.items()
        if "Idempotency-Key" not in {one["name"] for one in operation.get("parameters", ())}
    }
    assert without == {"PATCH /uploads/{upload_id}"}
    assert wrapped_operations() == REQUESTS.keys()


@pytest.fixture
def program(settings: LazySettings, max: User) -> Program:
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    return program_of(max)


@pytest.fixture(scope="class")
def world(class_world: None) -> World:
    """Rows of each kind, which the tests of a class share. A test undoes what its requests change."""
    return World(UserFactory.create(username="max", role="admin"))


@pytest.mark.django_db
@pytest.mark.slow
class TestOperations:
    @pytest.mark.parametrize(
        "name",
        [pytest.param(name, marks=[] if name in USUAL else [pytest.mark.exhaustive]) for name in REQUESTS],
    )
    def test_repeated_request_gets_the_same_response_and_has_no_effect(
        self, name: str, world: World, settings: LazySettings
    ) -> None:
        settings.WEBHOOK_HOSTS = ["hooks.example.org"]
        method, program = name.partition(" ")[0], world.program
        request = REQUESTS[name](world)
        first = ask(program, method, request)
        assert first.status_code < 300, first.content
        assert "Idempotency-Replayed" not in first
        events = AuditEvent.objects.count()
        again = ask(program, method, request)
        assert (again.status_code, again.content) == (first.status_code, first.content)
        assert headers_of(again) == headers_of(first)
        assert again["Idempotency-Replayed"] == "true"
        changed = ask(program, method, other(request))
        assert (changed.status_code, changed.json()["type"]) == (422, "/api/problems/idempotency-key-reused/")
        assert AuditEvent.objects.count() == events


@pytest.mark.django_db
class TestKeys:
    def test_failed_request_stores_nothing_and_undoes_everything(self, program: Program) -> None:
        RunFactory.create(name="one")
        RunFactory.create(name="taken")
        events = AuditEvent.objects.count()
        refused = {"name": "taken", "archived": False}
        assert program.ask("PATCH", "runs/one", refused, idempotency_key="one").status_code >= 400
        assert (AuditEvent.objects.count(), RepeatableRequest.objects.count()) == (events, 0)
        answer = program.ask("PATCH", "runs/one", {"name": "first"}, idempotency_key="one")
        assert (answer.status_code, answer.json()["name"]) == (200, "first")

    def test_key_belongs_to_its_person(self, program: Program, of_lea: Program) -> None:
        RunFactory.create(name="one")
        for each in (program, of_lea):
            answer = each.ask("POST", "runs/one/views", {"name": "All"}, idempotency_key="one")
            assert "Idempotency-Replayed" not in answer
        assert RepeatableRequest.objects.count() == 2

    def test_address_is_part_of_the_request(self, program: Program) -> None:
        RunFactory.create(name="one")
        RunFactory.create(name="two")
        assert program.ask("DELETE", "runs/one?confirmation=one", idempotency_key="a").status_code == 202
        for path in ("runs/two?confirmation=two", "runs/one?confirmation=two"):
            answer = program.ask("DELETE", path, idempotency_key="a")
            assert answer.json()["type"] == "/api/problems/idempotency-key-reused/"

    def test_headers_of_an_upload_are_part_of_the_request(self, program: Program) -> None:
        assert ask(program, "POST", ("uploads", None, JSON, TUS)).status_code == 201
        answer = ask(program, "POST", ("uploads", None, JSON, TUS | {"Upload-Length": "8"}))
        assert answer.json()["type"] == "/api/problems/idempotency-key-reused/"

    @pytest.mark.parametrize("key", ["", "x" * 256])
    def test_key_has_a_length(self, key: str, program: Program) -> None:
        answer = program.ask("POST", "tokens", {"name": "x", "scopes": ["read"]}, idempotency_key=key)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "Idempotency-Key")

    def test_stored_response_is_encrypted(self, program: Program) -> None:
        body = {"name": "Nightly", "scopes": ["read"]}
        made = program.ask("POST", "tokens", body, idempotency_key="one").json()
        stored = RepeatableRequest.objects.get()
        assert made["text"] not in stored.response
        assert "Nightly" not in stored.response
        assert program.ask("POST", "tokens", body, idempotency_key="one").json() == made

    def test_changed_secret_key_makes_stored_responses_unreadable(
        self, program: Program, settings: LazySettings
    ) -> None:
        body = {"name": "Nightly", "scopes": ["read"]}
        program.ask("POST", "tokens", body, idempotency_key="one")
        settings.SECRET_KEY = "another secret key, of fifty characters or even more"
        answer = program.ask("POST", "tokens", body, idempotency_key="one")
        assert (answer.status_code, "secret key has changed" in answer.json()["detail"]) == (409, True)

    def test_person_who_may_not_see_the_run_any_more_gets_404(self, of_lea: Program, max: User) -> None:
        RunFactory.create(name="one")
        body = {"name": "All"}
        assert of_lea.ask("POST", "runs/one/views", body, idempotency_key="one").status_code == 200
        program_of(max).ask("PUT", "runs/one/members", {"members": ["max"]})
        assert of_lea.ask("POST", "runs/one/views", body, idempotency_key="one").status_code == 404

    def test_revoked_token_gets_no_stored_response(self, program: Program, max: User) -> None:
        body = {"name": "Nightly", "scopes": ["read"]}
        assert program.ask("POST", "tokens", body, idempotency_key="one").status_code == 200
        max.groups.clear()
        assert program.ask("POST", "tokens", body, idempotency_key="one").status_code == 403

    def test_file_above_the_limit_is_refused_before_it_is_read(
        self, program: Program, settings: LazySettings
    ) -> None:
        settings.MAX_UPLOAD_BYTES = 3
        answer = program.ask("POST", "runs/a/imports", b"1234", kind=JSONL, idempotency_key="one")
        assert answer.status_code == 413

    def test_keys_expire_after_a_day(self, program: Program) -> None:
        for key in ("old", "new"):
            program.ask("POST", "tokens", {"name": key, "scopes": ["read"]}, idempotency_key=key)
        old = RepeatableRequest.objects.order_by("pk").first()
        assert old
        RepeatableRequest.objects.filter(pk=old.pk).update(
            created_at=timezone.now() - repeatable_requests.KEPT_FOR
        )
        retention.remove_expired_rows()
        assert not RepeatableRequest.objects.filter(pk=old.pk).exists()
        assert RepeatableRequest.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_repeated_request_is_refused_while_the_first_one_runs() -> None:
    program = program_of(UserFactory.create(username="max", role="admin"))
    body = {"name": "Nightly", "scopes": ["read"]}
    answers: list[Any] = []
    create = api_tokens.create

    def repeat() -> None:
        try:
            answers.append(program.ask("POST", "tokens", body, idempotency_key="one"))
        finally:
            connections.close_all()

    def create_slowly(**options: Any) -> Any:
        """Create the token while a second request has come."""
        second = threading.Thread(target=repeat)
        second.start()
        second.join()
        return create(**options)

    with patch.object(api_tokens, "create", create_slowly):
        first = program.ask("POST", "tokens", body, idempotency_key="one")
    assert [one.json()["type"] for one in answers] == ["/api/problems/idempotency-key-in-use/"]
    assert [one["Retry-After"] for one in answers] == ["1"]
    assert program.ask("POST", "tokens", body, idempotency_key="one").json() == first.json()
    assert ApiToken.objects.filter(name="Nightly").count() == 1
