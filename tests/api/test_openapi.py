"""The description of the API: who offers it, under which licence, and valid examples."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from reviews.api.examples import EXAMPLES
from reviews.api.operation_links import LINKS
from reviews.api.urls import api

SCHEMA: dict[str, Any] = json.loads(json.dumps(api.get_openapi_schema()))
COMPONENTS = SCHEMA["components"]["schemas"]


# Places that take or return any JSON, because they repeat members of imported files or differ by action.
FREE = {
    "Context.context[]": "passages keep all their members",
    "Context.conversation[]": "messages keep all their members",
    "Context.reference": "as in the file: a text, an object or an array",
    "Context.final_answer": "as in the file",
    "Context.metadata": "as in the file",
    "NamedResponse.response": "as in the file: a text, an object or an array",
    "Record.fields": "the record as in the file",
    "Criterion.score": "as the judge wrote it",
    "FileDecision.corrected_scores": "as in the file",
    "ConflictingDecision.corrected_scores": "perhaps as in the file",
    "AuditEvent.detail": "differs by action",
}
_NOTES = {"title", "description", "default", "examples"}


def untyped(schema: Any, place: str) -> Iterator[str]:
    """Yield the places below a schema that allow any JSON value, or any object."""
    kind = schema if isinstance(schema, dict) else {}
    said = set(kind) - _NOTES
    has_any_member = kind.get("type") == "object" and kind.get("additionalProperties", True) in (True, {})
    if not said or (has_any_member and "properties" not in said):
        yield place
    for name, member in kind.get("properties", {}).items():
        yield from untyped(member, f"{place}.{name}")
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for one in kind.get(word, ()):
            yield from untyped(one, place)
    if kind.get("type") == "array":
        yield from untyped(kind.get("items"), f"{place}[]")
    if isinstance(kind.get("additionalProperties"), dict):
        yield from untyped(kind["additionalProperties"], f"{place}.*")


def places() -> Iterator[tuple[str, Any]]:
    """Yield the schemas of all components, parameters, bodies and responses."""
    yield from COMPONENTS.items()
    for methods in SCHEMA["paths"].values():
        for operation in methods.values():
            name = operation["operationId"]
            for one in operation.get("parameters", ()):
                yield f"{name}?{one['name']}", one["schema"]
            for part in (operation.get("requestBody", {}), *operation["responses"].values()):
                for kind, content in part.get("content", {}).items():
                    yield f"{name} {kind}", content["schema"]


def test_only_places_with_a_reason_are_untyped() -> None:
    assert {place for name, schema in places() for place in untyped(schema, name)} == {*FREE}


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "object"},
        {"anyOf": [{"type": "null"}, {"type": "array"}]},
        {"title": "Of any type"},
    ],
)
def test_untyped_schema_is_found(schema: Any) -> None:
    assert [*untyped({"properties": {"one": schema}}, "Out")]


def bodies() -> set[str]:
    """Return the names of the components that are JSON bodies of requests."""
    operations = [operation for methods in SCHEMA["paths"].values() for operation in methods.values()]
    sent = [
        one["requestBody"]["content"].get("application/json", {})
        for one in operations
        if "requestBody" in one
    ]
    return set(re.findall(r"#/components/schemas/(\w+)", json.dumps(sent)))


def test_schema_names_licence_contact_and_server() -> None:
    assert SCHEMA["info"]["license"] == {"name": "Apache License 2.0", "identifier": "Apache-2.0"}
    assert SCHEMA["info"]["contact"]["name"]
    assert [one["url"] for one in SCHEMA["servers"]] == ["/"]


def test_every_tag_is_described() -> None:
    operations = [operation for methods in SCHEMA["paths"].values() for operation in methods.values()]
    assert {tag for one in operations for tag in one["tags"]} == {one["name"] for one in SCHEMA["tags"]}
    assert all(one["description"] for one in SCHEMA["tags"])


def test_every_body_has_an_example() -> None:
    assert bodies() <= set(EXAMPLES)
    assert all(COMPONENTS[name]["examples"] == [example] for name, example in EXAMPLES.items())


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_valid_and_has_no_unknown_member(name: str) -> None:
    schema = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": COMPONENTS}}
    jsonschema_rs.Draft202012Validator(schema, validate_formats=True).validate(EXAMPLES[name])
    assert set(EXAMPLES[name]) <= set(COMPONENTS[name]["properties"])


def operations_by_id() -> dict[str, dict[str, Any]]:
    return {
        operation["operationId"]: operation
        for methods in SCHEMA["paths"].values()
        for operation in methods.values()
    }


@pytest.mark.parametrize("name", LINKS)
def test_links_give_all_path_parameters_of_their_operations(name: str) -> None:
    known = operations_by_id()
    links = next(one["links"] for one in known[name]["responses"].values() if "links" in one)
    for target, link in links.items():
        assert link["operationId"] == target
        in_path = {one["name"] for one in known[target]["parameters"] if one["in"] == "path"}
        assert set(link["parameters"]) == in_path, target


@pytest.mark.parametrize("name", LINKS)
def test_values_of_links_are_members_of_the_response(name: str) -> None:
    answer = next(one for one in operations_by_id()[name]["responses"].values() if "links" in one)
    for link in answer["links"].values():
        for expression in link["parameters"].values():
            if expression.startswith("$response.body#/"):
                schema = answer["content"]["application/json"]["schema"]
                for member in expression.removeprefix("$response.body#/").split("/"):
                    if "$ref" in schema:
                        schema = COMPONENTS[schema["$ref"].rpartition("/")[2]]
                    schema = schema["items"] if member == "0" else schema["properties"][member]
            else:
                parameter = expression.removeprefix("$request.path.")
                assert parameter in {one["name"] for one in operations_by_id()[name]["parameters"]}
