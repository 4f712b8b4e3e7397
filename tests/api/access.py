"""The access table of the API: the scope of every operation, and its status for each role."""

from typing import Any
from uuid import UUID

from django.db.models import Model

from reviews.models import BulkChange, Escalation, Evaluation, Export, SavedView, SpotCheck
from tests.support.api_requests import Program

# Operation -> its scope, and the status for a token of a reviewer, a lead and an admin with that scope (None:
# their role gets no such token).
ACCESS: dict[str, tuple[str, int | None, int | None, int]] = {
    "GET /runs": ("read", 200, 200, 200),
    "GET /runs/{run}": ("read", 200, 200, 200),
    "DELETE /runs/{run}": ("configure", None, 403, 422),  # not confirmed
    "PATCH /runs/{run}": ("configure", None, 422, 422),  # nothing is sent
    "GET /runs/{run}/members": ("read", 403, 200, 200),
    "PUT /runs/{run}/members": ("configure", None, 422, 422),
    "GET /runs/{run}/guideline": ("read", 200, 200, 200),
    "PUT /runs/{run}/guideline": ("configure", None, 422, 422),
    "GET /runs/{run}/rubric": ("read", 200, 200, 200),
    "PUT /runs/{run}/rubric": ("configure", None, 415, 415),
    "GET /runs/{run}/report": ("read", 403, 200, 200),
    "GET /runs/{run}/comparison": ("read", 403, 422, 422),  # the run is compared with itself
    "GET /runs/{run}/drift": ("read", 403, 422, 422),  # the run is compared with itself
    "GET /runs/{run}/accuracy-over-runs": ("read", 403, 200, 200),
    "GET /gold-sets": ("read", 403, 200, 200),
    "POST /gold-sets": ("configure", None, 415, 415),  # nothing is sent
    "GET /gold-sets/{name}": ("export", None, 200, 200),
    "PATCH /gold-sets/{name}": ("configure", None, 422, 422),  # nothing is sent
    "DELETE /gold-sets/{name}": ("configure", None, 204, 204),
    "POST /runs/{run}/gold-sets": ("configure", None, 422, 422),  # nothing is sent
    "GET /runs/{run}/gold-sets/{name}": ("read", 403, 200, 200),
    "GET /runs/{run}/plan": ("read", 403, 200, 200),
    "PUT /runs/{run}/plan": ("configure", None, 422, 422),
    "DELETE /runs/{run}/plan": ("configure", None, 200, 200),
    "GET /runs/{run}/export": ("export", None, 200, 200),
    "GET /runs/{run}/judge-data": ("export", None, 200, 200),
    "POST /runs/{run}/imports": ("import", None, None, 415),  # nothing is sent
    "PUT /runs/{run}/mapping": ("import", None, None, 415),  # nothing is sent
    "POST /runs/{run}/context": ("import", None, None, 415),  # nothing is sent
    "POST /context": ("import", None, None, 415),  # nothing is sent
    "POST /uploads": ("import", None, None, 412),  # without the version of the protocol
    "HEAD /uploads/{upload_id}": ("import", None, None, 412),
    "GET /uploads/{upload_id}": ("import", None, None, 404),
    "PATCH /uploads/{upload_id}": ("import", None, None, 412),
    "DELETE /uploads/{upload_id}": ("import", None, None, 412),
    "GET /imports/{import_id}": ("import", None, None, 200),
    "GET /imports/{import_id}/rejects": ("import", None, None, 200),
    "GET /runs/{run}/evaluations": ("read", 200, 200, 200),
    "GET /runs/{run}/evaluations/{evaluation_id}": ("read", 200, 200, 200),
    "POST /runs/{run}/claims": ("review", 200, 200, 200),
    "GET /runs/{run}/undo": ("review", 204, 204, 204),
    "POST /runs/{run}/undo": ("review", 409, 409, 409),
    "DELETE /runs/{run}/evaluations/{evaluation_id}/claim": ("review", 204, 204, 204),
    "PUT /runs/{run}/evaluations/{evaluation_id}/blind-scores": ("review", 422, 422, 422),
    "PUT /runs/{run}/evaluations/{evaluation_id}/review": ("review", 422, 422, 422),
    "POST /runs/{run}/evaluations/{evaluation_id}/claim": ("review", 200, 200, 200),
    "PUT /runs/{run}/evaluations/{evaluation_id}/skip": ("review", 204, 204, 204),
    "DELETE /runs/{run}/evaluations/{evaluation_id}/skip": ("review", 204, 204, 204),
    "DELETE /runs/{run}/skips": ("review", 204, 204, 204),
    "POST /runs/{run}/evaluations/{evaluation_id}/escalation": ("review", 422, 422, 422),  # nothing is sent
    "POST /runs/{run}/evaluations/{evaluation_id}/reopening": ("review", 422, 422, 422),  # nothing is sent
    "POST /runs/{run}/evaluations/{evaluation_id}/restoration": ("review", 422, 422, 422),  # nothing is sent
    "PUT /runs/{run}/evaluations/{evaluation_id}/revision": ("review", 422, 422, 422),  # nothing is sent
    "PUT /runs/{run}/evaluations/{evaluation_id}/independent-review": ("review", 422, 422, 422),
    "POST /runs/{run}/evaluations/{evaluation_id}/adjudication": ("review", 403, 409, 409),  # no reviews
    "GET /runs/{run}/independent-reviews/{evaluation_id}": ("review", 403, 200, 200),
    "GET /runs/{run}/decisions/{evaluation_id}": ("read", 200, 200, 200),
    "GET /escalations": ("read", 403, 200, 200),
    "GET /escalations/own": ("read", 200, 200, 200),
    "POST /escalations/{escalation_id}/resolve": ("review", 403, 404, 404),
    "DELETE /escalations/{escalation_id}": ("review", 404, 404, 404),
    "POST /escalations/{escalation_id}/read": ("review", 404, 404, 404),
    "GET /inbox": ("read", 403, 200, 200),
    "POST /inbox/failures/{place}/retry": ("configure", None, 403, 404),
    "DELETE /inbox/failures/{place}": ("configure", None, 403, 404),
    "GET /runs/{run}/bulk-changes": ("read", 403, 200, 200),
    "POST /runs/{run}/bulk-changes": ("configure", None, 422, 422),  # nothing is sent
    "POST /runs/{run}/bulk-changes/preview": ("configure", None, 422, 422),  # nothing is sent
    "POST /bulk-changes/{change_id}/undo": ("configure", None, 404, 404),
    "GET /spot-checks": ("read", 403, 200, 200),
    "POST /spot-checks": ("review", 422, 422, 422),  # nothing is sent
    "POST /runs/{run}/spot-checks": ("review", 422, 422, 422),  # nothing is sent
    "GET /spot-checks/{check_id}": ("read", 403, 404, 404),
    "POST /spot-checks/{check_id}/agree": ("review", 403, 404, 404),
    "POST /spot-checks/{check_id}/reopen": ("review", 403, 404, 404),
    "POST /spot-checks/{check_id}/correct": ("review", 403, 404, 404),
    "GET /runs/{run}/known-answers": ("read", 403, 200, 200),
    "POST /runs/{run}/known-answers": ("review", 422, 422, 422),  # nothing is sent
    "POST /known-answers/{check_id}/end": ("review", 403, 404, 404),
    "GET /runs/{run}/drafts/{evaluation_id}": ("review", 204, 204, 204),
    "PUT /runs/{run}/drafts/{evaluation_id}": ("review", 422, 422, 422),  # nothing is sent
    "DELETE /runs/{run}/drafts/{evaluation_id}": ("review", 204, 204, 204),
    "GET /runs/{run}/settings": ("read", 403, 200, 200),
    "PUT /runs/{run}/settings/queue": ("configure", None, 422, 422),  # nothing is sent
    "PUT /runs/{run}/settings/sampling": ("configure", None, 422, 422),  # nothing is sent
    "GET /runs/{run}/views": ("read", 200, 200, 200),
    "POST /runs/{run}/views": ("review", 422, 422, 422),  # nothing is sent
    "DELETE /runs/{run}/views/{view_id}": ("review", 404, 404, 404),
    "GET /runs/{run}/conflicts": ("read", 403, 200, 200),
    "POST /runs/{run}/conflicts/resolve": ("configure", None, 200, 200),
    "GET /runs/{run}/imports": ("read", 200, 200, 200),
    "GET /imports/{import_id}/exceptions": ("import", None, None, 200),
    "POST /imports/{import_id}/cancel": ("import", None, None, 200),
    "POST /imports/{import_id}/retry": ("import", None, None, 409),
    "POST /imports/{import_id}/new-run": ("import", None, None, 422),  # nothing is sent
    "GET /runs/{run}/exports": ("export", None, 200, 200),
    "POST /runs/{run}/exports": ("export", None, 202, 202),
    "GET /exports/{export_id}": ("export", None, 404, 404),
    "POST /exports/{export_id}/cancel": ("export", None, 404, 404),
    "GET /exports/{export_id}/file": ("export", None, 404, 404),
    "GET /exports/{export_id}/receipt": ("export", None, 404, 404),
    "GET /runs/{run}/independent-reviews": ("export", None, 200, 200),
    "GET /runs/{run}/few-shot": ("export", None, 200, 200),
    "GET /people": ("manage", None, None, 200),
    "GET /people/{username}": ("manage", None, None, 404),
    "PUT /people/{username}/role": ("manage", None, None, 422),  # nothing is sent
    "POST /people/{username}/deactivate": ("manage", None, None, 404),
    "POST /people/{username}/reactivate": ("manage", None, None, 404),
    "GET /invitations": ("manage", None, None, 200),
    "POST /invitations": ("manage", None, None, 422),  # nothing is sent
    "POST /invitations/{link_id}/renew": ("manage", None, None, 404),
    "DELETE /invitations/{link_id}": ("manage", None, None, 404),
    "GET /tokens": ("tokens", 200, 200, 200),
    "GET /tokens/own": ("read", 200, 200, 200),
    "POST /tokens": ("tokens", 422, 422, 422),  # nothing is sent
    "DELETE /tokens/{token_id}": ("tokens", 404, 404, 404),
    "GET /webhooks": ("manage", None, None, 200),
    "POST /webhooks": ("manage", None, None, 422),  # nothing is sent
    "GET /webhooks/{webhook_id}/deliveries": ("manage", None, None, 404),
    "POST /webhooks/{webhook_id}/test": ("manage", None, None, 404),
    "POST /webhooks/{webhook_id}/deliveries/{delivery_id}/resend": ("manage", None, None, 404),
    "GET /webhooks/{webhook_id}/secrets": ("manage", None, None, 404),
    "POST /webhooks/{webhook_id}/secrets": ("manage", None, None, 404),
    "DELETE /webhooks/{webhook_id}/secrets/{secret_id}": ("manage", None, None, 404),
    "DELETE /webhooks/{webhook_id}": ("manage", None, None, 404),
    "GET /jobs": ("manage", None, None, 200),
    "POST /jobs/{kind}/{job_id}/retry": ("manage", None, None, 409),
    "POST /jobs/{kind}/{job_id}/cancel": ("manage", None, None, 409),
    "GET /system": ("manage", None, None, 200),
    "GET /workload": ("read", 403, 200, 200),
    "GET /audit/chain": ("read", 403, 200, 200),
    "POST /audit/chain/check": ("configure", None, 202, 202),
    "GET /audit": ("read", 403, 200, 200),
    "GET /audit/events": ("read", 403, 200, 200),
}
# The key of no row.
_UNKNOWN = 987_654_321
# Bodies of operations whose answer depends on the role only if the body is valid.
BODIES: dict[str, Any] = {
    "POST /escalations/{escalation_id}/resolve": {"outcome": "returned", "answer": "Yes."},
    "POST /spot-checks/{check_id}/reopen": {"reason": "Wrong."},
    "POST /spot-checks/{check_id}/correct": {"corrected_scores": {}, "reason": "Wrong."},
    "POST /runs/{run}/conflicts/resolve": {"keep": "ours", "conflicts": [{"id": 1, "version": 1}]},
}


