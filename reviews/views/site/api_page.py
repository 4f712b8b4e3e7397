"""The reference of the API: every operation, as its own schema has it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from reviews.api.problems import CONTENT_TYPE, PREFIX
from reviews.api.urls import api
from reviews.http.request import Request


class Piece(NamedTuple):
    """A stretch of a text: words, or code that stood between backticks."""

    text: str
    is_code: bool


class Member(NamedTuple):
    """A parameter, or a member of a JSON body or answer."""

    name: str
    kind: str
    is_required: bool
    description: list[Piece]


class Operation(NamedTuple):
    """One operation, with the scope that its token needs."""

    name: str
    method: str
    path: str
    scope: str
    paragraphs: list[list[Piece]]
    parameters: list[Member]
    body: list[Member]
    answers: list[tuple[str, list[Member]]]
    problems: list[str]


@require_safe
def reference(request: Request) -> HttpResponse:
    """All operations of the API. It loads nothing from elsewhere."""
    schema = api.get_openapi_schema()
    problem = schema["components"]["schemas"]["Problem"]
    context = {
        "operations": list(_operations(schema)),
        "problem": _of_shape(problem),
        "schema_url": f"{PREFIX}openapi.json",
    }
    return render(request, "site/api/page.html", context)


def _operations(schema: dict[str, Any]) -> Iterator[Operation]:
    for path, methods in schema["paths"].items():
        for method, told in methods.items():
            yield Operation(
                name=told["operationId"],
                method=method.upper(),
                path=path,
                scope=told["x-scope"],
                paragraphs=[_pieces(each) for each in told["description"].split("\n\n")],
                parameters=[_parameter(one) for one in told["parameters"]],
                body=_members(schema, told.get("requestBody", {})),
                answers=[
                    (str(status), _members(schema, answer))
                    for status, answer in told["responses"].items()
                    if not _is_problem(answer)
                ],
                problems=sorted(str(key) for key, answer in told["responses"].items() if _is_problem(answer)),
            )


def _pieces(text: str) -> list[Piece]:
    return [Piece(piece, number % 2 == 1) for number, piece in enumerate(text.split("`")) if piece]


def _is_problem(answer: dict[str, Any]) -> bool:
    return CONTENT_TYPE in answer.get("content", {})


def _parameter(told: dict[str, Any]) -> Member:
    return Member(
        told["name"], _kind(told["schema"]), bool(told.get("required")), _pieces(told.get("description", ""))
    )


def _members(schema: dict[str, Any], told: dict[str, Any]) -> list[Member]:
    """The members of the JSON object (or of those in the array) that a body or an answer is."""
    content: dict[str, Any] = next(iter(told.get("content", {}).values()), {})
    shape = content.get("schema", {})
    shape = shape.get("items", shape)
    if "$ref" in shape:
        shape = schema["components"]["schemas"][shape["$ref"].rpartition("/")[2]]
    return _of_shape(shape)


def _of_shape(shape: dict[str, Any]) -> list[Member]:
    required = shape.get("required", ())
    return [
        Member(name, _kind(one), name in required, _pieces(one.get("description", "")))
        for name, one in shape.get("properties", {}).items()
    ]


def _kind(shape: dict[str, Any]) -> str:
    """What a value is, in words; empty for anything."""
    if "anyOf" in shape:
        return " or ".join(_kind(one) for one in shape["anyOf"])
    if "enum" in shape:
        return " or ".join(map(str, shape["enum"]))
    if "$ref" in shape:
        return "object"
    if shape.get("type") == "array":
        return f"list of {_kind(shape['items']) or 'any'}"
    return str(shape.get("format", shape.get("type", "")))
