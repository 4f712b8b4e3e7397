"""What goes wrong is said in words, with a way on, and never by a 5xx for what somebody sent."""

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse

from reviews.http import errors
from reviews.models import User
from tests.support.factories import ImportFactory, RunFactory

pytestmark = pytest.mark.django_db


def test_an_unknown_address_says_so_and_leads_on(ana: User, client: Client) -> None:
    client.force_login(ana)
    response = client.get("/nowhere/")
    assert response.status_code == 404
    assert "Page not found" in response.content.decode()
    assert f'href="{reverse("runs")}"' in response.content.decode()


def test_an_unknown_address_tells_nobody_more(client: Client) -> None:
    response = client.get("/nowhere/")
    assert response.status_code == 404
    assert "Log out" not in response.content.decode()


def test_what_a_role_forbids_is_said_with_its_reason(ana: User, client: Client) -> None:
    client.force_login(ana)
    response = client.post(reverse("export", args=[RunFactory.create().pk]))
    assert response.status_code == 403
    assert "Only a lead or an admin can export a run." in response.content.decode()


def test_someone_without_a_role_is_told_so_and_can_log_out(eve: User, client: Client) -> None:
    client.force_login(eve)
    response = client.get(reverse("runs"))
    assert response.status_code == 403
    assert "Only a reviewer, a lead or an admin" in response.content.decode()
    assert reverse("logout") in response.content.decode()


def test_a_method_that_an_address_does_not_take_is_said_with_those_it_does(ana: User, client: Client) -> None:
    client.force_login(ana)
    response = client.post(reverse("run", args=[RunFactory.create().pk]))
    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")
    assert "The browser sent POST, but this address supports only GET, HEAD." in response.content.decode()


def test_an_error_of_ours_shows_a_page_that_asks_nothing_of_the_database(
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


def test_the_page_for_an_error_of_ours_makes_no_query(
    rf: RequestFactory, django_assert_num_queries: type
) -> None:
    with django_assert_num_queries(0):
        response = errors.server_error(rf.get("/"))
    assert response.status_code == 500


def test_a_form_of_thousands_of_fields_gets_400(max: User, client: Client) -> None:
    client.force_login(max)
    response = client.post(reverse("runs"), {f"field-{n}": "" for n in range(2000)})
    assert response.status_code == 400


@pytest.mark.parametrize("encoding", ["utf-16", "utf-7", "unicode_escape", "latin-1"])
def test_a_form_in_another_encoding_gets_400(encoding: str, client: Client) -> None:
    body = rb"username=\ud800\0&password=x"
    response = client.generic(
        "POST", reverse("login"), body, content_type=f"application/x-www-form-urlencoded; charset={encoding}"
    )
    assert response.status_code == 400


@pytest.mark.parametrize(
    "query", ["after=%00", "after=%ff%fe", "status=claimed&after=9999999999999999999-1", "after=-"]
)
def test_a_query_that_makes_no_sense_gives_the_first_page(query: str, ana: User, client: Client) -> None:
    client.force_login(ana)
    assert client.get(f"{reverse('run', args=[RunFactory.create().pk])}?{query}").status_code == 200


@pytest.mark.parametrize("status", ["%00", "%ff", "__class__", "x" * 5000])
def test_a_status_there_is_none_of_is_told_and_left_out(status: str, ana: User, client: Client) -> None:
    client.force_login(ana)
    response = client.get(f"{reverse('run', args=[RunFactory.create().pk])}?status={status}")
    assert response.status_code == 200
    assert response.context["view"].problems


@pytest.mark.parametrize(
    "path", ["/runs/1\0/", "/%ff%fe/", "/runs/-1/", "/welcome/%00/", "/welcome/\ud83d\ude00/"]
)
def test_an_address_that_makes_no_sense_is_not_found(path: str, ana: User, client: Client) -> None:
    client.force_login(ana)
    assert client.get(path.encode("utf-16", "surrogatepass").decode("utf-16")).status_code == 404


def test_a_broken_session_cookie_is_no_login(client: Client) -> None:
    client.cookies["sessionid"] = '"aaaaaaaa\\000"'
    assert client.get(reverse("runs")).status_code == 302


class TestALoginThatEnded:
    def test_leads_back_to_the_page_that_was_asked_for(self, client: Client) -> None:
        page = reverse("run", args=[1]) + "?state=done"
        response = client.get(page)
        assert response["Location"] == f"{reverse('login')}?next=/runs/1/%3Fstate%3Ddone"

    def test_leads_back_to_the_page_a_form_stood_on(self, client: Client) -> None:
        response = client.post(
            reverse("claim-next", args=[1]), headers={"referer": "http://testserver/runs/1/?state=done"}
        )
        assert response["Location"] == f"{reverse('login')}?next=/runs/1/%3Fstate%3Ddone"

    @pytest.mark.parametrize(
        "referer", ["", "https://evil.example/", "//evil.example", "http://[", "\\\\evil"]
    )
    def test_leads_to_the_runs_when_the_browser_does_not_say(self, referer: str, client: Client) -> None:
        response = client.post(reverse("claim-next", args=[1]), headers={"referer": referer})
        assert response["Location"] == f"{reverse('login')}?next=/"

    def test_sends_a_page_that_polls_to_the_login_as_a_whole(self, client: Client) -> None:
        upload = ImportFactory.create()
        page = reverse("import", args=[upload.pk])
        response = client.get(
            page, headers={"hx-request": "true", "hx-current-url": f"http://testserver{page}"}
        )
        assert response.status_code == 401
        assert response["HX-Redirect"] == f"{reverse('login')}?next={page}"
