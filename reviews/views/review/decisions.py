"""Deciding: submit, revise, undo, reopen. What cannot be done comes back with what was typed, and why."""

from collections.abc import Callable
from http import HTTPStatus

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods, require_POST

from reviews.accounts.permissions import Denied, check_revise
from reviews.http.request import Request
from reviews.models import Evaluation
from reviews.queue import claims, progress
from reviews.review import blind_scoring, decisions, drafts
from reviews.review.forms.blind import BlindForm
from reviews.review.forms.review import ReviewForm
from reviews.views.review import screen

_LONGEST_REASON = 5_000


@require_POST
def submit(request: Request, pk: int) -> HttpResponse:
    """Put a decision in force; with `action` add a row to the form, or discard what was entered."""
    record = screen.load(request, pk)
    if request.POST.get("action") not in {"add", "discard"} and blind_scoring.is_hidden(record, request.user):
        # Before the form is checked: its errors depend on the judge's scores.
        return screen.conflict(request, record, decisions.Conflict(blind_scoring.LOCK_IN_FIRST))
    form = _posted_form(request, record)
    obstacle = _obstacle(request, record, form, decisions.submit)
    if obstacle:
        return obstacle
    record.refresh_from_db(fields=["review", "is_escalated"])
    if record.review_id is None:
        outcome = "It waits for those of others."
        if record.is_escalated:
            outcome = "Independent reviews differ: a lead decides."
        messages.success(request, f"Your independent review on {record.title} is saved. {outcome}")
        return _go_on(request, record)
    before, after = form.judged_verdict, form.verdict or "no verdict"
    saved = format_html(
        'Saved <a href="{}">{}</a>: {}',
        reverse("evaluation", args=[pk]),
        record.title,
        after if after == before or not before else f"{before} → {after}",
    )
    messages.success(request, saved)
    return _go_on(request, record)


@require_POST
def lock_in(request: Request, pk: int) -> HttpResponse:
    """Keep the scores that were given blind, and show the judge's beside them. `action` as for `submit`."""
    record = screen.load(request, pk)
    form = BlindForm(record, request.POST, added=_added(request))
    obstacle = _obstacle(request, record, form, blind_scoring.lock_in)
    if obstacle:
        return obstacle
    revealed = _revealed(request, record, form)
    messages.success(request, f"Your scores are committed. {revealed.blind_result}")
    if not request.htmx:
        return screen.show(request, record)
    return screen.record_screen(request, screen.load(request, pk), form=revealed)


@require_http_methods(["GET", "HEAD", "POST"])
def revise(request: Request, pk: int) -> HttpResponse:
    """A decision in force: the form to change it, and its next version. `action` as for `submit`."""
    record = _load_decided(request, pk)
    if request.method != "POST":
        check_revise(request.user, record)
        return screen.record_screen(request, record, is_revision=True)
    form = _posted_form(request, record)
    obstacle = _obstacle(request, record, form, decisions.revise, is_revision=True)
    if obstacle:
        return obstacle
    messages.success(request, f"Saved as a new version: {record.title}.")
    return screen.show(request, record)


def _revealed(request: Request, record: Evaluation, form: BlindForm) -> ReviewForm:
    """The form of a review with what was committed in it, as the next revision of its draft."""
    data = request.POST.copy()
    for name, value in form.fields_beside_the_judges:
        data[name] = value
    draft, committed = drafts.of(record, request.user), blind_scoring.committed(record, request.user)
    return ReviewForm(record, data, draft=draft, committed=committed)


def _posted_form(request: Request, record: Evaluation) -> ReviewForm:
    committed = blind_scoring.committed(record, request.user)
    return ReviewForm(record, request.POST, added=_added(request), committed=committed)


def _added(request: Request) -> int:
    return int(request.POST.get("action") == "add")


def _obstacle(
    request: Request,
    record: Evaluation,
    form: ReviewForm,
    put_in_force: Callable[..., object],
    *,
    is_revision: bool = False,
) -> HttpResponse | None:
    """Put what was posted in force, and answer only if that is not what was asked, or cannot be."""
    action = request.POST.get("action")
    if action == "discard":
        drafts.discard(evaluation_id=record.pk, reviewer=request.user)
        return screen.show(request, record)
    if action == "add" or not form.is_valid():
        status = HTTPStatus.OK if action == "add" else HTTPStatus.UNPROCESSABLE_ENTITY
        return screen.record_screen(request, record, form=form, status=status, is_revision=is_revision)
    try:
        put_in_force(evaluation_id=record.pk, reviewer=request.user, **form.decision)
    except decisions.Conflict as conflict:
        return screen.conflict(request, record, conflict, is_revision=is_revision)
    except Denied as denied:
        # Whose decision it is may have changed since the form was opened, and what was typed must not go.
        return screen.conflict(request, record, denied, is_revision=is_revision)
    return None


def _go_on(request: Request, record: Evaluation) -> HttpResponse:
    """The next screen; or what goes beside it, where the script shows the spare record already."""
    swapped_in = screen.posted_key(request, "next")
    if not (request.htmx and swapped_in):
        return screen.go_on(request, record.run)
    try:
        claimed = claims.claim(evaluation_id=swapped_in, reviewer=request.user)
    except (claims.RecordUnavailable, Evaluation.DoesNotExist):
        return screen.go_on(request, record.run)
    context = {"run": record.run, "progress": progress.run_progress(record.run)}
    context["query"] = screen.working_filters(request).query_string
    response = render(request, "review/record/out_of_band.html", context)
    response.headers["HX-Reswap"] = "none"
    response.headers["X-Claim-Until"] = screen.iso(claimed.claimed_until)
    return response


@require_POST
def undo(request: Request, run_pk: int) -> HttpResponse:
    """Take one's last submit back and open its record again."""
    run = screen.load_run(request, run_pk)
    try:
        record = decisions.undo(run=run, reviewer=request.user)
    except decisions.Conflict as conflict:
        return screen.refused(request, conflict.reason, reverse("recent", args=[run.pk]))
    whose = "It is yours again, as" if record.claimed_by_id == request.user.pk else "Your draft is kept as"
    messages.success(request, f"Taken back: {record.title}. {whose} you left it.")
    return screen.show(request, record)


@require_POST
def reopen(request: Request, pk: int) -> HttpResponse:
    """Put a decided record back into the queue; the decision stays in force until a newer one."""
    record = _load_decided(request, pk)
    check_revise(request.user, record)
    reason = request.POST.get("reason", "").strip()
    if not reason or len(reason) > _LONGEST_REASON:
        problem = "Say in a few words why the record is to be decided again."
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        return screen.record_screen(request, record, problem=problem, status=status)
    try:
        decisions.reopen(evaluation_id=record.pk, actor=request.user, reason=reason)
    except decisions.Conflict as conflict:
        return screen.refused(request, conflict.reason, reverse("evaluation", args=[pk]))
    messages.success(request, f"{record.title} is in the queue again.")
    return screen.show(request, record)


def _load_decided(request: Request, pk: int) -> Evaluation:
    record = screen.load(request, pk)
    if not record.is_decided:
        raise Http404("Nothing is decided here.")
    return record
