"""Hostile requests to pages and API are rejected or have no effect."""

import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, NamedTuple

import pytest
from allauth.mfa.totp.internal.auth import (
    TOTP,
    generate_totp_secret,
    hotp_value,
    yield_hotp_counters_from_time,
)
from django.conf import LazySettings
from django.conf import settings as configured
from django.contrib.auth.hashers import MD5PasswordHasher
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django.plugin import DjangoDbBlocker

from cognireview.operations.logs import TextFormatter
from reviews.accounts import api_tokens
from reviews.models import AuditEvent, Evaluation, User
from tests.support.factories import PASSWORD, EvaluationFactory, UserFactory
from tests.support.pages import text
from tests.support.sessions import unextended_sessions
from tests.support.shared_world import shared_world
from tests.views.access import ACCESS
from tests.views.test_access import address, ask, one_of_everything

pytestmark = pytest.mark.django_db

PROBE = "zqprobe"
LOOKUPS = (
    "password__startswith",
    "claimed_by__password__startswith",
    "assigned_to__password__regex",
    "review__reviewer__password",
    "model_id__contains",
    "model__contains",
    "pk__in",
    "_connector",
    "_negated",
    "run__settings",
)


@pytest.fixture
def record(max: User) -> Evaluation:
    return one_of_everything(max)


@contextmanager
def noted_parameters() -> Iterator[set[str]]:
    """Collect the names of parameters that are read during the block."""
    names: set[str] = set()

    def noting(theirs: Callable[..., Any]) -> Callable[..., Any]:
        def read(query: QueryDict, name: str, *rest: Any) -> Any:
            names.add(name)
            return theirs(query, name, *rest)

        return read

    with pytest.MonkeyPatch.context() as patch:
        for method in ("get", "getlist", "__getitem__", "__contains__"):
            patch.setattr(QueryDict, method, noting(getattr(QueryDict, method)), raising=False)
        yield names


class Visited(NamedTuple):
    """Every page, opened once by the admin with hostile filters. The tests of a class share the rows."""

    record: Evaluation
    client: Client
    #: The parameters that each page read.
    parameters: dict[str, set[str]]
    #: The statements that contain the value of a hostile filter.
    probed: list[str]
    #: Pages with the hash of a password or a token, or with the session key.
    leaking: list[str]


@pytest.fixture(scope="class")
def visited(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Visited]:
    with shared_world(django_db_blocker), unextended_sessions():
        boss = UserFactory.create(username="max", role="admin")
        client = Client()
        client.force_login(boss)
        found = Visited(one_of_everything(boss), client, {}, [], [])
        EvaluationFactory.create(run=found.record.run)
        client.post(reverse("reauthenticate"), {"password": PASSWORD})
        secret = [boss.password, boss.password.rpartition("$")[2], client.session.session_key]
        secret += [token.token_hash for token in boss.api_tokens.all()]
        for name in (name for name, methods in ACCESS.items() if "get" in methods):
            query = dict.fromkeys(LOOKUPS, PROBE)
            with CaptureQueriesContext(connection) as asked, noted_parameters() as names:
                response = ask(client, "get", address(name, found.record), data=query)
            assert response.status_code < 500, name
            found.parameters[name] = names
            found.probed.extend(one["sql"] for one in asked if PROBE in one["sql"])
            page = response.getvalue().decode("utf-8", "replace")
            found.leaking.extend(name for one in secret if one and one in page)
        yield found


