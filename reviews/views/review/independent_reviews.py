"""Independent reviews: submit a late one, adjudicate, and download all reviews of a run."""

from http import HTTPStatus

from django.http import HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts.permissions import check
from reviews.exports import independent_reviews as exports_independent_reviews
from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.records.conflicts import Conflict
from reviews.review import blind_scoring, independent_reviews
from reviews.review.forms.review import ReviewForm
from reviews.views.review import screen, toasts
from reviews.views.shortcuts import load_run


@require_POST
def add_review(request: Request, pk: int) -> HttpResponse:
    """Add a late independent review to a record that somebody else has decided."""
    record = screen.load_decided(request, pk)
    form = ReviewForm(record, request.POST, blind_scores=blind_scoring.find_locked_in(record, request.user))
    if not form.is_valid():
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        problem = "Your independent review was not saved. Correct the marked fields."
        return screen.record_screen(request, record, form=form, problem=problem, status=status)
    try:
        independent_reviews.add(evaluation_id=pk, reviewer=request.user, **form.arguments)
    except Conflict as conflict:
        return screen.conflict(request, record, conflict)
    record = screen.load(request, pk)
    outcome = "It agrees with the current decision."
    if record.is_escalated:
        outcome = "It differs from the decision; a lead will decide."
    toasts.offer_undo(request, record, f"Your independent review of {record.title} is saved. {outcome}")
    return screen.go_on(request, record.run)


@require_POST
def adjudicate(request: Request, pk: int) -> HttpResponse:
    """Claim a record as a lead, to decide it with the independent reviews so far."""
    check(request.user, "lead_review")
    record = screen.load(request, pk)
    independent_reviews.take_over(evaluation_id=pk, actor=request.user)
    return screen.show(request, record)


@require_safe
def download_independent_reviews(request: Request, run_pk: int) -> StreamingHttpResponse:
    """Download the independent reviews of a run as JSONL, except those the reader must not see yet."""
    run = load_run(request, run_pk, "export_run")
    return download(
        exports_independent_reviews.independent_review_lines(run, request.user),
        exports_independent_reviews.independent_reviews_file_name(run),
    )
