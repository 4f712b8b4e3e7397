"""Error pages explain the error, and no request causes a server error."""

from urllib.parse import urlencode

import pytest
from django.conf import LazySettings
from django.db import DatabaseError, OperationalError
from django.test import Client, RequestFactory
from django.urls import reverse
from psycopg.errors import DeadlockDetected

from reviews.database.locks import DEADLOCK
from reviews.http import errors
from reviews.models import Evaluation, User
from tests.support.api_requests import program_of
from tests.support.factories import ImportFactory, RunFactory
from tests.support.pages import HTMX

pytestmark = pytest.mark.django_db


def test_unknown_address_shows_page_with_link_to_runs(ana: User, client: Client) -> None:
    client.force_login(ana)
    response = client.get("/nowhere/")
    assert response.status_code == 404
    assert "Page not found" in response.content.decode()
    assert f'href="{reverse("runs")}"' in response.content.decode()


def test_unknown_address_without_login_is_not_found(client: Client) -> None:
    response = client.get("/nowhere/")
    assert response.status_code == 404
    assert "Sign out" not in response.content.decode()


def test_denied_action_shows_reason(ana: User, client: Client) -> None:
    client.force_login(ana)
    response = client.post(reverse("export", args=[RunFactory.create().pk]))
    assert response.status_code == 403
    assert "Only a lead or an admin can export a run." in response.content.decode()


def test_person_without_role_is_denied_and_can_log_out(eve: User, client: Client) -> None:
    client.force_login(eve)
    response = client.get(reverse("runs"))
    assert response.status_code == 403
    assert "Only a reviewer, a lead or an admin" in response.content.decode()
    assert reverse("logout") in response.content.decode()


def test_unsupported_method_names_supported_ones(ana: User, client: Client) -> None:
    client.force_login(ana)
    response = client.post(reverse("run", args=[RunFactory.create().pk]))
    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")
    assert "The browser sent POST, but this address supports only GET, HEAD." in response.content.decode()


