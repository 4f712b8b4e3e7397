"""The URLs of the pages and the API. `tests/views/access.py` lists who may request each."""

from django.urls import path

from reviews.api.problems import PREFIX
from reviews.api.urls import urls as api
from reviews.views.accounts import (
    account,
    invitations,
    people,
    preferences,
    second_factor,
    single_sign_on,
    tokens,
)
from reviews.views.dashboard import escalations as dashboard_escalations
from reviews.views.dashboard import inbox, spot_checks
from reviews.views.dashboard import overview as dashboard_overview
from reviews.views.files import conflicts, exports, imports, task_context, upload_mapping, uploads
from reviews.views.judge import decisions as judge_decisions
from reviews.views.judge import error_analysis, report
from reviews.views.judge import overview as judge_overview
from reviews.views.review import (
    decisions,
    drafts,
    escalations,
    history,
    independent_reviews,
    peek,
    queue,
    recent,
    record,
    undo,
)
from reviews.views.runs import archive, home, lists, mappings, reread, run_page, settings, start
from reviews.views.runs.archive import NameForm
from reviews.views.runs.claim_length import ClaimLengthForm
from reviews.views.runs.guideline import GuidelineForm
from reviews.views.runs.measurement import MeasurementForm
from reviews.views.runs.members import MembersForm
from reviews.views.runs.settings_page import settings_page
from reviews.views.site import api_page, palette, styleguide, webhooks

