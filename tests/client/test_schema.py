"""The client has a method for each operation of the OpenAPI schema, and sends what it accepts."""

import inspect
from dataclasses import MISSING, fields
from functools import cache
from typing import Any

import pytest

from cognireview.client.areas.jobs import Export, Import
from cognireview.client.areas.run import Run
from cognireview.client.client import AsyncClient
from cognireview.client.dual_methods import Area
from cognireview.types import operations
from cognireview.types.leading import BulkChange, Share
from cognireview.types.operations import Operation
from cognireview.types.people import Invitee
from cognireview.types.records import DraftEntry
from cognireview.types.runs import QueueSettings, SamplingSettings
from reviews.api.response_schemas import schema_of
from reviews.api.urls import api
from reviews.search.filters import FILTERS

OPERATIONS: dict[str, Operation[Any]] = {
    name: value for name, value in vars(operations).items() if isinstance(value, Operation)
}
# Constraints of bodies, which the client leaves to the server, and texts.
NOT_COMPARED = {"title", "description", "default", "examples", "pattern", "minimum", "maximum"} | {
    *("minLength", "maxLength", "minItems", "maxItems", "propertyNames")
}


@cache
def openapi() -> dict[str, Any]:
    return dict(api.get_openapi_schema())


def declared(operation: Operation[Any]) -> dict[str, Any]:
    """Return the entry of an operation in the schema."""
    found: dict[str, Any] = openapi()["paths"][f"/api/v1{operation.path}"][operation.method.lower()]
    return found


def shape(schema: Any) -> Any:
    """Return a schema without what is not compared."""
    if isinstance(schema, dict):
        return {name: shape(one) for name, one in schema.items() if name not in NOT_COMPARED}
    return [*map(shape, schema)] if isinstance(schema, list) else schema


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_has_the_query_parameters_of_the_schema(name: str) -> None:
    operation = OPERATIONS[name]
    in_query = {one["name"] for one in declared(operation).get("parameters", []) if one["in"] == "query"}
    assert set(operation.query) == in_query - (set(FILTERS) if name == "RECORDS" else set())


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (BulkChange, "BulkChangeIn"),
        (DraftEntry, "DraftEntryIn"),
        (Invitee, "InviteeIn"),
        (QueueSettings, "QueueIn"),
        (SamplingSettings, "SamplingIn"),
        (Share, "ShareIn"),
    ],
)
def test_sent_object_has_the_type_of_the_schema(kind: Any, body: str) -> None:
    expected = schema_of(kind).model_json_schema(ref_template="#/components/schemas/{model}In")["properties"]
    schema = openapi()["components"]["schemas"][body]
    sent = shape(schema["properties"])
    # The fingerprint of the settings that were read.
    sent.pop("seen", None)
    assert sent == shape(expected)
    required = {one.name for one in fields(kind) if one.default is one.default_factory is MISSING}
    assert required == set(schema.get("required", ())) - {"seen"}


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
