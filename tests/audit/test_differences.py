"""The values before and after an event."""

from typing import Any

import pytest

from reviews.audit.differences import Detail, Difference, list_details, list_differences
from reviews.models import AuditEvent


def differences(**detail: Any) -> list[Difference]:
    return list_differences(AuditEvent(detail=detail))


def test_decision_lists_each_human_value_with_changed_ones_marked() -> None:
    before = {"human_review_status": "Needs Review", "human_corrected_scores": None, "human_reviewer_id": ""}
    scores = {"rigor": {"score": "No"}}
    after = {"human_review_status": "Completed", "human_corrected_scores": scores, "human_reviewer_id": ""}
    assert differences(human={"before": before, "after": after}, version=1) == [
        ("human_review_status", "Needs Review", "Completed", True),
        ("human_corrected_scores.rigor.score", "", "No", True),
        ("human_reviewer_id", "", "", False),
    ]


def test_setting_without_members_is_one_value() -> None:
    assert differences(before=15, after=30) == [("value", "15", "30", True)]


def test_removed_member_has_an_empty_after() -> None:
    assert differences(before={"a": 1, "b": 2}, after={"a": 1}) == [
        ("a", "1", "1", False),
        ("b", "2", "", True),
    ]


@pytest.mark.parametrize("values", [(1, 1.0), (None, "none!"), (True, "yes"), ("", None)])
def test_values_of_another_spelling_differ(values: tuple[Any, Any]) -> None:
    [found] = differences(before=values[0], after=values[1])
    assert found.is_changed


def test_event_without_before_and_after_has_details_only() -> None:
    event = AuditEvent(detail={"version": 2, "human": {"keeps_line": True}, "how": ["a"]})
    assert list_differences(event) == []
    assert list_details(event) == [
        Detail("version", "2"),
        Detail("how", '["a"]'),
        Detail("keeps_line", "true"),
    ]
