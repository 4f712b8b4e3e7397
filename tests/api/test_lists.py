"""Lists are returned in pages of `limit` rows, each with a `Link` header to the next one."""

from typing import Any

import pytest

from reviews.models import User, Webhook
from tests.api.conftest import Program
from tests.support.factories import EvaluationFactory, ExportFactory, ImportFactory, RunFactory

pytestmark = pytest.mark.django_db


def pages(program: Program, path: str) -> list[Any]:
    """Return the body of each page, following the `Link` header."""
    found = []
    while path:
        answer = program.get(path)
        assert answer.status_code == 200, answer.content
        found.append(answer.json())
        address, _, relation = answer.get("Link", "").partition("; ")
        assert relation in {"", 'rel="next"'}
        path = address.strip("<>").removeprefix("/api/v1/")
    return found


def test_lists_are_followed_page_by_page(of_max: Program, max: User) -> None:
    run = RunFactory.create(name="one")
    for _ in range(3):
        EvaluationFactory.create(run=run)
        ExportFactory.create(run=run)
        ImportFactory.create(run=run)
        Webhook.objects.create(url="https://hooks.example.org/", created_by=max)
        of_max.ask("POST", "tokens", {"name": "more", "scopes": ["read"]})
    for path in ("webhooks", "runs/one/exports", "runs/one/imports", "jobs?kind=export", "tokens"):
        whole = of_max.get(path).json()
        assert len(whole) >= 3
        listed = pages(of_max, f"{path}{'&' if '?' in path else '?'}limit=2")
        assert [len(page) for page in listed[:-1]] == [2] * (len(listed) - 1)
        assert [row["id"] for page in listed for row in page] == [row["id"] for row in whole]
    listed = pages(of_max, "runs/one/evaluations?limit=2&sort=newest")
    assert [len(page["evaluations"]) for page in listed] == [2, 1]


def test_limit_has_bounds(of_max: Program) -> None:
    for limit in ("0", "201", "many"):
        answer = of_max.get(f"webhooks?limit={limit}")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "limit")
