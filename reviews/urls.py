"""The URLs of the pages and the API. `tests/views/access.py` lists who may request each."""

from collections.abc import Callable

from django.http import HttpResponseBase
from django.urls import URLPattern, URLResolver, path
from django.urls.resolvers import RoutePattern

from reviews.api.problems import PREFIX
from reviews.views.accounts import account, invitations, people, preferences, second_factor, tokens
from reviews.views.audit import pages as audit
from reviews.views.dashboard import inbox, known_answers, overview, spot_checks
from reviews.views.dashboard import overview as dashboard_overview
from reviews.views.files import conflicts, exports, imports, task_context, uploads
from reviews.views.judge import compare as judge_compare
from reviews.views.judge import downloads, gold, report
from reviews.views.judge import downloads as judge_csv
from reviews.views.judge import drift as judge_drift
from reviews.views.judge import funnel as judge_funnel
from reviews.views.judge import gold as judge_gold
from reviews.views.judge import history as judge_history
from reviews.views.judge import pages as judge_pages
from reviews.views.judge import plan as judge_plan
from reviews.views.judge import position_bias as judge_position_bias
from reviews.views.judge import record_lists as judge_decisions
from reviews.views.review import (
    decisions,
    drafts,
    escalations,
    history,
    independent_reviews,
    queue,
    record,
    undo,
)
from reviews.views.runs import archive, bulk_changes, home, lists, mappings, run_page, settings
from reviews.views.runs.settings_page import settings_page
from reviews.views.site import api_page, operations, palette, styleguide, webhooks


class _Api(URLResolver):
    """The URLs of the API, imported by its first request. Pages, commands and the worker do not need them."""

    def _populate(self) -> None:
        """Do nothing. Django looks names of a namespace up in `url_patterns`."""


def _with_csv(route: str, view: Callable[..., HttpResponseBase], name: str) -> list[URLPattern]:
    """Return the URLs of a list and of its CSV file."""
    return [
        path(f"{route}/", view, name=name),
        path(f"{route}.csv", view, {"is_csv": True}, name=f"{name}-csv"),
    ]


