"""Build the review screen for the views that claim, decide and save drafts.

The filters of the reviewer's queue are passed on as a query string: in the URL of a record as `?queue=`, and
in every form as the field `queue`. So is the place of an item of the inbox.
"""

import datetime as dt
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from reviews.accounts import preferences
from reviews.accounts.permissions import Denied, check
from reviews.database.compiled_queries import CompiledQuery, parameter
from reviews.evidence import record as evidence_record
from reviews.history import versions
from reviews.history.changes import changes_since_review, summarise_changes
from reviews.http.redirects import SeeOther
from reviews.http.request import Request
from reviews.http.time_zone import reader_zone
from reviews.inbox.place import place_of
from reviews.models import AuditEvent, Draft, Evaluation, IndependentReview, Run, SpotCheck
from reviews.queue import claims, due_dates, progress
from reviews.queue.claim_columns import renewal_interval
from reviews.records.conflicts import Conflict, RecordReimported
from reviews.review import adjudication, blind_scoring, drafts, escalations, independent_reviews, undo
from reviews.review.forms.escalation import EscalationForm
from reviews.review.forms.review import BlindForm, ReviewForm
from reviews.review.screen_basis import ScreenBasis, load_screen_basis
from reviews.rubric.guidelines import current_guideline
from reviews.search import listing
from reviews.search.filters import Filters
from reviews.views import inbox_navigation
from reviews.views.review import criterion_rows, sibling_rows
from reviews.views.review.permitted_actions import permitted_actions, remedy
from reviews.views.shortcuts import check_not_deleted, render_part

#: How long a screen must have been visible, in milliseconds, before it accepts input.
GUARD_MS = 300
_RECORD = CompiledQuery(
    lambda: (
        Evaluation.objects.filter(pk=parameter("key"))
        .select_related("run", "claimed_by", "review__reviewer")
        .annotate(has_locked_in=blind_scoring.has_locked_in(parameter("reader")))
    )
)


def load(request: Request, pk: int) -> Evaluation:
    """Return a record, for a person who may review. Raises `Denied`, `Http404` and `Gone`.

    Its annotation `has_locked_in` says whether the person has locked in blind scores.
    """
    check(request.user, "review_evaluation")
    record = _RECORD.first(key=pk, reader=request.user.pk)
    if record is None or not record.run.is_visible_to(request.user):
        check_not_deleted(AuditEvent.objects.filter(evaluation=pk))
        raise Http404
    return record


def load_decided(request: Request, pk: int) -> Evaluation:
    record = load(request, pk)
    if not record.is_decided:
        raise Http404("This record has no decision.")
    return record


@dataclass(frozen=True, slots=True)
class SpotCheckContext:
    check: SpotCheck
    #: The page of the check, which takes its form.
    url: str
    pending: int
    reason: str = ""
    #: Whether the form differs from the decision, because a draft or an error brought it back.
    is_changed: bool = False


# The position of the reviewer


def working_filters(request: Request) -> Filters:
    """Return the filters of the reviewer's queue, without those that claiming a record changes."""
    sent = request.POST if request.method == "POST" else request.GET
    filters = Filters.from_query_string(sent.get("queue", ""))
    return filters.with_only("status", "").with_only("claimed-by", "")


def position(request: Request) -> str:
    """Return the place in the inbox, or the filters of the queue, as a query string to pass on."""
    place = place_of(request)
    return inbox_navigation.place_query(place) if place else working_filters(request).query_string


def working_condition(request: Request, run: Run) -> Q:
    return working_filters(request).condition(run, request.user)


def posted_keys(request: Request, name: str) -> list[int]:
    """Return the posted primary keys of records. Values that are no numbers are left out."""
    texts = request.POST.getlist(name)
    return [int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 19]


def posted_key(request: Request, name: str) -> int | None:
    """Return the posted primary key of a record; None if it is not a number."""
    return next(iter(posted_keys(request, name)), None)


def iso(moment: dt.datetime | None) -> str:
    """Format a time for a header that the script reads; empty for None."""
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment else ""


def address(page: str, pk: int, query: str) -> str:
    """Return the URL of the page of a record or a queue that keeps the filters."""
    return reverse(page, args=[pk], query={"queue": query} if query else None)


def go_on(request: Request, run: Run) -> HttpResponse:
    """Respond to a POST: claim and show the next record of the queue, or show that the queue is empty.

    From the inbox, redirect to its next item instead.
    """
    if place := place_of(request):
        return inbox_navigation.go_on(request, place)
    condition = working_condition(request, run)
    claimed = claims.claim_next(run=run, reviewer=request.user, condition=condition)
    return _show(request, claimed) if claimed else show_queue(request, run)