pages = [
    path("", home.runs, name="runs"),
    path("styleguide/", styleguide.styleguide, name="styleguide"),
    path("search/", palette.palette, name="palette"),
    path("review/", start.start, name="start"),
    path("runs/<int:pk>/", run_page.run_page, name="run"),
    path("runs/<int:run_pk>/tasks/", lists.tasks, name="tasks"),
    path("runs/<int:run_pk>/views/", lists.save_view, name="save-view"),
    path("views/<int:pk>/remove/", lists.remove_view, name="remove-view"),
    path("runs/<int:run_pk>/bulk-changes/", lists.bulk_change, name="bulk-change"),
    path("bulk-changes/<int:pk>/undo/", lists.undo_bulk_change, name="undo-bulk-change"),
    path("runs/<int:run_pk>/settings/", settings.settings, name="run-settings"),
    path("runs/<int:run_pk>/settings/rubric.toml", settings.rubric_toml, name="rubric-toml"),
    path("runs/<int:run_pk>/settings/rubric/confirm/", settings.confirm_rubric, name="confirm-rubric"),
    path(
        "runs/<int:run_pk>/settings/guideline/",
        settings_page,
        {"form_class": GuidelineForm},
        name="run-guideline",
    ),
    path(
        "runs/<int:run_pk>/settings/claims/",
        settings_page,
        {"form_class": ClaimLengthForm},
        name="run-claim-length",
    ),
    path(
        "runs/<int:run_pk>/settings/measurement/",
        settings_page,
        {"form_class": MeasurementForm},
        name="run-measurement",
    ),
    path(
        "runs/<int:run_pk>/settings/members/", settings_page, {"form_class": MembersForm}, name="run-members"
    ),
    path("runs/<int:run_pk>/settings/name/", settings_page, {"form_class": NameForm}, name="run-name"),
    path("runs/<int:run_pk>/archive/", archive.archive, name="archive-run"),
    path("runs/<int:run_pk>/delete/", archive.delete, name="delete-run"),
    path("runs/<int:run_pk>/unarchive/", archive.unarchive, name="unarchive-run"),
    path("runs/<int:run_pk>/settings/mapping/", reread.mapping_page, name="run-mapping"),
    path("runs/<int:run_pk>/export/", exports.export, name="export"),
    path(
        "runs/<int:run_pk>/independent-reviews.jsonl",
        independent_reviews.download_independent_reviews,
        name="independent-reviews",
    ),
    path("runs/<int:run_pk>/review/", queue.review, name="review"),
    path("runs/<int:run_pk>/claim/", queue.claim_next, name="claim-next"),
    path("runs/<int:run_pk>/conflicts/", conflicts.conflict_list, name="conflicts"),
    path("runs/<int:run_pk>/conflicts/resolve/", conflicts.resolve_conflicts, name="resolve-conflicts"),
    path("runs/<int:run_pk>/prefetch/", queue.prefetch_next, name="prefetch"),
    path("runs/<int:run_pk>/release-prefetched/", queue.release_prefetched, name="release-prefetched"),
    path("runs/<int:run_pk>/undo/", undo.undo, name="undo"),
    path("runs/<int:run_pk>/recent/", recent.recent, name="recent"),
    path("runs/<int:run_pk>/unskip/", queue.unskip_all, name="unskip-all"),
    path("runs/<int:run_pk>/judge/", judge_overview.accuracy_page, name="judge"),
    path(
        "runs/<int:run_pk>/judge/flag-precision/",
        judge_overview.flag_precision_page,
        name="judge-flag-precision",
    ),
    path(
        "runs/<int:run_pk>/judge/missed-errors/",
        judge_overview.missed_errors_page,
        name="judge-missed-errors",
    ),
    path("runs/<int:run_pk>/judge/leaderboard/", judge_overview.leaderboard_page, name="judge-leaderboard"),
    path(
        "runs/<int:run_pk>/judge/error-analysis/",
        error_analysis.show_error_analysis,
        name="judge-error-analysis",
    ),
    path(
        "runs/<int:run_pk>/judge/error-analysis.md",
        error_analysis.error_analysis_markdown,
        name="judge-error-analysis-markdown",
    ),
    path("runs/<int:run_pk>/judge/few-shot.jsonl", error_analysis.few_shot_examples, name="judge-few-shot"),
    path("runs/<int:run_pk>/judge/report/", report.judge_report, name="judge-report"),
    path("runs/<int:run_pk>/judge/report.json", report.report_json, name="judge-report-json"),
    path("runs/<int:run_pk>/judge/decisions/", judge_decisions.decision_list, name="judge-decisions"),
    path("runs/<int:run_pk>/judge/decisions.csv", judge_decisions.decisions_csv, name="judge-decisions-csv"),
    path("runs/<int:run_pk>/judge/<slug:table>.csv", judge_overview.csv_file, name="judge-table"),
    path("imports/<int:pk>/", imports.import_page, name="import"),
    path("imports/<int:pk>/rejected.jsonl", imports.rejected, name="import-rejected"),
    path("imports/<int:pk>/exceptions.jsonl", imports.exceptions, name="import-exceptions"),
    path("exports/<int:pk>/", exports.export_page, name="export-page"),
    path("exports/<int:pk>/file", exports.export_file, name="export-file"),
    path("exports/<int:pk>/receipt.json", exports.export_receipt, name="export-receipt"),
    path("imports/<int:pk>/new-run/", imports.import_as_new_run, name="import-as-new-run"),
    path("imports/<int:pk>/cancel/", imports.cancel, name="cancel-import"),
    path("imports/<int:pk>/retry/", imports.retry, name="retry-import"),
    path("task-context/", task_context.contexts, name="task-context"),
    path("mappings/", mappings.mappings, name="mappings"),
    path("uploads/", uploads.new_upload, name="uploads"),
    path("uploads/<uuid:pk>/", uploads.upload, name="upload"),
    path("uploads/<uuid:pk>/mapping/", upload_mapping.upload_mapping, name="upload-mapping"),
    path("evaluations/<int:pk>/", record.evaluation, name="evaluation"),
    path("evaluations/<int:pk>/line.jsonl", record.line, name="line"),
    path("evaluations/<int:pk>/peek/<int:other>/", peek.peek, name="peek"),
    path("evaluations/<int:pk>/claim/", record.claim, name="claim"),
    path("evaluations/<int:pk>/next/", record.show_neighbour, {"forward": True}, name="look-next"),
    path("evaluations/<int:pk>/previous/", record.show_neighbour, {"forward": False}, name="look-previous"),
    path("evaluations/<int:pk>/draft/", drafts.draft, name="draft"),
    path("evaluations/<int:pk>/renew/", drafts.renew, name="renew"),
    path("evaluations/<int:pk>/lock-in/", decisions.lock_in, name="lock-in"),
    path("evaluations/<int:pk>/submit/", decisions.submit, name="submit"),
    path(
        "evaluations/<int:pk>/independent-review/", independent_reviews.add_review, name="independent-review"
    ),
    path("evaluations/<int:pk>/adjudicate/", independent_reviews.adjudicate, name="adjudicate"),
    path("evaluations/<int:pk>/revise/", decisions.revise, name="revise"),
    path("evaluations/<int:pk>/reopen/", decisions.reopen, name="reopen"),
    path("evaluations/<int:pk>/history/", history.record_history, name="record-history"),
    path("evaluations/<int:pk>/restore/", history.restore, name="restore"),
    path("evaluations/<int:pk>/skip/", record.skip, name="skip"),
    path("evaluations/<int:pk>/unskip/", record.unskip, name="unskip"),
    path("evaluations/<int:pk>/release/", record.release, name="release"),
    path("evaluations/<int:pk>/escalate/", escalations.escalate, name="escalate"),
    path("escalations/<int:pk>/withdraw/", escalations.withdraw_escalation, name="withdraw-escalation"),
    path("escalations/<int:pk>/resolve/", escalations.resolve_escalation, name="resolve-escalation"),
    path("runs/<int:run_pk>/escalations/", dashboard_escalations.open_escalations, name="open-escalations"),
    path("inbox/", inbox.inbox, name="inbox"),
    path("dashboard/", dashboard_overview.dashboard, name="dashboard"),
    path("dashboard/<slug:name>.csv", dashboard_overview.dashboard_table, name="dashboard-table"),
    path("dashboard/release/<int:pk>/", dashboard_overview.release, name="dashboard-release"),
    path("people/<int:pk>/activity/", dashboard_overview.reviewer_activity_page, name="reviewer-activity"),
    path("activity/", dashboard_overview.my_activity, name="my-activity"),
    path("activity/decisions/", dashboard_overview.decision_list, name="decisions"),
    path("activity/decisions.csv", dashboard_overview.decisions_csv, name="decisions-csv"),
    path("spot-checks/", spot_checks.drawn, name="spot-checks"),
    path("spot-checks/<int:pk>/", spot_checks.spot_check, name="spot-check"),
    path("preferences/", preferences.preferences_page, name="preferences"),
    path("preferences/key-hint/", preferences.dismiss_key_hint, name="dismiss-key-hint"),
    path("preview/", record.preview, name="preview"),
    path("people/", people.people_page, name="people"),
    path("people/invite/", invitations.invite, name="invite"),
    path("people/<int:pk>/", people.person, name="person"),
    path("people/<int:pk>/role/", people.change_role, name="change-role"),
    path("people/<int:pk>/second-factor/", people.reset_second_factor, name="reset-second-factor"),
    path("people/<int:pk>/password-link/", invitations.password_link, name="password-link"),
    path("people/<int:pk>/deactivate/", people.deactivate, name="deactivate"),
    path("people/<int:pk>/reactivate/", people.reactivate, name="reactivate"),
    path("links/<int:pk>/withdraw/", invitations.withdraw_link, name="withdraw-link"),
    path("join/<token>/", invitations.join, name="join"),
    path("new-password/<token>/", invitations.new_password, name="new-password"),
    path("login/", account.login, name="login"),
    path("login/second-factor/", second_factor.authenticate, name="second-factor"),
    path("login/passkey/", second_factor.log_in_by_passkey, name="log-in-by-passkey"),
    path("login/<slug:provider_id>/begin/", single_sign_on.begin, name="single-sign-on"),
    path("login/<slug:provider_id>/callback/", single_sign_on.callback, name="single-sign-on-callback"),
    path("logout/", account.logout, name="logout"),
    path("account/", account.account, name="account"),
    path("account/session/", account.session, name="session"),
    path("account/signed-in/", account.signed_in, name="signed-in"),
    path("account/password/", account.password, name="password"),
    path("account/app/", second_factor.add_app, name="add-app"),
    path("account/app/remove/", second_factor.remove_app, name="remove-app"),
    path("account/codes/", second_factor.new_codes, name="new-codes"),
    path("account/passkeys/add/", second_factor.add_passkey, name="add-passkey"),
    path("account/passkeys/<int:pk>/remove/", second_factor.remove_passkey, name="remove-passkey"),
    path("account/sessions/<int:pk>/end/", account.end_session, name="end-session"),
    path("account/sessions/end-others/", account.end_other_sessions, name="end-other-sessions"),
    path("tokens/<int:pk>/revoke/", tokens.revoke, name="revoke-token"),
    path("api/", api_page.reference, name="api"),
    path("webhooks/", webhooks.webhook_list, name="webhooks"),
    path("webhooks/add/", webhooks.add, name="add-webhook"),
    path("webhooks/<int:pk>/", webhooks.webhook, name="webhook"),
    path("webhooks/<int:pk>/test/", webhooks.send_test, name="test-webhook"),
    path("webhooks/<int:pk>/remove/", webhooks.remove, name="remove-webhook"),
    path("account/reauthenticate/", second_factor.reauthenticate, name="reauthenticate"),
    path("account/reauthenticate/code/", second_factor.reauthenticate_by_code, name="reauthenticate-by-code"),
    path(
        "account/reauthenticate/passkey/",
        second_factor.reauthenticate_by_passkey,
        name="reauthenticate-by-passkey",
    ),
    path("welcome/<token>/", account.welcome, name="welcome"),
]

# allauth looks pages up by its own names: its name -> ours.
_ALLAUTH_NAMES = {
    "account_login": "login",
    "account_reauthenticate": "reauthenticate",
    "mfa_activate_totp": "add-app",
    "mfa_authenticate": "second-factor",
    "mfa_deactivate_totp": "remove-app",
    "mfa_index": "account",
    "mfa_reauthenticate": "reauthenticate-by-code",
    "mfa_reauthenticate_webauthn": "reauthenticate-by-passkey",
    "openid_connect_callback": "single-sign-on-callback",
    "openid_connect_login": "single-sign-on",
}
_by_name = {page.name: page for page in pages}

urlpatterns = [
    *pages,
    path(PREFIX.removeprefix("/"), api),
    *(
        path(str(_by_name[ours].pattern), _by_name[ours].callback, name=theirs)
        for theirs, ours in _ALLAUTH_NAMES.items()
    ),
]
