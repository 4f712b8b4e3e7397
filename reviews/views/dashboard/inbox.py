"""The inbox of a lead: open escalations by run."""

from django.db.models import Count, Min, Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from reviews.accounts.permissions import check
from reviews.http.request import Request
from reviews.models import Escalation, Run


@require_safe
@never_cache
def inbox(request: Request) -> HttpResponse:
    """List the runs with open escalations, the longest wait first; redirect to the only one."""
    check(request.user, "lead_review")
    is_open = Q(escalations__outcome=Escalation.Outcome.OPEN)
    runs = Run.objects.visible_to(request.user).filter(is_open, archived_at=None)
    counted = runs.annotate(
        open_escalations=Count("escalations"), oldest_at=Min("escalations__raised_at")
    ).order_by("oldest_at", "pk")
    found = list(counted)
    if len(found) == 1:
        return redirect("open-escalations", found[0].pk)
    return render(request, "dashboard/inbox.html", {"runs": found})
