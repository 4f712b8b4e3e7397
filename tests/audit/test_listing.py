"""Lists of audit events: filters, order, pages and visibility."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from reviews.audit import events
from reviews.audit.events import request_from
from reviews.audit.listing import EventFilter, event_pages, find_run, list_events
from reviews.database.statements import execute, fetch_all
from reviews.models import AuditEvent, Run, User
from reviews.queue.members import configure_members
from reviews.runs import changes
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.plans import rows_read

pytestmark = pytest.mark.django_db


def actions(reader: User, **wanted: Any) -> list[str]:
    return [event.action for event in list_events(EventFilter(**wanted), reader).rows]


@pytest.fixture
def logged(ana: User, bo: User, max: User) -> list[AuditEvent]:
    """Events of a run and of accounts, an hour apart, the latest last."""
    record = EvaluationFactory.create()
    with request_from("192.0.2.1"):
        made = [
            events.record("role changed", actor=max, username="ana", before="reviewer", after="lead"),
            events.record("claim", actor=ana, evaluation=record),
        ]
    with request_from("2001:db8::1"):
        made.append(events.record("claim", actor=bo, run=RunFactory.create(name="other")))
    made.append(events.record("login failed", actor=None, username="ana"))
    begin = timezone.now() - dt.timedelta(days=1)
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    execute("ALTER TABLE audit_event DISABLE TRIGGER USER")
    for hour, event in enumerate(made):
        event.at = begin + dt.timedelta(hours=hour)
        execute("UPDATE audit_event SET at = %s WHERE id = %s", [event.at, event.pk])
    return made


class TestFilters:
    def test_list_is_newest_first(self, logged: list[AuditEvent], max: User) -> None:
        assert actions(max) == ["login failed", "claim", "claim", "role changed"]

    def test_person_filter_finds_events_by_and_about_the_person(
        self, logged: list[AuditEvent], ana: User, max: User
    ) -> None:
        assert actions(max, person=ana) == ["login failed", "claim", "role changed"]
        events.record("role changed", actor=ana, username="ana")
        assert actions(max, person=ana).count("role changed") == 2

    def test_filters_narrow_the_list(self, logged: list[AuditEvent], ana: User, max: User) -> None:
        record = logged[1].evaluation
        assert record is not None
        assert actions(max, actions=["claim"]) == ["claim", "claim"]
        assert actions(max, run=record.run_id) == ["claim"]
        assert actions(max, record=record.evaluation_id) == ["claim"]
        assert actions(max, address="192.0.2.1") == ["claim", "role changed"]
        assert actions(max, address="2001:db8:0::1") == ["claim"]
        assert actions(max, since=logged[2].at) == ["login failed", "claim"]
        assert actions(max, until=logged[2].at) == ["claim", "role changed"]
        assert actions(max, person=ana, actions=["claim", "login failed"], since=logged[2].at) == [
            "login failed"
        ]


class TestPages:
    @pytest.mark.parametrize("by_person", [False, True])
    def test_pages_contain_each_event_once(self, by_person: bool, ana: User, max: User) -> None:
        # All within one transaction, so at the same time.
        for number in range(7):
            events.record("look", actor=ana if number % 2 else max, username="ana")
        wanted, found, after = EventFilter(person=ana if by_person else None), [], ""
        while True:
            page = list_events(wanted, max, after=after, size=3)
            found += [event.pk for event in page.rows]
            after = page.next_after
            if not after:
                break
        assert found == sorted(found, reverse=True)
        assert len(found) == 7
        assert [len(rows) for rows in event_pages(wanted, max)] == [7]

    @pytest.mark.parametrize("after", ["", "x", "1", "1.2.3", f"{10**17 - 1}.{10**18 - 1}", "1.x", "-1.1"])
    def test_invalid_cursor_gives_the_first_page(self, after: str, max: User) -> None:
        events.record("look", actor=max)
        assert len(list_events(EventFilter(), max, after=after).rows) == 1

    def test_page_needs_no_count_and_no_sort(self, max: User) -> None:
        execute("SET LOCAL enable_seqscan = off")
        execute("SET LOCAL enable_sort = off")
        for wanted in (
            "true", "actor_id = 1", "action = 'claim'", "run_id = 1", "address = '192.0.2.1'",
            "detail ->> 'username' = 'ana' AND detail ? 'username'",
        ):  # fmt: skip
            order = f"EXPLAIN SELECT * FROM audit_event WHERE {wanted} ORDER BY at DESC, id DESC LIMIT 51"
            plan = "\n".join(row[0] for row in fetch_all(order))
            assert "Index Scan Backward" in plan, plan
            assert "Sort" not in plan, plan

    @pytest.mark.slow
    def test_rare_pair_of_frequent_filters_reads_no_other_event(
        self, ana: User, bo: User, lea: User, max: User
    ) -> None:
        runs = RunFactory.create_batch(2)
        AuditEvent.objects.bulk_create(
            AuditEvent(
                actor=(ana, bo)[number % 2],
                action=("claim", "skip")[number % 2],
                run=runs[number % 2],
                address=("192.0.2.1", "192.0.2.2")[number % 2],
                detail={"username": ("lea", "max")[number % 2]},
            )
            for number in range(4_000)
        )
        execute("ANALYZE audit_event")
        for other in ("seqscan", "bitmapscan", "sort"):
            execute(f"SET LOCAL enable_{other} = off")
        for wanted in (
            EventFilter(person=ana, actions=["skip"]),
            EventFilter(person=lea, actions=["skip"]),
            EventFilter(run=runs[0].pk, actions=["skip"]),
            EventFilter(run=runs[0].pk, person=bo),
            EventFilter(person=ana, actions=["skip", "release"]),
            EventFilter(address="192.0.2.1", actions=["skip"]),
            EventFilter(address="192.0.2.1", person=bo),
            EventFilter(address="192.0.2.1", run=runs[1].pk),
        ):
            with CaptureQueriesContext(connection) as sent:
                assert list_events(wanted, max).rows == []
            for query in sent:
                assert rows_read(query["sql"])["audit_event"] == 0, query["sql"]


class TestVisibility:
    def test_events_of_hidden_and_deleted_runs_are_left_out(self, lea: User, max: User, ana: User) -> None:
        hidden, gone = RunFactory.create(name="hidden"), RunFactory.create(name="gone")
        for run in (hidden, gone):
            events.record("look", actor=ana, run=run)
        events.record("upload begun", actor=ana, file_name="secret.jsonl")
        configure_members(run_id=hidden.pk, actor=None, members=["ana"])
        gone_key = gone.pk
        changes.request_deletion(run_id=gone.pk, actor=max, confirmation="gone")
        assert "look" not in actions(lea)
        assert "upload begun" not in actions(lea)
        assert actions(max).count("look") == 2
        assert (find_run("hidden", lea), find_run("hidden", max)) == (None, hidden.pk)
        assert (find_run("gone", lea), find_run("gone", max)) == (None, gone_key)

    def test_blind_scores_of_others_are_left_out_until_the_record_is_decided(
        self, ana: User, lea: User, blind: Run
    ) -> None:
        record = EvaluationFactory.create(run=blind)
        events.record("blind scores", actor=ana, evaluation=record, scores={})
        events.record("claim", actor=ana, evaluation=record)
        assert actions(lea, record=record.evaluation_id) == ["claim"]
        assert actions(ana, record=record.evaluation_id) == ["claim", "blind scores"]
        record.human_review_status = "Completed"
        record.save(update_fields=["human_review_status"])
        assert actions(lea, record=record.evaluation_id) == ["claim", "blind scores"]

    @pytest.fixture
    def blind(self) -> Run:
        return RunFactory.create(blind_share=1)
