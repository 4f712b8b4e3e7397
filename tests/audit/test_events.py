"""Every write leaves an event, in its own transaction, and nothing takes it away again."""

import inspect
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from allauth.usersessions.models import UserSession
from django.conf import LazySettings
from django.contrib.sessions.backends.db import SessionStore
from django.db import IntegrityError, connection, transaction
from django.db.models import ProtectedError
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from reviews.accounts import api_tokens, one_time_links, people, preferences, sessions
from reviews.audit import events, reveals
from reviews.audit.events import NoTransaction
from reviews.dashboard import bulk_changes, spot_checks
from reviews.dashboard.reviewer_activity import WorkSelection
from reviews.exports import jobs, output, stored_files
from reviews.imports import importer, runs, task_context, uploads
from reviews.imports import jobs as import_jobs
from reviews.judge import measurement_settings
from reviews.maintenance import key_rotation, repair, retention
from reviews.models import (
    AuditEvent,
    AuditSeal,
    Evaluation,
    Export,
    ExportPart,
    FileConflict,
    OneTimeLink,
    Review,
    Upload,
    User,
    Webhook,
)
from reviews.queue import claims, next_record
from reviews.records.mapping import FieldMapping
from reviews.records.schema import HUMAN_FIELDS
from reviews.review import (
    agreement_counts,
    blind_scoring,
    decisions,
    drafts,
    escalations,
    independent_reviews,
    overturns,
    versions,
)
from reviews.review.decision import Decision
from reviews.rubric import definition
from reviews.sampling import draws
from reviews.search import saved_views, strata
from reviews.search.filters import Filters
from reviews.webhooks import deliveries
from tests.support.factories import PASSWORD, EvaluationFactory, RunFactory
from tests.support.lines import line
from tests.support.work import decide, restore_version

pytestmark = pytest.mark.django_db

Call = Callable[[], Any]


class TestRecord:
    def test_keeps_who_did_what_to_what(self, ana: User) -> None:
        evaluation = EvaluationFactory.create()
        source = evaluation.first_import
        events.record(
            "look", actor=ana, run=evaluation.run, source=source, evaluation=evaluation, where=["here", 1]
        )
        event = AuditEvent.objects.get()
        assert (event.action, event.actor, event.actor_name) == ("look", ana, "ana")
        assert (event.run, event.source, event.evaluation) == (evaluation.run, source, evaluation)
        assert event.detail == {"where": ["here", 1]}
        assert event.at is not None

    def test_without_an_actor_tells_of_the_program_itself(self) -> None:
        event = events.record("wake up", actor=None)
        assert (event.actor, event.actor_name, event.detail) == (None, "", {})

    def test_goes_with_the_transaction_it_tells_of(self, ana: User) -> None:
        with transaction.atomic():
            events.record("look", actor=ana)
            transaction.set_rollback(True)
        assert not AuditEvent.objects.exists()

    @pytest.mark.django_db(transaction=True)
    def test_outside_a_transaction_is_refused(self) -> None:
        with pytest.raises(NoTransaction):
            events.record("look", actor=None)
        assert not AuditEvent.objects.exists()


@pytest.fixture
def review(ana: User) -> Review:
    """One review, and with it one audit event."""
    review = decide(EvaluationFactory.create(), ana)
    with connection.cursor() as cursor:
        # Else the pending checks of what was just written keep TRUNCATE away, not the trigger.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    return review


class TestAppendOnly:
    def refused(self, table: str, operation: str, action: Callable[[], object]) -> None:
        message = f"^{table} is append-only: {operation} is refused"
        with pytest.raises(IntegrityError, match=message), transaction.atomic():
            action()

    @pytest.mark.parametrize(
        ("table", "key"), [("audit_event", "id"), ("audit_seal", "position"), ("review", "id")]
    )
    @pytest.mark.parametrize(
        ("operation", "statement"),
        [
            ("UPDATE", "UPDATE {table} SET {key} = {key}"),
            ("UPDATE", "UPDATE {table} SET {key} = {key} WHERE false"),
            ("UPDATE", "INSERT INTO {table} TABLE {table} ON CONFLICT ({key}) DO UPDATE SET {key} = 0"),
            ("UPDATE", "MERGE INTO {table} USING run ON true WHEN MATCHED THEN UPDATE SET {key} = 0"),
            ("DELETE", "DELETE FROM {table}"),
            ("DELETE", "WITH gone AS (DELETE FROM {table} RETURNING *) SELECT * FROM gone"),
            ("TRUNCATE", "TRUNCATE {table} CASCADE"),
        ],
    )  # fmt: skip
    def test_tables_refuse_sql_that_changes_them(
        self, review: Review, table: str, key: str, operation: str, statement: str
    ) -> None:
        with connection.cursor() as cursor:
            self.refused(table, operation, lambda: cursor.execute(statement.format(table=table, key=key)))

    def test_tables_are_not_emptied_by_way_of_what_they_refer_to(self, review: Review) -> None:
        with connection.cursor() as cursor:
            self.refused(
                "audit_event", "TRUNCATE", lambda: cursor.execute("TRUNCATE audit_event, person CASCADE")
            )
            self.refused(
                "(review|audit_event|audit_seal)", "TRUNCATE", lambda: cursor.execute("TRUNCATE run CASCADE")
            )

    def test_rows_refuse_the_orm(self, review: Review) -> None:
        event = AuditEvent.objects.get()
        self.refused("review", "UPDATE", review.save)
        self.refused("review", "UPDATE", lambda: Review.objects.update(comments="better"))
        self.refused("audit_event", "UPDATE", event.save)
        seal = AuditSeal.objects.get()
        self.refused("audit_seal", "UPDATE", seal.save)
        self.refused("audit_seal", "DELETE", seal.delete)
        with pytest.raises(ProtectedError):
            event.delete()
        # Django's own guard comes before the trigger, unless nothing refers to the row.
        Evaluation.objects.update(review=None)
        self.refused("review", "DELETE", review.delete)

    def test_tables_take_new_rows(self, review: Review, bo: User) -> None:
        decide(EvaluationFactory.create(), bo)
        assert (Review.objects.count(), AuditEvent.objects.count()) == (2, 2)


