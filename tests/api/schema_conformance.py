"""Check with Schemathesis that the responses of an operation match the schema, and none is a server error."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import schemathesis
from _pytest.mark import ParameterSet
from django.core.handlers.wsgi import WSGIHandler
from django.db import transaction
from hypothesis import HealthCheck, given
from hypothesis import Phase as Step
from hypothesis import settings as examples
from hypothesis import strategies as st
from schemathesis import Case as AnyCase
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi import checks as found_by

from reviews.models import Escalation, Import, User
from tests.api.access import ACCESS
from tests.support.api_requests import program_of
from tests.support.rare_tests import thirds
from tests.support.valid_requests import (
    BODIES,
    FILE_TAKERS,
    QUERIES,
    RECORDS,
    RUNS,
    Known,
    _one_connection,
    create_rows,
)

__all__ = ["_one_connection"]

schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")

Case = AnyCase[Any]
Operation = APIOperation[Any, Any, Any, Any]

# Statuses that requests with existing values must have reached, if not only 200.
REACHED: dict[str, set[int]] = {
    "DELETE /runs/{run}": {202},
    "POST /runs/{run}/imports": {202},
    "DELETE /runs/{run}/evaluations/{evaluation_id}/claim": {204},
    "GET /runs/{run}/undo": {200, 204},
    "POST /imports/{import_id}/retry": {409},
    "POST /imports/{import_id}/new-run": {422},
    "POST /runs/{run}/exports": {202},
    "GET /exports/{export_id}": {404},
    "POST /exports/{export_id}/cancel": {404},
    "GET /exports/{export_id}/file": {404},
    "GET /exports/{export_id}/receipt": {404},
    "POST /invitations/{link_id}/renew": {404},
    "DELETE /invitations/{link_id}": {404},
    "DELETE /tokens/{token_id}": {404},
    "GET /webhooks/{webhook_id}/deliveries": {404},
    "POST /webhooks/{webhook_id}/test": {404},
    "DELETE /webhooks/{webhook_id}": {404},
    "POST /webhooks/{webhook_id}/deliveries/{delivery_id}/resend": {404},
    "GET /webhooks/{webhook_id}/secrets": {404},
    "POST /webhooks/{webhook_id}/secrets": {404},
    "DELETE /webhooks/{webhook_id}/secrets/{secret_id}": {404},
    "PUT /people/{username}/role": {200, 403},
    "POST /webhooks": {422},
    "POST /jobs/{kind}/{job_id}/retry": {404},
    "POST /jobs/{kind}/{job_id}/cancel": {404},
    "POST /audit/chain/check": {202},
    "DELETE /runs/{run}/skips": {204},
    "DELETE /escalations/{escalation_id}": {403},
    "POST /escalations/{escalation_id}/read": {403},
    "POST /inbox/failures/{place}/retry": {404},
    "DELETE /inbox/failures/{place}": {404},
    "POST /bulk-changes/{change_id}/undo": {404},
    "POST /runs/{run}/known-answers": {422},  # no run has an overlap share
    "POST /known-answers/{check_id}/end": {404},
    "GET /spot-checks/{check_id}": {404},
    "POST /spot-checks/{check_id}/agree": {404},
    "POST /spot-checks/{check_id}/correct": {404},
    "POST /spot-checks/{check_id}/reopen": {404},
    "GET /runs/{run}/drafts/{evaluation_id}": {204},
    "DELETE /runs/{run}/drafts/{evaluation_id}": {204},
    "PUT /runs/{run}/drafts/{evaluation_id}": {409},
    "PUT /runs/{run}/settings/sampling": {409},
    "DELETE /runs/{run}/views/{view_id}": {404},
    "DELETE /runs/{run}/evaluations/{evaluation_id}/skip": {204},
    "PUT /runs/{run}/evaluations/{evaluation_id}/skip": {204, 409},
    "PUT /runs/{run}/evaluations/{evaluation_id}/revision": {200, 409},
    "PUT /runs/{run}/evaluations/{evaluation_id}/independent-review": {200, 409},
    "POST /runs/{run}/evaluations/{evaluation_id}/claim": {200, 409},
    "POST /runs/{run}/evaluations/{evaluation_id}/escalation": {200, 409},
    "POST /runs/{run}/evaluations/{evaluation_id}/reopening": {200, 409},
    "POST /runs/{run}/evaluations/{evaluation_id}/restoration": {409, 422},
    "POST /runs/{run}/evaluations/{evaluation_id}/adjudication": {409},
    "POST /uploads": {422},
    "HEAD /uploads/{upload_id}": {404},
    "GET /uploads/{upload_id}": {404},
    "PATCH /uploads/{upload_id}": {404},
    "DELETE /uploads/{upload_id}": {404},
    "POST /gold-sets": {422},
    "DELETE /gold-sets/{name}": {204},
    "POST /runs/{run}/gold-sets": {422},
    "POST /runs/{run}/undo": {200, 409},
    "PUT /runs/{run}/evaluations/{evaluation_id}/blind-scores": {200, 409},
    "PUT /runs/{run}/evaluations/{evaluation_id}/review": {200, 409},
}


@pytest.fixture(scope="module")
def operations(module_world: None, _one_connection: None) -> dict[str, Operation]:
    """The operations, with runs that have a record in each state and a blind record."""
    create_rows()
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", WSGIHandler())
    found = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    return {operation.label.replace("/api/v1", ""): operation for operation in found}


@pytest.fixture(scope="module")
def token(operations: dict[str, Operation]) -> str:
    return program_of(User.objects.get(username="max")).text


def usual_runs(name: str) -> tuple[str, ...]:
    """Return the runs that valid requests always ask: all of them by GET, else one and, in turns, another."""
    first, *others = RUNS
    return RUNS if name.startswith("GET") else (first, others[[*ACCESS].index(name) % len(others)])


def requests(
    name: str, operation: Operation, mode: GenerationMode, runs: Sequence[str]
) -> list[st.SearchStrategy[Case]]:
    """Return how to generate valid (or, if negative, invalid) requests, with ever more existing values."""
    addresses: Known = [{}]
    if "{evaluation_id}" in name:
        addresses = [{"run": "blind" if key == "hidden" else "one", "evaluation_id": key} for key in RECORDS]
    elif "{run}" in name:
        of_set = {"name": "gold"} if "{name}" in name else {}
        addresses = [{"run": key} | of_set for key in runs]
    elif "{name}" in name:
        addresses = [{"name": "gold"}]
    elif "{username}" in name:
        addresses = [{"username": "ana"}]
    elif "{escalation_id}" in name:
        addresses = [{"escalation_id": Escalation.objects.get().pk}]
    elif "{import_id}" in name:
        addresses = [{"import_id": Import.objects.get(run__name="imported").pk}]
    fixed: Known = [{"path_parameters": known} if known else {} for known in addresses]
    kind = "application/octet-stream" if name in FILE_TAKERS else "application/json"
    if mode is GenerationMode.POSITIVE:
        of_body = [{"body": body, "media_type": kind} for body in BODIES.get(name, ())]
        of_query = [{"query": query} for query in QUERIES.get(name, ())]
        fixed = [known | more for known in fixed for more in (*of_body, *of_query)] or fixed
    return [operation.as_strategy(mode), *(operation.as_strategy(mode, **known) for known in fixed)]


CHECKS = [
    schemathesis.checks.not_a_server_error,
    found_by.status_code_conformance,
    found_by.content_type_conformance,
    found_by.response_headers_conformance,
    found_by.response_schema_conformance,
    found_by.negative_data_rejection,
    found_by.unsupported_method,
    found_by.missing_required_header,
]


by_mode = pytest.mark.parametrize(
    # `more` is the number of examples besides one for each existing value.
    ("mode", "more"),
    [
        pytest.param(GenerationMode.POSITIVE, 0, id="valid"),
        pytest.param(GenerationMode.POSITIVE, 3, id="more valid", marks=pytest.mark.exhaustive),
        pytest.param(GenerationMode.NEGATIVE, 3, id="invalid", marks=pytest.mark.exhaustive),
    ],
)


def operations_in(area: str) -> list[ParameterSet]:
    """Return the names of the operations of an area, `records`, `runs` or `site`, as test cases."""
    return [case for case in thirds(ACCESS) if _area_of(str(case.values[0])) == area]


def _area_of(name: str) -> str:
    if "{evaluation_id}" in name:
        return "records"
    return "runs" if "/runs/{run}/" in name else "site"


def assert_conforms(name: str, mode: GenerationMode, more: int, operation: Operation, token: str) -> None:
    """Check the responses to `more` requests besides one for each existing value."""
    statuses: Counter[int] = Counter()
    authorization = {"Authorization": f"Bearer {token}"}

    def ask(case: Case) -> None:
        # Each request sees the same data.
        if mode is GenerationMode.POSITIVE:
            case.headers.pop("If-Match", None)  # a random version is never the record's
        with transaction.atomic():
            answer = case.call(headers=authorization)
            transaction.set_rollback(True)
        statuses[answer.status_code] += 1
        # An empty list in a query is not in the address, so there is nothing to reject.
        is_sent = not any(value in ([], {}) for value in (case.query or {}).values())
        # tus rejects another version with a status that Schemathesis does not expect.
        is_exempt = not is_sent or b"protocol-version" in answer.content
        asked = [check for check in CHECKS if not (is_exempt and check is found_by.negative_data_rejection)]
        case.validate_response(answer, checks=asked)

    def ask_each(cases: tuple[Case, ...]) -> None:
        for case in cases:
            ask(case)

    usual = usual_runs(name)
    ways = requests(name, operation, mode, RUNS if more else usual)
    once = ways[1:]
    if mode is GenerationMode.POSITIVE and more:  # another case, which always runs, sends the others
        has_run = "{run}" in name and "{evaluation_id}" not in name
        unusual = [run for run in RUNS if run not in usual]
        once = requests(name, operation, mode, unusual)[1:] if has_run else []
    # Each way once, so that none depends on chance, then any of them.
    for cases, times in [(st.tuples(*once), 1), *([(st.tuples(st.one_of(ways)), more)] if more else [])]:
        examples(
            max_examples=times,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Step.generate],
            suppress_health_check=[*HealthCheck],
        )(given(cases)(ask_each))()
    if mode is GenerationMode.POSITIVE and not more:
        assert set(statuses) >= REACHED.get(name, {200}), statuses
