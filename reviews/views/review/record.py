"""The queue of a run and the records in it: claim, look, put off, go on.

GETs change nothing. Every POST answers with a redirect, or with the screen again and why (422, 409). For htmx
the screen alone is sent, as a part of the same page.
"""

from http import HTTPStatus

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts.permissions import Denied, check
from reviews.evidence import rendering
from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.models import SourceChunk
from reviews.queue import claims
from reviews.records.conflicts import RecordUnavailable
from reviews.review import blind_scoring
from reviews.search import listing
from reviews.storage import line_reader
from reviews.views.review import screen


@require_safe
def review(request: Request, run_pk: int) -> HttpResponse:
    """Where one stands in the queue of a run, and the button that goes on."""
    return screen.queue_screen(request, screen.load_run(request, run_pk))


@require_POST
def claim_next(request: Request, run_pk: int) -> HttpResponse:
    return screen.go_on(request, screen.load_run(request, run_pk))


@require_POST
def take_back_skips(request: Request, run_pk: int) -> HttpResponse:
    """Go on with the records the reviewer skipped."""
    run = screen.load_run(request, run_pk)
    claims.unskip_all(run=run, reviewer=request.user)
    return screen.go_on(request, run)


@require_safe
def evaluation(request: Request, pk: int) -> HttpResponse:
    """One record: to decide on for who holds it, to read for others."""
    return screen.record_screen(request, screen.load(request, pk))


@require_safe
def look(request: Request, pk: int, *, forward: bool) -> HttpResponse:
    """The record behind this one, or before it, to look at; this one where there is none."""
    record = screen.load(request, pk)
    beside = listing.next_in_file(record) if forward else listing.previous_in_file(record)
    return redirect("evaluation", beside or pk)


@require_safe
@never_cache
def line(request: Request, pk: int) -> StreamingHttpResponse:
    """The record's line of the kept file, as it came."""
    record = screen.load(request, pk)
    blind_scoring.check_shown(record, request.user)
    if record.hides_reasons:
        raise Denied("The line says why the record is here: it can be downloaded once the record is decided.")
    try:
        kept = line_reader.stored_line(record)
    except SourceChunk.DoesNotExist:
        raise Http404("The file of this record is not kept.") from None
    return download(iter([kept, b"\n"]), f"{record.evaluation_id}.jsonl")


@require_POST
def claim(request: Request, pk: int) -> HttpResponse:
    """Claim one very record; with `take_over`, as a lead, from whoever holds it."""
    record = screen.load(request, pk)
    try:
        with transaction.atomic():
            if request.POST.get("take_over"):
                check(request.user, "lead_review")
                claims.release(evaluation_id=record.pk, actor=request.user)
            claims.claim(evaluation_id=record.pk, reviewer=request.user)
    except RecordUnavailable as taken:
        return screen.record_screen(request, record, problem=taken.reason, status=HTTPStatus.CONFLICT)
    return screen.show(request, record)


@require_POST
def spare(request: Request, run_pk: int) -> HttpResponse:
    """Claim the record to come after `beside` for a short while and send its screen; 204 if none is free."""
    run, beside = screen.load_run(request, run_pk), screen.posted_key(request, "beside")
    condition = screen.working_condition(request, run)
    found = claims.prefetch_next(run=run, reviewer=request.user, current=beside or 0, condition=condition)
    if found is None:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return screen.record_screen(request, screen.load(request, found.pk), is_spare=True)


@require_POST
def release_spares(request: Request, run_pk: int) -> HttpResponse:
    """Give back what was fetched ahead: the page goes away."""
    claims.release_prefetched(run=screen.load_run(request, run_pk), reviewer=request.user)
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


@require_POST
def skip(request: Request, pk: int) -> HttpResponse:
    record = screen.load(request, pk)
    try:
        claims.skip(evaluation_id=record.pk, reviewer=request.user)
    except RecordUnavailable as taken:
        return screen.record_screen(request, record, problem=taken.reason, status=HTTPStatus.CONFLICT)
    return screen.go_on(request, record.run)


@require_POST
def unskip(request: Request, pk: int) -> HttpResponse:
    """Bring one skipped record back into one's queue."""
    record = screen.load(request, pk)
    claims.unskip(evaluation_id=record.pk, reviewer=request.user)
    messages.success(request, f"{record.title} is in your queue again.")
    return redirect("recent", record.run_id)


@require_POST
def release(request: Request, pk: int) -> HttpResponse:
    """Give a record back, one's own or as a lead somebody else's."""
    record = screen.load(request, pk)
    was_own = record.claimed_by_id == request.user.pk
    claims.release(evaluation_id=record.pk, actor=request.user)
    return screen.show_queue(request, record.run) if was_own else screen.show(request, record)


@require_POST
def preview(request: Request) -> HttpResponse:
    """The posted `text` (under whatever name htmx sends: the field that is typed in) as it will be read."""
    check(request.user, "review_evaluation")
    text = next((value for name, value in request.POST.items() if name.endswith("justification")), "")
    return HttpResponse(rendering.markdown(str(text)))
