"""The audit log over the API."""

import json

import pytest

from reviews.audit import events as audit_events
from reviews.models import User
from tests.api.test_imports import TWO
from tests.audit.test_log import seal
from tests.support.api_requests import Program
from tests.support.factories import EvaluationFactory
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db


class TestAudit:
    @pytest.mark.slow
    def test_audit_log_starts_after_a_position(self, of_lea: Program) -> None:
        import_data(TWO)
        seal()
        entries = [json.loads(each) for each in of_lea.get("audit").getvalue().splitlines()]
        assert [event["position"] for event in entries] == list(range(1, len(entries) + 1))
        behind = of_lea.get(f"audit?after={len(entries) - 1}").getvalue()
        assert json.loads(behind)["position"] == len(entries)

    @pytest.mark.parametrize("after", ["-1", "x", "9" * 30, "9" * 5000])
    def test_audit_log_rejects_invalid_position(self, after: str, of_lea: Program) -> None:
        assert of_lea.get(f"audit?after={after}").status_code == 422

    @pytest.mark.slow
    def test_audit_log_of_run_has_digests_of_other_events(self, of_lea: Program) -> None:
        import_data(TWO, run="one")
        import_data(file_of(line("c")), run="other")
        seal()
        entries = [json.loads(each) for each in of_lea.get("audit?run=other").getvalue().splitlines()]
        runs = {each["event"]["run_name"] for each in entries if "event" in each}
        assert runs == {"other"}
        assert any("digest" in each for each in entries)

    @pytest.mark.slow
    def test_events_are_filtered_and_paged(self, of_lea: Program, ana: User) -> None:
        records = [EvaluationFactory.create() for _ in range(51)]
        for record in records:
            audit_events.record("claim", actor=ana, evaluation=record)
        first = of_lea.get("audit/events?person=ana&action=claim").json()
        second = of_lea.get(f"audit/events?person=ana&action=claim&after={first['next']}").json()
        assert [event["record"] for event in first["events"] + second["events"]] == [
            record.evaluation_id for record in reversed(records)
        ]
        assert second["next"] is None
        [found] = of_lea.get(f"audit/events?record={records[3].evaluation_id}&since=2026-01-01T00:00").json()[
            "events"
        ]
        assert (found["action"], found["actor_name"]) == ("claim", "ana")
        assert of_lea.get("audit/events?until=2026-01-01T00:00:00Z").json()["events"] == []

    @pytest.mark.parametrize(
        ("query", "status"),
        [
            ("person=nobody", 404),
            ("run=missing", 404),
            ("action=fly", 422),
            ("address=here", 422),
            ("since=x", 422),
            ("record=%00", 422),
            ("after=%00", 422),
            ("size=9", 422),
        ],
    )
    def test_events_reject_invalid_filters(self, query: str, status: int, of_lea: Program) -> None:
        assert of_lea.get(f"audit/events?{query}").status_code == status
