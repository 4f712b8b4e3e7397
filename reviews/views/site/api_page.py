"""The API reference, generated from the OpenAPI schema."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from reviews.api.problem_types import TYPES
from reviews.api.problems import CONTENT_TYPE, PREFIX
from reviews.http.request import Request

_SCHEMA_URL = f"{PREFIX}openapi.json"


class Piece(NamedTuple):
    """A piece of a description: plain text, or code from between backticks."""

    text: str
    is_code: bool


class Member(NamedTuple):
    """A parameter, or a member of a JSON body or response."""

    name: str
    kind: str
    is_required: bool
    description: list[Piece]


class Operation(NamedTuple):
    """An operation with the scope that its token needs."""

    name: str
    method: str
    path: str
    scope: str
    paragraphs: list[list[Piece]]
    parameters: list[Member]
    body: list[Member]
    answers: list[tuple[str, list[Member]]]
    problems: list[str]


class OperationGroup(NamedTuple):
    """Operations with the same tag."""

    name: str
    description: str
    operations: list[Operation]

    @property
    def anchor(self) -> str:
        return f"about-{slugify(self.name)}"


@require_safe
def reference(request: Request) -> HttpResponse:
    """Show all operations of the API. The page loads nothing from other sites."""
    return render(request, "site/api/page.html", {"reference": _reference(), "schema_url": _SCHEMA_URL})


@require_safe
def problem_type(request: Request, slug: str) -> HttpResponse:
    """Explain a type of problem. Its address is the `type` of these problems."""
    found = TYPES.get(slug)
    if found is None:
        raise Http404("There is no problem of this type.")
    context = {"problem": found, "meaning": _pieces(found.meaning), "remedy": _pieces(found.remedy)}
    return render(request, "site/api/problem.html", context)


@cache
def _reference() -> str:
    """Return the markup of all operations. It is the same for everybody, and takes a tenth of a second."""
    # Other pages need no API.
    schema = import_module("reviews.api.urls").api.get_openapi_schema()
    context = {
        "groups": [
            OperationGroup(tag["name"], tag["description"], list(_operations(schema, tag["name"])))
            for tag in schema["tags"]
        ],
        "problem": _object_members(schema["components"]["schemas"]["Problem"]),
        "types": list(TYPES.values()),
    }
    return render_to_string("site/api/reference.html", context)


def _operations(schema: dict[str, Any], tag: str) -> Iterator[Operation]:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            if operation["tags"] != [tag]:
                continue
            yield Operation(
                name=operation["operationId"],
                method=method.upper(),
                path=path,
                scope=operation["x-scope"],
                paragraphs=[_pieces(each) for each in operation["description"].split("\n\n")],
                parameters=[_parameter(one) for one in operation["parameters"]],
                body=_members(schema, operation.get("requestBody", {})),
                answers=[
                    (str(status), _members(schema, answer))
                    for status, answer in operation["responses"].items()
                    if not _is_problem(answer)
                ],
                problems=sorted(
                    str(key) for key, answer in operation["responses"].items() if _is_problem(answer)
                ),
            )


def _pieces(text: str) -> list[Piece]:
    return [Piece(piece, number % 2 == 1) for number, piece in enumerate(text.split("`")) if piece]


def _is_problem(answer: dict[str, Any]) -> bool:
    return CONTENT_TYPE in answer.get("content", {})


def _parameter(parameter: dict[str, Any]) -> Member:
    return Member(
        parameter["name"],
        _kind(parameter["schema"]),
        bool(parameter.get("required")),
        _pieces(parameter.get("description", "")),
    )


def _members(schema: dict[str, Any], message: dict[str, Any]) -> list[Member]:
    """Return the members of a body or response that is a JSON object, or an array of objects."""
    content: dict[str, Any] = next(iter(message.get("content", {}).values()), {})
    shape = content.get("schema", {})
    shape = shape.get("items", shape)
    if "$ref" in shape:
        shape = schema["components"]["schemas"][shape["$ref"].rpartition("/")[2]]
    return _object_members(shape)


def _object_members(shape: dict[str, Any]) -> list[Member]:
    required = shape.get("required", ())
    return [
        Member(name, _kind(one), name in required, _pieces(one.get("description", "")))
        for name, one in shape.get("properties", {}).items()
    ]


def _kind(shape: dict[str, Any]) -> str:
    """Return the type of a value in words; empty for any type."""
    if "anyOf" in shape:
        return " or ".join(_kind(one) for one in shape["anyOf"])
    if "enum" in shape:
        return " or ".join(map(str, shape["enum"]))
    if "$ref" in shape:
        return "object"
    if shape.get("type") == "array":
        return f"list of {_kind(shape['items']) or 'any'}"
    return str(shape.get("format", shape.get("type", "")))
