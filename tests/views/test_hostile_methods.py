"""Hostile methods and bodies are rejected or have no effect."""

from itertools import product

import pytest
from django.conf import LazySettings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from reviews.models import Evaluation, User
from tests.support.addresses import address, one_of_everything

pytestmark = pytest.mark.django_db


@pytest.fixture
def record(max: User) -> Evaluation:
    return one_of_everything(max)


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
