"""Reasons to look at the work of a reviewer."""

from typing import Any

import pytest

from reviews.dashboard.attention import FEWEST, comparable, who_needs_help
from reviews.dashboard.reviewer_activity import Median, ReviewerFigures, Team
from reviews.models import User
from reviews.statistics.intervals import difference_limits


def figures_of(name: str, **figures: Any) -> ReviewerFigures:
    """Return the figures of a reviewer with 100 ordinary decisions, except for the given ones."""
    usual = {
        "done": 100, "timed": 100, "median_seconds": 40.0, "slower": 50, "compared": 100, "judged": 400,
        "overridden": 80, "read": 100, "fast": 10, "skipped": 5, "escalated": 2,
    }  # fmt: skip
    return ReviewerFigures(User(username=name, pk=hash(name) % 10**6), **(usual | figures))


def reasons(*reviewers: ReviewerFigures) -> dict[str, list[str]]:
    team = Team([*reviewers], Median(40.0, sum(one.timed for one in reviewers)))
    return {one.reviewer.username: [reason.text for reason in one.reasons] for one in who_needs_help(team)}


@pytest.mark.parametrize(
    ("figures", "sentence"),
    [
        ({"overridden": 240}, "Changes 60% of the judge's scores, the others 20%."),
        ({"overridden": 4}, "Changes only 1% of the judge's scores, the others 20%."),
        ({"fast": 60}, "Makes 60% of decisions faster than reading time, the others 10%."),
        ({"skipped": 100}, "Skips 50% of records, the others 5%."),
        ({"escalated": 50}, "Escalates 33% of records, the others 2%."),
        ({"overturned": 30}, "Had 30% of decisions overturned, the others 0%."),
        (
            {"slower": 95, "median_seconds": 150.0},
            "Takes 2 min 30 s of active time for a decision (median), the team 40 s.",
        ),
        ({"checked": 20, "upheld": 8}, "Leads did not agree with 12 of 20 spot-checked decisions."),
    ],
)
def test_clear_difference_is_a_reason_in_words(figures: dict[str, Any], sentence: str) -> None:
    assert reasons(figures_of("ana", **figures), figures_of("bo"), figures_of("cy")) == {"ana": [sentence]}


def test_usual_work_gives_no_reason() -> None:
    assert (
        reasons(figures_of("ana"), figures_of("bo"), figures_of("cy", overridden=100, fast=14, slower=60))
        == {}
    )


def test_one_unusual_reviewer_does_not_mark_the_others() -> None:
    unusual = figures_of("ana", overridden=300)
    assert list(reasons(unusual, figures_of("bo"), figures_of("cy"))) == ["ana"]
    assert list(reasons(unusual, figures_of("bo"))) == ["ana", "bo"]


def test_few_decisions_never_give_a_reason() -> None:
    extreme = {
        "compared": 3, "judged": 12, "overridden": 12, "read": 3, "fast": 3, "timed": 3, "slower": 3,
        "overturned": 3, "checked": 3, "upheld": 0,
    }  # fmt: skip
    assert (
        reasons(
            figures_of("ana", done=3, skipped=40, escalated=40, **extreme), figures_of("bo"), figures_of("cy")
        )
        == {}
    )
    assert reasons(figures_of("ana", **extreme), figures_of("bo"), figures_of("cy")) == {}


def test_small_difference_is_no_reason_however_certain() -> None:
    many = {"done": 10**6, "compared": 10**6, "judged": 10**6}
    assert (
        reasons(figures_of("ana", **many, overridden=250_000), figures_of("bo", **many, overridden=200_000))
        == {}
    )


def test_single_reviewer_is_compared_with_nobody() -> None:
    assert reasons(figures_of("ana", overridden=400, fast=100, slower=0)) == {}


def test_reviewers_with_enough_decisions_are_comparable() -> None:
    few, enough = figures_of("ana", done=FEWEST - 1), figures_of("bo", done=FEWEST)
    assert comparable(Team([few, enough], Median(None, 0))) == [enough]


def test_difference_limits_match_the_published_example() -> None:
    # Newcombe 1998, table II, example (a): 56/70 - 48/80.
    low, high = difference_limits(56 / 70, 70, 48 / 80, 80)
    assert (round(low, 4), round(high, 4)) == (0.0524, 0.3339)
