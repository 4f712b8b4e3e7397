"""Save drafts while reviewers type, and renew the claims of open records."""

import re
from http import HTTPStatus

from django.core.exceptions import BadRequest
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_POST

from reviews.http.request import Request
from reviews.models import Evaluation
from reviews.queue import claims
from reviews.records.conflicts import DraftOutdated, RecordUnavailable
from reviews.review import drafts
from reviews.review.forms.fields import draft_fields
from reviews.views.review import screen

_REVISION = re.compile(r"[1-9][0-9]{0,8}")


@require_POST
def draft(request: Request, pk: int) -> HttpResponse:
    """Save the fields of the form as revision `revision`: 204, or 409 with a strip.

    Nothing is saved if another reviewer has claimed the record, or if a newer revision is saved already.
    `action=discard` removes the draft.
    """
    record = screen.load(request, pk)
    if request.POST.get("action") == "discard":
        drafts.discard(evaluation_id=record.pk, reviewer=request.user)
        return screen.show(request, record)
    try:
        saved = drafts.save(
            evaluation_id=record.pk,
            reviewer=request.user,
            fields=draft_fields(request.POST),
            revision=_revision(request.POST),
        )
    except DraftOutdated as outdated:
        return screen.lost(request, pk, outdated.reason, newer_at=outdated.saved_at)
    except RecordUnavailable as taken:
        return screen.lost(request, pk, taken.reason)
    response = _renewed(request, record)
    response.headers["X-Draft-Revision"] = str(saved.revision)
    response.headers["X-Draft-Saved-At"] = screen.iso(saved.saved_at)
    return response


@require_POST
def renew(request: Request, pk: int) -> HttpResponse:
    """Renew the claim of an open record: 204, or 409 with a strip that names the other reviewer."""
    record = screen.load(request, pk)
    try:
        claims.renew(evaluation_id=record.pk, reviewer=request.user)
    except RecordUnavailable as taken:
        return screen.lost(request, pk, taken.reason)
    return _renewed(request, record)


def _renewed(request: Request, before: Evaluation) -> HttpResponse:
    """Return 204 with the end of the claim, or 200 with a strip if the claim in `before` had expired."""
    if regained := claims.expired_claim_notice(before, request.user):
        notice = {"sentence": regained, "tone": "ok", "state": "regained"}
        response = render(request, "review/notices/notice.html", notice)
    else:
        response = HttpResponse(status=HTTPStatus.NO_CONTENT)
    until = Evaluation.objects.values_list("claimed_until", flat=True).get(pk=before.pk)
    response.headers["X-Claim-Until"] = screen.iso(until)
    return response


def _revision(posted: QueryDict) -> int:
    text = posted.get("revision", "")
    if not _REVISION.fullmatch(text):
        raise BadRequest("The revision of a draft is a number from 1.")
    return int(text)