# Each public function of the modules that write, and the action of the event it leaves.
WRITING_MODULES = [
    blind_scoring,
    bulk_changes,
    task_context,
    drafts,
    escalations,
    jobs,
    import_jobs,
    importer,
    key_rotation,
    measurement_settings,
    next_record,
    agreement_counts,
    independent_reviews,
    overturns,
    people,
    preferences,
    claims,
    runs,
    reveals,
    repair,
    versions,
    retention,
    definition,
    draws,
    saved_views,
    one_time_links,
    sessions,
    spot_checks,
    strata,
    api_tokens,
    uploads,
    deliveries,
    decisions,
]
EVENTS = {
    "blind.lock_in": "reveal, blind scores",
    "blind.reveal_served": "reveal",
    "reveals.note": "reveal",
    "reveals.note_download": "reveal",
    "context_import.import_context": "import context",
    "exports.ask_for": "export asked for",
    "exports.hand_out": "reveal",
    "exports.build": "export",
    "exports.note": "export",
    "exports.stream": "export begun",
    "exports.fail": "export failed",
    "exports.remove_expired": "export removed",
    "importer.import_stream": "import, extend rubric",
    "importer.receive_upload": "upload",
    "import_jobs.import_upload": "import, extend rubric",
    "import_jobs.fail_upload": "import failed",
    "import_job.cancel": "import cancelled",
    "import_job.end_cancelled": "import cancelled",
    "key_rotation.rotate": "secrets re-encrypted",
    "import_job.retry": "import retried",
    "uploads.begin": "upload begun",
    "uploads.append": "upload",
    "uploads.drop": "upload dropped",
    "uploads.take": "upload begun, upload",
    "uploads.remove_expired": "upload expired",
    "links.choose_password": "password set by link",
    "links.invite": "invitation",
    "links.join": "user added",
    "links.password_link": "password link",
    "links.withdraw": "link withdrawn",
    "tokens.make": "token made",
    "tokens.revoke": "token revoked",
    "tokens.revoke_all": "token revoked",
    "webhooks.add": "webhook added",
    "webhooks.remove": "webhook removed",
    "webhooks.send_test": "webhook tested",
    "people.add_user": "user added",
    "people.change_role": "role changed",
    "people.deactivate": "person deactivated",
    "people.first_admin": "user added",
    "preferences.save": "preferences",
    "people.follow_provider": "role changed",
    "people.reactivate": "person reactivated",
    "people.reset_second_factor": "second factor reset",
    "queue.claim_next": "claim",
    "queue.prefetch_next": "claim",
    "queue.release_prefetched": "release prefetched",
    "queue.claim": "claim",
    "queue.release": "release",
    "queue.skip": "skip",
    "queue.unskip": "unskip",
    "queue.unskip_all": "unskip all",
    "escalation.escalate": "escalate",
    "escalation.withdraw": "withdraw escalation",
    "escalation.settle": "settle escalation",
    "independent_reviews.submit": "independent review, disagreement",
    "independent_reviews.add": "independent review",
    "independent_reviews.take_over": "adjudicate, reveal",
    "independent_reviews.take_back": "undo independent review",
    "bulk.apply": "bulk release",
    "bulk.undo": "bulk undo release",
    "saved_views.save": "view saved",
    "saved_views.remove": "view removed",
    "spot_checks.draw": "draw spot checks",
    "spot_checks.agree": "agree to spot check",
    "spot_checks.reopen": "reopen",
    "rubric.configure": "configure run",
    "measuring.configure": "configure measures",
    "sampling.draw_sample": "draw sample",
    "sampling.request_draw": "draw sample",
    "sampling.draw_after_import": "draw sample",
    "sessions.end": "session ended",
    "sessions.end_others": "other sessions ended",
    "sessions.log_out": "logout",
    "sessions.renew": "other sessions ended",
    "receiving.run_named": "map run",
    "repair.repair": "repair import",
    "rubric.extend": "extend rubric",
    "workflow.submit_review": "submit",
    "workflow.revise": "revise",
    "workflow.close": "close",
    "workflow.restore": "restore",
    "workflow.undo": "undo",
    "workflow.reopen": "reopen",
    "workflow.settle_conflict": "settle conflict",
}
# These write, and others tell of it.
TOLD_BY = {
    "import_job.reported": "import_jobs.import_upload",
    "queue.clear_claim": "queue.release",
    "queue.renew": "queue.claim",
    "queue.extend_claim": "queue.claim",
    "next_record.claim_first": "queue.claim_next",
    # Dozens of drafts are saved for one review, which tells what became of them.
    "drafts.save": "workflow.submit_review",
    "drafts.discard": "workflow.submit_review",
    "drafts.refill": "workflow.undo",
    "drafts.replace": "blind.lock_in",
    "review_version.add": "workflow.submit_review",
    "review_version.from_file": "workflow.settle_conflict",
    "strata.get_stratum": "workflow.submit_review",
    "strata.recount": "importer.import_stream",
    "sessions.end_all": "people.deactivate",
    "people.set_password": "links.choose_password",
    # That it was used, to the minute, is no event.
    "tokens.find": "tokens.make",
    "independent_reviews.close": "workflow.submit_review",
    "independent_reviews.reopen": "workflow.undo",
    "independent_reviews.recount": "workflow.undo",
    "independent_reviews.outdate": "importer.import_stream",
    "agreement_counts.count": "independent_reviews.submit",
    "agreement_counts.uncount": "independent_reviews.take_back",
    # What is sent changes nothing here; each message and its attempts are kept for 90 days.
    "webhooks.tell_reviewed": "webhooks.add",
    "webhooks.deliver": "webhooks.add",
    "webhooks.remove_old": "webhooks.add",
    # These remove rows that nobody can use any more.
    "retention.remove_cached": "people.deactivate",
    "retention.remove_jobs": "import_jobs.fail_upload",
    "retention.remove_links": "links.invite",
    "retention.remove_old": "exports.remove_expired",
    "retention.remove_sessions": "people.deactivate",
    "overturns.note": "workflow.reopen",
    "overturns.note_revision": "workflow.revise",
}
READS_ONLY = {
    "key_rotation.check",
    "import_job.can_retry",
    "webhooks.deliveries",
    "webhooks.in_force",
    "webhooks.latest",
    "strata.why_not_counted",
    "independent_reviews.readable_by",
    "reveals.has_read_independent_reviews",
    "reveals.sealed_from",
    "reveals.was_shown_to",
    "blind.check_locked_in",
    "blind.check_shown",
    "blind.committed",
    "blind.has_answer",
    "blind.is_hidden",
    "blind.possibility",
    "bulk.latest",
    "bulk.plan",
    "saved_views.of",
    "spot_checks.open_checks",
    "spot_checks.settled",
    "exports.kept_receipt",
    "exports.order_of",
    "exports.stretch",
    "importer.bare_name",
    "importer.cut",
    "importer.locked",
    "receiving.checked_run_name",
    "receiving.mapping_of",
    "uploads.check_size",
    "links.find",
    "tokens.of",
    "links.waiting",
    "people.check_password",
    "people.everybody",
    "people.needs_first_admin",
    "people.one_at_a_time",
    "people.welcome_token",
    "preferences.chosen_keys",
    "preferences.keys_of",
    "measuring.of",
    "measuring.percent",
    "measuring.reach",
    "sampling.count_sampled",
    "rubric.causes_named",
    "rubric.of",
    "agreement_counts.agreement",
    "independent_reviews.agree",
    "independent_reviews.are_wanted",
    "independent_reviews.is_aside",
    "independent_reviews.open_on",
    "independent_reviews.waiting_on",
    "independent_reviews.problem",
    "independent_reviews.standing",
    "review_version.corrects_nothing",
    "review_version.sent_before",
    "queue.check_available",
    "queue.check_unclaimed",
    "queue.lock_evaluation",
    "queue.check_claimed_by",
    "queue.format_time",
    "queue.expired_claim_notice",
    "drafts.of",
    "escalation.open_of",
    "escalation.answer_for",
    "sessions.places",
    "queue.claimed_since",
}


