"""The inbox: everything that needs a lead's or an admin's attention, and the way from item to item."""

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts.permissions import check
from reviews.database.pagination import parse_key
from reviews.evidence.record import read_record_question, read_responses, summarise_decision
from reviews.http.redirects import SeeOther
from reviews.http.request import Request
from reviews.inbox import jobs
from reviews.inbox.items import Inbox, Item
from reviews.inbox.kinds import BY_NAME
from reviews.inbox.place import Place, place_of
from reviews.models import Escalation, Evaluation, Run
from reviews.models.runs import in_visible_runs
from reviews.records.conflicts import Conflict
from reviews.review import blind_scoring, escalations, independent_reviews
from reviews.review.adjudication import compare_reviews
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric
from reviews.views import inbox_navigation
from reviews.views.review import screen
from reviews.views.shortcuts import form_page, refusal_shown


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


class AnswerForm(forms.Form):
    outcome = forms.ChoiceField(
        choices=[("returned", "back to the queue"), ("closed", "closed")],
        error_messages={"required": "Choose an outcome."},
    )
    answer = forms.CharField(max_length=5_000, error_messages={"required": "Enter an answer."})


@form_page
def inbox(request: Request) -> HttpResponse:
    """List the oldest items of each kind; with `kind`, all of that kind; with `run`, those of a run.

    Beside the list is the item at the place `item`, or the first one; htmx gets only that. POST answers the
    escalation with the key `which`.
    """
    check(request.user, "lead_review")
    if request.method == "POST":
        return _answer(request)
    place = Place.parse(request.GET.get("item", ""))
    if not request.htmx or not place:
        return _page(request)
    shown = Inbox(request.user, _filtered_run(request))
    context = {"run": shown.run, "form": AnswerForm(), **pane_context(request, shown.find(place))}
    return render(request, "dashboard/inbox.html#pane", context)


def _page(request: Request, answered: tuple[Escalation, AnswerForm] | None = None) -> HttpResponse:
    """Render the list. An invalid answer is shown on a page of its own, with the entered text."""
    shown = Inbox(request.user, _filtered_run(request))
    kind = BY_NAME.get("question" if answered else request.GET.get("kind", ""))
    context: dict[str, Any] = {"inbox": shown, "run": shown.run, "kind": kind, "after": "", "next_after": ""}
    if kind:
        after = answered[0].pk - 1 if answered else parse_key(request.GET.get("after", ""))
        items, context["next_after"] = shown.page(kind, after)
        context["after"] = "" if answered else request.GET.get("after", "")
        groups = [(kind.heading, [_row(item, answered) for item in items], 0, "")]
    else:
        run_query: dict[str, Any] = {"run": shown.run.pk} if shown.run else {}
        groups = [
            (
                group.kind.heading,
                [_row(item) for item in group.items],
                group.more,
                reverse("inbox", query=run_query | {"kind": group.kind.name}),
            )
            for group in shown.groups()
        ]
    context["groups"] = groups
    context |= _pane(request, shown, groups, answered)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if answered else HTTPStatus.OK
    return render(request, "dashboard/inbox.html", context, status=status)


def _pane(
    request: Request,
    shown: Inbox,
    groups: list[tuple[str, list[dict[str, Any]], int, str]],
    answered: tuple[Escalation, AnswerForm] | None,
) -> dict[str, Any]:
    """Return the variables of the item beside the list: the answered or chosen one, or the first."""
    rows = [row for _, listed, *_ in groups for row in listed]
    place = None if answered else Place.parse(request.GET.get("item", ""))
    item = (place and shown.find(place)) or next((row["item"] for row in rows), None)
    if item is None:
        return {"pane_place": None}
    form = answered[1] if answered else AnswerForm()
    return {"pane_place": item.place, "form": form, **pane_context(request, item)}


def _row(item: Item, answered: tuple[Escalation, AnswerForm] | None = None) -> dict[str, Any]:
    raised, form = answered or (None, AnswerForm())
    is_answered = item.kind.name == "question" and item.row == raised
    return {
        "item": item,
        "url": inbox_navigation.item_url(item),
        "form": form if is_answered else AnswerForm(),
        "can_retry": item.kind.name in jobs.JOBS and jobs.can_retry(item),
    }


def _answer(request: Request) -> HttpResponse:
    raised = get_object_or_404(
        Escalation.objects.filter(in_visible_runs(request.user))
        .exclude(kind=Escalation.Kind.DISAGREEMENT)
        .select_related("evaluation"),
        pk=parse_key(request.POST.get("which", "")),
    )
    form = AnswerForm(request.POST)
    if not form.is_valid():
        return _page(request, (raised, form))
    with refusal_shown(request, Conflict):
        escalations.resolve(escalation_id=raised.pk, actor=request.user, **form.cleaned_data)
        outcome = Escalation.Outcome(form.cleaned_data["outcome"])
        messages.success(request, f"Answered: {raised.evaluation.title}. {outcome.label.capitalize()}.")
    return _go_back(request)


@require_safe
def next_item(request: Request) -> HttpResponse:
    """Redirect to the item after the place `inbox`, or to the first one."""
    check(request.user, "lead_review")
    return SeeOther(inbox_navigation.next_url(request, place_of(request)))


@require_POST
def retry(request: Request) -> HttpResponse:
    """Enqueue the failed job with the posted `place` again."""
    item = _failed_job(request)
    if item is None:
        messages.info(request, "This job is no longer listed as failed.")
    elif not jobs.can_retry(item):
        messages.error(request, "This file cannot be imported as it is. Correct it and upload it again.")
    else:
        jobs.retry(item=item, actor=request.user)
        messages.success(request, f"Queued again: {_job_title(item)}.")
    return _go_back(request)


@require_POST
def dismiss(request: Request) -> HttpResponse:
    """Take the failed job with the posted `place` out of the inbox."""
    if item := _failed_job(request):
        jobs.dismiss(item=item, actor=request.user)
        messages.success(request, f"Dismissed: {_job_title(item)}.")
    return _go_back(request)


def _go_back(request: Request) -> HttpResponse:
    """Redirect to the list, with the item after the posted `place` beside it."""
    run, place = _filtered_run(request), Place.parse(request.POST.get("place", ""))
    return redirect(
        inbox_navigation.inbox_url(run, Inbox(request.user, run).next_item(place) if place else None)
    )


def _failed_job(request: Request) -> Item | None:
    """Return the failed job at the posted place, or None if it was settled. Raises `Denied` and `Http404`."""
    check(request.user, "lead_review")
    place = Place.parse(request.POST.get("place", ""))
    if place is None or place.kind not in jobs.JOBS:
        raise Http404
    check(request.user, BY_NAME[place.kind].permission)
    return Inbox(request.user).find(place)


def _job_title(item: Item) -> str:
    if item.kind.name == "import":
        return f"import of {item.row.file_name}"
    if item.kind.name == "export":
        return f"export of {item.row.run.name}"
    if item.kind.name == "webhook":
        return f"messages to {item.row.url}"
    return f"e-mail to {item.row.name}"


def _filtered_run(request: Request) -> Run | None:
    """Return the run `run` of the address. Raises `Http404` for one that the person may not see."""
    text = request.GET.get("run", "")
    return get_object_or_404(Run.objects.visible_to(request.user), pk=parse_key(text)) if text else None
