"""The pane beside the inbox: one item with its record and the ways to settle it."""

from typing import Any

from reviews.evidence.record import read_record_question, read_responses, summarise_decision
from reviews.http.request import Request
from reviews.inbox import jobs
from reviews.inbox.items import Item
from reviews.models import Evaluation
from reviews.review import blind_scoring, independent_reviews
from reviews.review.adjudication import compare_reviews
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric
from reviews.views import inbox_navigation
from reviews.views.review import screen


def pane_context(request: Request, item: Item | None) -> dict[str, Any]:
    """Return the variables of the pane; `item` is None if it no longer waits.

    The scores are left out if they are hidden from the person. A known answer to give has no record, so that
    the lead reviews it unaided.
    """
    if item is None:
        return {"item": None}
    context: dict[str, Any] = {
        "item": item,
        "url": inbox_navigation.item_url(item),
        "queue": inbox_navigation.place_query(item.place),
        "can_retry": item.kind.name in jobs.JOBS and jobs.can_retry(item),
    }
    if key := _record_key(item):
        record = screen.load(request, key)
        context |= _read(request, record)
        if item.kind.name == "disagreement" and not record.is_decided:
            context |= _compare(request, record)
    return context


def _record_key(item: Item) -> int | None:
    match item.kind.name:
        case "question" | "disagreement":
            return int(item.row.evaluation_id)
        case "check":
            return int(item.row.review.evaluation_id)
        case _:
            return None


def _read(request: Request, record: Evaluation) -> dict[str, Any]:
    is_hidden = blind_scoring.is_hidden(record, request.user)
    proposals = [] if is_hidden else read_proposals(record, run_rubric(record.run))
    return {
        "evaluation": record,
        "question": read_record_question(record),
        "responses": read_responses(record),
        "decision": None if is_hidden else summarise_decision(record, proposals),
    }


def _compare(request: Request, record: Evaluation) -> dict[str, Any]:
    """Return the independent reviews to choose from, and the criteria on which they differ."""
    rows, rubric = independent_reviews.open_reviews(record), run_rubric(record.run)
    found = compare_reviews(rows, read_proposals(record, rubric), rubric, request.user)
    return {
        "sides": [(row.review_id, one) for row, one in zip(rows, found.reviewers, strict=True)],
        "points": [criterion for criterion in found.criteria if criterion.differs],
    }