class Calls:
    """`queue_claim()` prepares what `queue.claim` needs and returns the call."""

    def __init__(self, ana: User, lea: User) -> None:
        self.ana = ana
        self.lea = lea
        self.run = RunFactory.create()

    def evaluation(self) -> Evaluation:
        return EvaluationFactory.create(run=self.run)

    def held(self) -> Evaluation:
        return claims.claim(evaluation_id=self.evaluation().pk, reviewer=self.ana)

    def export(self) -> Export:
        return jobs.enqueue(output.ExportOptions(self.run), self.lea)

    def hidden(self) -> Evaluation:
        self.run.blind_share = 1
        self.run.save(update_fields=["blind_share"])
        return EvaluationFactory.create(run=self.run, structured_model_response="54")

    def blind_lock_in(self) -> Call:
        held = claims.claim(evaluation_id=self.hidden().pk, reviewer=self.ana)
        entered: dict[str, Any] = {"version": 1, "scores": {"Clarity": "Yes"}, "active_ms": None}
        return partial(blind_scoring.lock_in, evaluation_id=held.pk, reviewer=self.ana, fields=[], **entered)

    def blind_check_shown(self) -> Call:
        return partial(blind_scoring.check_shown, self.evaluation(), self.ana)

    def blind_check_locked_in(self) -> Call:
        return partial(blind_scoring.check_locked_in, self.evaluation(), self.ana)

    def blind_reveal_served(self) -> Call:
        self.held()
        return partial(blind_scoring.reveal_served, self.run.evaluations.all(), share=1)

    def reveals_note(self) -> Call:
        return partial(reveals.record_reveal, self.hidden(), self.ana, reveals.How.SHOWN)

    def reveals_note_download(self) -> Call:
        return partial(reveals.record_download, self.evaluation().run, self.ana)

    def reveals_has_read_independent_reviews(self) -> Call:
        return partial(reveals.has_read_independent_reviews, self.evaluation(), self.ana)

    def reveals_sealed_from(self) -> Call:
        return lambda: list(Evaluation.objects.filter(reveals.independent_reviews_hidden_from(self.ana)))

    def reveals_was_shown_to(self) -> Call:
        return partial(reveals.were_scores_shown_to, self.evaluation(), self.ana)

    def independent_reviews_readable_by(self) -> Call:
        return partial(independent_reviews.readable_by, self.independent_review().evaluation, self.lea)

    def exports_hand_out(self) -> Call:
        export = self.export()
        self.evaluation()
        return partial(jobs.record_download, export, self.ana)

    def blind_lock_inted(self) -> Call:
        return partial(blind_scoring.find_locked_in, self.hidden(), self.ana)

    def blind_has_answer(self) -> Call:
        return partial(blind_scoring.has_answer, self.evaluation())

    def blind_is_hidden(self) -> Call:
        return partial(blind_scoring.is_hidden, self.hidden(), self.ana)

    def review_version_corrects_nothing(self) -> Call:
        review = decide(self.held(), self.ana)
        return partial(versions.corrects_nothing, review.evaluation, review)

    def review_version_sent_before(self) -> Call:
        return partial(versions.sent_before, uuid4(), self.held(), self.ana)

    def strata_why_not_counted(self) -> Call:
        return partial(strata.why_not_counted, self.run)

    def blind_possibility(self) -> Call:
        return partial(blind_scoring.possibility, self.run)

    def context_import_import_context(self) -> Call:
        names: dict[str, Any] = {"file_name": "tasks.jsonl", "run_name": None, "actor": self.lea}
        return partial(task_context.import_context, [b'{"task_id": 1, "prompt": "Why?"}'], **names)

    def exports_ask_for(self) -> Call:
        return self.export

    def exports_build(self) -> Call:
        return partial(jobs.build, self.export().pk)

    def exports_note(self) -> Call:
        figures = {"size": 0, "sha256": "", "lines": 0, "lines_changed": 0, "lines_left_out": 0}
        return partial(jobs.record_export, output.ExportOptions(self.run), self.lea, figures)

    def exports_stream(self) -> Call:
        return partial(jobs.stream_export, output.ExportOptions(self.run), self.lea)

    def exports_fail(self) -> Call:
        return partial(jobs.fail, self.export().pk, "the disk is full")

    def exports_remove_expired(self) -> Call:
        long_ago = timezone.now() - timedelta(hours=25)
        Export.objects.filter(pk=self.export().pk).update(finished_at=long_ago)
        return jobs.remove_expired

    def exports_order_of(self) -> Call:
        return partial(output.export_options, self.export())

    def exports_stretch(self) -> Call:
        export = self.export()
        jobs.build(export.pk)
        return lambda: list(stored_files.stored_range(export, ExportPart.Kind.RECEIPT, 0, 0))

    def exports_kept_receipt(self) -> Call:
        export = self.export()
        jobs.build(export.pk)
        return lambda: list(stored_files.stored_receipt(export))

    def importer_import_stream(self) -> Call:
        return partial(
            importer.import_stream, [line()], run_name="run", file_name="run.jsonl", actor=self.lea
        )

    def importer_receive_upload(self) -> Call:
        names = {"run_name": "run", "file_name": "run.jsonl"}
        return partial(import_jobs.enqueue_import, **names, blocks=[line()], strict=False, actor=self.lea)

    def importer_import_upload(self) -> Call:
        return partial(import_jobs.import_upload, self.importer_receive_upload()().pk)

    def importer_fail_upload(self) -> Call:
        return partial(import_jobs.fail_upload, self.importer_receive_upload()().pk, "the disk is full")

    def receiving_run_named(self) -> Call:
        fields = dict.fromkeys(("evaluation_id", "judge_llm_model", "judge_prompt_template_path"), "id")
        mapping = FieldMapping((*fields.items(), ("created_at", "at")))
        return partial(runs.get_or_create_run, "run", mapping=mapping, actor=self.lea)

    def receiving_checked_run_name(self) -> Call:
        return partial(runs.clean_run_name, "run")

    def receiving_mapping_of(self) -> Call:
        return partial(runs.run_mapping, RunFactory.create())

    def webhook(self) -> Webhook:
        return deliveries.add_webhook(url="http://localhost:9/", run=self.run, actor=self.lea).webhook

    def webhooks_add(self) -> Call:
        return self.webhook

    def webhooks_remove(self) -> Call:
        return partial(deliveries.remove_webhook, webhook=self.webhook(), actor=self.lea)

    def webhooks_send_test(self) -> Call:
        return partial(deliveries.send_test, webhook=self.webhook(), actor=self.lea)

    def webhooks_deliveries(self) -> Call:
        webhook = self.webhook()
        deliveries.send_test(webhook=webhook, actor=self.lea)
        return lambda: list(deliveries.webhook_deliveries(webhook))

    def webhooks_in_force(self) -> Call:
        self.webhook()
        return lambda: list(deliveries.active_webhooks())

    def webhooks_latest(self) -> Call:
        return partial(deliveries.latest_deliveries, [self.webhook()])

    def importer_cut(self) -> Call:
        return lambda: list(importer.read_chunks([line()]))

    def repair_repair(self) -> Call:
        return partial(repair.repair_import, self.importer_import_stream()().pk, [line()])

    def importer_bare_name(self) -> Call:
        return partial(importer.clean_file_name, "files/run.jsonl")

    def importer_locked(self) -> Call:
        return partial(import_jobs.lock_import, self.importer_receive_upload()().pk)

    def import_job_cancel(self) -> Call:
        return partial(import_jobs.cancel_import, self.importer_receive_upload()().pk, self.lea)

    def import_job_can_retry(self) -> Call:
        return partial(import_jobs.can_retry, self.importer_receive_upload()())

    def import_job_retry(self) -> Call:
        pk = self.importer_receive_upload()().pk
        import_jobs.fail_upload(pk, "the disk is full")
        return partial(import_jobs.retry_import, pk, self.lea)

    def import_job_end_cancelled(self) -> Call:
        return partial(import_jobs.finish_cancelled, self.importer_receive_upload()().pk)

    def upload(self) -> Upload:
        names = {"run_name": "run", "file_name": "run.jsonl"}
        return uploads.begin(**names, strict=False, size=len(line()), actor=self.lea)

    def uploads_begin(self) -> Call:
        return self.upload

    def uploads_append(self) -> Call:
        return partial(uploads.append, self.upload(), offset=0, data=line())

    def uploads_take(self) -> Call:
        sent: dict[str, Any] = {"file_name": "a.jsonl", "run_name": "run", "strict": False}
        return partial(uploads.receive, **sent, size=len(line()), parts=[line()], actor=self.lea)

    def uploads_drop(self) -> Call:
        return partial(uploads.discard, self.upload(), self.lea)

    def uploads_remove_expired(self) -> Call:
        long_ago = timezone.now() - timedelta(hours=25)
        Upload.objects.filter(pk=self.upload().pk).update(changed_at=long_ago)
        return uploads.remove_expired

    def uploads_check_size(self) -> Call:
        return partial(uploads.check_size, 1)

    def queue_claimed_since(self) -> Call:
        return partial(claims.claimed_since, EvaluationFactory.create(claimed_by=self.ana))

    def token(self) -> api_tokens.NewToken:
        return api_tokens.create(person=self.ana, scopes=["review"], actor=None)

    def tokens_make(self) -> Call:
        return self.token

    def tokens_revoke(self) -> Call:
        return partial(api_tokens.revoke, token=self.token().token, actor=self.ana)

    def tokens_revoke_all(self) -> Call:
        self.token()
        return partial(api_tokens.revoke_all, person=self.ana, actor=self.lea)

    def tokens_find(self) -> Call:
        return partial(api_tokens.authenticate, self.token().text)

    def tokens_of(self) -> Call:
        return partial(api_tokens.valid_tokens, self.ana)

    def people_add_user(self) -> Call:
        return partial(people.add_user, username="bo", password=PASSWORD, role="reviewer", actor=None)

    def people_first_admin(self) -> Call:
        return partial(
            people.create_first_admin, username="max", password=PASSWORD, token=people.welcome_token()
        )

    def people_change_role(self) -> Call:
        return partial(people.change_role, person=self.ana, role="lead", actor=self.lea)

    def people_follow_provider(self) -> Call:
        return partial(people.set_role_from_provider, person=self.ana, role="lead")

    def people_reset_second_factor(self) -> Call:
        return partial(people.reset_second_factor, person=self.ana, actor=self.lea)

    def people_deactivate(self) -> Call:
        return partial(people.deactivate, person=self.ana, actor=self.lea)

    def people_reactivate(self) -> Call:
        return partial(people.reactivate, person=self.ana, actor=self.lea)

    def key_rotation_rotate(self) -> Call:
        return key_rotation.rotate_keys

    def key_rotation_check(self) -> Call:
        return partial(key_rotation.check_secrets, None)

    def people_set_password(self) -> Call:
        return partial(people.set_password, person=self.ana, password=PASSWORD, actor=None)

    def people_check_password(self) -> Call:
        return partial(people.check_password, PASSWORD, self.ana)

    def people_everybody(self) -> Call:
        return lambda: list(people.all_people())

    def people_one_at_a_time(self) -> Call:
        return people.lock_accounts

    def invitation(self) -> one_time_links.NewLink:
        return one_time_links.invite(role="reviewer", actor=self.lea)

    def links_invite(self) -> Call:
        return self.invitation

    def links_password_link(self) -> Call:
        return partial(one_time_links.create_password_link, person=self.ana, actor=self.lea)

    def links_withdraw(self) -> Call:
        return partial(one_time_links.withdraw, link_id=self.invitation().link.pk, actor=self.lea)

    def links_join(self) -> Call:
        return partial(
            one_time_links.accept_invitation, token=self.invitation().token, username="bo", password=PASSWORD
        )

    def links_choose_password(self) -> Call:
        token = one_time_links.create_password_link(person=self.ana, actor=self.lea).token
        return partial(one_time_links.set_password_by_link, token=token, password=PASSWORD)

    def links_find(self) -> Call:
        return partial(one_time_links.find_pending, self.invitation().token, OneTimeLink.Purpose.JOIN)

    def links_waiting(self) -> Call:
        return lambda: list(one_time_links.pending())

    def session(self) -> UserSession:
        values = {"ip": "127.0.0.1", "session_key": "a key", "user_agent": "Firefox"}
        return UserSession.objects.create(user=self.ana, **values)

    def sessions_end(self) -> Call:
        return partial(sessions.end, self.ana, self.session().pk)

    def sessions_end_others(self) -> Call:
        return partial(sessions.end_others, self.ana, None)

    def sessions_log_out(self) -> Call:
        return partial(sessions.record_logout, self.ana, self.session().session_key)

    def sessions_renew(self) -> Call:
        request = RequestFactory().get("/")
        request.user = self.ana
        request.session = SessionStore()
        request.session.create()
        return partial(sessions.keep_only_current, self.ana, request)

    def sessions_places(self) -> Call:
        return partial(sessions.active_sessions, self.ana, self.session().session_key)

    def people_needs_first_admin(self) -> Call:
        return people.needs_first_admin

    def people_welcome_token(self) -> Call:
        return people.welcome_token

    def preferences_save(self) -> Call:
        keys = preferences.chosen_keys(self.ana)
        return partial(preferences.save, user=self.ana, theme="dark", has_shortcuts=True, keys=keys)

    def preferences_chosen_keys(self) -> Call:
        return partial(preferences.chosen_keys, self.ana)

    def preferences_keys_of(self) -> Call:
        return partial(preferences.active_keys, self.ana)

    def queue_claim_next(self) -> Call:
        self.evaluation()
        return partial(claims.claim_next, run=self.run, reviewer=self.ana)

    def queue_claim(self) -> Call:
        return partial(claims.claim, evaluation_id=self.evaluation().pk, reviewer=self.ana)

    def queue_release(self) -> Call:
        return partial(claims.release, evaluation_id=self.held().pk, actor=self.ana)

    def queue_skip(self) -> Call:
        return partial(claims.skip, evaluation_id=self.held().pk, reviewer=self.ana)

    def queue_unskip_all(self) -> Call:
        claims.skip(evaluation_id=self.held().pk, reviewer=self.ana)
        return partial(claims.unskip_all, run=self.run, reviewer=self.ana)

    def queue_check_available(self) -> Call:
        return partial(claims.check_available, self.held(), self.ana)

    def queue_check_unclaimed(self) -> Call:
        return partial(claims.check_unclaimed, self.held(), self.ana)

    def queue_lock_evaluation(self) -> Call:
        return partial(claims.lock_evaluation, self.held().pk)

    def queue_prefetch_next(self) -> Call:
        beside = self.held()
        self.evaluation()
        return partial(claims.prefetch_next, run=self.run, reviewer=self.ana, current=beside.pk)

    def queue_release_prefetched(self) -> Call:
        self.queue_prefetch_next()()
        return partial(claims.release_prefetched, run=self.run, reviewer=self.ana)

    def queue_unskip(self) -> Call:
        skipped = self.held()
        claims.skip(evaluation_id=skipped.pk, reviewer=self.ana)
        return partial(claims.unskip, evaluation_id=skipped.pk, reviewer=self.ana)

    def queue_check_claimed_by(self) -> Call:
        return partial(claims.check_claimed_by, self.held(), self.ana)

    def queue_format_time(self) -> Call:
        return partial(claims.format_time, timezone.now())

    def queue_expired_claim_notice(self) -> Call:
        return partial(claims.expired_claim_notice, self.held(), self.ana)

    def drafts_find_draft(self) -> Call:
        return partial(drafts.find_draft, self.held(), self.ana)

    def escalation_escalate(self) -> Call:
        said = {"kind": "question", "reason": "", "note": ""}
        return partial(escalations.escalate, evaluation_id=self.held().pk, reviewer=self.ana, **said)

    def escalation_withdraw(self) -> Call:
        return partial(escalations.withdraw, escalation_id=self.escalation_escalate()().pk, actor=self.ana)

    def escalation_settle(self) -> Call:
        raised = self.escalation_escalate()()
        settled = {"outcome": "returned", "answer": "Read step two."}
        return partial(escalations.settle, escalation_id=raised.pk, actor=self.lea, **settled)

    def escalation_open_of(self) -> Call:
        return partial(escalations.find_open, self.escalation_escalate()().evaluation)

    def escalation_answer_for(self) -> Call:
        return partial(escalations.find_answer, self.escalation_escalate()().evaluation)

    def independent_review(self) -> Review:
        self.run.overlap_share = 1
        self.run.save()
        return decide(self.held(), self.ana)

    def independent_reviews_submit(self) -> Call:
        decision: Decision = {"scores": {}, "comments": "", "origins": {}}
        return partial(
            independent_reviews.submit, self.independent_review().evaluation, self.lea, uuid4(), decision
        )

    def independent_reviews_add(self) -> Call:
        decided = decide(self.held(), self.ana).evaluation
        return partial(decide, decided, self.lea, by=independent_reviews.add)

    def independent_reviews_take_over(self) -> Call:
        return partial(
            independent_reviews.take_over,
            evaluation_id=self.independent_review().evaluation_id,
            actor=self.lea,
        )

    def independent_reviews_take_back(self) -> Call:
        review = self.independent_review()
        return partial(independent_reviews.take_back, review.evaluation, review)

    def independent_reviews_agree(self) -> Call:
        return partial(independent_reviews.agree, [self.independent_review()])

    def independent_reviews_are_wanted(self) -> Call:
        return partial(independent_reviews.are_wanted, self.independent_review().evaluation, [])

    def independent_reviews_waiting_on(self) -> Call:
        return partial(independent_reviews.waiting_on, self.independent_review().evaluation)

    def independent_reviews_is_aside(self) -> Call:
        review = self.independent_review()
        return partial(independent_reviews.is_aside, review.evaluation, review)

    def independent_reviews_open_on(self) -> Call:
        return partial(independent_reviews.open_on, self.independent_review().evaluation)

    def independent_reviews_problem(self) -> Call:
        return partial(independent_reviews.problem, self.independent_review().run)

    def independent_reviews_standing(self) -> Call:
        return partial(independent_reviews.standing, self.independent_review().evaluation, self.ana)

    def agreement_counts_agreement(self) -> Call:
        return partial(agreement_counts.agreement, self.independent_review().run)

    def workflow_revise(self) -> Call:
        decided = Evaluation.objects.get(pk=decide(self.held(), self.ana).evaluation_id)
        return partial(decide, decided, self.ana, by=decisions.revise)

    def workflow_restore(self) -> Call:
        revised = decide(decide(self.held(), self.ana).evaluation, self.ana, by=decisions.revise).evaluation
        return partial(restore_version, revised, self.ana)

    def workflow_close(self) -> Call:
        return partial(
            decisions.close, evaluation_id=self.evaluation().pk, actor=self.lea, comments="Unreadable."
        )

    def workflow_undo(self) -> Call:
        decide(self.held(), self.ana)
        return partial(decisions.undo, run=self.run, reviewer=self.ana)

    def workflow_reopen(self) -> Call:
        decided = decide(self.held(), self.ana).evaluation
        return partial(decisions.reopen, evaluation_id=decided.pk, actor=self.ana, reason="")

    def rubric_configure(self) -> Call:
        usual = definition.Rubric()
        names = {"run_id": self.run.pk, "seen": usual.fingerprint}
        return partial(definition.configure, **names, actor=self.lea, rubric=usual)

    def measuring_configure(self) -> Call:
        measures = measurement_settings.current_settings(self.run)
        names = {"run_id": self.run.pk, "measures": measures, "seen": measures.fingerprint}
        return partial(measurement_settings.configure, **names, actor=self.lea)

    def measuring_of(self) -> Call:
        return partial(measurement_settings.current_settings, self.run)

    def measuring_percent(self) -> Call:
        return partial(measurement_settings.percent, 0.15)

    def measuring_reach(self) -> Call:
        return partial(measurement_settings.describe_shares, self.run)

    def sampling_draw_sample(self) -> Call:
        self.unflagged()
        return partial(draws.draw_sample, self.run.pk, self.lea)

    def sampling_request_draw(self) -> Call:
        self.unflagged()
        return partial(draws.request_draw, self.run, self.lea)

    def sampling_draw_after_import(self) -> Call:
        done = self.unflagged().first_import
        done.new = 1
        return partial(draws.draw_after_import, done)

    def sampling_count_sampled(self) -> Call:
        return partial(draws.count_sampled, self.run)

    def unflagged(self) -> Evaluation:
        """A record that a sample of its run takes."""
        self.run.sample_share = 1
        self.run.save(update_fields=["sample_share"])
        return EvaluationFactory.create(
            run=self.run, needs_human_review=False, human_review_status="Not Required"
        )

    def rubric_extend(self) -> Call:
        return partial(definition.extend, run_id=self.run.pk, criteria=["rigor"], scores=["Good", "Poor"])

    def rubric_of(self) -> Call:
        return partial(definition.of, self.run)

    def rubric_causes_named(self) -> Call:
        return partial(definition.causes_named, ["Typo"])

    def order(self) -> bulk_changes.BulkOrder:
        self.held()
        return bulk_changes.BulkOrder(self.run, Filters(), bulk_changes.Kind.RELEASE)

    def bulk_plan(self) -> Call:
        return partial(bulk_changes.preview, self.order())

    def bulk_apply(self) -> Call:
        return partial(bulk_changes.apply, self.order(), self.lea)

    def bulk_undo(self) -> Call:
        return partial(
            bulk_changes.undo, change_id=bulk_changes.apply(self.order(), self.lea).pk, actor=self.lea
        )

    def bulk_latest(self) -> Call:
        bulk_changes.apply(self.order(), self.lea)
        return lambda: list(bulk_changes.latest_changes(self.run))

    def saved_views_save(self) -> Call:
        names = {"name": "Fails of o1", "query": "model=o1&verdict=Fail"}
        return partial(saved_views.save, run=self.run, owner=self.ana, is_shared=False, **names)

    def saved_views_remove(self) -> Call:
        return partial(saved_views.remove, view=self.saved_views_save()(), actor=self.ana)

    def saved_views_of(self) -> Call:
        self.saved_views_save()()
        return lambda: list(saved_views.visible_to(self.run, self.ana))

    def spot_checks_draw(self) -> Call:
        decide(self.held(), self.ana)
        selection = WorkSelection(self.run, reviewer=self.ana)
        return partial(spot_checks.draw, selection=selection, count=1, actor=self.lea)

    def spot_checks_agree(self) -> Call:
        return partial(spot_checks.agree, check_id=self.spot_checks_draw()()[0].pk, actor=self.lea)

    def spot_checks_reopen(self) -> Call:
        check = self.spot_checks_draw()()[0].pk
        return partial(spot_checks.reopen, check_id=check, actor=self.lea, reason="Step two.")

    def spot_checks_open_checks(self) -> Call:
        self.spot_checks_draw()()
        return partial(spot_checks.open_checks, self.lea)

    def spot_checks_settled(self) -> Call:
        self.spot_checks_agree()()
        return partial(spot_checks.settled, WorkSelection(self.run))

    def workflow_submit_review(self) -> Call:
        return partial(decide, self.held(), self.ana)

    def workflow_settle_conflict(self) -> Call:
        reviewed = decide(self.evaluation(), self.ana).evaluation
        conflict = FileConflict.objects.create(
            evaluation=reviewed,
            run=self.run,
            source=reviewed.first_import,
            line=1,
            content_hash=b"",
            human=dict.fromkeys(HUMAN_FIELDS) | {"human_review_status": "Reviewed"},
        )
        version = Evaluation.objects.get(pk=reviewed.pk).version
        return partial(
            decisions.settle_conflict, conflict_id=conflict.pk, version=version, theirs=True, actor=self.lea
        )


