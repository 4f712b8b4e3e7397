"""Spot checks: a lead agrees with decisions drawn at random, corrects or reopens them, one by one."""

from http import HTTPStatus

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from reviews.accounts.permissions import check
from reviews.dashboard import spot_checks
from reviews.http.redirects import SeeOther
from reviews.http.request import Request
from reviews.inbox.place import place_of
from reviews.models import Evaluation, SpotCheck, User
from reviews.records.conflicts import Conflict
from reviews.review import drafts
from reviews.review.entries import LINE_END
from reviews.review.forms.fields import encode_fields
from reviews.review.forms.review import ReviewForm
from reviews.views import inbox_navigation
from reviews.views.dashboard import filters
from reviews.views.form_fields import WholeNumberField
from reviews.views.review import screen, toasts
from reviews.views.shortcuts import form_page, load_in_run, refusal_shown, render_form

_LONGEST_REASON = 5_000
_LISTED = 50


class DrawForm(forms.Form):
    reviewer = forms.ModelChoiceField(User.objects.all(), to_field_name="username")
    count = WholeNumberField(min_value=1, max_value=spot_checks.MOST_DRAWN)


@form_page
def drawn(request: Request) -> HttpResponse:
    """List the pending spot checks. POST draws `count` decisions of a `reviewer` in the posted scope."""
    check(request.user, "lead_review")
    form = DrawForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        return _draw(request, **form.cleaned_data)
    checks = spot_checks.open_checks(request.user)
    shown, count = checks[:_LISTED], checks.count()
    return render_form(request, "dashboard/spot_checks.html", form, checks=shown, count=count)


def _draw(request: Request, reviewer: User, count: int) -> HttpResponse:
    """Draw decisions and open the first one, or go back if none is left."""
    selection = filters.read_filters(request.POST, request.user, reviewer).selection
    found = spot_checks.draw(selection=selection, count=count, actor=request.user)
    if not found:
        messages.info(request, "No decisions left to draw. All current decisions were drawn before.")
        return redirect("reviewer-activity", reviewer.pk)
    messages.success(request, f"Drew {len(found):,} decisions of {reviewer.name}.")
    return redirect("spot-check", found[0].pk)


@form_page
def spot_check(request: Request, pk: int) -> HttpResponse:
    """Show a drawn decision in a form. POST agrees with it, corrects it, or reopens it with a reason.

    Unchanged entries or `outcome=agreed` are agreement; a change or `outcome=reopened` needs a `reason`.
    """
    rows = SpotCheck.objects.select_related("review__evaluation__run", "reviewer", "resolved_by")
    drawn = load_in_run(request, rows, pk, "lead_review")
    record = screen.load(request, drawn.review.evaluation_id)
    if request.method != "POST":
        return _show(request, drawn, record)
    action, title = request.POST.get("action"), record.title
    if action == "discard":
        drafts.discard(evaluation_id=record.pk, reviewer=request.user)
        return _go_to(request, "spot-check", pk)
    form = ReviewForm(record, request.POST, added=int(action == "add"))
    problem = "" if action == "add" else _problem(request, record, form)
    if problem or action == "add":
        return _show(request, drawn, record, form=form, problem=problem)
    with refusal_shown(request, Conflict):
        done = _complete(request, drawn, record, form)
        toasts.offer_undo(request, record, f"{done.get_outcome_display()}: {title}.")
    if place := place_of(request):
        return inbox_navigation.go_on(request, place)
    if following := spot_checks.open_checks(request.user).first():
        return _go_to(request, "spot-check", following.pk)
    messages.success(request, "All spot checks are done.")
    return _go_to(request, "spot-checks")


def _problem(request: Request, record: Evaluation, form: ReviewForm) -> str:
    """Return why the posted answer cannot be saved; empty if it can."""
    has_reason = bool(_reason(request))
    if len(_reason(request)) > _LONGEST_REASON:
        return f"The reason has more than {_LONGEST_REASON:,} characters."
    if request.POST.get("outcome") == SpotCheck.Outcome.REOPENED:
        return "" if has_reason else "Enter the reason for reopening."
    if "version" not in request.POST and request.POST.get("outcome") != SpotCheck.Outcome.AGREED:
        return "Agree, correct the scores, or reopen the record."
    if _is_agreement(request, record, form):
        return ""
    if not form.is_valid():
        return "The correction was not saved. Correct the marked fields."
    return "" if has_reason else "Enter the reason for the correction."


def _is_agreement(request: Request, record: Evaluation, form: ReviewForm) -> bool:
    return request.POST.get("outcome") == SpotCheck.Outcome.AGREED or not _is_changed(record, form)


def _is_changed(record: Evaluation, form: ReviewForm) -> bool:
    """Return whether the entries of a form differ from the current decision."""
    fresh = ReviewForm(record)
    entered, known = (
        encode_fields([row.as_fields for row in one.rows], one.comment) for one in (form, fresh)
    )
    return [[LINE_END.sub("\n", text) for text in field] for field in entered] != known


def _complete(request: Request, drawn: SpotCheck, record: Evaluation, form: ReviewForm) -> SpotCheck:
    reason, lead = _reason(request), request.user
    if request.POST.get("outcome") == SpotCheck.Outcome.REOPENED:
        return spot_checks.reopen(check_id=drawn.pk, actor=lead, reason=reason)
    if _is_agreement(request, record, form):
        drafts.discard(evaluation_id=record.pk, reviewer=lead)
        return spot_checks.agree(check_id=drawn.pk, actor=lead, note=reason)
    return spot_checks.correct(check_id=drawn.pk, actor=lead, reason=reason, **form.arguments)


def _reason(request: Request) -> str:
    return request.POST.get("reason", "").strip()


def _show(
    request: Request,
    drawn: SpotCheck,
    record: Evaluation,
    *,
    form: ReviewForm | None = None,
    problem: str = "",
) -> HttpResponse:
    """Show the check, with the form only while its decision is current and unchecked."""
    is_open = (
        drawn.outcome == SpotCheck.Outcome.OPEN
        and record.review_id == drawn.review_id
        and record.is_decided
        and not record.is_escalated
        and drawn.reviewer_id != request.user.pk
        and not record.run.archived_at
    )
    entered = form
    if is_open and form is None and (draft := drafts.find_draft(record, request.user)):
        entered = ReviewForm(record, draft=draft)
    shown = screen.SpotCheckContext(
        drawn,
        reverse("spot-check", args=[drawn.pk]),
        spot_checks.open_checks(request.user).count(),
        _reason(request),
        is_changed=entered is not None and _is_changed(record, entered),
    )
    return screen.record_screen(
        request,
        record,
        form=form if is_open else None,
        problem=problem,
        status=HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK,
        is_revision=is_open,
        spot_check=shown,
    )


def _go_to(request: Request, name: str, *keys: int) -> HttpResponse:
    """Redirect; a request by htmx leaves the page unless it is for another check."""
    inbox = place_of(request)
    place = reverse(name, args=keys, query={"inbox": str(inbox)} if inbox else None)
    leaves_page = request.htmx and name != "spot-check"
    return HttpResponseClientRedirect(place) if leaves_page else SeeOther(place)
