"""The operations of the API as data: the client sends them, and the server registers its views for them."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from cognireview.types import audit, files, judge, leading, people, records, runs, site

T = TypeVar("T")
_RUN = "/runs/{run}"
_RECORD = "/runs/{run}/evaluations/{evaluation_id}"
_DRAFT = "/runs/{run}/drafts/{evaluation_id}"
_IMPORT = "/imports/{import_id}"
_EXPORT = "/exports/{export_id}"
_UPLOAD = "/uploads/{upload_id}"
_CHECK = "/spot-checks/{check_id}"
_PERSON = "/people/{username}"
_WEBHOOK = "/webhooks/{webhook_id}"
_GOLD_SET = "/gold-sets/{name}"
# The filters of figures about a judge.
_OF_JUDGE = ("judge", "template", "model", "reviewer", "task", "since", "until")


@dataclass(frozen=True)
class Operation(Generic[T]):
    """An operation: method, path below the prefix of the API, and the type of its response."""

    method: str
    path: str
    #: The type T, or None for a response without JSON.
    returns: Any = None
    #: The names of its query parameters, except for the filters of records.
    query: tuple[str, ...] = ()
    #: Whether to send it again if its response was lost. Unless it only reads, it takes an Idempotency-Key.
    may_repeat: bool = True
    #: Whether the response may have the status 204, and so be None.
    may_be_empty: bool = False


def _json(method: str, path: str, returns: type[T], *query: str) -> Operation[T]:
    return Operation(method, path, returns, query)


def _perhaps(method: str, path: str, returns: type[T]) -> Operation[T | None]:
    return Operation(method, path, returns, may_be_empty=True)


def _empty(method: str, path: str, *query: str, may_repeat: bool = True) -> Operation[None]:
    """Return an operation whose response is empty or a file."""
    return Operation(method, path, None, query, may_repeat)


# Runs
RUNS = _json("GET", "/runs", list[runs.RunDetails], "archived", "page", "limit")
RUN = _json("GET", _RUN, runs.RunDetails)
CHANGE_RUN = _json("PATCH", _RUN, runs.RunDetails)
DELETE_RUN = _empty("DELETE", _RUN, "confirmation")
MEMBERS = _json("GET", f"{_RUN}/members", runs.Members)
SET_MEMBERS = _json("PUT", f"{_RUN}/members", runs.Members)
RUBRIC = _json("GET", f"{_RUN}/rubric", runs.Rubric)
SET_RUBRIC = _json("PUT", f"{_RUN}/rubric", runs.Rubric, "seen")
GUIDELINE = _json("GET", f"{_RUN}/guideline", runs.Guideline)
SET_GUIDELINE = _json("PUT", f"{_RUN}/guideline", runs.Guideline)
SETTINGS = _json("GET", f"{_RUN}/settings", runs.RunSettings)
SET_QUEUE = _json("PUT", f"{_RUN}/settings/queue", runs.RunSettings)
SET_SAMPLING = _json("PUT", f"{_RUN}/settings/sampling", runs.RunSettings)
PLAN = _json("GET", f"{_RUN}/plan", runs.ReviewPlan, "target", "aim", *_OF_JUDGE[:3])
SERVE_PLAN = _json("PUT", f"{_RUN}/plan", runs.ReviewPlan)
STOP_PLAN = _json("DELETE", f"{_RUN}/plan", runs.ReviewPlan)
VIEWS = _json("GET", f"{_RUN}/views", list[runs.View], "after", "limit")
SAVE_VIEW = _json("POST", f"{_RUN}/views", runs.View)
REMOVE_VIEW = _empty("DELETE", f"{_RUN}/views/{{view_id}}")

# Imports
CREATE_IMPORT = _json("POST", f"{_RUN}/imports", files.ImportDetails, "file_name", "strict")
CREATE_UPLOAD = _empty("POST", "/uploads")
CHECK_UPLOAD = _empty("HEAD", _UPLOAD)
# A repeated part has a wrong offset.
APPEND = _empty("PATCH", _UPLOAD, may_repeat=False)
UPLOAD = _json("GET", _UPLOAD, files.UploadProgress)
CANCEL_UPLOAD = _empty("DELETE", _UPLOAD)
IMPORTS = _json("GET", f"{_RUN}/imports", list[files.ImportDetails], "after", "limit")
IMPORT = _json("GET", _IMPORT, files.ImportDetails)
REJECTS = _empty("GET", f"{_IMPORT}/rejects")
EXCEPTIONS = _empty("GET", f"{_IMPORT}/exceptions")
CANCEL_IMPORT = _json("POST", f"{_IMPORT}/cancel", files.ImportDetails)
RETRY_IMPORT = _json("POST", f"{_IMPORT}/retry", files.ImportDetails)
IMPORT_AS_NEW_RUN = _json("POST", f"{_IMPORT}/new-run", files.ImportDetails)
SET_MAPPING = _json("PUT", f"{_RUN}/mapping", files.Mapping, "dry_run")
IMPORT_CONTEXT = _json("POST", f"{_RUN}/context", files.ContextImport, "file_name")
IMPORT_SHARED_CONTEXT = _json("POST", "/context", files.ContextImport, "file_name")
CONFLICTS = _json("GET", f"{_RUN}/conflicts", files.FileConflictPage, "after", "limit")
RESOLVE_CONFLICTS = _json("POST", f"{_RUN}/conflicts/resolve", files.ResolvedConflicts)

# Exports
EXPORT_RUN = _empty("GET", f"{_RUN}/export", "only")
CREATE_EXPORT = _json("POST", f"{_RUN}/exports", files.ExportDetails)
EXPORTS = _json("GET", f"{_RUN}/exports", list[files.ExportDetails], "after", "limit")
EXPORT = _json("GET", _EXPORT, files.ExportDetails)
CANCEL_EXPORT = _json("POST", f"{_EXPORT}/cancel", files.ExportDetails)
EXPORT_FILE = _empty("GET", f"{_EXPORT}/file")
RECEIPT = _empty("GET", f"{_EXPORT}/receipt")
EXPORT_INDEPENDENT_REVIEWS = _empty("GET", f"{_RUN}/independent-reviews")
FEW_SHOT = _empty("GET", f"{_RUN}/few-shot")
JUDGE_DATA = _empty("GET", f"{_RUN}/judge-data", "table", "format")

# Records
RECORDS = _json("GET", f"{_RUN}/evaluations", records.RecordPage, "sort", "after", "limit")
RECORD = _json("GET", _RECORD, records.Record)
CLAIM = _perhaps("POST", f"{_RUN}/claims", records.Record)
CLAIM_RECORD = _json("POST", f"{_RECORD}/claim", records.Record)
RELEASE = _empty("DELETE", f"{_RECORD}/claim")
LOCK_IN = _json("PUT", f"{_RECORD}/blind-scores", records.Record)
REVIEW = _json("PUT", f"{_RECORD}/review", records.Saved)
REVISE = _json("PUT", f"{_RECORD}/revision", records.Saved)
SKIP = _empty("PUT", f"{_RECORD}/skip")
UNSKIP = _empty("DELETE", f"{_RECORD}/skip")
UNSKIP_ALL = _empty("DELETE", f"{_RUN}/skips")
ESCALATE = _json("POST", f"{_RECORD}/escalation", records.Record)
REOPEN = _json("POST", f"{_RECORD}/reopening", records.Record)
RESTORE = _json("POST", f"{_RECORD}/restoration", records.Record)
DECISIONS = _json("GET", f"{_RUN}/decisions/{{evaluation_id}}", list[records.Version])
ADD_INDEPENDENT_REVIEW = _json("PUT", f"{_RECORD}/independent-review", records.Saved)
INDEPENDENT_REVIEWS = _json("GET", f"{_RUN}/independent-reviews/{{evaluation_id}}", list[records.Decision])
ADJUDICATE = _json("POST", f"{_RECORD}/adjudication", list[records.Decision])
DRAFT = _perhaps("GET", _DRAFT, records.Draft)
SAVE_DRAFT = _json("PUT", _DRAFT, records.Draft)
DISCARD_DRAFT = _empty("DELETE", _DRAFT)
LAST_ACTION = _perhaps("GET", f"{_RUN}/undo", records.Action)
UNDO = _json("POST", f"{_RUN}/undo", records.Undone)

# Leading
BULK_CHANGES = _json("GET", f"{_RUN}/bulk-changes", list[leading.AppliedBulkChange], "after", "limit")
APPLY_BULK_CHANGE = _json("POST", f"{_RUN}/bulk-changes", leading.AppliedBulkChange)
PREVIEW_BULK_CHANGE = _json("POST", f"{_RUN}/bulk-changes/preview", leading.BulkPreview)
UNDO_BULK_CHANGE = _json("POST", "/bulk-changes/{change_id}/undo", leading.UndoneBulkChange)
ESCALATIONS = _json("GET", "/escalations", leading.EscalationPage, "kind", "run", "after", "limit")
OWN_ESCALATIONS = _json("GET", "/escalations/own", list[leading.Escalation], "after", "limit")
RESOLVE_ESCALATION = _json("POST", "/escalations/{escalation_id}/resolve", leading.Escalation)
WITHDRAW_ESCALATION = _empty("DELETE", "/escalations/{escalation_id}")
MARK_ANSWER_READ = _empty("POST", "/escalations/{escalation_id}/read")
INBOX = _json("GET", "/inbox", leading.InboxPage, "kind", "run", "after", "limit")
RETRY_FAILURE = _empty("POST", "/inbox/failures/{place}/retry")
DISMISS_FAILURE = _empty("DELETE", "/inbox/failures/{place}")
SPOT_CHECKS = _json("GET", "/spot-checks", list[leading.SpotCheck], "after", "limit")
DRAW_SPOT_CHECKS = _json("POST", "/spot-checks", list[leading.SpotCheck])
SELECT_SPOT_CHECKS = _json("POST", f"{_RUN}/spot-checks", list[leading.SpotCheck])
SPOT_CHECK = _json("GET", _CHECK, leading.SpotCheck)
AGREE = _json("POST", f"{_CHECK}/agree", leading.SpotCheck)
REOPEN_CHECKED = _json("POST", f"{_CHECK}/reopen", leading.SpotCheck)
CORRECT = _json("POST", f"{_CHECK}/correct", leading.SpotCheck)
KNOWN_ANSWERS = _json("GET", f"{_RUN}/known-answers", list[leading.KnownAnswerCheck], "after", "limit")
START_KNOWN_ANSWERS = _json("POST", f"{_RUN}/known-answers", leading.KnownAnswerCheck)
END_KNOWN_ANSWERS = _json("POST", "/known-answers/{check_id}/end", leading.KnownAnswerCheck)
WORKLOADS = _json("GET", "/workload", list[leading.Workload], "after", "limit")

# The judge
REPORT = _json("GET", f"{_RUN}/report", judge.JudgeReport, *("require", *_OF_JUDGE))
COMPARISON = _json("GET", f"{_RUN}/comparison", judge.Comparison, "earlier", *_OF_JUDGE)
DRIFT = _json("GET", f"{_RUN}/drift", judge.Drift, "earlier", *_OF_JUDGE)
HISTORY = _json("GET", f"{_RUN}/accuracy-over-runs", judge.History, "by", *_OF_JUDGE)
GOLD_SETS = _json("GET", "/gold-sets", list[judge.GoldSet], "after", "limit")
IMPORT_GOLD_SET = _json("POST", "/gold-sets", judge.GoldSet, "name")
EXPORT_GOLD_SET = _empty("GET", _GOLD_SET)
RENAME_GOLD_SET = _json("PATCH", _GOLD_SET, judge.GoldSet)
DELETE_GOLD_SET = _empty("DELETE", _GOLD_SET)
FREEZE_GOLD_SET = _json("POST", f"{_RUN}/gold-sets", judge.FrozenGoldSet)
MEASURE_GOLD_SET = _json("GET", f"{_RUN}/gold-sets/{{name}}", judge.GoldMeasurement, *_OF_JUDGE)

# People
PEOPLE = _json("GET", "/people", people.PeoplePage, "q", "role", "state", "after", "limit")
PERSON = _json("GET", _PERSON, people.Person)
CHANGE_ROLE = _json("PUT", f"{_PERSON}/role", people.Person)
DEACTIVATE = _json("POST", f"{_PERSON}/deactivate", people.Person)
REACTIVATE = _json("POST", f"{_PERSON}/reactivate", people.Person)
INVITATIONS = _json("GET", "/invitations", list[people.Invitation], "after", "limit")
INVITE = _json("POST", "/invitations", list[people.NewInvitation])
RENEW_INVITATION = _json("POST", "/invitations/{link_id}/renew", people.NewInvitation)
WITHDRAW_INVITATION = _empty("DELETE", "/invitations/{link_id}")
TOKENS = _json("GET", "/tokens", list[people.Token], "after", "limit")
OWN_TOKEN = _json("GET", "/tokens/own", people.Token)
CREATE_TOKEN = _json("POST", "/tokens", people.NewToken)
REVOKE_TOKEN = _empty("DELETE", "/tokens/{token_id}")

# The site
AUDIT_LOG = _empty("GET", "/audit", "run", "after")
AUDIT_EVENTS = _json(
    "GET",
    "/audit/events",
    audit.AuditPage,
    *("person", "action", "run", "record", "address", "since", "until", "after", "limit"),
)
CHAIN = _json("GET", "/audit/chain", audit.Chain)
CHECK_CHAIN = _json("POST", "/audit/chain/check", audit.Chain)
WEBHOOKS = _json("GET", "/webhooks", list[site.Webhook], "after", "limit")
ADD_WEBHOOK = _json("POST", "/webhooks", site.NewWebhook)
REMOVE_WEBHOOK = _empty("DELETE", _WEBHOOK)
TEST_WEBHOOK = _json("POST", f"{_WEBHOOK}/test", site.Delivery)
DELIVERIES = _json("GET", f"{_WEBHOOK}/deliveries", list[site.Delivery], "after", "limit")
RESEND_MESSAGE = _json("POST", f"{_WEBHOOK}/deliveries/{{delivery_id}}/resend", site.Delivery)
WEBHOOK_SECRETS = _json("GET", f"{_WEBHOOK}/secrets", list[site.WebhookSecret])
ADD_WEBHOOK_SECRET = _json("POST", f"{_WEBHOOK}/secrets", site.NewWebhookSecret)
REMOVE_WEBHOOK_SECRET = _empty("DELETE", f"{_WEBHOOK}/secrets/{{secret_id}}")
JOBS = _json("GET", "/jobs", list[site.Job], "kind", "state", "page", "limit")
RETRY_JOB = _empty("POST", "/jobs/{kind}/{job_id}/retry")
CANCEL_JOB = _empty("POST", "/jobs/{kind}/{job_id}/cancel")
SYSTEM = _json("GET", "/system", site.System)