class TestFiltersAndOrders:
    """Only known filters reach the database; Django lookups from requests do not."""

    SORTS = ("claimed_by__password", "-password", "pk", "?", "review__reviewer__password", "1; DROP TABLE")

    @pytest.mark.slow
    def test_hostile_sort_orders_are_reported(self, record: Evaluation, as_max: Client) -> None:
        for sort in self.SORTS:
            with CaptureQueriesContext(connection) as asked:
                response = as_max.get(reverse("run", args=[record.run_id]), {"sort": sort})
            assert f"Unknown sort order “{sort}”." in response.context["view"].problems
            ordered = [query["sql"].partition("ORDER BY")[2] for query in asked]
            assert [sql for sql in ordered if "password" in sql or "DROP" in sql] == [], sort

    @pytest.mark.slow
    def test_hostile_filters_are_rejected_by_the_api(self, record: Evaluation, max: User) -> None:
        program = Client(headers={"Authorization": f"Bearer {token(max)}"})
        path = f"/api/v1/runs/{record.run.name}"
        for name in LOOKUPS:
            answer = program.get(f"{path}/evaluations", {name: PROBE})
            assert answer.status_code == 422
            body = json.dumps({"filters": {name: PROBE}})
            claimed = program.post(f"{path}/claims", body, content_type="application/json")
            assert claimed.status_code == 422
        for sort in self.SORTS:
            answer = program.get(f"{path}/evaluations", {"sort": sort})
            assert answer.status_code == 422

    @pytest.mark.slow
    def test_hostile_filters_are_harmless_in_bulk_changes_and_views(
        self, record: Evaluation, as_max: Client
    ) -> None:
        for name in LOOKUPS:
            listed = f"{name}={PROBE}"
            announced = as_max.get(
                reverse("bulk-change", args=[record.run_id]), {"kind": "release", "list": listed}
            )
            assert announced.status_code in {200, 400, 422}
            done = as_max.post(
                reverse("bulk-change", args=[record.run_id]), {"kind": "release", "list": listed}
            )
            assert done.status_code in {302, 400, 422}
            as_max.post(reverse("save-view", args=[record.run_id]), {"name": name, "list": listed})
        kept = record.run.saved_views.values_list("query", flat=True)
        assert [query for query in kept if PROBE in query] == []


def token(person: User) -> str:
    return api_tokens.create(person=person, scopes=["read", "review"], actor=None).text


@pytest.mark.slow
class TestEveryPage:
    # All but the first are sent by the exhaustive test, which sends them to all pages.
    ODD = (
        "\0\u202e\n\r\t'\"\\",
        "9" * 5000,
        "-1",
        '{"id": 1, "rawId": [], "type": {}, "response": "x"}',
        "[" * 5_000,
    )

    def test_hostile_filters_are_harmless_on_every_page(self, visited: Visited) -> None:
        assert visited.probed == []

    def test_no_page_contains_password_hashes_or_session_keys(self, visited: Visited) -> None:
        assert len(visited.parameters) > 80
        assert visited.leaking == []

    @pytest.mark.parametrize(
        ("method", "values", "every"),
        [
            ("get", ODD[:1], 3),
            pytest.param("get", ODD, 1, marks=pytest.mark.exhaustive),
            pytest.param("post", ODD, 1, marks=pytest.mark.exhaustive),
        ],
    )
    def test_any_parameter_value_is_handled(
        self, method: str, values: tuple[str, ...], every: int, visited: Visited
    ) -> None:
        heard = 0
        for name in [name for name, methods in ACCESS.items() if method in methods][::every]:
            place, names = address(name, visited.record), visited.parameters.get(name, set())
            if method == "post":
                with noted_parameters() as names:
                    assert ask(visited.client, method, place).status_code < 500
            heard += len(names)
            for odd in values if names else ():
                response = ask(visited.client, method, place, data=dict.fromkeys(sorted(names), odd))
                assert response.status_code < 500, (name, odd)
        assert heard > 40 / every


