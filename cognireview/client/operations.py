"""The operations of the API that the client uses, as data. A test compares each with the OpenAPI schema."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from cognireview.client import audit, figures, responses, site_responses

T = TypeVar("T")
_RECORD = "/runs/{run}/evaluations/{evaluation_id}"
_SAFE_TO_REPEAT = frozenset({"GET", "HEAD", "PUT", "DELETE"})


@dataclass(frozen=True)
class Operation(Generic[T]):
    """An operation: method, path below the prefix of the API, and the type of its response."""

    method: str
    path: str
    #: The type T, or None for a response without JSON. A response with the status 204 is None for any type.
    returns: Any = None
    #: The names of its query parameters, except for the filters of records.
    query: tuple[str, ...] = ()
    #: Whether sending a POST twice has the same effect as sending it once.
    is_idempotent: bool = False

    @property
    def may_repeat(self) -> bool:
        """Whether to send it again if the server may have carried it out already."""
        return self.is_idempotent or self.method in _SAFE_TO_REPEAT


RUNS: Operation[list[responses.RunDetails]] = Operation(
    "GET", "/runs", list[responses.RunDetails], ("archived",)
)
RUN: Operation[responses.RunDetails] = Operation("GET", "/runs/{run}", responses.RunDetails)
CHANGE_RUN: Operation[responses.RunDetails] = Operation("PATCH", "/runs/{run}", responses.RunDetails)
DELETE_RUN: Operation[None] = Operation("DELETE", "/runs/{run}", None, ("confirmation",))
MEMBERS: Operation[responses.Members] = Operation("GET", "/runs/{run}/members", responses.Members)
SET_MEMBERS: Operation[responses.Members] = Operation("PUT", "/runs/{run}/members", responses.Members)
RUBRIC: Operation[responses.Rubric] = Operation("GET", "/runs/{run}/rubric", responses.Rubric)
SET_RUBRIC: Operation[responses.Rubric] = Operation("PUT", "/runs/{run}/rubric", responses.Rubric, ("seen",))
GUIDELINE: Operation[responses.Guideline] = Operation("GET", "/runs/{run}/guideline", responses.Guideline)
SET_GUIDELINE: Operation[responses.Guideline] = Operation("PUT", "/runs/{run}/guideline", responses.Guideline)
SET_MAPPING: Operation[responses.Mapping] = Operation(
    "PUT", "/runs/{run}/mapping", responses.Mapping, ("dry_run",)
)

# A file that is imported twice changes nothing the second time.
CREATE_IMPORT: Operation[responses.ImportDetails] = Operation(
    "POST", "/runs/{run}/imports", responses.ImportDetails, ("file_name", "strict"), is_idempotent=True
)
# Resumable uploads by the tus protocol.
CREATE_UPLOAD: Operation[None] = Operation("POST", "/uploads", is_idempotent=True)
CHECK_UPLOAD: Operation[None] = Operation("HEAD", "/uploads/{upload_id}")
APPEND: Operation[None] = Operation("PATCH", "/uploads/{upload_id}")
UPLOAD: Operation[responses.UploadProgress] = Operation(
    "GET", "/uploads/{upload_id}", responses.UploadProgress
)
IMPORT: Operation[responses.ImportDetails] = Operation("GET", "/imports/{import_id}", responses.ImportDetails)
REJECTS: Operation[None] = Operation("GET", "/imports/{import_id}/rejects")
IMPORT_CONTEXT: Operation[responses.ContextImport] = Operation(
    "POST", "/runs/{run}/context", responses.ContextImport, ("file_name",), is_idempotent=True
)
IMPORT_SHARED_CONTEXT: Operation[responses.ContextImport] = Operation(
    "POST", "/context", responses.ContextImport, ("file_name",), is_idempotent=True
)

RECORDS: Operation[responses.RecordPage] = Operation(
    "GET", "/runs/{run}/evaluations", responses.RecordPage, ("sort", "after", "limit")
)
RECORD: Operation[responses.Record] = Operation(
    "GET", "/runs/{run}/evaluations/{evaluation_id}", responses.Record
)
# A claim returns the record that is claimed already.
CLAIM: Operation[responses.Record | None] = Operation(
    "POST", "/runs/{run}/claims", responses.Record, is_idempotent=True
)
RELEASE: Operation[None] = Operation("DELETE", f"{_RECORD}/claim")
LOCK_IN: Operation[responses.Record] = Operation("PUT", f"{_RECORD}/blind-scores", responses.Record)
REVIEW: Operation[responses.Saved] = Operation("PUT", f"{_RECORD}/review", responses.Saved)
CLAIM_RECORD: Operation[responses.Record] = Operation(
    "POST", f"{_RECORD}/claim", responses.Record, is_idempotent=True
)
SKIP: Operation[None] = Operation("PUT", f"{_RECORD}/skip")
UNSKIP: Operation[None] = Operation("DELETE", f"{_RECORD}/skip")
UNSKIP_ALL: Operation[None] = Operation("DELETE", "/runs/{run}/skips")
ESCALATE: Operation[responses.Record] = Operation("POST", f"{_RECORD}/escalation", responses.Record)
REOPEN: Operation[responses.Record] = Operation("POST", f"{_RECORD}/reopening", responses.Record)
RESTORE: Operation[responses.Record] = Operation(
    "POST", f"{_RECORD}/restoration", responses.Record, is_idempotent=True
)
REVISE: Operation[responses.Saved] = Operation("PUT", f"{_RECORD}/revision", responses.Saved)
ADD_INDEPENDENT_REVIEW: Operation[responses.Saved] = Operation(
    "PUT", f"{_RECORD}/independent-review", responses.Saved
)
ADJUDICATE: Operation[list[responses.Decision]] = Operation(
    "POST", f"{_RECORD}/adjudication", list[responses.Decision]
)
INDEPENDENT_REVIEWS: Operation[list[responses.Decision]] = Operation(
    "GET", "/runs/{run}/independent-reviews/{evaluation_id}", list[responses.Decision]
)
DECISIONS: Operation[list[responses.Version]] = Operation(
    "GET", "/runs/{run}/decisions/{evaluation_id}", list[responses.Version]
)
LAST_ACTION: Operation[responses.Action | None] = Operation("GET", "/runs/{run}/undo", responses.Action)
UNDO: Operation[responses.Undone] = Operation("POST", "/runs/{run}/undo", responses.Undone)

EXPORT: Operation[None] = Operation("GET", "/runs/{run}/export", None, ("only",))
JUDGE_DATA: Operation[None] = Operation("GET", "/runs/{run}/judge-data", None, ("table", "format"))
REPORT: Operation[figures.JudgeReport] = Operation(
    "GET",
    "/runs/{run}/report",
    figures.JudgeReport,
    ("require", "judge", "template", "model", "reviewer", "task", "since", "until"),
)
COMPARISON: Operation[figures.Comparison] = Operation(
    "GET", "/runs/{run}/comparison", figures.Comparison, ("earlier",)
)
DRIFT: Operation[figures.Drift] = Operation("GET", "/runs/{run}/drift", figures.Drift, ("earlier",))
HISTORY: Operation[figures.History] = Operation(
    "GET", "/runs/{run}/accuracy-over-runs", figures.History, ("by",)
)
GOLD_SETS: Operation[list[figures.GoldSet]] = Operation("GET", "/gold-sets", list[figures.GoldSet])
FREEZE_GOLD_SET: Operation[figures.FrozenGoldSet] = Operation(
    "POST", "/runs/{run}/gold-sets", figures.FrozenGoldSet
)
MEASURE_GOLD_SET: Operation[figures.GoldMeasurement] = Operation(
    "GET", "/runs/{run}/gold-sets/{name}", figures.GoldMeasurement
)

ESCALATIONS: Operation[responses.EscalationPage] = Operation(
    "GET", "/escalations", responses.EscalationPage, ("kind", "run", "after")
)
OWN_ESCALATIONS: Operation[list[responses.Escalation]] = Operation(
    "GET", "/escalations/own", list[responses.Escalation]
)
RESOLVE_ESCALATION: Operation[responses.Escalation] = Operation(
    "POST", "/escalations/{escalation_id}/resolve", responses.Escalation
)
WITHDRAW_ESCALATION: Operation[None] = Operation("DELETE", "/escalations/{escalation_id}")

OWN_TOKEN: Operation[responses.Token] = Operation("GET", "/tokens/own", responses.Token)

AUDIT_EVENTS: Operation[audit.AuditPage] = Operation(
    "GET",
    "/audit/events",
    audit.AuditPage,
    ("person", "action", "run", "record", "address", "since", "until", "after", "limit"),
)

WEBHOOKS: Operation[list[responses.Webhook]] = Operation(
    "GET", "/webhooks", list[responses.Webhook], ("after", "limit")
)
ADD_WEBHOOK: Operation[responses.NewWebhook] = Operation("POST", "/webhooks", responses.NewWebhook)
REMOVE_WEBHOOK: Operation[None] = Operation("DELETE", "/webhooks/{webhook_id}")
TEST_WEBHOOK: Operation[responses.Delivery] = Operation(
    "POST", "/webhooks/{webhook_id}/test", responses.Delivery
)
DELIVERIES: Operation[list[responses.Delivery]] = Operation(
    "GET", "/webhooks/{webhook_id}/deliveries", list[responses.Delivery]
)

JOBS: Operation[list[site_responses.Job]] = Operation(
    "GET", "/jobs", list[site_responses.Job], ("kind", "state", "page", "limit")
)
RETRY_JOB: Operation[None] = Operation("POST", "/jobs/{kind}/{job_id}/retry")
CANCEL_JOB: Operation[None] = Operation("POST", "/jobs/{kind}/{job_id}/cancel")
SYSTEM: Operation[site_responses.System] = Operation("GET", "/system", site_responses.System)
