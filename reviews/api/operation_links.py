"""Links of the OpenAPI schema: values of a response, and the operations that take them as parameters.

Tools follow them to test sequences of operations, and readers see where an id comes from.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class _Link(NamedTuple):
    """Operations that take the same values of a response."""

    #: Parameter -> runtime expression.
    parameters: Mapping[str, str]
    #: The ids of the operations.
    targets: Iterable[str]


def _body(**members: str) -> dict[str, str]:
    """Return expressions for members of the body, by parameter."""
    return {name: f"$response.body#/{member}" for name, member in members.items()}


_RECORD = _Link(
    _body(run="run", evaluation_id="evaluation_id"),
    (
        "read_record",
        "submit_review",
        "revise_decision",
        "release_record",
        "skip_record",
        "unskip_record",
        "escalate_record",
        "reopen_record",
        "list_decisions",
        "get_draft",
        "save_draft",
        "discard_draft",
    ),
)
_UNDO = _Link(_body(run="run"), ("get_last_action", "undo_last_action"))
_RUN = ("read_run", "claim_next_record", "list_records", "get_run_settings", "create_export", "save_view")
_IMPORT = ("get_import", "cancel_import", "retry_import", "download_rejects", "download_exceptions")
_EXPORT = ("get_export", "cancel_export", "download_export", "download_receipt")
_ESCALATION = ("resolve_escalation", "withdraw_escalation", "mark_answer_read")
_CHECK = ("get_spot_check", "agree_to_spot_check", "reopen_by_spot_check")
_PERSON = ("get_person", "change_person_role", "deactivate_person", "reactivate_person")
_WEBHOOK = (
    "send_test_message",
    "list_webhook_deliveries",
    "list_webhook_secrets",
    "add_webhook_secret",
    "remove_webhook",
)
_GOLD_SET = ("export_gold_set", "rename_gold_set", "delete_gold_set")
_SAME_RUN = {"run": "$request.path.run"}
_SAME_WEBHOOK = {"webhook_id": "$request.path.webhook_id"}
# Operation id -> the links of its successful response.
LINKS: dict[str, tuple[_Link, ...]] = {
    "list_runs": (_Link(_body(run="0/name"), _RUN),),
    "list_records": (
        _Link(_body(run="evaluations/0/run", evaluation_id="evaluations/0/evaluation_id"), _RECORD.targets),
    ),
    "claim_next_record": (_RECORD, _UNDO),
    "claim_record": (_RECORD, _UNDO),
    "escalate_record": (_RECORD, _UNDO),
    "reopen_record": (_RECORD,),
    "create_import": (_Link(_body(import_id="id"), _IMPORT),),
    "list_imports": (_Link(_body(import_id="0/id"), _IMPORT),),
    "create_export": (_Link(_body(export_id="id"), _EXPORT),),
    "list_exports": (_Link(_body(export_id="0/id"), _EXPORT),),
    "list_escalations": (_Link(_body(escalation_id="escalations/0/id"), _ESCALATION),),
    "list_own_escalations": (_Link(_body(escalation_id="0/id"), _ESCALATION),),
    "list_inbox_items": (
        _Link(_body(place="items/0/place"), ("retry_inbox_failure", "dismiss_inbox_failure")),
    ),
    "apply_bulk_change": (_Link(_body(change_id="id"), ("undo_bulk_change",)),),
    "draw_spot_checks": (_Link(_body(check_id="0/id"), _CHECK),),
    "select_spot_checks": (_Link(_body(check_id="0/id"), _CHECK),),
    "list_spot_checks": (_Link(_body(check_id="0/id"), _CHECK),),
    "save_view": (_Link(_SAME_RUN | _body(view_id="id"), ("remove_view",)),),
    "freeze_gold_set": (
        _Link(_body(name="name"), _GOLD_SET),
        _Link(_SAME_RUN | _body(name="name"), ("measure_gold_set",)),
    ),
    "import_gold_set": (_Link(_body(name="name"), _GOLD_SET),),
    "list_people": (_Link(_body(username="people/0/username"), _PERSON),),
    "invite_people": (_Link(_body(link_id="0/id"), ("renew_invitation", "withdraw_invitation")),),
    "create_token": (_Link(_body(token_id="id"), ("revoke_token",)),),  # noqa: S106 (a path)
    "add_webhook": (_Link(_body(webhook_id="id"), _WEBHOOK),),
    "send_test_message": (_Link(_SAME_WEBHOOK | _body(delivery_id="id"), ("resend_webhook_message",)),),
    "add_webhook_secret": (
        _Link(_SAME_WEBHOOK | _body(secret_id="id"), ("remove_webhook_secret",)),  # noqa: S106 (a path)
    ),
    "list_jobs": (_Link(_body(kind="0/kind", job_id="0/id"), ("retry_job", "cancel_job")),),
}


def add_links(schema: Mapping[str, Any]) -> None:
    """Add the links to the responses of an OpenAPI schema."""
    for methods in schema["paths"].values():
        for operation in methods.values():
            found = {
                target: {"operationId": target, "parameters": dict(link.parameters)}
                for link in LINKS.get(operation["operationId"], ())
                for target in link.targets
            }
            if found:
                success = min(operation["responses"], key=int)
                operation["responses"][success]["links"] = found