def show(request: Request, record: Evaluation) -> HttpResponse:
    """Respond to a POST with the screen of a record: directly for htmx, otherwise by a redirect."""
    return _show(request, load(request, record.pk) if request.htmx else record)


def _show(request: Request, current: Evaluation) -> HttpResponse:
    """Respond as `show`, with a record that was just loaded."""
    place = address("evaluation", current.pk, position(request))
    if not request.htmx:
        return SeeOther(place)
    response = record_screen(request, current)
    response.headers["HX-Replace-Url"] = place
    return response


def show_settled(request: Request, record: Evaluation) -> HttpResponse:
    """Respond to a POST that settled a record: go on with the inbox, or show the record again."""
    place = place_of(request)
    return inbox_navigation.go_on(request, place) if place else show(request, record)


def show_queue(request: Request, run: Run) -> HttpResponse:
    """Respond to a POST with the queue page: directly for htmx, otherwise by a redirect."""
    place = address("review", run.pk, working_filters(request).query_string)
    if not request.htmx:
        return SeeOther(place)
    response = queue_screen(request, run)
    response.headers["HX-Replace-Url"] = place
    return response


# The screens


def queue_screen(request: Request, run: Run) -> HttpResponse:
    filters = working_filters(request)
    condition = working_condition(request, run)
    context = {
        "run": run,
        "queue": progress.reviewer_progress(run=run, reviewer=request.user, condition=condition),
        "query": filters.query_string,
        "notes": listing.hidden_record_notes(run, filters),
        "undoable": undoable_action(request, run),
        "assigned": next(iter(due_dates.assigned_records(person=request.user, runs=[run.pk])), None),
    }
    return _screen(request, "review/queue/page.html", context)


def load_basis(request: Request, record: Evaluation) -> ScreenBasis:
    """Load the counts of a screen, which `review/queue/progress.html` shows. One query."""
    basis = load_screen_basis(record, request.user, timezone.now().astimezone(reader_zone(request)))
    if not basis.progress.sampled:
        vars(record.run)["draws_samples"] = record.run.sample_share > 0  # without its query
    return basis


def record_screen(
    request: Request,
    record: Evaluation,
    *,
    form: ReviewForm | None = None,
    problem: str = "",
    status: HTTPStatus = HTTPStatus.OK,
    is_revision: bool = False,
    is_prefetched: bool = False,
    spot_check: SpotCheckContext | None = None,
) -> HttpResponse:
    """Render the screen of a record, with the form if the reviewer has claimed it or has unsaved entries.

    If the judge's scores are hidden from the reviewer, a posted `form` that shows them is replaced. A spot
    check of a current decision is a revision that its page saves.
    """
    basis = load_basis(request, record)
    context = {
        **_surroundings(request, record, basis),
        "problem": problem,
        "is_revision": is_revision,
        "is_prefetched": is_prefetched,
        "spot_check": spot_check,
    }
    if spot_check:
        context |= {"url": spot_check.url, "submit_url": spot_check.url}
    is_open = context["own"] or is_revision or form is not None
    if is_revision:
        context["can_submit"] = context["can_revise"]
    kept = drafts.find_draft(record, request.user) if basis.has_draft and is_open else None
    draft = None if form else kept
    readable = independent_reviews.readable_for_adjudication(record, request.user)
    shown = _form(request, record, form, draft, basis=basis, readable=readable)
    if kept:
        shown.revision = kept.revision  # the next save continues the saved draft
    if shown.is_blind:
        context["submit_url"] = reverse("lock-in", args=[record.pk])
    context |= {
        "is_open": is_open,
        "remedy": remedy(context, is_typed=is_open),
        "draft": draft,
        "form": shown,
        "undoable": None if is_open else undoable_action(request, record.run),
        "shows_key_hint": is_open and preferences.shows_key_hint(request.user, basis.decisions),
        **_read(request, record, basis, shown, readable),
    }
    evidence = context["evidence"]
    shown.note_evidence(has_evidence=evidence.has_evidence, has_reference=bool(evidence.ideal.parts))
    context |= _rows(request, record, shown, evidence, is_open=is_open)
    return _screen(request, "review/record/page.html", context, status)


def _rows(
    request: Request,
    record: Evaluation,
    form: ReviewForm,
    evidence: evidence_record.Evidence,
    *,
    is_open: bool,
) -> dict[str, Any]:
    """Return the rows of the screen, which no template formats."""
    above = evidence.has_answer_row
    rows = {"sibling_rows": sibling_rows.sibling_rows(evidence.siblings, record, has_answer_above=above)}
    if is_open:
        rows["criterion_rows"] = criterion_rows.criterion_rows(form, request.user)
        rows["blank_row"] = criterion_rows.blank_row(form, request.user)
    return rows


