"""Known answers: start and end a check of the reviewers of a run, and show its figures."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from reviews.dashboard.known_answers import (
    DEFINITION,
    FEWEST_ANSWERS,
    AnswerAgreement,
    Comparison,
    accuracies,
    compare,
    visible_checks,
)
from reviews.http.request import Request
from reviews.inbox.items import Inbox
from reviews.inbox.kinds import BY_NAME
from reviews.models import KnownAnswerCheck, Run, User
from reviews.records.conflicts import Conflict
from reviews.records.scores import criterion_title
from reviews.records.wording import counted
from reviews.review import known_answers as review_known_answers
from reviews.review.known_answer_rows import running_check
from reviews.rubric.run_settings import InvalidSettings
from reviews.views import inbox_navigation
from reviews.views.form_fields import WholeNumberField, refusal_in
from reviews.views.shortcuts import form_page, load_in_run, load_run, refusal_shown, render_form
from reviews.views.tables import (
    LIMITS,
    NOTHING,
    Cell,
    Column,
    Table,
    count,
    moment,
    record_cell,
    share,
    text_columns,
    words,
)

# The checks that a person's page looks at.
_LATEST = 5


def reviewers_table(check: KnownAnswerCheck) -> Table:
    """Build the table of reviewers. While the check runs, its cells have no links."""
    found = accuracies(compare(check))
    criteria = sorted({name for one in found for name in one.criteria})
    columns = [
        *text_columns(reviewer="Reviewer"),
        Column("answers", "Answers"),
        Column("verdict", "Same verdict", DEFINITION, parts=LIMITS),
        *(Column(name, criterion_title(name), parts=LIMITS) for name in criteria),
    ]
    rows = []
    for one in found:
        place = reverse("known-answer-check", args=[check.pk], query={"reviewer": one.reviewer.username})
        url = place if check.ended_at else ""
        rows.append(
            [
                Cell(
                    one.reviewer.name,
                    one.reviewer.username,
                    reverse("reviewer-activity", args=[one.reviewer.pk]),
                ),
                count(one.records, url),
                _agreement(one.verdict),
                *(_agreement(one.criteria.get(name)) for name in criteria),
            ]
        )
    return Table("known-answers", "Agreement with the known answers", columns, rows, "No answers yet.")


def answers_table(check: KnownAnswerCheck, reviewer: str) -> Table:
    """Build the table of the answers behind the figures, of one reviewer if a username is given."""
    found = [one for one in compare(check) if reviewer in ("", one.given.reviewer.username)]
    columns = text_columns(
        record="Record",
        reviewer="Reviewer",
        known="Known verdict",
        given="Reviewer's verdict",
        differs="Different scores",
    )
    rows = [
        [
            record_cell(one.evaluation),
            Cell(one.given.reviewer.name, one.given.reviewer.username),
            words(one.known.verdict or "none"),
            words(one.given.verdict or "none"),
            words(_differing(one)),
        ]
        for one in found
    ]
    return Table("records", "Answers", columns, rows, "No answers.", folds=True)


def checks_table(reviewer: User, reader: User, run: Run | None = None) -> Table:
    """Build the table of the latest checks that have ended and in which a person answered."""
    ended = visible_checks(reader).filter(ended_at__isnull=False)
    rows = []
    for check in (ended.filter(run=run) if run else ended)[:_LATEST]:
        url = reverse("known-answer-check", args=[check.pk], query={"reviewer": reviewer.username})
        ended_at = moment(check.ended_at) if check.ended_at else NOTHING
        rows += [
            [words(check.run.name, url=url), ended_at, count(one.records, url), _agreement(one.verdict)]
            for one in accuracies(compare(check))
            if one.reviewer == reviewer
        ]
    columns = [
        *text_columns(run="Run", ended="Ended"),
        Column("answers", "Answers"),
        Column("verdict", "Same verdict", DEFINITION, parts=LIMITS),
    ]
    return Table("known-answers", "Known answers", columns, rows, "No answers in a check that has ended.")


def _differing(one: Comparison) -> str:
    return ", ".join(criterion_title(name) for name, is_same in one.criteria.items() if not is_same) or "none"


def _agreement(found: AnswerAgreement | None) -> Cell:
    if not found or not found.answers:
        return NOTHING
    if found.answers < FEWEST_ANSWERS:
        return Cell(f"{found.same} of {found.answers}")
    return share(found.estimate)


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
        "figures": reviewers_table(running) if running and is_own else None,
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
        "figures": reviewers_table(shown),
        "records": answers_table(shown, reviewer) if shown.ended_at else None,
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
