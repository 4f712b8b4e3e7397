"""Show the history of a record, and restore an older decision."""

from http import HTTPStatus
from uuid import uuid4

from django import forms
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts.permissions import check_revise
from reviews.history import timeline
from reviews.http.request import Request
from reviews.models import Evaluation
from reviews.records.conflicts import Conflict
from reviews.review import blind_scoring, decisions
from reviews.views.review import screen, toasts
from reviews.views.shortcuts import page_links


class RestoreForm(forms.Form):
    """Which version to restore and why; `version` is the record's, as the person saw it."""

    restored = forms.IntegerField(min_value=1, max_value=2**31 - 1)
    version = forms.IntegerField(min_value=1, max_value=2**31 - 1)
    submission = forms.UUIDField()
    reason = forms.CharField(
        max_length=5_000, error_messages={"required": "Enter a reason for restoring this version."}
    )


@require_safe
def record_history(request: Request, pk: int) -> HttpResponse:
    """Show the history of a record, latest event first. `?after=` is the cursor of a page."""
    record = screen.load(request, pk)
    blind_scoring.check_shown(record, request.user)
    return _page(request, record, after=request.GET.get("after", ""))


@require_POST
def restore(request: Request, pk: int) -> HttpResponse:
    """Restore an older version as a new one."""
    record = screen.load(request, pk)
    if record.review is None:
        raise Http404("This record has no decision.")
    check_revise(request.user, record)
    form = RestoreForm(request.POST)
    if not form.is_valid():
        return _page(request, record, form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    if not record.reviews.filter(version=form.cleaned_data["restored"]).exists():
        raise Http404("There is no such version.")
    try:
        review = decisions.restore(evaluation_id=record.pk, actor=request.user, **form.cleaned_data)
    except Conflict as conflict:
        form.add_error(None, conflict.reason)
        return _page(request, screen.load(request, pk), form=form, status=HTTPStatus.CONFLICT)
    restored = form.cleaned_data["restored"]
    sentence = f"Version {restored} is current again, as version {review.version}."
    toasts.offer_undo(request, record, sentence)
    return redirect("record-history", pk)


def _page(
    request: Request,
    record: Evaluation,
    *,
    after: str = "",
    form: RestoreForm | None = None,
    status: HTTPStatus = HTTPStatus.OK,
) -> HttpResponse:
    page = timeline.load_page(record, reader=request.user, after=after)
    context = {
        "evaluation": record,
        "run": record.run,
        "page": page,
        **page_links(reverse("record-history", args=[record.pk]), after, page.next_after),
        "undoable": screen.undoable_action(request, record.run),
        "submission": uuid4(),
        "problems": [sentence for errors in form.errors.values() for sentence in errors] if form else [],
        "posted": {name: form.data.get(name, "") if form else "" for name in ("restored", "reason")},
    }
    return render(request, "review/history/page.html", context, status=status)
