"""Redirects to the page above an address."""

import pytest
from django.test import Client
from django.urls import get_resolver, is_valid_path

from reviews.http.redirects import page_above
from reviews.models import User


@pytest.mark.parametrize(
    ("path", "above"),
    [
        ("/runs/", "/"),
        ("/runs", "/"),
        ("/evaluations/", "/"),
        ("/account/sessions/", "/account/"),
        ("/webhooks/3/messages/", "/webhooks/3/"),
        ("/webhooks/3/messages/4/", "/webhooks/3/"),
        ("/jobs/import/3", "/jobs/"),
        ("/runs/three/", None),
        ("/runs/3/nothing/", None),
        ("/nothing/", None),
        ("//example.com/", None),
        ("/", None),
    ],
)
def test_address_above_pages_has_a_page_above_it(path: str, above: str | None) -> None:
    assert page_above(path) == above


def test_every_address_above_a_page_is_a_page_or_leads_to_one() -> None:
    for pattern in get_resolver("reviews.urls").url_patterns:
        path = str(pattern.pattern).replace("<int:", "<").replace("<slug:", "<")
        parts = ["7" if part.startswith("<") else part for part in path.split("/")][:-1]
        for depth in range(1, len(parts)):
            above = "/" + "/".join(parts[:depth]) + "/"
            assert "uuid" in path or is_valid_path(above) or page_above(above) or above.startswith("/api/"), (
                above
            )


@pytest.mark.django_db
def test_request_of_an_address_above_pages_is_redirected(ana: User, client: Client) -> None:
    assert client.get("/account/sessions/")["Location"] == "/account/"
    client.force_login(ana)
    assert client.get("/runs/")["Location"] == "/"
    assert client.post("/runs/").status_code == 404