@pytest.mark.slow
class TestPathsAndHeaders:
    HEADERS = (
        "Referer",
        "HX-Request",
        "HX-Current-URL",
        "X-Request-ID",
        "Range",
        "If-None-Match",
        "If-Modified-Since",
        "Accept",
        "Accept-Language",
        "Cookie",
        "Authorization",
        "Content-Type",
        "X-Forwarded-For",
        "X-Forwarded-Proto",
        "X-Forwarded-Host",
        "Origin",
        "User-Agent",
        "Idempotency-Key",
        "Upload-Metadata",
        "Tus-Resumable",
    )

    @pytest.fixture(autouse=True)
    def _unextended_sessions(self) -> Iterator[None]:
        with unextended_sessions():
            yield

    def test_any_path_value_is_handled(self, as_max: Client) -> None:
        program = Client()
        for odd in ("%00", "%ed%a0%80", "%ff", "a" * 100_000, "%2e%2e%2f" * 100, "%0d%0aX: y"):
            for path in (
                f"/{odd}",
                f"/runs/{odd}/",
                f"/join/{odd}/",
                f"/welcome/{odd}/",
                f"/login/{odd}/callback/",
            ):
                assert as_max.get(path).status_code in {404, 302}, path[:80]
            for path in (f"runs/{odd}", f"evaluations/{odd}", odd):
                assert program.get(f"/api/v1/{path}").status_code in {401, 404}, path[:80]

    @pytest.mark.parametrize(
        "paths",
        [
            ("/uploads/",),
            pytest.param(("/api/v1/runs", "/", "/login/", "/runs/{run}/"), marks=pytest.mark.exhaustive),
        ],
    )
    def test_any_header_value_is_handled(
        self, paths: tuple[str, ...], record: Evaluation, as_max: Client
    ) -> None:
        odd_values = ("\0", "\xff\xfe", "a" * 100_000, "a\r\nSet-Cookie: b=c", "(" * 200)
        opened = [path.format(run=record.run_id) for path in paths]
        for name, path, odd in product(self.HEADERS, opened, odd_values):
            response = as_max.get(path, headers={name: odd})
            assert response.status_code < 500, (name, path, odd[:20])
            assert "b" not in response.cookies
            assert not [value for value in response.headers.values() if "\n" in value or "\r" in value]


class TestMethod:
    @pytest.mark.parametrize("trick", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])
    def test_method_override_is_ignored(self, trick: str, record: Evaluation, as_max: Client) -> None:
        path = reverse("claim", args=[record.pk])
        assert as_max.get(path, {"_method": "POST"}, headers={trick: "POST"}).status_code == 405
        record.refresh_from_db()
        assert record.claimed_by is None

    @pytest.mark.slow
    def test_unknown_method_is_rejected(self, record: Evaluation, as_max: Client) -> None:
        names = ("runs", "claim", "login", "upload", "change-role", "account")
        for method, name in product(("TRACE", "CONNECT", "FOO", "PROPFIND", "G" * 5000), names):
            with CaptureQueriesContext(connection) as asked:
                status = as_max.generic(method, address(name, record)).status_code
            assert status in {302, 405, 412}, (method[:20], name)
            assert [query for query in asked if query["sql"].startswith(("UPDATE", "INSERT", "DELETE"))] == []


class TestOpenRedirect:
    """After a login, people are only redirected to pages of this site."""

    ELSEWHERE = (
        "https://evil.example/",
        "//evil.example/",
        "///evil.example/",
        "/\\evil.example/",
        "\\\\evil.example",
        "https:evil.example",
        "https:///evil.example",
        "\thttps://evil.example/",
        "/\t/evil.example/",
        "javascript:alert(1)",
        "data:text/html,x",
        "http://testserver@evil.example/",
        "http://testserver.evil.example/",
    )

    def assert_here(self, place: str) -> None:
        assert re.match(r"/(?![/\\\t\r\n])", place), place

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "elsewhere",
        [
            pytest.param(place, marks=[pytest.mark.exhaustive] if number % 4 else [])
            for number, place in enumerate(ELSEWHERE)
        ],
    )
    def test_login_does_not_redirect_to_other_site(self, elsewhere: str, client: Client, ana: User) -> None:
        posted = {"login": "ana", "password": PASSWORD, "next": elsewhere}
        self.assert_here(client.post(reverse("login"), posted)["Location"])
        again = client.post(
            f"{reverse('reauthenticate')}?{QueryDict(mutable=True).urlencode()}",
            {"password": PASSWORD, "next": elsewhere},
        )
        self.assert_here(again["Location"])

    def test_signed_in_person_is_not_redirected_to_other_site(self, as_ana: Client) -> None:
        for elsewhere in self.ELSEWHERE:
            self.assert_here(as_ana.get(reverse("login"), {"next": elsewhere})["Location"])

    def test_login_page_drops_link_to_other_site(self, client: Client) -> None:
        for header, elsewhere in product(("Referer", "HX-Current-URL"), self.ELSEWHERE):
            response = client.post(reverse("claim-next", args=[1]), headers={header: elsewhere})
            assert response["Location"] == f"{reverse('login')}?next=/", (header, elsewhere)


