"""The review screen: claim a record, decide on it, go on to the next.

GETs change nothing. Every POST answers with a redirect, or with the screen again and why (422, 409). For htmx
the screen alone is sent, as a part of the same page.
"""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict, StreamingHttpResponse
from django.http.response import HttpResponseRedirectBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.html import format_html
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from reviews import differences, evidence, queue, rendering, source, workflow
from reviews.forms import ReviewForm
from reviews.models import Evaluation, Run, SourceChunk
from reviews.permissions import can, check
from reviews.views.download import download
from reviews.views.request import Request


class SeeOther(HttpResponseRedirectBase):
    """A redirect after a POST; the next request is a GET."""

    status_code = HTTPStatus.SEE_OTHER


@require_safe
@never_cache
def review(request: Request, run_pk: int) -> HttpResponse:
    """Where one stands in the queue of a run, and the button that goes on."""
    check(request.user, "review_evaluation")
    run = get_object_or_404(Run, pk=run_pk)
    context = {"run": run, "standing": queue.standing(run=run, reviewer=request.user)}
    return _screen(request, "review/queue.html", context)


@require_POST
def claim_next(request: Request, run_pk: int) -> HttpResponse:
    check(request.user, "review_evaluation")
    return _next(request, get_object_or_404(Run, pk=run_pk))


@require_POST
def take_back_skips(request: Request, run_pk: int) -> HttpResponse:
    """Go on with the records the reviewer skipped."""
    check(request.user, "review_evaluation")
    run = get_object_or_404(Run, pk=run_pk)
    queue.take_back_skips(run=run, reviewer=request.user)
    return _next(request, run)


@require_safe
@never_cache
def evaluation(request: Request, pk: int) -> HttpResponse:
    """One record: to decide on for who holds it, to read for others."""
    return _record_screen(request, _load(request, pk))


@require_safe
@never_cache
def line(request: Request, pk: int) -> StreamingHttpResponse:
    """The record's line of the kept file, as it came."""
    record = _load(request, pk)
    try:
        kept = source.kept_line(record.source_import_id, record.source_line)
    except SourceChunk.DoesNotExist:
        raise Http404("The file of this record is not kept.") from None
    return download(iter([kept, b"\n"]), f"{record.evaluation_id}.jsonl")


@require_POST
def claim(request: Request, pk: int) -> HttpResponse:
    record = _load(request, pk)
    try:
        queue.claim(evaluation_id=record.pk, reviewer=request.user)
    except queue.Taken as taken:
        return _record_screen(request, record, problem=taken.reason, status=HTTPStatus.CONFLICT)
    return SeeOther(reverse("evaluation", args=[pk]))


