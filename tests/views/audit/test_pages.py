"""The page of the audit log, its files, and the check of its chain."""

import csv
import io
import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from procrastinate.contrib.django.models import ProcrastinateJob
from pytest_django import DjangoAssertNumQueries

from reviews import tasks
from reviews.audit import chain_checks, events, log
from reviews.database.statements import execute
from reviews.models import ChainCheck, Evaluation, Run, User
from tests.support.factories import EvaluationFactory
from tests.support.pages import text
from tests.support.work import decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def seal() -> None:
    execute("SET CONSTRAINTS ALL IMMEDIATE")


class TestPage:
    def test_event_is_a_sentence_with_links(self, decided: Evaluation, as_lea: Client, ana: User) -> None:
        page = text(as_lea.get(reverse("audit")))
        person, record, run = (
            reverse("reviewer-activity", args=[ana.pk]),
            reverse("evaluation", args=[decided.pk]),
            reverse("run", args=[decided.run_id]),
        )
        assert (
            f'<a href="{person}">ana</a> submitted <a href="{record}">{decided.title}</a> in '
            f'<a href="{run}">Algebra &amp; more</a>'
        ) in page

    def test_event_of_a_deleted_run_and_an_unknown_action_is_shown(self, as_max: Client, max: User) -> None:
        events.record("look", actor=None, what="<b>")
        page = text(as_max.get(reverse("audit")))
        assert "CogniReview look" in page
        assert "&lt;b&gt;" in page

    def test_details_have_values_before_and_after(self, run: Run, as_lea: Client, lea: User) -> None:
        before, after = {"claim_minutes": 15}, {"claim_minutes": 45}
        events.record("configure queue", actor=lea, run=run, before=before, after=after)
        page = text(as_lea.get(reverse("audit")))
        assert "changed the settings of the queue" in page
        assert '<th scope="col">Before</th>' in page
        assert "<strong>45</strong>" in page

    def test_page_has_a_constant_number_of_queries(
        self, as_lea: Client, django_assert_max_num_queries: DjangoAssertNumQueries, ana: User
    ) -> None:
        for _ in range(5):
            decide(EvaluationFactory.create(), ana)
        with django_assert_max_num_queries(22):
            as_lea.get(reverse("audit"))

    def test_log_is_linked_from_person_run_and_record(
        self, decided: Evaluation, as_max: Client, ana: User
    ) -> None:
        for name, key, query in (
            ("person", ana.pk, "person=ana"),
            ("run-settings", decided.run_id, "run=Algebra"),
            ("record-history", decided.pk, "record="),
        ):
            page = text(as_max.get(reverse(name, args=[key])))
            [link] = [part.split('"')[0] for part in page.split(f'href="{reverse("audit")}?')[1:]]
            assert query in link
            assert " submitted " in text(as_max.get(f"{reverse('audit')}?{link.replace('&amp;', '&')}")), name


class TestFiles:
    def test_csv_has_a_row_for_each_event(self, decided: Evaluation, as_lea: Client) -> None:
        answer: Any = as_lea.get(f"{reverse('audit-csv')}?action=submit")
        [row] = csv.DictReader(io.StringIO(answer.getvalue().decode()))
        assert (row["person"], row["action"], row["record"]) == ("ana", "submit", decided.evaluation_id)
        assert row["event"] == f"ana submitted {decided.title} in Algebra & more"
        assert json.loads(row["detail"])["human"]["after"]["human_review_status"] == "Completed"

    @pytest.mark.parametrize(("query", "count"), [("", 1), ("?action=claim", 0)])
    def test_json_is_a_list_of_events(
        self, query: str, count: int, decided: Evaluation, as_lea: Client
    ) -> None:
        answer: Any = as_lea.get(reverse("audit-json") + query)
        found = json.loads(answer.getvalue())
        assert len(found) == count
        if found:
            seal()
            [line] = log.jsonl_lines()
            assert found == [json.loads(line)["event"]]


class TestChainStatus:
    def test_check_is_queued_once_and_its_result_is_shown(
        self, decided: Evaluation, as_lea: Client, lea: User
    ) -> None:
        assert "chain not checked yet" in text(as_lea.get(reverse("audit")))
        for _ in range(2):
            assert as_lea.post(reverse("check-audit")).status_code == 302
        assert "A check is running." in text(as_lea.get(reverse("audit")))
        [job] = ProcrastinateJob.objects.filter(task_name=chain_checks.JOB)
        seal()
        tasks.check_audit_log(**job.args)
        check = ChainCheck.objects.get()
        assert (check.events, check.differences, check.requested_by) == (2, 0, lea)
        seal()
        page = text(as_lea.get(reverse("audit")))
        assert "<strong>3 events</strong>" in page
        assert "chain intact, last sealed" in page
        assert "up to event 2" in page

    def test_differences_are_counted_for_leads_and_named_for_admins(
        self, decided: Evaluation, as_lea: Client, as_max: Client
    ) -> None:
        seal()
        execute("ALTER TABLE audit_event DISABLE TRIGGER USER")
        execute("UPDATE audit_event SET actor_name = 'bo'")
        execute("ALTER TABLE audit_event ENABLE TRIGGER USER")
        check = chain_checks.request_check(actor=None)
        seal()
        chain_checks.run_check(check.pk)
        for client, names in ((as_lea, False), (as_max, True)):
            page = text(client.get(reverse("audit")))
            assert "1 difference found" in page
            assert ("does not match its seal" in page) is names

    def test_failed_check_is_shown(self, as_lea: Client, lea: User) -> None:
        check = chain_checks.request_check(actor=lea)
        chain_checks.fail_check(check_id=check.pk, error="The disk is full.")
        page = text(as_lea.get(reverse("audit")))
        assert "last check failed" in page
        assert "The disk is full." in page
