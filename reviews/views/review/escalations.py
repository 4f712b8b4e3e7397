"""Escalate records to a lead, withdraw escalations, and resolve them."""

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from reviews.accounts.permissions import Denied
from reviews.database.pagination import parse_key
from reviews.http.redirects import sending_page
from reviews.http.request import Request
from reviews.models import Escalation, Evaluation
from reviews.records.conflicts import Conflict, RecordUnavailable
from reviews.review import answers, escalations
from reviews.review.forms.escalation import EscalationForm
from reviews.views.review import screen, toasts
from reviews.views.shortcuts import load_in_run, refusal_shown

_LONGEST_ANSWER = 5_000


@require_http_methods(["GET", "HEAD", "POST"])
def escalate(request: Request, pk: int) -> HttpResponse:
    """Escalate a record. GET shows the form on its own page, for browsers without the dialog."""
    record = screen.load(request, pk)
    if request.method != "POST":
        kind = request.GET.get("kind", EscalationForm.CANNOT_JUDGE)
        return _form_page(request, record, EscalationForm(initial={"kind": kind}))
    form = EscalationForm(request.POST)
    if not form.is_valid():
        return _form_page(request, record, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        escalations.escalate(evaluation_id=record.pk, reviewer=request.user, **form.cleaned_data)
    except RecordUnavailable as taken:
        return screen.record_screen(request, record, problem=taken.reason, status=HTTPStatus.CONFLICT)
    toasts.offer_undo(request, record, f"{record.title} sent to a lead.")
    return screen.go_on(request, record.run)


def _form_page(
    request: Request, record: Evaluation, form: EscalationForm, status: HTTPStatus = HTTPStatus.OK
) -> HttpResponse:
    """Render the page, or for htmx only the form, which replaces the one in the dialog."""
    context = {
        "evaluation": record,
        "run": record.run,
        "escalation": form,
        "in_dialog": bool(request.htmx),
        "query": screen.position(request),
    }
    if not request.htmx:
        return render(request, "review/form/escalate_page.html", context, status=status)
    response = render(request, "review/form/escalate.html", context, status=status)
    response.headers["HX-Retarget"] = "#escalation-form"
    response.headers["HX-Reswap"] = "outerHTML"
    return response


@require_POST
def withdraw_escalation(request: Request, pk: int) -> HttpResponse:
    """Withdraw the person's own escalation, and open the record again."""
    _load(request, pk)
    record = escalations.withdraw(escalation_id=pk, actor=request.user)
    messages.success(request, f"Withdrawn: {record.title}.")
    return screen.show(request, record)


@require_POST
def resolve_escalation(request: Request, pk: int) -> HttpResponse:
    """Resolve an escalation as a lead: return the record with an answer, uphold its decision, or close it."""
    raised = _load(request, pk, "lead_review")
    outcome, answer = request.POST.get("outcome", ""), request.POST.get("answer", "").strip()
    # Nobody asked a question in a disagreement, so only closing the record needs an answer.
    wants_answer = raised.kind != Escalation.Kind.DISAGREEMENT or outcome == "closed"
    is_answered = wants_answer <= len(answer) <= _LONGEST_ANSWER
    if outcome not in {"returned", "closed", "upheld"} or not is_answered:
        problem = "Enter an answer and choose an outcome."
        record, status = screen.load(request, raised.evaluation_id), HTTPStatus.UNPROCESSABLE_ENTITY
        return screen.record_screen(request, record, problem=problem, status=status)
    escalations.resolve(escalation_id=pk, actor=request.user, outcome=outcome, answer=answer)
    label = Escalation.Outcome(outcome).label.capitalize()
    messages.success(request, f"Settled: {raised.evaluation.title}. {label}.")
    return screen.show_settled(request, raised.evaluation)


@require_POST
def take_side(request: Request, pk: int) -> HttpResponse:
    """Settle a disagreement with the independent review `review`, as a lead."""
    raised = _load(request, pk, "lead_review")
    review = parse_key(request.POST.get("review", ""))
    with refusal_shown(request, Conflict):
        record = escalations.take_side(escalation_id=pk, review_id=review or 0, actor=request.user)
        toasts.offer_undo(request, record, f"Settled: {record.title}.")
    return screen.show_settled(request, raised.evaluation)


@require_POST
def read_answer(request: Request, pk: int) -> HttpResponse:
    """Take the answer to the person's own escalation off every page. With `open`, go to its record.

    A page sends it by htmx once the answer was in view for some seconds, and stays as it is.
    """
    raised = _load(request, pk)
    if raised.raised_by_id != request.user.pk:
        raise Denied("Only the person who escalated this record can mark its answer as read.")
    answers.mark_read(escalation_id=pk, actor=request.user)
    if request.htmx:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    if "open" in request.POST:
        return redirect("evaluation", raised.evaluation_id)
    return redirect(sending_page(request))


def _load(request: Request, pk: int, permission: str = "review_evaluation") -> Escalation:
    return load_in_run(request, Escalation.objects.select_related("evaluation"), pk, permission)