def _surroundings(request: Request, record: Evaluation, basis: ScreenBasis) -> dict[str, Any]:
    """Return the variables of the screen that do not depend on the form."""
    query = position(request)
    return {
        **permitted_actions(request, record, has_open_reviews=basis.has_independent_reviews),
        "url": address("evaluation", record.pk, query),
        "basis": basis,
        "query": query,
        "in_inbox": bool(place_of(request)),
        "renew_every": round(renewal_interval(record.run).total_seconds()),
    }


def _form(
    request: Request,
    record: Evaluation,
    posted: ReviewForm | None,
    draft: Draft | None,
    *,
    basis: ScreenBasis,
    readable: list[IndependentReview],
) -> ReviewForm:
    """Return the form with the posted entries, if any, but never with hidden judge scores."""
    is_hidden = blind_scoring.is_hidden(record, request.user)
    if posted is not None and posted.is_blind == is_hidden:
        return posted
    data = posted.data if posted is not None else None
    if is_hidden:
        return BlindForm(record, data, draft=draft)
    blind_scores = blind_scoring.find_locked_in(record, request.user) if basis.has_blind_scores else None
    return ReviewForm(record, data, draft=draft, blind_scores=blind_scores, independent_reviews=readable)


def undoable_action(request: Request, run: Run) -> undo.Action | None:
    """Return the action that Undo would undo, for pages that only show."""
    return None if run.archived_at else undo.last_action(run=run, actor=request.user)


def _read(
    request: Request,
    record: Evaluation,
    basis: ScreenBasis,
    form: ReviewForm,
    readable: list[IndependentReview],
) -> dict[str, Any]:
    """Return the context to read: guideline, evidence, decision, versions, other reviews and escalations."""
    changes = changes_since_review(record) if record.is_outdated else []
    compared = readable and adjudication.compare_reviews(
        readable, form.proposals, form.rubric, request.user, form.judged_verdict
    )
    return {
        "guideline": current_guideline(record.run),
        "independent_reviews": compared or None,
        "evidence": evidence_record.read_evidence(
            record, form.proposals, reader=request.user, is_blind=form.is_blind
        ),
        "decision": None if form.is_blind else evidence_record.summarise_decision(record, form.proposals),
        "changes": changes,
        "change_summary": summarise_changes(record, form.proposals, changes) if record.is_outdated else "",
        "versions": versions.list_versions(record, form.proposals, form.rubric, reader=request.user)
        if record.review_id
        else [],
        "open_escalation": escalations.find_open(record) if record.is_escalated else None,
        "answered_escalation": escalations.find_answer(record)
        if record.in_queue and basis.was_escalated
        else None,
        "escalation": EscalationForm(),
    }


def _screen(
    request: Request, template: str, context: dict[str, Any], status: HTTPStatus = HTTPStatus.OK
) -> HttpResponse:
    """Render the page; for htmx its part `screen`, with the address for the browser's history."""
    response = render_part(request, template, "screen", {**context, "guard_ms": GUARD_MS}, status)
    if request.htmx and request.method == "GET":
        response.headers["HX-Replace-Url"] = request.get_full_path()
    return response


def conflict(
    request: Request, seen: Evaluation, refusal: Conflict | Denied, *, is_revision: bool = False
) -> HttpResponse:
    """Return 409 with the entries and the record's current version, so that the reviewer can submit again."""
    record = load(request, seen.pk)
    data = request.POST.copy()
    data["version"] = str(record.version)
    form = ReviewForm(
        record,
        data,
        blind_scores=blind_scoring.find_locked_in(record, request.user),
        independent_reviews=independent_reviews.readable_for_adjudication(record, request.user),
    )
    problem = refusal.reason
    if isinstance(refusal, RecordReimported) and not blind_scoring.is_hidden(record, request.user):
        problem = refusal.with_changes(form.outdated)  # compares the post with the judge's scores
    return record_screen(
        request,
        record,
        form=form,
        problem=problem,
        status=HTTPStatus.CONFLICT,
        is_revision=is_revision and record.is_decided,
    )


def lost(request: Request, pk: int, problem: str, *, newer_at: dt.datetime | None = None) -> HttpResponse:
    """Return 409 with a strip for a background request of the page: the reason and what to do.

    `newer_at` is when a newer draft was saved, if that is the reason.
    """
    record = load(request, pk)
    actions = permitted_actions(request, record)
    context = actions | {
        "problem": problem,
        "newer_at": newer_at,
        "query": position(request),
        "is_typed": True,
        "remedy": remedy(actions, is_typed=True),
    }
    return render(request, "review/notices/problem.html", context, status=HTTPStatus.CONFLICT)
