"""A peek at another record of the same task, from the screen of a record."""

from django.http import Http404, HttpResponse
from django.shortcuts import render

from reviews.evidence import record as evidence_record
from reviews.http.request import Request
from reviews.models import Evaluation
from reviews.review import blind_scoring
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric
from reviews.views.access import safe_page
from reviews.views.review import screen


@safe_page
def peek(request: Request, pk: int, other: int) -> HttpResponse:
    """Show the response, scores and justifications of `other` without claiming it, as a part of a page.

    The scores are left out if they are hidden from the person, and while the record `pk` is scored blind.
    """
    record, sibling = screen.load(request, pk), screen.load(request, other)
    if record.task_id is None or (record.run_id, record.task_id) != (sibling.run_id, sibling.task_id):
        raise Http404
    is_blind = any(blind_scoring.is_hidden(one, request.user) for one in (record, sibling))
    context = {
        "evaluation": sibling,
        "responses": evidence_record.read_responses(sibling),
        "decision": None if is_blind else _summarise(sibling),
    }
    return render(request, "review/record/peek.html", context)


def _summarise(record: Evaluation) -> evidence_record.DecisionSummary:
    return evidence_record.summarise_decision(record, read_proposals(record, run_rubric(record.run)))
