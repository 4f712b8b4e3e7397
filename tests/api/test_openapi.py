"""The description of the API: who offers it, under which licence, and valid examples."""

import json
import re
from typing import Any

import jsonschema_rs
import pytest

from reviews.api.examples import EXAMPLES
from reviews.api.urls import api

SCHEMA: dict[str, Any] = json.loads(json.dumps(api.get_openapi_schema()))
COMPONENTS = SCHEMA["components"]["schemas"]


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


def test_every_body_has_an_example() -> None:
    assert bodies() <= set(EXAMPLES)
    assert all(COMPONENTS[name]["examples"] == [example] for name, example in EXAMPLES.items())


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_valid_and_has_no_unknown_member(name: str) -> None:
    schema = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": COMPONENTS}}
    jsonschema_rs.Draft202012Validator(schema, validate_formats=True).validate(EXAMPLES[name])
    assert set(EXAMPLES[name]) <= set(COMPONENTS[name]["properties"])
