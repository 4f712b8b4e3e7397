"""Hostile paths and headers are rejected or have no effect."""

from collections.abc import Iterator
from itertools import product

import pytest
from django.test import Client

from reviews.models import Evaluation, User
from tests.support.addresses import one_of_everything
from tests.support.sessions import unextended_sessions

pytestmark = pytest.mark.django_db


@pytest.fixture
def record(max: User) -> Evaluation:
    return one_of_everything(max)


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
