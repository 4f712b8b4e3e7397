"""Known answers: start and end a check of a run's reviewers, and show its figures."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from reviews.dashboard.known_answers import visible_checks
from reviews.http.request import Request
from reviews.inbox.items import Inbox
from reviews.inbox.kinds import BY_NAME
from reviews.models import KnownAnswerCheck, Run
from reviews.records.conflicts import Conflict
from reviews.records.wording import counted
from reviews.review import known_answers as review_known_answers
from reviews.review.known_answer_rows import running_check
from reviews.rubric.run_settings import InvalidSettings
from reviews.views import inbox_navigation
from reviews.views.access import form_page, load_in_run, load_run
from reviews.views.dashboard import known_answer_tables
from reviews.views.form_fields import WholeNumberField, refusal_in
from reviews.views.parts import refusal_shown, render_form

_USUAL = 20
_ANSWERS = BY_NAME["answer"]


class StartForm(forms.Form):
    use_required_attribute = False

    count = WholeNumberField(
        label="Records",
        initial=_USUAL,
        min_value=1,
        max_value=review_known_answers.MOST_RECORDS,
        error_messages={"required": "Enter how many records to draw."},
        widget=forms.NumberInput(attrs={"class": "count"}),
    )


@form_page
def known_answers(request: Request, run_pk: int) -> HttpResponse:
    """Show the running check and the earlier ones. POST starts a check with `count` records."""
    run = load_run(request, run_pk, "lead_review")
    form = StartForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with refusal_in(form, InvalidSettings):
            with refusal_shown(request, Conflict):
                started = review_known_answers.start(
                    run_id=run.pk, actor=request.user, count=form.cleaned_data["count"]
                )
                records = counted(started.answers.count(), "record")
                note = "Review them now: your reviews are the known answers."
                messages.success(request, f"Drew {records}. {note}")
            return redirect("known-answers", run.pk)
    return render_form(request, "dashboard/known_answers.html", form, run=run, **_state(request, run))


def _state(request: Request, run: Run) -> dict[str, object]:
    running = running_check(run)
    is_own = running is not None and running.started_by_id == request.user.pk
    inbox = Inbox(request.user, run)
    to_give = inbox.counts[_ANSWERS.name] if is_own else 0
    first = inbox.page(_ANSWERS, None)[0][0] if to_give else None
    available = 0 if running else review_known_answers.candidates(run).count()
    obstacle = "" if available or running else review_known_answers.NONE_LEFT
    if not review_known_answers.has_overlap(run):
        obstacle = review_known_answers.NO_OVERLAP
    return {
        "running": running,
        "is_own": is_own,
        "records": running.answers.count() if running else 0,
        "to_give": to_give,
        "next_url": inbox_navigation.item_url(first) if first else "",
        "figures": known_answer_tables.reviewers(running) if running and is_own else None,
        "checks": visible_checks(request.user).filter(run=run, ended_at__isnull=False),
        "obstacle": obstacle,
        "available": available,
    }


@require_safe
def known_answer_check(request: Request, pk: int) -> HttpResponse:
    """Show the figures of a check, and once it has ended the answers, of one `reviewer` if given."""
    shown = load_in_run(request, visible_checks(request.user), pk, "lead_review")
    reviewer = request.GET.get("reviewer", "")
    context = {
        "run": shown.run,
        "check": shown,
        "figures": known_answer_tables.reviewers(shown),
        "records": known_answer_tables.records(shown, reviewer) if shown.ended_at else None,
        "reviewer": reviewer,
    }
    return render(request, "dashboard/known_answer_check.html", context)


@require_POST
def end_check(request: Request, pk: int) -> HttpResponse:
    """End a check: the known answers become decisions."""
    found = load_in_run(request, KnownAnswerCheck.objects.all(), pk, "lead_review")
    with refusal_shown(request, Conflict):
        ended = review_known_answers.end(check_id=found.pk, actor=request.user)
        waiting = f" {ended.waiting:,} stay in the queue." if ended.waiting else ""
        messages.success(request, f"The check has ended. Decided {ended.decided:,} records.{waiting}")
    return redirect("known-answer-check", found.pk)
