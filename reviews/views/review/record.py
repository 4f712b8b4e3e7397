"""The page of a record: show, claim, skip and release it.

A GET changes nothing. A POST returns a redirect, or the screen with a reason (422, 409). Requests by htmx get
only the screen, as a part of the same page.
"""

from http import HTTPStatus

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts.permissions import Denied, check
from reviews.database.statements import prepared_statements
from reviews.evidence import record as evidence_record
from reviews.evidence import rendering
from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.models import Evaluation, Review, SourceChunk
from reviews.queue import claims
from reviews.records.conflicts import RecordUnavailable
from reviews.review import blind_scoring, drafts
from reviews.review.forms.review import ReviewForm
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric
from reviews.search import listing
from reviews.storage import line_reader
from reviews.views.review import screen, toasts
from reviews.views.review.permitted_actions import permitted_actions


@require_safe
@prepared_statements()
def evaluation(request: Request, pk: int) -> HttpResponse:
    """Show a record: with the form if the reviewer has claimed it, otherwise read-only.

    With `draft`, a record that somebody else has decided has the form with the reviewer's draft.
    """
    record = screen.load(request, pk)
    decided = record.review
    if "draft" in request.GET and decided and permitted_actions(request, record)["can_add_review"]:
        return _late_draft(request, record, decided)
    return screen.record_screen(request, record)


def _late_draft(request: Request, record: Evaluation, review: Review) -> HttpResponse:
    """Show the draft of a record that somebody else has decided, to be submitted as an independent review."""
    form = ReviewForm(
        record,
        draft=drafts.find_draft(record, request.user),
        blind_scores=blind_scoring.find_locked_in(record, request.user),
    )
    return screen.record_screen(request, record, form=form, problem=claims.late_reason(review, request.user))


@require_safe
def show_neighbour(request: Request, pk: int, *, forward: bool) -> HttpResponse:
    """Show the next or previous record of the run, or the same record at the end of the run."""
    record = screen.load(request, pk)
    neighbour = listing.neighbour_in_file(record, forward=forward)
    return redirect("evaluation", neighbour or pk)


@require_safe
def line(request: Request, pk: int) -> StreamingHttpResponse:
    """Download the record's line of the imported file, unchanged."""
    record = screen.load(request, pk)
    blind_scoring.check_shown(record, request.user)
    if record.hides_reasons:
        raise Denied("The line has the flag reasons. You can download it once the record is decided.")
    try:
        kept = line_reader.stored_line(record)
    except SourceChunk.DoesNotExist:
        raise Http404("The file of this record is not stored.") from None
    return download(iter([kept, b"\n"]), f"{record.evaluation_id}.jsonl")


@require_POST
def claim(request: Request, pk: int) -> HttpResponse:
    """Claim this record; with `take_over`, as a lead, from the reviewer who has claimed it."""
    record = screen.load(request, pk)
    try:
        take_over = bool(request.POST.get("take_over"))
        claims.claim(evaluation_id=record.pk, reviewer=request.user, take_over=take_over)
    except RecordUnavailable as taken:
        return screen.record_screen(request, record, problem=taken.reason, status=HTTPStatus.CONFLICT)
    return screen.show(request, record)


@require_POST
def skip(request: Request, pk: int) -> HttpResponse:
    record = screen.load(request, pk)
    try:
        claims.skip(evaluation_id=record.pk, reviewer=request.user)
    except RecordUnavailable as taken:
        return screen.record_screen(request, record, problem=taken.reason, status=HTTPStatus.CONFLICT)
    toasts.offer_undo(request, record, f"{record.title} skipped.")
    return screen.go_on(request, record.run)


@require_POST
def unskip(request: Request, pk: int) -> HttpResponse:
    """Put a skipped record back into the reviewer's queue."""
    record = screen.load(request, pk)
    claims.unskip(evaluation_id=record.pk, reviewer=request.user)
    messages.success(request, f"{record.title} is in your queue again.")
    return redirect("recent", record.run_id)


@require_POST
def release(request: Request, pk: int) -> HttpResponse:
    """Release a record: one's own, or as a lead anybody's."""
    record = screen.load(request, pk)
    was_own = record.claimed_by_id == request.user.pk
    claims.release(evaluation_id=record.pk, actor=request.user)
    if was_own:
        toasts.offer_undo(request, record, f"{record.title} released.")
    return screen.show_queue(request, record.run) if was_own else screen.show(request, record)


@require_POST
def preview(request: Request) -> HttpResponse:
    """Render the posted justification. Its field name depends on the row."""
    check(request.user, "review_evaluation")
    text = next((value for name, value in request.POST.items() if name.endswith("justification")), "")
    return HttpResponse(rendering.markdown(str(text)))


@require_safe
def peek(request: Request, pk: int, other: int) -> HttpResponse:
    """Show the response, scores and justifications of `other` without claiming it, as a part of a page.

    The scores are left out if they are hidden from the person, and while the record `pk` is scored blind.
    """
    record, sibling = screen.load(request, pk), screen.load(request, other)
    if record.task_id is None or (record.run_id, record.task_id) != (sibling.run_id, sibling.task_id):
        raise Http404
    is_blind = any(blind_scoring.is_hidden(one, request.user) for one in (record, sibling))
    proposals = read_proposals(sibling, run_rubric(sibling.run))
    context = {
        "evaluation": sibling,
        "responses": evidence_record.read_responses(sibling),
        "decision": None if is_blind else evidence_record.summarise_decision(sibling, proposals),
    }
    return render(request, "review/record/peek.html", context)
