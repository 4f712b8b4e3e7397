"""The rows of a list of records, with all texts that they show. A template would take longer to find them."""

import datetime as dt
from typing import NamedTuple

from django.template.defaultfilters import truncatechars
from django.urls import reverse

from reviews.models import Evaluation, User
from reviews.records.rubric import Rubric
from reviews.search.listing import RecordPage
from reviews.search.verdicts import judge_verdict
from reviews.templatetags.times import due

_SHOWN_REASONS, _REASON_LENGTH = 2, 90


class Verdicts(NamedTuple):
    """The verdict that a row shows."""

    text: str
    #: The classes of its element.
    style: str
    #: The judge's verdict that a person changed; None without a change.
    changed: str | None = None


class Reasons(NamedTuple):
    """The flag reasons that a row shows."""

    texts: list[str]
    #: A remark behind them.
    note: str = ""


class Note(NamedTuple):
    """The person who decided, claimed or has to review a record."""

    text: str
    #: The time of the decision; None without one.
    at: dt.datetime | None = None
    #: The end of the claim; None without one.
    until: dt.datetime | None = None


class Row(NamedTuple):
    """A record in the list."""

    evaluation: Evaluation
    key: str
    address: str
    verdict: Verdicts
    reasons: Reasons
    #: Empty if a badge says it.
    status: str
    #: Style and text of each badge.
    badges: list[tuple[str, str]]
    due: str
    note: Note | None


def rows_of(page: RecordPage, rubric: Rubric, reader: User) -> list[Row]:
    """Return the rows of a page for its reader."""
    return [_row(one, rubric, reader, is_blind=one.pk in page.hidden) for one in page.rows]


def _row(evaluation: Evaluation, rubric: Rubric, reader: User, *, is_blind: bool) -> Row:
    return Row(
        evaluation,
        str(evaluation.pk),
        reverse("evaluation", args=[evaluation.pk]),
        Verdicts("Blind", "muted") if is_blind else _verdicts(evaluation, rubric),
        Reasons([], "Blind") if is_blind else _reasons(evaluation),
        "" if evaluation.is_outdated else evaluation.shown_status,
        _badges(evaluation),
        due(evaluation.due),
        _note(evaluation, reader),
    )


def _verdicts(evaluation: Evaluation, rubric: Rubric) -> Verdicts:
    judged, human = judge_verdict(evaluation, rubric), rubric.verdict(evaluation.human_corrected_scores)
    shown = human or judged
    if not shown:
        return Verdicts("none", "muted")
    return Verdicts(shown, f"badge {shown.lower()}", judged if shown != judged else None)


def _reasons(evaluation: Evaluation) -> Reasons:
    if evaluation.hides_reasons:
        return Reasons([], "shown after you decide")
    reasons = evaluation.review_reasons
    more = len(reasons) - _SHOWN_REASONS
    texts = [str(truncatechars(one, _REASON_LENGTH)) for one in reasons[:_SHOWN_REASONS]]
    return Reasons(texts, f"and {more} more" if more > 0 else "")


def _badges(evaluation: Evaluation) -> list[tuple[str, str]]:
    possible = (
        (evaluation.is_outdated, "partial", "Outdated decision"),
        (evaluation.is_escalated, "partial", "Escalated"),
        (evaluation.priority > 0, "info", "Priority"),
    )
    return [(style, text) for is_shown, style, text in possible if is_shown]


def _note(evaluation: Evaluation, reader: User) -> Note | None:
    if evaluation.review:
        return Note(f"{evaluation.review.reviewer.name}, ", at=evaluation.review.submitted_at)
    if evaluation.is_in_progress and evaluation.claimed_by:
        name = _name(evaluation.claimed_by, reader)
        return Note(f"Claimed by {name} until ", until=evaluation.claimed_until)
    if evaluation.assigned_to and evaluation.in_queue:
        return Note(f"Assigned to {_name(evaluation.assigned_to, reader)}")
    if evaluation.human_reviewer_id:
        return Note(f"{evaluation.human_reviewer_id} (imported)")
    return None


def _name(person: User, reader: User) -> str:
    return "you" if person == reader else person.name
