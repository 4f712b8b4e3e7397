"""The client's operations and types equal those of the OpenAPI schema, so that neither changes alone."""

import datetime as dt
import re
import types
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from cognireview.client import operations
from cognireview.client.operations import Operation
from cognireview.client.responses import ContextException, Members
from reviews.api.urls import api
from reviews.search.filters import FILTERS

OPERATIONS: dict[str, Operation[Any]] = {
    name: value for name, value in vars(operations).items() if isinstance(value, Operation)
}
FORMATS = {"date-time": dt.datetime, "date": dt.date}
NULL = {"type": "null"}
# Parts of files, which may leave out members: the client passes them on as dicts.
OF_FILES = {"RubricMembersOut", "RubricScale", "MappingMembersOut"}
TYPES = {"string": str, "integer": int, "number": float, "boolean": bool}


@cache
def openapi() -> dict[str, Any]:
    return dict(api.get_openapi_schema())


def declared(operation: Operation[Any]) -> dict[str, Any]:
    """Return the entry of an operation in the schema."""
    found: dict[str, Any] = openapi()["paths"][f"/api/v1{operation.path}"][operation.method.lower()]
    return found


def shape_of_schema(schema: dict[str, Any]) -> Any:
    """Return the shape of the values that a schema allows, in the form of `shape_of_type`."""
    if "$ref" in schema:
        schema = openapi()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if isinstance(schema.get("type"), list) and not {"object", "array"} & {*schema["type"]}:
        return Any  # a score
    kind: Any = FORMATS.get(schema.get("format", ""), TYPES.get(schema.get("type", ""), Any))
    if "anyOf" in schema:
        kind = ("optional", *(shape_of_schema(one) for one in schema["anyOf"] if one != NULL))
    elif "enum" in schema or "const" in schema:
        kind = ("one of", *sorted(schema.get("enum", [schema.get("const")])))
    elif "properties" in schema:
        kind = {name: shape_of_schema(one) for name, one in schema["properties"].items()}
        kind |= dict.fromkeys(set(kind) - set(schema["required"]), "not in every response")
        if schema.get("additionalProperties") or schema.get("title") in OF_FILES:
            kind = ("dict", Any)
    elif schema.get("type") == "object":
        more = schema.get("additionalProperties", True)
        kind = ("dict", Any if more is True else shape_of_schema(more))
    elif schema.get("type") == "array":
        kind = ("list", shape_of_schema(schema["items"]))
    return kind


def shape_of_type(kind: Any) -> Any:
    """Return the shape of the values of a Python type: objects as dicts, other types by name."""
    origin, of = get_origin(kind), get_args(kind)
    found = kind
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        found = {field.name.removesuffix("_"): shape_of_type(hints[field.name]) for field in fields(kind)}
    elif origin in {Union, types.UnionType}:
        found = ("optional", *(shape_of_type(one) for one in of if one is not types.NoneType))
    elif origin is Literal:
        found = ("one of", *sorted(of))
    elif origin in {list, dict}:
        found = (origin.__name__, shape_of_type(of[-1]))
    return found


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_is_in_the_schema_with_its_parameters(name: str) -> None:
    operation = OPERATIONS[name]
    parameters = declared(operation).get("parameters", [])
    in_query = {one["name"] for one in parameters if one["in"] == "query"}
    assert set(operation.query) == in_query - (set(FILTERS) if name == "RECORDS" else set())
    assert {one["name"] for one in parameters if one["in"] == "path"} == set(
        re.findall(r"{(\w+)}", operation.path)
    )


@pytest.mark.parametrize("name", OPERATIONS)
def test_response_has_the_type_of_the_schema(name: str) -> None:
    operation = OPERATIONS[name]
    answers = [one for code, one in declared(operation)["responses"].items() if int(code) < 300]
    schemas = [
        one["content"]["application/json"]["schema"]
        for one in answers
        if "application/json" in one.get("content", {}) and "application/x-ndjson" not in one["content"]
    ]
    if operation.returns is None:
        assert schemas == []
    else:
        [schema] = schemas
        assert shape_of_type(operation.returns) == shape_of_schema(schema)


@pytest.mark.parametrize("name", OPERATIONS)
def test_annotation_is_the_type_that_is_decoded(name: str) -> None:
    [annotated] = get_args(get_type_hints(operations)[name])
    wanted = OPERATIONS[name].returns
    has_no_content = {"200", "204"} <= {str(code) for code in declared(OPERATIONS[name])["responses"]}
    assert annotated == (wanted | None if wanted and has_no_content else wanted or type(None))


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (str, NUMBER),
        (str | None, TEXT),
        (str | None, {"anyOf": [TEXT, NUMBER, NULL]}),
        (list[int], {"type": "array", "items": TEXT}),
        (dt.datetime, TEXT),
        (Literal["a"], TEXT | {"enum": ["a", "b"]}),
        (dict[str, int], {"type": "object", "additionalProperties": TEXT}),
        (Any, TEXT),
        (ContextException, {"properties": {"place": NUMBER}, "required": ["place"]}),
        (Members, {"properties": {"run": TEXT, "members": {"anyOf": [TEXT, NULL]}}, "required": ["run"]}),
    ],
)
def test_another_type_is_found(kind: Any, schema: dict[str, Any]) -> None:
    assert shape_of_type(kind) != shape_of_schema(schema)
