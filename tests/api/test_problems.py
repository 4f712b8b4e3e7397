"""Every problem has a type, which is the address of a page and a row in docs/api.md."""

import ast
from collections.abc import Iterator

import pytest
from django.test import Client

from cognireview.environment import BASE_DIR
from reviews.api import problems
from reviews.api.problem_types import TYPES, type_of
from reviews.api.urls import api
from reviews.models import User
from tests.support.api_requests import Program

DOCS = (BASE_DIR / "docs" / "api.md").read_text()
STATUSES = {kind.status for kind in TYPES.values()}


def types_table() -> str:
    """Return the table for docs/api.md."""
    rows = [f"| `{one.slug}` | {one.status} | {one.meaning} | {one.remedy} |" for one in TYPES.values()]
    return "\n".join(["| Type | Status | Meaning | What to do |", "|---|---|---|---|", *rows]) + "\n"


def test_docs_list_the_types_of_problems() -> None:
    assert types_table() in DOCS, f"docs/api.md needs this table:\n\n{types_table()}"


def named_slugs() -> Iterator[str]:
    """Yield each `slug="..."` in the code of the API."""
    for path in (BASE_DIR / "reviews" / "api").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "slug" and isinstance(node.value, ast.Constant):
                yield str(node.value.value)


@pytest.mark.slow
def test_every_problem_of_an_operation_has_a_type_of_its_status() -> None:
    answers = [
        (int(status), answer)
        for methods in api.get_openapi_schema()["paths"].values()
        for operation in methods.values()
        for status, answer in operation["responses"].items()
    ]
    declared = {status for status, answer in answers if problems.CONTENT_TYPE in answer.get("content", {})}
    assert {400, 401, 403, 404, 409, 413, 422} <= declared <= STATUSES
    assert all(type_of(status).status == status for status in STATUSES)
    assert set(named_slugs()) - {""} == set(TYPES) - {type_of(status).slug for status in STATUSES}


@pytest.mark.slow
@pytest.mark.django_db
def test_every_type_of_problem_has_a_page(client: Client, ana: User) -> None:
    client.force_login(ana)
    for kind in TYPES.values():
        page = client.get(kind.uri)
        assert page.status_code == 200
        assert kind.title in page.content.decode()
    assert client.get("/api/problems/nothing/").status_code == 404
    reference = client.get("/api/").content.decode()
    assert all(kind.uri in reference for kind in TYPES.values())


@pytest.mark.django_db
def test_problem_lists_the_first_errors_and_counts_the_others(of_ana: Program) -> None:
    unknown = {"x" * 10_000: 1} | {f"member {number}": 1 for number in range(999)}
    problem = of_ana.ask("POST", "runs/algebra/claims", unknown).json()
    assert (len(problem["errors"]), problem["more_errors"]) == (100, 900)
    assert max(len(error["field"]) for error in problem["errors"]) == 500
    few = of_ana.ask("POST", "runs/algebra/claims", {"filter": {}}).json()
    assert [error["field"] for error in few["errors"]] == ["filter"]
    assert "more_errors" not in few


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            b'{"filters": {"model": NaN}}',
            "unexpected character, expected a JSON value: line 1 column 23 (char 22)",
        ),
        (b'{"filters":', "unexpected end of data: line 1 column 12 (char 11)"),
    ],
)
def test_body_that_is_not_json_is_refused_with_the_place(of_ana: Program, body: bytes, reason: str) -> None:
    refused = of_ana.ask("POST", "runs/algebra/claims", body)
    assert refused.status_code == 400
    assert refused.json()["detail"] == f"The body is not JSON: {reason}."


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["imports/7", "webhooks/7/deliveries", "people/nobody", "exports/7"])
def test_unknown_name_is_refused_without_names_of_the_program(of_max: Program, path: str) -> None:
    refused = of_max.get(path)
    assert refused.status_code == 404
    assert refused.json()["detail"] == "Not found. Check the address."
