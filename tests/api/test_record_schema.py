"""Schemathesis: operations on records, with exhaustive cases."""

import pytest
from schemathesis import GenerationMode

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


@by_mode
@pytest.mark.parametrize("name", operations_in("records"))
def test_operation_on_a_record_conforms_to_schema(
    name: str, mode: GenerationMode, more: int, operations: dict[str, Operation], token: str
) -> None:
    assert_conforms(name, mode, more, operations[name], token)
