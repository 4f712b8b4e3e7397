"""The access table: the status of every page for every person and method. `test_access` checks all of it.

Each entry maps name -> method -> one status for each of `PEOPLE`, in this order:

    nobody: not signed in, or deactivated while signed in
    eve: an account without a role
    ana, lea, max: a reviewer, a lead, an admin

200       the page is shown
204       done, nothing to show
302, 303  redirect: to the login page without a login, otherwise to the page after the action
403       denied, with the sentence from `permissions`
404       allowed, but nothing was found
405       the method is not supported
400, 409, 412, 422   allowed, but the empty form of the test is invalid

HEAD equals GET. Methods without an entry are not supported: 405, or the login page. The record is waiting and
not claimed. Export, escalation, bulk change, saved view and spot check belong to the admin.
"""

PEOPLE = ("nobody", "eve", "ana", "lea", "max")
METHODS = ("get", "head", "options", "put", "patch", "delete", "post")
Statuses = tuple[int, int, int, int, int]
NO_METHOD: Statuses = (302, 405, 405, 405, 405)
NO_HEAD: Statuses = (405, 405, 405, 405, 405)
LOGIN: Statuses = (302, 302, 302, 302, 302)
# Pages that require no login.
WAYS_IN = {
    "login",
    "second-factor",
    "log-in-by-passkey",
    "logout",
    "welcome",
    "join",
    "new-password",
    "session",
    "single-sign-on",
    "single-sign-on-callback",
}