@require_POST
def submit(request: Request, pk: int) -> HttpResponse:
    """Put a decision in force, or with `action=add` only give the form one more row."""
    record, posted = _load(request, pk), request.POST
    if posted.get("action") == "add":
        return _record_screen(request, record, form=ReviewForm(record, posted, added=1))
    form = ReviewForm(record, posted)
    if not form.is_valid():
        return _record_screen(request, record, form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        workflow.submit_review(
            evaluation_id=record.pk,
            reviewer=request.user,
            version=form.cleaned_data["version"],
            scores=form.scores,
            comments=form.cleaned_data["comments"],
            origins=form.origins,
            submission=form.cleaned_data["submission"],
        )
    except workflow.Conflict as conflict:
        return _conflict(request, pk, posted, conflict.reason)
    messages.success(request, _saved(record, form))
    return _next(request, record.run)


@require_POST
def skip(request: Request, pk: int) -> HttpResponse:
    record = _load(request, pk)
    try:
        queue.skip(evaluation_id=record.pk, reviewer=request.user)
    except queue.Taken as taken:
        return _record_screen(request, record, problem=taken.reason, status=HTTPStatus.CONFLICT)
    return _next(request, record.run)


@require_POST
def release(request: Request, pk: int) -> HttpResponse:
    """Give a record back, one's own or as a lead somebody else's."""
    record = _load(request, pk)
    was_own = record.claimed_by_id == request.user.pk
    queue.release(evaluation_id=record.pk, actor=request.user)
    return SeeOther(reverse("review", args=[record.run_id]) if was_own else reverse("evaluation", args=[pk]))


@require_POST
def renew(request: Request, pk: int) -> HttpResponse:
    """Hold on to a record while its page is open: 204, or 409 with a banner that says who has it."""
    record = _load(request, pk)
    try:
        queue.renew(evaluation_id=record.pk, reviewer=request.user)
    except queue.Taken as taken:
        context = {"problem": taken.reason}
        return render(request, "review/page.html#lost", context, status=HTTPStatus.CONFLICT)
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


@require_POST
def preview(request: Request) -> HttpResponse:
    """The posted `text` (under whatever name htmx sends: the field that is typed in) as it will be read."""
    check(request.user, "review_evaluation")
    text = next((value for name, value in request.POST.items() if name.endswith("justification")), "")
    return HttpResponse(rendering.markdown(str(text)))


def _load(request: Request, pk: int) -> Evaluation:
    check(request.user, "review_evaluation")
    rows = Evaluation.objects.select_related("run", "claimed_by", "review__reviewer")
    return get_object_or_404(rows, pk=pk)


def _next(request: Request, run: Run) -> HttpResponse:
    claimed = queue.claim_next(run=run, reviewer=request.user)
    return SeeOther(reverse("evaluation", args=[claimed.pk]) if claimed else reverse("review", args=[run.pk]))


def _conflict(request: Request, pk: int, posted: QueryDict, reason: str) -> HttpResponse:
    """What was typed, beside the record as it is now; sending it again then means the new record."""
    record = _load(request, pk)
    data = posted.copy()
    data["version"] = str(record.version)
    form = ReviewForm(record, data)
    return _record_screen(request, record, form=form, problem=reason, status=HTTPStatus.CONFLICT)


def _record_screen(
    request: Request,
    record: Evaluation,
    *,
    form: ReviewForm | None = None,
    problem: str = "",
    status: HTTPStatus = HTTPStatus.OK,
) -> HttpResponse:
    """The screen of a record: the form for who holds it, and as long as there is typed text to keep."""
    own = record.in_queue and record.claimed_by_id == request.user.pk and queue.is_held(record)
    held = record.in_queue and not own and queue.is_held(record)
    shown = form or ReviewForm(record)
    counts = queue.progress(record.run)
    context = {
        "evaluation": record,
        "run": record.run,
        "heading": heading(record),
        "left": counts.waiting + counts.held,
        "to_review": counts.to_review,
        "form": shown,
        "evidence": evidence.read(record, shown.offers),
        "decision": evidence.decision(record, shown.offers),
        "changes": differences.since_review(record) if record.is_stale else [],
        "problem": problem,
        "own": own,
        "held": held,
        "is_open": own or form is not None,
        "can_submit": record.in_queue and not held,
        "may_free": held and can(request.user, "lead_review"),
    }
    return _screen(request, "review/page.html", context, status)


def _screen(
    request: Request, template: str, context: dict[str, Any], status: HTTPStatus = HTTPStatus.OK
) -> HttpResponse:
    """The page, or for htmx its part `screen`, with the address it belongs to."""
    response = render(request, f"{template}#screen" if request.htmx else template, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    if request.htmx and request.method == "GET":
        response.headers["HX-Replace-Url"] = request.path
    return response


def heading(record: Evaluation) -> str:
    """What a record is called on a page: its task and who answered it."""
    task = f"Task {record.task_id}" if record.task_id else f"Evaluation {record.evaluation_id}"
    return f"{task} · {record.model_id}" if record.model_id else task


def _saved(record: Evaluation, form: ReviewForm) -> str:
    before, after = form.judged_verdict, form.verdict or "no verdict"
    return format_html(
        'Saved <a href="{}">{}</a>: {}',
        reverse("evaluation", args=[record.pk]),
        heading(record),
        after if after == before or not before else f"{before} → {after}",
    )
