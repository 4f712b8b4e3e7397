"""Schemathesis follows the links of the OpenAPI schema, from the result of an operation to the next one.

`SCENARIOS=1000 uv run --group dev pytest -m exhaustive tests/api/test_states.py` tries more sequences.
"""

import os
import re
from collections import Counter
from typing import Any

import pytest
import schemathesis
from django.conf import LazySettings
from django.core.handlers.wsgi import WSGIHandler
from django.db import transaction
from hypothesis import HealthCheck, Phase
from hypothesis import settings as examples
from hypothesis.stateful import run_state_machine_as_test
from schemathesis.specs.openapi import checks as found_by

from reviews.models import User
from tests.support.api_requests import program_of
from tests.support.valid_requests import BODIES, FILE_TAKERS, RECORDS, RUNS, _one_connection, create_rows

pytestmark = [pytest.mark.django_db, pytest.mark.exhaustive]
__all__ = ["_one_connection"]

CHECKS = [
    schemathesis.checks.not_a_server_error,
    found_by.status_code_conformance,
    found_by.content_type_conformance,
    found_by.response_schema_conformance,
]
SCENARIOS, STEPS = int(os.environ.get("SCENARIOS", "30")), 12
# Parameter -> values that exist, the first one for those that do not.
KNOWN = {"run": RUNS, "evaluation_id": RECORDS, "username": ("ana",)}
# Operations on a row that another operation created or listed.
_OF_A_ROW = re.compile(r"{(?!evaluation)\w+_id}")


@pytest.fixture(scope="module")
def machine(module_world: None, _one_connection: None) -> Any:
    """A state machine over the operations, with the rows of `valid_requests`."""
    create_rows()
    return schemathesis.openapi.from_wsgi("/api/v1/openapi.json", WSGIHandler()).as_state_machine()


def label_of(case: Any) -> str:
    return str(case.operation.label).replace("/api/v1", "")


def make_likely(case: Any) -> None:
    """Use existing runs, records and people, and valid bodies, where no link gives a value."""
    case.headers.pop("If-Match", None)  # a random version is never the record's
    for name, known in KNOWN.items():
        if name in case.path_parameters and case.path_parameters[name] not in known:
            case.path_parameters[name] = known[0]
    if bodies := BODIES.get(label_of(case)):
        case.body = bodies[0]
        if label_of(case) in FILE_TAKERS:
            case.media_type = "application/octet-stream"


def test_sequences_of_operations_conform_to_the_schema(machine: Any, settings: LazySettings) -> None:
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    headers = {"Authorization": f"Bearer {program_of(User.objects.get(username='max')).text}"}
    answers: Counter[tuple[str, int]] = Counter()

    class Sequences(machine):
        """Each sequence sees the same data at first, and leaves none."""

        def setup(self) -> None:
            self.changes = transaction.atomic()
            self.changes.__enter__()

        def teardown(self) -> None:
            transaction.set_rollback(True)
            self.changes.__exit__(None, None, None)

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"headers": headers}

        def before_call(self, case: Any) -> None:
            make_likely(case)

        def after_call(self, response: Any, case: Any) -> None:
            answers[label_of(case), response.status_code] += 1

        def validate_response(self, response: Any, case: Any, **_: Any) -> None:
            case.validate_response(response, checks=CHECKS)

    options = examples(
        max_examples=SCENARIOS,
        stateful_step_count=STEPS,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    run_state_machine_as_test(Sequences, settings=options)
    followed = {label for label, status in answers if status < 300 and _OF_A_ROW.search(label)}
    assert len(followed) >= 3, answers
