"""A phrase for each action of the audit log, for sentences such as "ana submitted Task 7 · o1 in Algebra".

The subject is the actor. `{record}` is the record, `{person}` the account that the event is about, and
`{source}` the imported file. Other names in braces are keys of the event's detail. The run follows at the end
of the sentence.
"""

import re

# Group of actions -> action -> phrase. The groups are in the order of the page's menu.
GROUPS: dict[str, dict[str, str]] = {
    "Decisions": {
        "submit": "submitted {record}",
        "revise": "revised the decision on {record}",
        "restore": "restored version {restored} of {record}",
        "undo": "undid version {version} of {record}",
        "reopen": "reopened {record}",
        "close": "closed {record} without scores",
        "resolve": "submitted the last independent review of {record}: all agree",
        "resolve conflict": "resolved a conflict with a file about {record}",
        "new evidence": "imported changes that outdate the decision on {record}",
        "blind scores": "locked in blind scores of {record}",
        "independent review": "submitted an independent review of {record}",
        "undo independent review": "undid an independent review of {record}",
        "disagreement": "submitted an independent review of {record} that differs",
        "take over": "took over {record} to adjudicate",
        "adjudicate": "adjudicated {record}",
    },
    "Queue": {
        "claim": "claimed {record}",
        "release": "released {record}",
        "undo release": "undid the release of {record}",
        "release prefetched": "released prefetched records",
        "release all": "released the claims of {person}",
        "skip": "skipped {record}",
        "unskip": "returned {record} to their queue",
        "undo skip": "undid the skip of {record}",
        "unskip all": "returned {count} skipped records to their queue",
        "escalate": "escalated {record}",
        "withdraw escalation": "withdrew the escalation of {record}",
        "resolve escalation": "answered the escalation of {record}",
        "read answer": "read the answer about {record}",
        "bulk assign": "assigned {evaluations} records",
        "bulk prioritise": "changed the priority of {evaluations} records",
        "bulk release": "released {evaluations} records",
        "bulk split": "split {evaluations} records among people",
        "bulk due": "changed the due date of {evaluations} records",
        "bulk escalate": "escalated {evaluations} records",
        "records due": "found {records} records of {person} due on {due_on}",
        "bulk undo split": "undid a split of records",
        "bulk undo due": "undid a change of due dates",
        "bulk undo escalate": "undid an escalation of records",
        "bulk undo assign": "undid an assignment of records",
        "bulk undo prioritise": "undid a change of priority",
        "bulk undo release": "undid a release of records",
        "draw spot checks": "drew spot checks of {reviewer}",
        "select spot checks": "selected {records} decisions for spot checks",
        "agree to spot check": "agreed with {record} in a spot check",
        "start known answers": "started a check with {records} known answers",
        "end known answers": "ended a check with {records} known answers",
        "draw sample": "drew a random sample",
        "serve plan": "put the records of a review plan into the queue",
        "stop plan": "ended a review plan",
    },
    "Judge data and exports": {
        "reveal": "was shown judge data",
        "export": "exported records",
        "export asked for": "requested an export",
        "export begun": "began a download",
        "cancel export": "cancelled an export",
        "export cancelled": "ended a cancelled export",
        "export failed": "requested an export that failed",
        "export removed": "removed an expired export",
        "export retried": "retried an export",
        "export judge data": "downloaded judge data",
        "freeze gold set": "froze the gold set {name}",
        "rename gold set": "renamed the gold set {before} to {name}",
        "delete gold set": "deleted the gold set {name}",
        "export gold set": "downloaded the gold set {name}",
        "import gold set": "imported the gold set {name}",
    },
    "Imports": {
        "upload begun": "began to upload {file_name}",
        "upload dropped": "cancelled the upload of {file_name}",
        "upload expired": "removed the unfinished upload of {file_name}",
        "upload": "uploaded {source}",
        "import": "imported {source}",
        "import failed": "uploaded {source}, whose import failed",
        "cancel import": "cancelled the import of {source}",
        "import cancelled": "ended the cancelled import of {source}",
        "import retried": "retried the import of {source}",
        "repair import": "repaired the storage of {source}",
        "import context": "imported task context",
    },
    "Runs and settings": {
        "map run": "set the mapping",
        "reread run": "read the records again with another mapping",
        "declare rubric": "changed the rubric",
        "infer rubric": "inferred the rubric",
        "write guideline": "changed the guideline",
        "configure queue": "changed the settings of the queue",
        "configure sampling": "changed sampling and blind review",
        "configure members": "changed who may see the run",
        "rename run": "renamed the run {before} to {after}",
        "archive run": "archived the run",
        "unarchive run": "unarchived the run",
        "delete run": "requested the deletion of the run",
        "delete records": "deleted {records} records",
        "run deleted": "finished the deletion of the run",
        "view saved": "saved the view {name}",
        "view removed": "removed the view {name}",
    },
    "Logins": {
        "login": "signed in",
        "logout": "signed out",
        "login failed": "recorded a failed login of {person}",
        "login locked": "locked the logins of {person} after failed attempts",
        "login refused": "refused a login of {provider_name} from the external provider",
        "second factor failed": "recorded a wrong second factor of {person}",
        "session ended": "ended a session",
        "other sessions ended": "ended their other sessions",
    },
    "Accounts": {
        "invitation": "created an invitation for a {role}",
        "password link": "created a password link for {person}",
        "link withdrawn": "withdrew a link",
        "password set by link": "chose a password with a link",
        "password set by command": "set the password of {person} by a command",
        "password changed": "changed their password",
        "user added": "added {person} as {role}",
        "role changed": "changed the role of {person}",
        "person deactivated": "deactivated {person}",
        "person reactivated": "reactivated {person}",
        "token made": "created an API token of {person}",
        "token revoked": "revoked an API token of {person}",
        "authenticator app added": "added an authenticator app",
        "authenticator app removed": "removed their authenticator app",
        "passkey added": "added a passkey",
        "passkey removed": "removed a passkey",
        "recovery codes made": "created recovery codes",
        "second factor reset": "reset the second factor of {person}",
        "preferences": "changed their preferences",
    },
    "System": {
        "webhook added": "added a webhook for {host}",
        "webhook removed": "removed a webhook for {host}",
        "webhook secret added": "added a secret of a webhook",
        "webhook secret removed": "removed a secret of a webhook",
        "webhook tested": "tested a webhook",
        "run reviewed": "found every record reviewed",
        "plan reviewed": "found every record of a review plan reviewed",
        "message retried": "sent a message to a webhook again",
        "message given up": "gave up a message to a webhook",
        "retry notifications": "sent notifications of {person} again",
        "discard notifications": "discarded notifications of {person}",
        "dismiss failure": "dismissed a failure",
        "job retried": "retried the job {task}",
        "job cancelled": "cancelled the job {task}",
        "backup": "made a backup",
        "secrets re-encrypted": "encrypted stored secrets with the new key",
        "check requested": "requested a check of the audit log",
        "log checked": "checked the audit log",
        "log check failed": "requested a check of the audit log that failed",
    },
}
PHRASES = {action: phrase for group in GROUPS.values() for action, phrase in group.items()}
_FIELD = re.compile(r"\{([a-z_]+)\}")
# The fields of a phrase that is not about one event.
_ANY = {
    "record": "a record",
    "person": "a person",
    "reviewer": "a reviewer",
    "source": "a file",
    "file_name": "a file",
}


def phrase_parts(action: str) -> list[tuple[str, bool]]:
    """Split the phrase of an action into its parts: texts, and names of fields (True).

    An action without a phrase is its own phrase.
    """
    parts = _FIELD.split(PHRASES.get(action, action))
    return [(part, place % 2 == 1) for place, part in enumerate(parts) if part]


def action_title(action: str) -> str:
    """Return the words for an action in a menu, such as "Submitted a record"."""
    words = "".join(_ANY.get(part, "…") if is_field else part for part, is_field in phrase_parts(action))
    return words[:1].upper() + words[1:]
