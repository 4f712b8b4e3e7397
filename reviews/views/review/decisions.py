"""Submit, lock in, revise and reopen. If nothing is saved, the entries come back with the reason."""

from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods, require_POST

from reviews.accounts.permissions import Denied, check_revise
from reviews.database.statements import prepared_statements
from reviews.http.request import Request
from reviews.inbox.place import place_of
from reviews.models import Evaluation
from reviews.queue import claims
from reviews.records.conflicts import Conflict, RecordUnavailable
from reviews.review import blind_scoring, decisions, drafts, independent_reviews
from reviews.review.forms.review import BlindForm, ReviewForm
from reviews.views.review import screen, toasts

_LONGEST_REASON = 5_000
Saved = TypeVar("Saved")


@require_POST
@prepared_statements()
def submit(request: Request, pk: int) -> HttpResponse:
    """Submit a decision. With `action`, add a row to the form or discard the entries instead."""
    record = screen.load(request, pk)
    if request.POST.get("action") not in {"add", "discard"} and blind_scoring.is_hidden(record, request.user):
        # Before the form is validated: its errors depend on the judge's scores.
        return screen.conflict(request, record, Conflict(blind_scoring.LOCK_IN_FIRST))
    form = _posted_form(request, record)
    review = _save(request, record, form, decisions.submit)
    if isinstance(review, HttpResponse):
        return review
    decided = review.evaluation
    if decided.review_id is None:
        outcome = "Waiting for the other reviewers."
        if decided.is_escalated:
            outcome = "Reviewers disagree; a lead will decide."
        toasts.offer_undo(request, record, f"{record.title} submitted. {outcome}", event=review.event)
        return _show_next(request, record)
    before, after = form.judged_verdict, form.verdict or "no verdict"
    verdict = after if after == before or not before else f"{before} → {after}"
    saved = format_html(
        '<a href="{}">{}</a> submitted{}.',
        reverse("evaluation", args=[pk]),
        record.title,
        f": {verdict}" if before or form.rubric.has_verdict else "",
    )
    toasts.offer_undo(request, record, saved, event=review.event)
    return _show_next(request, record)


@require_POST
def lock_in(request: Request, pk: int) -> HttpResponse:
    """Lock in blind scores and show the judge's. `action` as for `submit`."""
    record = screen.load(request, pk)
    form = BlindForm(record, request.POST, added=_added_rows(request))
    saved = _save(request, record, form, blind_scoring.lock_in)
    if isinstance(saved, HttpResponse):
        return saved
    if not request.htmx:
        return screen.show(request, record)
    revealed = _revealed_form(request, record, form)
    return screen.record_screen(request, screen.load(request, pk), form=revealed)


@require_http_methods(["GET", "HEAD", "POST"])
def revise(request: Request, pk: int) -> HttpResponse:
    """Show the form that changes the current decision, or save its next version. `action` as for `submit`."""
    record = screen.load_decided(request, pk)
    if request.method != "POST":
        check_revise(request.user, record)
        return screen.record_screen(request, record, is_revision=True)
    review = _save(request, record, _posted_form(request, record), decisions.revise, is_revision=True)
    if isinstance(review, HttpResponse):
        return review
    toasts.offer_undo(request, record, f"New version of {record.title} saved.", event=review.event)
    return screen.show_settled(request, record)


def _revealed_form(request: Request, record: Evaluation, form: BlindForm) -> ReviewForm:
    """Return the review form with the locked-in scores, as the next revision of its draft."""
    data = request.POST.copy()
    for name, value in form.fields_after_reveal:
        data[name] = value
    draft = drafts.find_draft(record, request.user)
    blind_scores = blind_scoring.find_locked_in(record, request.user)
    return ReviewForm(record, data, draft=draft, blind_scores=blind_scores)


def _posted_form(request: Request, record: Evaluation) -> ReviewForm:
    """Return the posted form of a record of `screen.load`."""
    has_locked_in = vars(record)["has_locked_in"]
    blind_scores = blind_scoring.find_locked_in(record, request.user) if has_locked_in else None
    return ReviewForm(
        record,
        request.POST,
        added=_added_rows(request),
        blind_scores=blind_scores,
        independent_reviews=independent_reviews.readable_for_adjudication(record, request.user),
    )


def _added_rows(request: Request) -> int:
    return int(request.POST.get("action") == "add")


def _save(
    request: Request,
    record: Evaluation,
    form: ReviewForm,
    write: Callable[..., Saved],
    *,
    is_revision: bool = False,
) -> Saved | HttpResponse:
    """Save the posted decision with `write`, and return its result, or a response if nothing was saved."""
    action = request.POST.get("action")
    if action == "discard":
        drafts.discard(evaluation_id=record.pk, reviewer=request.user)
        return screen.show(request, record)
    if action == "add" or not form.is_valid():
        status = HTTPStatus.OK if action == "add" else HTTPStatus.UNPROCESSABLE_ENTITY
        return screen.record_screen(request, record, form=form, status=status, is_revision=is_revision)
    try:
        return write(evaluation_id=record.pk, reviewer=request.user, **form.arguments)
    except (Conflict, Denied) as refusal:
        # The permission depends on whose decision it is, which can change while the form is open.
        return screen.conflict(request, record, refusal, is_revision=is_revision)


def _show_next(request: Request, record: Evaluation) -> HttpResponse:
    """Show the next record; if the script already shows a prefetched one, claim it and send the rest."""
    shown = screen.posted_key(request, "next")
    if not (request.htmx and shown) or place_of(request):
        return screen.go_on(request, record.run)
    try:
        claimed = claims.claim(evaluation_id=shown, reviewer=request.user)
    except (RecordUnavailable, Evaluation.DoesNotExist):
        return screen.go_on(request, record.run)
    context = {"run": record.run, "basis": screen.load_basis(request, claimed)}
    context["query"] = screen.working_filters(request).query_string
    response = render(request, "review/record/out_of_band.html", context)
    response.headers["HX-Reswap"] = "none"
    response.headers["X-Claim-Until"] = screen.iso(claimed.claimed_until)
    return response


@require_POST
def reopen(request: Request, pk: int) -> HttpResponse:
    """Put a decided record back into the queue. Its decision stays current until there is a new one."""
    record = screen.load_decided(request, pk)
    check_revise(request.user, record)
    reason = request.POST.get("reason", "").strip()
    if not reason or len(reason) > _LONGEST_REASON:
        problem = "Enter a reason for reopening the record."
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        return screen.record_screen(request, record, problem=problem, status=status)
    decisions.reopen(evaluation_id=record.pk, actor=request.user, reason=reason)
    messages.success(request, f"{record.title} is in the queue again.")
    return screen.show_settled(request, record)
