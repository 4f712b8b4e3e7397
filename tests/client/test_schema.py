"""The client's operations and types equal those of the OpenAPI schema, so that neither changes alone."""

import datetime as dt
import inspect
import re
import types
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from cognireview.client import operations
from cognireview.client.areas.jobs import Export, Import
from cognireview.client.areas.run import Run
from cognireview.client.client import AsyncClient
from cognireview.client.dual_methods import Area
from cognireview.client.operations import Operation
from cognireview.client.types.files import ContextException
from cognireview.client.types.leading import BulkChange, Share
from cognireview.client.types.people import Invitee
from cognireview.client.types.records import DraftEntry
from cognireview.client.types.runs import Members, QueueSettings, SamplingSettings
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
        optional = set(kind) - set(schema.get("required", []))
        kind |= {name: ("not always", kind[name]) for name in optional}
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
    origin, arguments = get_origin(kind), get_args(kind)
    found = kind
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        found = {
            one.name.removesuffix("_"): shape_of_type(hints[one.name])
            if one.default is one.default_factory is MISSING
            else ("not always", shape_of_type(hints[one.name]))
            for one in fields(kind)
        }
    elif origin in {Union, types.UnionType}:
        found = ("optional", *(shape_of_type(one) for one in arguments if one is not types.NoneType))
    elif origin is Literal:
        found = ("one of", *sorted(arguments))
    elif origin in {list, dict}:
        found = (origin.__name__, shape_of_type(arguments[-1]))
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
        if "application/json" in one.get("content", {})
    ]
    schemas = [one for one in schemas if one.get("format") != "binary"]
    if operation.returns is None:
        # The client downloads a receipt as a file, because its signature covers its bytes.
        assert schemas == [] or name == "RECEIPT"
    else:
        [schema] = schemas
        assert shape_of_type(operation.returns) == shape_of_schema(schema)


def test_operation_without_content_may_return_none() -> None:
    hints = get_type_hints(operations)
    has_no_content = {
        name
        for name, operation in OPERATIONS.items()
        if {"200", "204"} <= {str(code) for code in declared(operation)["responses"]}
    }
    # Only these need an annotation. The others infer it from the type that is decoded.
    assert has_no_content == hints.keys() & OPERATIONS.keys()
    for name in has_no_content:
        assert get_args(hints[name]) == (OPERATIONS[name].returns | None,)


@pytest.mark.parametrize("kind", [BulkChange, Share, Invitee, DraftEntry])
def test_sent_object_has_the_type_of_the_schema(kind: type) -> None:
    schemas = openapi()["components"]["schemas"]
    schema = schemas.get(f"{kind.__name__}In") or schemas[kind.__name__]
    assert shape_of_type(kind) == shape_of_schema(schema)


def test_settings_are_sent_as_they_are_read() -> None:
    schemas = openapi()["components"]["schemas"]
    assert shape_of_type(QueueSettings) == shape_of_schema(schemas["QueueSettings"])
    sent = shape_of_schema(schemas["SamplingIn"])
    assert shape_of_type(SamplingSettings) | {"seen": str} == sent


# Operations without a method, with the reason.
WITHOUT_METHOD: dict[str, str] = {}


def names_used(function: Any, seen: set[Any]) -> set[str]:
    """Return the names that a function uses, also in functions of the client that it calls."""
    code = function.__code__
    if code in seen:
        return set()
    seen.add(code)
    found = set(code.co_names)
    for name in code.co_names:
        for place in (function.__globals__.get(name), getattr(Run, name, None)):
            if inspect.isfunction(place) and place.__module__.startswith("cognireview.client"):
                found |= names_used(place, seen)
    return found


def methods() -> set[Any]:
    """Return the public methods of the client, of its areas, runs, imports and exports."""
    client = AsyncClient("http://review.test", "cr_x")
    areas = [client, client.run("a"), *vars(client).values(), *vars(client.run("a")).values()]
    kinds = [*map(type, areas), Import, Export]
    return {
        member
        for kind in kinds
        if issubclass(kind, Area)
        for name, member in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def test_every_operation_has_a_method() -> None:
    declared_ids = {
        (method.upper(), path.removeprefix("/api/v1")): entry["operationId"]
        for path, entries in openapi()["paths"].items()
        for method, entry in entries.items()
        if method in {"get", "post", "put", "patch", "delete", "head"}
    }
    used = set().union(*(names_used(method, set()) for method in methods()))
    ids = {declared_ids[one.method, one.path] for name, one in OPERATIONS.items() if name in used}
    assert ids & WITHOUT_METHOD.keys() == set()
    assert set(declared_ids.values()) == ids | WITHOUT_METHOD.keys()


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