def path_values(record: Evaluation, path: str) -> dict[str, Any]:
    """Return the values of a path: those of rows of the record's run, or of no row."""
    run = record.run
    rows: dict[str, type[Model]] = {
        "escalation_id": Escalation,
        "change_id": BulkChange,
        "check_id": SpotCheck,
        "view_id": SavedView,
        "export_id": Export,
    }
    found = {
        name: model._default_manager.filter(run=run).values_list("pk", flat=True).first()
        for name, model in rows.items()
        if f"{{{name}}}" in path
    }
    return {
        "run": run.name,
        "import_id": record.first_import_id,
        "evaluation_id": record.evaluation_id,
        "name": "gold",
        "place": f"mail-{_UNKNOWN}",
        "username": "nobody",
        "kind": "export",
        "upload_id": UUID(int=0),
        **dict.fromkeys(
            ("link_id", "token_id", "webhook_id", "delivery_id", "secret_id", "job_id"), _UNKNOWN
        ),
        **{name: key or _UNKNOWN for name, key in found.items()},
    }


def send(program: Program, name: str, record: Evaluation) -> Any:
    method, path = name.split(" /")
    query = "?earlier={run}" if path.endswith(("/comparison", "/drift")) else ""
    place = f"{path}{query}".format(**path_values(record, path))
    return program.ask(method, place, BODIES.get(name), idempotency_key="one")