class TestEveryFunctionThatWrites:
    @pytest.fixture
    def calls(self, ana: User, lea: User, settings: LazySettings) -> Calls:
        settings.WEBHOOK_HOSTS = ["localhost:9"]
        return Calls(ana, lea)

    def test_is_listed(self) -> None:
        public = {
            f"{module.__name__.rpartition('.')[2]}.{name}"
            for module in WRITING_MODULES
            for name, function in inspect.getmembers(module, inspect.isfunction)
            if function.__module__ == module.__name__ and not name.startswith("_")
        }
        assert public == {*EVENTS, *TOLD_BY, *READS_ONLY}
        assert set(TOLD_BY.values()) <= set(EVENTS)

    @pytest.mark.parametrize(("function", "action"), EVENTS.items())
    def test_leaves_its_event(self, calls: Calls, function: str, action: str) -> None:
        call = getattr(calls, function.replace(".", "_"))()
        before = list(AuditEvent.objects.values_list("pk", flat=True))
        call()
        left = AuditEvent.objects.exclude(pk__in=before).order_by("pk")
        assert ", ".join(event.action for event in left) == action

    @pytest.mark.parametrize("function", sorted(READS_ONLY))
    def test_is_none_of_those_that_read(self, calls: Calls, function: str) -> None:
        call = getattr(calls, function.replace(".", "_"))()
        with CaptureQueriesContext(connection) as queries:
            call()
        reading = ("SELECT", "SAVEPOINT", "RELEASE SAVEPOINT")
        assert [query["sql"] for query in queries if not query["sql"].lstrip().startswith(reading)] == []