class TestSession:
    def test_login_changes_session_key(self, client: Client, ana: User) -> None:
        client.get(reverse("login"))
        fixed = "a" * 32
        client.cookies[configured.SESSION_COOKIE_NAME] = fixed
        client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        assert client.session.session_key != fixed
        stranger = Client()
        stranger.cookies[configured.SESSION_COOKIE_NAME] = fixed
        assert stranger.get(reverse("runs")).status_code == 302

    def test_session_without_second_factor_is_rejected(self, client: Client, ana: User) -> None:
        TOTP.activate(ana, generate_totp_secret())
        client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        for name in ("runs", "account", "add-passkey", "new-codes", "reauthenticate"):
            response = client.get(reverse(name))
            assert response.status_code in {302, 405}
            assert response.status_code == 405 or response["Location"].startswith(reverse("login"))

    def test_cross_site_form_is_rejected(self, ana: User) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(ana)
        page = client.get(reverse("runs")).content.decode()
        [known, *_] = re.findall(r'"X-CSRFToken": "(\w+)"', page)
        assert (
            client.post(
                reverse("logout"), headers={"X-CSRFToken": known, "Origin": "https://evil.example"}
            ).status_code
            == 403
        )
        assert client.post(reverse("logout"), {"csrfmiddlewaretoken": "a" * 64}).status_code == 403
        assert client.post(reverse("logout"), headers={"X-CSRFToken": known}).status_code == 302


