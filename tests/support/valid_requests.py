"""Rows and valid requests of the API, for tests that generate the rest of a request."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from reviews.api.examples import EXAMPLES
from reviews.imports.shipped_mappings import FOLDER
from reviews.models import Evaluation, Run
from reviews.queue import claims
from reviews.review import escalations
from tests.support.contexts import task
from tests.support.factories import SCORES, EvaluationFactory, GoldSetFactory, RunFactory, UserFactory
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide

Known = list[dict[str, Any]]
DECISION = {"corrected_scores": {name: {"score": "Yes"} for name in SCORES}, "comments": "So it is."}
SAMPLING = {
    "accuracy_target": None,
    "blind_share": 0,
    "sample_share": 0,
    "overlap_share": 0,
    "overlap": 2,
    "spot_check_share": 0,
    "seen": "another",
}
PEOPLE = {"ana": "reviewer", "max": "admin"}
# Existing values, for parts of a request that random values would never match.
RUNS = ("one", "blind", "empty")
RECORDS = ("waiting", "decided", "held", "with a lead", "hidden")
QUERIES: dict[str, Known] = {
    "GET /runs/{run}/evaluations": [
        {"sort": "newest"},
        {"status": ["done"], "verdict": ["Pass", "Fail"]},
    ],
    "GET /audit": [{"run": "one"}, {"after": 1}],
    "GET /audit/events": [
        {"run": "one", "person": "ana"},
        {"action": "claim", "since": "2026-01-01T00:00:00Z"},
    ],
    "DELETE /runs/{run}": [{"confirmation": "one"}],
    "GET /runs/{run}/comparison": [{"earlier": "blind"}, {"earlier": "one"}],
    "GET /runs/{run}/drift": [{"earlier": "blind"}, {"earlier": "one"}],
    "GET /runs/{run}/report": [{"require": ["flagged kappa >= 0.6"]}, {"require": ["agreement"]}],
}
CONTEXTS = (file_of(json.dumps(task()).encode(), b"no task"), b"\x1f\x8b cut off")
FILE_TAKERS = {
    "POST /runs/{run}/imports",
    "PUT /runs/{run}/mapping",
    "POST /runs/{run}/context",
    "POST /context",
    "POST /gold-sets",
}
BODIES: dict[str, list[Any]] = {
    "PATCH /runs/{run}": [{"archived": False}],
    "POST /runs/{run}/claims": [{}, {"filters": {"verdict": ["Pass"]}}],
    "POST /runs/{run}/undo": [{}, {"event": 1}],
    "PUT /runs/{run}/evaluations/{evaluation_id}/review": [DECISION],
    "PUT /runs/{run}/evaluations/{evaluation_id}/blind-scores": [{"scores": dict.fromkeys(SCORES, "Yes")}],
    "PUT /runs/{run}/evaluations/{evaluation_id}/revision": [DECISION],
    "PUT /runs/{run}/evaluations/{evaluation_id}/independent-review": [DECISION],
    "POST /runs/{run}/evaluations/{evaluation_id}/claim": [{}, {"take_over": True}],
    "POST /runs/{run}/evaluations/{evaluation_id}/escalation": [{"note": "Is it 2?"}],
    "POST /runs/{run}/evaluations/{evaluation_id}/reopening": [{"reason": "A typo."}],
    "POST /runs/{run}/evaluations/{evaluation_id}/restoration": [{"restored": 1, "reason": "A typo."}],
    "POST /imports/{import_id}/new-run": [{"run": "another"}],
    "POST /runs/{run}/exports": [{}, {"only": "reviewed", "compression": "gzip"}],
    "PUT /people/{username}/role": [{"role": "lead"}, {"role": "admin"}],
    "POST /invitations": [{"people": [{"name": "Eva Smith", "role": "reviewer"}]}],
    "POST /tokens": [{"name": "Nightly", "scopes": ["read"]}],
    "POST /webhooks": [{"url": "https://hooks.example.org/"}],
    "POST /escalations/{escalation_id}/resolve": [{"outcome": "returned", "answer": "Yes."}],
    "POST /runs/{run}/bulk-changes": [{"kind": "assign", "assigned_to": "ana"}, {"kind": "split"}],
    "POST /runs/{run}/bulk-changes/preview": [{"kind": "split", "shares": [{"person": "ana"}]}],
    "POST /spot-checks": [{"reviewer": "ana", "count": 1}],
    "POST /runs/{run}/spot-checks": [{"evaluation_ids": ["waiting"]}],
    "POST /spot-checks/{check_id}/agree": [{}, {"note": "Fine."}],
    "POST /spot-checks/{check_id}/correct": [DECISION | {"reason": "A typo."}],
    "POST /spot-checks/{check_id}/reopen": [{"reason": "A typo."}],
    "PUT /runs/{run}/drafts/{evaluation_id}": [{"revision": 1, "entries": [{"criterion": "Clarity"}]}],
    "PUT /runs/{run}/settings/queue": [EXAMPLES["QueueIn"]],
    "PUT /runs/{run}/settings/sampling": [SAMPLING],
    "POST /runs/{run}/views": [{"name": "All", "filters": {"verdict": ["Pass"]}}],
    "POST /runs/{run}/conflicts/resolve": [{"keep": "ours", "conflicts": [{"id": 1, "version": 1}]}],
    "POST /runs/{run}/imports": [file_of(line("new"), line("waiting")), b"\x1f\x8b cut off"],
    "PUT /runs/{run}/mapping": [(FOLDER / "mt-bench.toml").read_bytes(), b"[fields]"],
    "POST /runs/{run}/context": [*CONTEXTS],
    "POST /context": [*CONTEXTS],
    "POST /gold-sets": [b'{"gold_set": "gold"}', b"\x1f\x8b cut off"],
    "PATCH /gold-sets/{name}": [{"name": "gold"}],
    "POST /runs/{run}/gold-sets": [{"name": "silver"}],
}


@pytest.fixture(scope="module")
def _one_connection() -> Iterator[None]:
    """Keep requests from closing the tests' database connection, as the test client does."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


def create_rows() -> None:
    ana, max = (UserFactory.create(username=name, role=role) for name, role in PEOPLE.items())  # noqa: A001
    import_data(file_of(line("imported"), b"no record"), run="imported")
    lines = (line(key, parsed_rubric_scores=SCORES, aggregated_score="Fail") for key in RECORDS[:-1])
    import_data(file_of(*lines), run="one")
    made = {one.evaluation_id: one for one in Evaluation.objects.filter(run__name="one")}
    blind = RunFactory.create(name="blind", blind_share=1)
    RunFactory.create(name="empty")
    decide(made["decided"], ana)
    claims.claim(evaluation_id=made["held"].pk, reviewer=ana)
    claims.claim(evaluation_id=made["waiting"].pk, reviewer=max)
    claims.release(evaluation_id=made["waiting"].pk, actor=max)
    asked = {"kind": "question", "reason": "question", "note": "Is it 2?"}
    escalations.escalate(evaluation_id=made["with a lead"].pk, reviewer=ana, **asked)
    hidden = EvaluationFactory.create(
        run=blind, evaluation_id=RECORDS[-1], structured_model_response={"final_answer": "2"}
    )
    claims.claim(evaluation_id=hidden.pk, reviewer=max)
    GoldSetFactory.create(run=Run.objects.get(name="one"))