ACCESS: dict[str, dict[str, Statuses]] = {
    # Runs: records, settings, saved views and bulk changes.
    "runs": {"get": (302, 403, 200, 200, 200)},
    "import-file": {"get": (302, 403, 403, 403, 200), "post": (302, 403, 403, 403, 422)},
    "my-reviews": {"get": (302, 403, 302, 302, 302)},
    "run": {"get": (302, 403, 200, 200, 200)},
    "tasks": {"get": (302, 403, 200, 200, 200)},
    "save-view": {"post": (302, 403, 302, 302, 302)},
    "remove-view": {"post": (302, 403, 403, 302, 302)},
    "bulk-change": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 422, 422)},
    "undo-bulk-change": {"post": (302, 403, 403, 302, 302)},
    "run-settings": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 422, 422)},
    "rubric-toml": {"get": (302, 403, 403, 200, 200)},
    "confirm-rubric": {"post": (302, 403, 403, 302, 302)},
    "run-queue": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 422, 422)},
    "run-name": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 422, 422)},
    "delete-run": {"get": (302, 403, 403, 403, 200), "post": (302, 403, 403, 403, 422)},
    "archive-run": {"post": (302, 403, 403, 302, 302)},
    "unarchive-run": {"post": (302, 403, 403, 302, 302)},
    "run-mapping": {"get": (302, 403, 403, 403, 200), "post": (302, 403, 403, 403, 422)},
    "run-guideline": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 302, 302)},
    "run-members": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 422, 422)},
    "run-sampling": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 422, 422)},
    # Imports. An upload without the headers of the tus protocol is rejected.
    "uploads": {"post": (302, 403, 403, 403, 412), "options": (302, 403, 403, 403, 204)},
    "upload": {
        "get": (302, 403, 403, 403, 404),
        "head": (302, 403, 403, 403, 412),
        "patch": (302, 403, 403, 403, 412),
        "delete": (302, 403, 403, 403, 412),
    },
    "upload-mapping": {"get": (302, 403, 403, 403, 404), "post": (302, 403, 403, 403, 404)},
    "import": {"get": (302, 403, 200, 200, 200)},
    "import-as-new-run": {"post": (302, 403, 403, 403, 422)},
    "cancel-import": {"post": (302, 403, 403, 403, 302)},
    "retry-import": {"post": (302, 403, 403, 403, 302)},
    "import-rejected": {"get": (302, 403, 403, 200, 200)},
    "import-exceptions": {"get": (302, 403, 200, 200, 200)},
    "task-context": {"get": (302, 403, 403, 403, 200), "post": (302, 403, 403, 403, 422)},
    "mappings": {"get": (302, 403, 403, 403, 200), "post": (302, 403, 403, 403, 422)},
    "conflicts": {"get": (302, 403, 403, 200, 200)},
    "resolve-conflicts": {"post": (302, 403, 403, 400, 400)},
    # Exports.
    "export": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 302, 302)},
    "independent-reviews": {"get": (302, 403, 403, 200, 200)},
    "export-page": {"get": (302, 403, 403, 200, 200)},
    "cancel-export": {"post": (302, 403, 403, 302, 302)},
    "export-file": {"get": (302, 403, 403, 404, 404)},
    "export-receipt": {"get": (302, 403, 403, 404, 404)},
    # The queue of a run.
    "start": {"get": (302, 403, 302, 302, 302)},
    "review": {"get": (302, 403, 200, 200, 200)},
    "claim-next": {"post": (302, 403, 303, 303, 303)},
    "prefetch": {"post": (302, 403, 200, 200, 200)},
    "release-prefetched": {"post": (302, 403, 204, 204, 204)},
    "unskip-all": {"post": (302, 403, 303, 303, 303)},
    "undo": {"post": (302, 403, 303, 303, 303)},
    "recent": {"get": (302, 403, 200, 200, 200)},
    # One record.
    "evaluation": {"get": (302, 403, 200, 200, 200)},
    "peek": {"get": (302, 403, 200, 200, 200)},
    "line": {"get": (302, 403, 404, 404, 404)},
    "look-next": {"get": (302, 403, 302, 302, 302)},
    "look-previous": {"get": (302, 403, 302, 302, 302)},
    "claim": {"post": (302, 403, 303, 303, 303)},
    "renew": {"post": (302, 403, 409, 409, 409)},
    "release": {"post": (302, 403, 303, 303, 303)},
    "skip": {"post": (302, 403, 303, 303, 303)},
    "unskip": {"post": (302, 403, 302, 302, 302)},
    "draft": {"post": (302, 403, 400, 400, 400)},
    "preview": {"post": (302, 403, 200, 200, 200)},
    # Decisions on a record.
    "lock-in": {"post": (302, 403, 422, 422, 422)},
    "submit": {"post": (302, 403, 422, 422, 422)},
    "independent-review": {"post": (302, 403, 404, 404, 404)},
    "adjudicate": {"post": (302, 403, 403, 303, 303)},
    "revise": {"get": (302, 403, 404, 404, 404), "post": (302, 403, 404, 404, 404)},
    "reopen": {"post": (302, 403, 404, 404, 404)},
    "record-history": {"get": (302, 403, 200, 200, 200)},
    "restore": {"post": (302, 403, 404, 404, 404)},
    # Escalated records.
    "escalate": {"get": (302, 403, 200, 200, 200), "post": (302, 403, 422, 422, 422)},
    "withdraw-escalation": {"post": (302, 403, 403, 403, 303)},
    "read-answer": {"post": (302, 403, 403, 403, 302)},
    "resolve-escalation": {"post": (302, 403, 403, 422, 422)},
    "take-side": {"post": (302, 403, 403, 303, 303)},
    # The dashboard and My activity. The requests name no reviewer, and only leads see decisions of others.
    # Only in debug mode.
    "styleguide": {"get": (302, 404, 404, 404, 404)},
    "palette": {"get": (302, 403, 200, 200, 200)},
    "inbox": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 404, 404)},
    "inbox-next": {"get": (302, 403, 403, 303, 303)},
    "retry-failure": {"post": (302, 403, 403, 404, 404)},
    "dismiss-failure": {"post": (302, 403, 403, 404, 404)},
    "dashboard": {"get": (302, 403, 403, 200, 200)},
    "dashboard-table": {"get": (302, 403, 403, 200, 200)},
    "dashboard-release": {"post": (302, 403, 403, 302, 302)},
    "reviewer-activity": {"get": (302, 403, 403, 200, 200)},
    "my-activity": {"get": (302, 403, 200, 200, 200)},
    "decisions": {"get": (302, 403, 403, 200, 200)},
    "workload": {"get": (302, 403, 403, 200, 200)},
    "decisions-csv": {"get": (302, 403, 403, 200, 200)},
    "spot-checks": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 422, 422)},
    "spot-check": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 422, 422)},
    "known-answers": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 422, 422)},
    "known-answer-check": {"get": (302, 403, 403, 200, 200)},
    "end-known-answers": {"post": (302, 403, 403, 302, 302)},
    # Judge accuracy
    "judge-data": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 422, 422)},
    "judge": {"get": (302, 403, 403, 200, 200)},
    "judge-errors": {"get": (302, 403, 403, 200, 200)},
    "judge-flags": {"get": (302, 403, 403, 200, 200)},
    "judge-models": {"get": (302, 403, 403, 200, 200)},
    "judge-reviewers": {"get": (302, 403, 403, 200, 200)},
    "judge-error-analysis-markdown": {"get": (302, 403, 403, 200, 200)},
    "judge-few-shot": {"get": (302, 403, 403, 200, 200)},
    "judge-compare": {"get": (302, 403, 403, 200, 200)},
    "judge-pairs": {"get": (302, 403, 403, 404, 404)},
    "judge-pairs-csv": {"get": (302, 403, 403, 404, 404)},
    "judge-anchors": {"get": (302, 403, 403, 404, 404)},
    "judge-anchors-csv": {"get": (302, 403, 403, 404, 404)},
    "judge-orders": {"get": (302, 403, 403, 404, 404)},
    "judge-orders-csv": {"get": (302, 403, 403, 404, 404)},
    "judge-history": {"get": (302, 403, 403, 200, 200)},
    "judge-history-csv": {"get": (302, 403, 403, 200, 200)},
    "judge-gold": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 422, 422)},
    "judge-gold-records": {"get": (302, 403, 403, 404, 404)},
    "judge-gold-records-csv": {"get": (302, 403, 403, 404, 404)},
    # The audit log.
    "audit": {"get": (302, 403, 403, 200, 200)},
    "audit-csv": {"get": (302, 403, 403, 200, 200)},
    "audit-json": {"get": (302, 403, 403, 200, 200)},
    "check-audit": {"post": (302, 403, 403, 302, 302)},
    "gold-sets": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 422, 422)},
    "gold-set": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 422, 422)},
    "export-gold-set": {"post": (302, 403, 403, 200, 200)},
    "delete-gold-set": {"post": (302, 403, 403, 302, 302)},
    "judge-plan": {"get": (302, 403, 403, 200, 200)},
    "serve-plan": {"post": (302, 403, 403, 422, 422)},
    "stop-plan": {"post": (302, 403, 403, 302, 302)},
    "judge-report": {"get": (302, 403, 403, 200, 200)},
    "judge-report-html": {"get": (302, 403, 403, 200, 200)},
    "judge-report-csv": {"get": (302, 403, 403, 200, 200)},
    "judge-report-json": {"get": (302, 403, 403, 200, 200)},
    "judge-blind-records": {"get": (302, 403, 403, 200, 200)},
    "judge-blind-records-csv": {"get": (302, 403, 403, 200, 200)},
    "judge-decisions": {"get": (302, 403, 403, 200, 200)},
    "judge-decisions-csv": {"get": (302, 403, 403, 200, 200)},
    "judge-table": {"get": (302, 403, 403, 200, 200)},
    # The person's own account, login and logout.
    "dismiss-key-hint": {"post": (302, 302, 302, 302, 302)},
    "preferences": {"get": (302, 200, 200, 200, 200), "post": (302, 422, 422, 422, 422)},
    "account": {"get": (302, 200, 200, 200, 200)},
    "session": {"get": (200, 200, 200, 200, 200)},
    "signed-in": {"get": (302, 200, 200, 200, 200)},
    "password": {
        "get": (302, 200, 200, 200, 200),
        "head": NO_METHOD,
        "post": (302, 200, 200, 200, 200),
    },
    # Creating a token redirects to the reauthentication page.
    "tokens": {"get": (302, 403, 403, 403, 200)},
    "add-token": {"get": (302, 403, 302, 302, 302), "post": (302, 403, 302, 302, 302)},
    "revoke-token": {"post": (302, 404, 404, 404, 302)},
    "api": {"get": (302, 200, 200, 200, 200)},
    "api-problem": {"get": (302, 200, 200, 200, 200)},
    # Changes here require reauthentication.
    "add-app": {"get": LOGIN, "head": NO_METHOD, "post": LOGIN},
    "remove-app": {"post": (302, 404, 404, 404, 404)},
    "new-codes": {"post": LOGIN},
    "add-passkey": {"get": LOGIN, "head": NO_METHOD, "post": LOGIN},
    "remove-passkey": {"post": (302, 404, 404, 404, 404)},
    "end-session": {"post": (302, 404, 404, 404, 404)},
    "end-other-sessions": {"post": LOGIN},
    "reauthenticate": {
        "get": (302, 200, 200, 200, 200),
        "head": NO_METHOD,
        "post": (302, 200, 200, 200, 200),
    },
    "reauthenticate-by-code": {"get": LOGIN, "head": NO_METHOD, "post": LOGIN},
    "reauthenticate-by-passkey": {"get": LOGIN, "head": NO_METHOD, "post": LOGIN},
    # Accounts. Changes redirect an admin to the reauthentication page.
    "people": {"get": (302, 403, 403, 403, 200)},
    "person": {"get": (302, 403, 403, 403, 200)},
    "invite": {"post": (302, 403, 403, 403, 302)},
    "change-role": {"post": (302, 403, 403, 403, 302)},
    "reset-second-factor": {"post": (302, 403, 403, 403, 302)},
    "password-link": {"post": (302, 403, 403, 403, 302)},
    "deactivate": {"post": (302, 403, 403, 403, 302)},
    "reactivate": {"post": (302, 403, 403, 403, 302)},
    "renew-link": {"post": (302, 403, 403, 403, 302)},
    "withdraw-link": {"post": (302, 403, 403, 403, 302)},
    # Jobs and the system. The address of a job has a kind that does not exist.
    "jobs": {"get": (302, 403, 403, 403, 200)},
    "retry-job": {"post": (302, 403, 403, 403, 404)},
    "cancel-job": {"post": (302, 403, 403, 403, 404)},
    "system": {"get": (302, 403, 403, 403, 200)},
    # Webhooks.
    "webhooks": {"get": (302, 403, 403, 403, 200)},
    "add-webhook": {"post": (302, 403, 403, 403, 302)},
    "webhook": {"get": (302, 403, 403, 403, 200)},
    "test-webhook": {"post": (302, 403, 403, 403, 302)},
    "remove-webhook": {"post": (302, 403, 403, 403, 302)},
    "add-webhook-secret": {"post": (302, 403, 403, 403, 302)},
    "remove-webhook-secret": {"post": (302, 403, 403, 403, 404)},
    "resend-webhook-message": {"post": (302, 403, 403, 403, 404)},
    # Logins. Nobody is waiting for a second factor, no passkey is sent, and there is no provider.
    "join": {"get": (404, 404, 404, 404, 404), "post": (404, 404, 404, 404, 404)},
    "new-password": {"get": (404, 404, 404, 404, 404), "post": (404, 404, 404, 404, 404)},
    "login": {"get": (200, 302, 302, 302, 302), "head": NO_HEAD, "post": (200, 302, 302, 302, 302)},
    "second-factor": {"get": LOGIN, "head": NO_HEAD, "post": LOGIN},
    "log-in-by-passkey": {"get": LOGIN, "head": NO_HEAD, "post": LOGIN},
    "single-sign-on": {"post": (404, 404, 404, 404, 404)},
    "single-sign-on-callback": {"get": (404, 404, 404, 404, 404)},
    "logout": {"post": LOGIN},
    "welcome": {"get": (404, 404, 404, 404, 404), "post": (404, 404, 404, 404, 404)},
}