class TestGuessing:
    """After a few wrong passwords or codes, even the right one is rejected."""

    def fail(self, client: Client, name: str, **headers: str) -> str:
        return text(client.post(reverse("login"), {"login": name, "password": "wrong"}, headers=headers))

    def test_failed_login_message_hides_whether_account_exists(
        self, client: Client, ana: User, bo: User, eve: User
    ) -> None:
        User.objects.filter(pk=bo.pk).update(is_active=False)
        eve.set_unusable_password()
        eve.save()
        found = set()
        for name in ("ana", "bo", "eve", "nobody"):
            page = self.fail(client, name).replace(f'value="{name}"', "")
            found.add(re.sub(r'name="csrfmiddlewaretoken" value="\w+"|"X-CSRFToken": "\w+"', "", page))
        assert len(found) == 1

    def test_failed_login_hashes_password_for_unknown_account(
        self, client: Client, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Both cases hash one password, so they take the same time."""
        encode, hashed = MD5PasswordHasher.encode, []

        def counting(*arguments: Any, **options: Any) -> str:
            hashed.append(arguments)
            return encode(*arguments, **options)

        monkeypatch.setattr(MD5PasswordHasher, "encode", counting)
        for name in ("ana", "nobody"):
            self.fail(client, name)
        assert len(hashed) == 2

    def test_forged_addresses_do_not_evade_login_limit(
        self, client: Client, ana: User, settings: LazySettings
    ) -> None:
        settings.ACCOUNT_RATE_LIMITS = {"login_failed": "3/m/ip"}
        for number in range(3):
            assert "Incorrect" in self.fail(
                client, f"nobody{number}", **{"X-Forwarded-For": f"192.0.2.{number}"}
            )
        assert "Too many failed logins" in self.fail(client, "other", **{"X-Forwarded-For": "192.0.2.9"})

    def test_login_limit_uses_address_from_trusted_proxy(
        self, client: Client, ana: User, settings: LazySettings
    ) -> None:
        settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
        settings.ACCOUNT_RATE_LIMITS = {"login_failed": "2/m/ip"}
        for number in range(2):
            # The header has the client's values first, and the value of the proxy last.
            self.fail(client, "ana", **{"X-Forwarded-For": f"192.0.2.{number}, 198.51.100.7"})
        assert "Too many" in self.fail(client, "ana", **{"X-Forwarded-For": "192.0.2.9, 198.51.100.7"})
        assert "Incorrect" in self.fail(client, "ana", **{"X-Forwarded-For": "192.0.2.9, 198.51.100.8"})
        assert AuditEvent.objects.filter(address="198.51.100.7").exists()

    @pytest.mark.slow
    def test_guessing_codes_is_limited(self, client: Client, ana: User) -> None:
        secret = generate_totp_secret()
        TOTP.activate(ana, secret)
        client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        right = f"{hotp_value(secret, next(iter(yield_hotp_counters_from_time()))):06}"
        wrong = "000000" if right != "000000" else "111111"
        for _ in range(5):
            assert "wrong" in text(client.post(reverse("second-factor"), {"code": wrong}))
        response = client.post(reverse("second-factor"), {"code": right})
        assert response.status_code == 200
        assert "Too many failed attempts" in text(response)
        assert client.get(reverse("runs")).status_code == 302

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "field"), [("reauthenticate", "password"), ("password", "old_password")]
    )
    def test_guessing_password_within_session_is_limited(
        self, name: str, field: str, client: Client, ana: User
    ) -> None:
        client.force_login(ana)
        posted = {"new_password1": "correct horse 42", "new_password2": "correct horse 42"}
        seen = [client.post(reverse(name), {**posted, field: "wrong"}).status_code for _ in range(12)]
        assert seen[-1] == 429
        response = client.post(reverse(name), {**posted, field: PASSWORD})
        assert response.status_code == 429
        assert "Too many attempts from your network." in text(response)

    def test_token_prefix_does_not_help_guessing(self, ana: User) -> None:
        """Tokens are found by hash, so a correct prefix is no better than any other text."""
        known = token(ana)
        with CaptureQueriesContext(connection) as asked:
            assert api_tokens.authenticate(known[:-1]) is None
            assert api_tokens.authenticate(known[:12]) is None
        assert [query for query in asked if known[:12] in query["sql"]] == []


class TestLog:
    """Each log event is one line for any input."""

    @pytest.fixture
    def written(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
        """Return the lines written by the handler of the settings."""
        lines: list[str] = []
        [ours] = [one for one in logging.getLogger().handlers if type(one) is logging.StreamHandler]
        assert isinstance(ours.formatter, TextFormatter)
        formatter = ours.formatter

        class Listener(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                # Tracebacks have several lines.
                alone = logging.makeLogRecord({**vars(record), "exc_info": None, "exc_text": None})
                lines.append(formatter.format(alone))

        listener = Listener()
        logging.getLogger().addHandler(listener)
        yield lines
        logging.getLogger().removeHandler(listener)

    def test_log_lines_cannot_be_forged(
        self, written: list[str], client: Client, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made_up = "x\n2026-11-22 00:00:00,000 INFO made.up: max signed in\r\n"
        strict = Client(enforce_csrf_checks=True)
        client.get(f"/{made_up}")
        client.get("/", headers={"host": "evil.example\n"})
        client.get("/", headers={"X-Request-ID": made_up, "User-Agent": made_up, "Referer": made_up})
        client.post(reverse("login"), {"login": made_up, "password": made_up})
        strict.post(reverse("login"), headers={"Origin": made_up, "Referer": made_up})
        client.generic("FOO\nBAR", "/login/")

        def failing(*_: object) -> None:
            raise RuntimeError(made_up)

        monkeypatch.setattr("reviews.accounts.one_time_links.find_pending", failing)
        client.raise_request_exception = False
        assert client.get(f"/join/{made_up.replace('/', '')}/").status_code == 500
        assert len(written) > 6
        assert [line for line in written if len(line.splitlines()) > 1] == []


@pytest.mark.slow
def test_invalid_content_length_is_rejected(as_max: Client) -> None:
    """A wrong Content-Length does not affect the next request, and causes no server error."""
    for length in ("-1", "1e3", "99999999999999999999", "abc", "0x10", "3, 4"):
        response = as_max.post(
            "/import/", b"run=x", content_type="text/plain", headers={"Content-Length": length}
        )
        assert response.status_code in {400, 403, 422}


def test_endless_body_is_not_read(as_max: Client, settings: LazySettings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    assert as_max.post(reverse("preview"), {"text": "x" * 2000}).status_code in {400, 413}
