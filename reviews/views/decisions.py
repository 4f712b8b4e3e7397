"""Deciding: submit, revise, undo, reopen. What cannot be done comes back with what was typed, and why."""

from collections.abc import Callable
from http import HTTPStatus

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods, require_POST

from reviews import counts, drafts, queue, workflow
from reviews.forms import ReviewForm
from reviews.meanwhile import Reimported
from reviews.models import Evaluation, Review
from reviews.permissions import Denied, check_revise
from reviews.views import screen
from reviews.views.request import Request

_LONGEST_REASON = 5_000


@require_POST
def submit(request: Request, pk: int) -> HttpResponse:
    """Put a decision in force; with `action` add a row to the form, or discard what was entered."""
    record = screen.load(request, pk)
    form = _posted_form(request, record)
    obstacle = _obstacle(request, record, form, workflow.submit_review)
    if obstacle:
        return obstacle
    before, after = form.judged_verdict, form.verdict or "no verdict"
    saved = format_html(
        'Saved <a href="{}">{}</a>: {}',
        reverse("evaluation", args=[pk]),
        record.title,
        after if after == before or not before else f"{before} → {after}",
    )
    messages.success(request, saved)
    return _go_on(request, record)


@require_http_methods(["GET", "HEAD", "POST"])
def revise(request: Request, pk: int) -> HttpResponse:
    """A decision in force: the form to change it, and its next version. `action` as for `submit`."""
    record = _load_decided(request, pk)
    if request.method != "POST":
        check_revise(request.user, record)
        return screen.record_screen(request, record, is_revision=True)
    form = _posted_form(request, record)
    obstacle = _obstacle(request, record, form, workflow.revise, is_revision=True)
    if obstacle:
        return obstacle
    messages.success(request, f"Saved as a new version: {record.title}.")
    return screen.show(request, record)


def _posted_form(request: Request, record: Evaluation) -> ReviewForm:
    return ReviewForm(record, request.POST, added=int(request.POST.get("action") == "add"))


def _obstacle(
    request: Request,
    record: Evaluation,
    form: ReviewForm,
    put_in_force: Callable[..., Review],
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
    except workflow.Conflict as conflict:
        return _conflict(request, record, conflict, is_revision=is_revision)
    except Denied as denied:
        # Whose decision it is may have changed since the form was opened, and what was typed must not go.
        return _conflict(request, record, denied, is_revision=is_revision)
    return None


def _conflict(
    request: Request, seen: Evaluation, refusal: workflow.Conflict | Denied, *, is_revision: bool
) -> HttpResponse:
    """What was typed, beside the record as it is now; sending it again then means the new record."""
    record = screen.load(request, seen.pk)
    data = request.POST.copy()
    data["version"] = str(record.version)
    form = ReviewForm(record, data)
    problem = refusal.on(form.outdated) if isinstance(refusal, Reimported) else refusal.reason
    return screen.record_screen(
        request,
        record,
        form=form,
        problem=problem,
        status=HTTPStatus.CONFLICT,
        is_revision=is_revision and record.is_done,
    )


def _go_on(request: Request, record: Evaluation) -> HttpResponse:
    """The next screen; or what goes beside it, where the script shows the spare record already."""
    swapped_in = screen.posted_key(request, "next")
    if not (request.htmx and swapped_in):
        return screen.go_on(request, record.run)
    try:
        claimed = queue.claim(evaluation_id=swapped_in, reviewer=request.user)
    except (queue.Taken, Evaluation.DoesNotExist):
        return screen.go_on(request, record.run)
    context = {"run": record.run, "progress": counts.of(record.run)}
    context["query"] = screen.working_filters(request).query_string
    response = render(request, "review/beside.html", context)
    response.headers["HX-Reswap"] = "none"
    response.headers["X-Claim-Until"] = screen.iso(claimed.claimed_until)
    return response


@require_POST
def undo(request: Request, run_pk: int) -> HttpResponse:
    """Take one's last submit back and open its record again."""
    run = screen.load_run(request, run_pk)
    try:
        record = workflow.undo(run=run, reviewer=request.user)
    except workflow.Conflict as conflict:
        return screen.refused(request, conflict.reason, reverse("recent", args=[run.pk]))
    messages.success(request, f"Taken back: {record.title}. It is yours again, as you left it.")
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
        workflow.reopen(evaluation_id=record.pk, actor=request.user, reason=reason)
    except workflow.Conflict as conflict:
        return screen.refused(request, conflict.reason, reverse("evaluation", args=[pk]))
    messages.success(request, f"{record.title} is in the queue again.")
    return screen.show(request, record)


def _load_decided(request: Request, pk: int) -> Evaluation:
    record = screen.load(request, pk)
    if not record.is_done:
        raise Http404("Nothing is decided here.")
    return record