pages = [
    path("", home.runs, name="runs"),
    path("styleguide/", styleguide.styleguide, name="styleguide"),
    path("search/", palette.palette, name="palette"),
    path("review/", home.start, name="start"),
    path("my-reviews/", home.my_reviews, name="my-reviews"),
    path("runs/<int:pk>/", run_page.run_page, name="run"),
    path("runs/<int:run_pk>/tasks/", lists.tasks, name="tasks"),
    path("runs/<int:run_pk>/views/", lists.save_view, name="save-view"),
    path("views/<int:pk>/remove/", lists.remove_view, name="remove-view"),
    path("runs/<int:run_pk>/bulk-changes/", bulk_changes.bulk_change, name="bulk-change"),
    path("bulk-changes/<int:pk>/undo/", bulk_changes.undo_bulk_change, name="undo-bulk-change"),
    path("runs/<int:run_pk>/settings/", settings.settings, name="run-settings"),
    path("runs/<int:run_pk>/settings/rubric.toml", settings.rubric_toml, name="rubric-toml"),
    path("runs/<int:run_pk>/settings/rubric/confirm/", settings.confirm_rubric, name="confirm-rubric"),
    *(
        path(f"runs/<int:run_pk>/settings/{form.path}/", settings_page, {"form_class": form}, name=form.place)
        for form in settings.FORMS
    ),
    path("runs/<int:run_pk>/archive/", archive.archive, name="archive-run"),
    path("runs/<int:run_pk>/delete/", archive.delete, name="delete-run"),
    path("runs/<int:run_pk>/unarchive/", archive.archive, {"undo": True}, name="unarchive-run"),
    path("runs/<int:run_pk>/settings/mapping/", mappings.mapping_page, name="run-mapping"),
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
    path("runs/<int:run_pk>/recent/", queue.recent, name="recent"),
    path("runs/<int:run_pk>/unskip/", queue.unskip_all, name="unskip-all"),
    path("runs/<int:run_pk>/judge/", judge_pages.show_overview, name="judge"),
    *(
        path(f"runs/<int:run_pk>/judge/{name}/", judge_pages.show_page, {"place": place}, name=place)
        for place, name in judge_pages.PATHS.items()
    ),
    path(
        "runs/<int:run_pk>/judge/error-analysis.md",
        downloads.error_analysis_markdown,
        name="judge-error-analysis-markdown",
    ),
    path("runs/<int:run_pk>/judge/few-shot.jsonl", downloads.few_shot_examples, name="judge-few-shot"),
    path("runs/<int:run_pk>/judge/compare/", judge_compare.show_compare, name="judge-compare"),
    *_with_csv("runs/<int:run_pk>/judge/compare/pairs", judge_compare.list_pairs, "judge-pairs"),
    *_with_csv("runs/<int:run_pk>/judge/compare/anchors", judge_drift.list_anchors, "judge-anchors"),
    *_with_csv("runs/<int:run_pk>/judge/orders", judge_position_bias.list_orders, "judge-orders"),
    *_with_csv("runs/<int:run_pk>/judge/history", judge_history.show_history, "judge-history"),
    path("runs/<int:run_pk>/judge/gold/", judge_gold.gold_page, name="judge-gold"),
    *_with_csv("runs/<int:run_pk>/judge/gold/records", judge_gold.list_records, "judge-gold-records"),
    path("gold-sets/", gold.gold_set_list, name="gold-sets"),
    path("gold-sets/<int:pk>/", gold.show_gold_set, name="gold-set"),
    path("gold-sets/<int:pk>/export/", gold.export_gold_set, name="export-gold-set"),
    path("gold-sets/<int:pk>/delete/", gold.delete_gold_set, name="delete-gold-set"),
    path("runs/<int:run_pk>/judge/plan/", judge_plan.show_plan, name="judge-plan"),
    path("runs/<int:run_pk>/judge/plan/serve/", judge_plan.serve, name="serve-plan"),
    path("runs/<int:run_pk>/judge/plan/end/", judge_plan.stop, name="stop-plan"),
    path("runs/<int:run_pk>/judge/report/", report.judge_report, name="judge-report"),
    path("runs/<int:run_pk>/judge/report.html", report.report_html, name="judge-report-html"),
    path("runs/<int:run_pk>/judge/report.csv", report.report_as_csv, name="judge-report-csv"),
    path("runs/<int:run_pk>/judge/report.json", report.report_json, name="judge-report-json"),
    path("runs/<int:run_pk>/judge/data/", downloads.judge_data_page, name="judge-data"),
    path("runs/<int:run_pk>/judge/blind/", judge_funnel.show_records, name="judge-blind-records"),
    path("runs/<int:run_pk>/judge/blind.csv", judge_funnel.records_csv, name="judge-blind-records-csv"),
    path("runs/<int:run_pk>/judge/decisions/", judge_decisions.decision_list, name="judge-decisions"),
    path("runs/<int:run_pk>/judge/decisions.csv", judge_decisions.decisions_csv, name="judge-decisions-csv"),
    path("runs/<int:run_pk>/judge/<slug:table>.csv", judge_csv.csv_file, name="judge-table"),
    path("import/", uploads.import_file, name="import-file"),
    path("imports/<int:pk>/", imports.import_page, name="import"),
    path("imports/<int:pk>/rejected.jsonl", imports.rejected, name="import-rejected"),
    path("imports/<int:pk>/exceptions.jsonl", imports.exceptions, name="import-exceptions"),
    path("exports/<int:pk>/", exports.export_page, name="export-page"),
    path("exports/<int:pk>/cancel/", exports.cancel_export, name="cancel-export"),
    path("exports/<int:pk>/file", exports.export_file, name="export-file"),
    path("exports/<int:pk>/receipt.json", exports.export_receipt, name="export-receipt"),
    path("imports/<int:pk>/new-run/", imports.import_as_new_run, name="import-as-new-run"),
    path("imports/<int:pk>/cancel/", imports.cancel, name="cancel-import"),
    path("imports/<int:pk>/retry/", imports.retry, name="retry-import"),
    path("task-context/", task_context.contexts, name="task-context"),
    path("mappings/", mappings.mappings, name="mappings"),
    path("uploads/", uploads.new_upload, name="uploads"),
    path("uploads/<uuid:pk>/", uploads.upload, name="upload"),
    path("uploads/<uuid:pk>/mapping/", uploads.upload_mapping, name="upload-mapping"),
    path("evaluations/<int:pk>/", record.evaluation, name="evaluation"),
    path("evaluations/<int:pk>/line.jsonl", record.line, name="line"),
    path("evaluations/<int:pk>/peek/<int:other>/", record.peek, name="peek"),
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
    path("escalations/<int:pk>/read/", escalations.read_answer, name="read-answer"),
    path("escalations/<int:pk>/side/", escalations.take_side, name="take-side"),
    path("escalations/<int:pk>/resolve/", escalations.resolve_escalation, name="resolve-escalation"),
    path("inbox/", inbox.inbox, name="inbox"),
    path("inbox/next/", inbox.next_item, name="inbox-next"),
    path("inbox/retry/", inbox.retry, name="retry-failure"),
    path("inbox/dismiss/", inbox.dismiss, name="dismiss-failure"),
    path("dashboard/", dashboard_overview.dashboard, name="dashboard"),
    path("dashboard/<slug:name>.csv", dashboard_overview.dashboard_table, name="dashboard-table"),
    path("dashboard/release/<int:pk>/", dashboard_overview.release, name="dashboard-release"),
    path("workload/", overview.workload_page, name="workload"),
    path("people/<int:pk>/activity/", dashboard_overview.reviewer_activity_page, name="reviewer-activity"),
    path("activity/", dashboard_overview.my_activity, name="my-activity"),
    path("activity/decisions/", dashboard_overview.decision_list, name="decisions"),
    path("activity/decisions.csv", dashboard_overview.decisions_csv, name="decisions-csv"),
    path("audit/", audit.audit_log, name="audit"),
    path("audit.csv", audit.audit_file, {"suffix": ".csv"}, name="audit-csv"),
    path("audit.json", audit.audit_file, {"suffix": ".json"}, name="audit-json"),
    path("audit/check/", audit.check_chain, name="check-audit"),
    path("runs/<int:run_pk>/known-answers/", known_answers.known_answers, name="known-answers"),
    path("known-answers/<int:pk>/", known_answers.known_answer_check, name="known-answer-check"),
    path("known-answers/<int:pk>/end/", known_answers.end_check, name="end-known-answers"),
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
    path("links/<int:pk>/renew/", invitations.renew_link, name="renew-link"),
    path("links/<int:pk>/withdraw/", invitations.withdraw_link, name="withdraw-link"),
    path("join/<token>/", invitations.join, name="join"),
    path("new-password/<token>/", invitations.new_password, name="new-password"),
    path("login/", account.login, name="login"),
    path("login/second-factor/", second_factor.authenticate, name="second-factor"),
    path("login/passkey/", second_factor.log_in_by_passkey, name="log-in-by-passkey"),
    path("login/<slug:provider_id>/begin/", account.begin_single_sign_on, name="single-sign-on"),
    path("login/<slug:provider_id>/callback/", account.finish_single_sign_on, name="single-sign-on-callback"),
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
    path("tokens/", tokens.token_list, name="tokens"),
    path("tokens/new/", tokens.add, name="add-token"),
    path("tokens/<int:pk>/revoke/", tokens.revoke, name="revoke-token"),
    path("api/", api_page.reference, name="api"),
    path("api/problems/<slug:slug>/", api_page.problem_type, name="api-problem"),
    path("jobs/", operations.jobs_page, name="jobs"),
    path("jobs/<slug:kind>/<int:pk>/retry/", operations.retry_job, name="retry-job"),
    path("jobs/<slug:kind>/<int:pk>/cancel/", operations.cancel_job, name="cancel-job"),
    path("system/", operations.system_page, name="system"),
    path("webhooks/", webhooks.webhook_list, name="webhooks"),
    path("webhooks/add/", webhooks.add, name="add-webhook"),
    path("webhooks/<int:pk>/", webhooks.webhook, name="webhook"),
    path("webhooks/<int:pk>/test/", webhooks.send_test, name="test-webhook"),
    path("webhooks/<int:pk>/remove/", webhooks.remove, name="remove-webhook"),
    path("webhooks/<int:pk>/secrets/add/", webhooks.add_secret, name="add-webhook-secret"),
    path(
        "webhooks/<int:pk>/secrets/<int:secret_pk>/remove/",
        webhooks.remove_secret,
        name="remove-webhook-secret",
    ),
    path(
        "webhooks/<int:pk>/messages/<int:delivery_pk>/resend/", webhooks.resend, name="resend-webhook-message"
    ),
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

# The paths are tried in this order, so that of the API costs its requests nothing in front of 200 pages.
urlpatterns = [
    _Api(RoutePattern(PREFIX.removeprefix("/")), "reviews.api.urls", app_name="ninja", namespace="api-1"),
    *pages,
    *(
        path(str(_by_name[ours].pattern), _by_name[ours].callback, name=theirs)
        for theirs, ours in _ALLAUTH_NAMES.items()
    ),
]