def test_server_error_shows_page_without_details(
    ana: User, client: Client, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: object
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("reviews.queue.progress.all_progress", broken)
    client.force_login(ana)
    client.raise_request_exception = False
    response = client.get(reverse("runs"))
    assert response.status_code == 500
    assert "Something went wrong" in response.content.decode()
    assert "RuntimeError" not in response.content.decode()


def deadlock() -> OperationalError:
    error = OperationalError("deadlock detected")
    error.__cause__ = DeadlockDetected()
    return error


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (deadlock(), 409, DEADLOCK),
        (Evaluation.DoesNotExist(), 404, ""),
        (OperationalError("canceling statement due to statement timeout"), 500, ""),
    ],
)
def test_concurrent_change_is_no_server_error(
    *,
    error: Exception,
    status: int,
    sentence: str,
    lea: User,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error from error.__cause__ or DatabaseError()

    monkeypatch.setattr("reviews.review.undo.undo", broken)
    run, program = RunFactory.create(), program_of(lea)
    client.force_login(lea)
    for sender in (client, program._client):
        sender.raise_request_exception = False
    of_program = program.ask("POST", f"runs/{run.name}/undo")
    of_page = client.post(reverse("undo", args=[run.pk]), headers=HTMX)
    for response in (of_program, of_page):
        assert response.status_code == status
        assert sentence in response.content.decode()


def test_server_error_page_makes_no_query(rf: RequestFactory, django_assert_num_queries: type) -> None:
    with django_assert_num_queries(0):
        response = errors.server_error(rf.get("/"))
    assert response.status_code == 500


@pytest.mark.slow
@pytest.mark.parametrize("headers", [{}, HTMX])
def test_form_that_is_too_large_is_rejected_with_the_limit(
    headers: dict[str, str], client: Client, settings: LazySettings
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024**2
    form = {"username": "ana", "password": "x" * 3 * 1024**2}
    response = client.post(
        reverse("login"), urlencode(form), content_type="application/x-www-form-urlencoded", headers=headers
    )
    assert response.status_code == 413
    assert "The form is larger than 2 MB. Nothing was saved" in response.content.decode()
    assert ("<html" in response.content.decode()) == (not headers)


def test_form_with_thousands_of_fields_is_rejected(max: User, client: Client) -> None:
    client.force_login(max)
    response = client.post(reverse("runs"), {f"field-{n}": "" for n in range(3001)})
    assert response.status_code == 400


@pytest.mark.parametrize("name", ["runs", "people", "api"])
def test_address_with_thousands_of_parameters_is_rejected(name: str, max: User, client: Client) -> None:
    client.force_login(max)
    response = client.get(reverse(name), {f"field-{n}": "" for n in range(3001)})
    assert (response.status_code, b"Bad request" in response.content) == (400, True)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-7", "unicode_escape", "latin-1"])
def test_form_in_other_encoding_is_rejected(encoding: str, client: Client) -> None:
    body = rb"username=\ud800\0&password=x"
    response = client.generic(
        "POST", reverse("login"), body, content_type=f"application/x-www-form-urlencoded; charset={encoding}"
    )
    assert response.status_code == 400


@pytest.mark.parametrize(
    "query", ["after=%00", "after=%ff%fe", "status=claimed&after=9999999999999999999-1", "after=-"]
)
def test_invalid_cursor_shows_first_page(query: str, ana: User, client: Client) -> None:
    client.force_login(ana)
    assert client.get(f"{reverse('run', args=[RunFactory.create().pk])}?{query}").status_code == 200


@pytest.mark.parametrize("status", ["%00", "%ff", "__class__", "x" * 5000])
def test_unknown_status_is_reported_and_ignored(status: str, ana: User, client: Client) -> None:
    client.force_login(ana)
    response = client.get(f"{reverse('run', args=[RunFactory.create().pk])}?status={status}")
    assert response.status_code == 200
    assert response.context["view"].problems


@pytest.mark.parametrize(
    "path", ["/runs/1\0/", "/%ff%fe/", "/runs/-1/", "/welcome/%00/", "/welcome/\ud83d\ude00/"]
)
def test_malformed_address_is_not_found(path: str, ana: User, client: Client) -> None:
    client.force_login(ana)
    assert client.get(path.encode("utf-16", "surrogatepass").decode("utf-16")).status_code == 404


def test_malformed_session_cookie_is_no_login(client: Client) -> None:
    client.cookies["sessionid"] = '"aaaaaaaa\\000"'
    assert client.get(reverse("runs")).status_code == 302


class TestExpiredLogin:
    def test_login_returns_to_requested_page(self, client: Client) -> None:
        page = reverse("run", args=[1]) + "?state=done"
        response = client.get(page)
        assert response["Location"] == f"{reverse('login')}?next=/runs/1/%3Fstate%3Ddone"

    def test_login_returns_to_page_of_submitted_form(self, client: Client) -> None:
        response = client.post(
            reverse("claim-next", args=[1]), headers={"referer": "http://testserver/runs/1/?state=done"}
        )
        assert response["Location"] == f"{reverse('login')}?next=/runs/1/%3Fstate%3Ddone"

    @pytest.mark.parametrize(
        "referer", ["", "https://evil.example/", "//evil.example", "http://[", "\\\\evil"]
    )
    def test_login_leads_to_runs_without_valid_referer(self, referer: str, client: Client) -> None:
        response = client.post(reverse("claim-next", args=[1]), headers={"referer": referer})
        assert response["Location"] == f"{reverse('login')}?next=/"

    def test_polling_page_is_redirected_to_login(self, client: Client) -> None:
        upload = ImportFactory.create()
        page = reverse("import", args=[upload.pk])
        response = client.get(
            page, headers={"hx-request": "true", "hx-current-url": f"http://testserver{page}"}
        )
        assert response.status_code == 401
        assert response["HX-Redirect"] == f"{reverse('login')}?next={page}"
