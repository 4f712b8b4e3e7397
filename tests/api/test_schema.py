"""Schemathesis: the schema itself, and operations in a run, with exhaustive cases."""

import json
import re

import pytest
from schemathesis import GenerationMode

from reviews.api.urls import api
from tests.api.schema_conformance import (
    Operation,
    _one_connection,
    assert_conforms,
    by_mode,
    operations,
    operations_in,
    token,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
__all__ = ["_one_connection", "operations", "token"]


def test_schema_has_no_dangling_references() -> None:
    schema = api.get_openapi_schema()
    named = set(re.findall(r'"\$ref": ?"#/components/schemas/(\w+)"', json.dumps(schema)))
    assert named == set(schema["components"]["schemas"])


@by_mode
@pytest.mark.parametrize("name", operations_in("runs"))
def test_operation_in_a_run_conforms_to_schema(
    name: str, mode: GenerationMode, more: int, operations: dict[str, Operation], token: str
) -> None:
    assert_conforms(name, mode, more, operations[name], token)
