"""Show the leads' dashboard, the figures of one reviewer, and the decisions behind a figure."""

from typing import NamedTuple

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts.permissions import can, check
from reviews.dashboard import reviewer_activity, spot_checks
from reviews.dashboard.drilldown import SIGNALS, list_decisions
from reviews.database.replica import read_from_replica
from reviews.http.request import Request
from reviews.models import Evaluation, User
from reviews.queue import claims
from reviews.views.dashboard import filters as dashboard_filters
from reviews.views.dashboard import tables as dashboard_tables
from reviews.views.dashboard.filters import DashboardFilters
from reviews.views.tables import LinkedTable, Tab, as_csv

_DASHBOARD_TABLES = (
    "now",
    "runs",
    "reviewers",
    "days",
    "criteria",
    "criteria-by-reviewer",
    "overturned",
    "checks",
)
ALL = "all"
_REVIEWER_TABLES = ("days", "criteria", "overturned", "checks")


@require_safe
@never_cache
@read_from_replica
def dashboard(request: Request) -> HttpResponse:
    """Show all work, filtered by `run`, `first` and `last`."""
    check(request.user, "lead_review")
    scope = dashboard_filters.read_filters(request.GET)
    context = {
        "scope": scope,
        "checks": len(spot_checks.open_checks(request.user)),
        "tables": [_linked(name, scope) for name in _DASHBOARD_TABLES],
    }
    return render(request, "dashboard/overview.html", context)


def _linked(name: str, scope: DashboardFilters, *, has_csv: bool = True) -> LinkedTable:
    reviewer = scope.selection.reviewer
    named = {"reviewer": reviewer.username} if reviewer else {}
    csv_url = scope.address(reverse("dashboard-table", args=[name]), **named) if has_csv else ""
    return LinkedTable(dashboard_tables.TABLES[name](scope), csv_url)


@require_safe
@read_from_replica
def dashboard_table(request: Request, name: str) -> StreamingHttpResponse:
    """Download a table of the dashboard as CSV, for one `reviewer` if given."""
    check(request.user, "lead_review")
    if name not in dashboard_tables.TABLES:
        raise Http404
    scope = dashboard_filters.read_filters(request.GET, _reviewer(request))
    return as_csv(dashboard_tables.TABLES[name](scope), f"{name}.csv")


def _reviewer(request: Request) -> User | None:
    """Return the reviewer named in the URL, if any."""
    name = request.GET.get("reviewer", "")
    if "\0" in name:  # PostgreSQL refuses this character
        raise Http404
    return get_object_or_404(User, username=name) if name else None


@require_POST
def release(request: Request, pk: int) -> HttpResponse:
    """Release a claimed record and return to the dashboard."""
    check(request.user, "lead_review")
    record = get_object_or_404(Evaluation.objects.only("task_id", "model_id", "evaluation_id"), pk=pk)
    claims.release(evaluation_id=record.pk, actor=request.user)
    messages.success(request, f"Released: {record.title}. Drafts are kept.")
    return redirect(dashboard_filters.read_filters(request.GET).address(reverse("dashboard")))


@require_safe
@never_cache
@read_from_replica
def reviewer_activity_page(request: Request, pk: int) -> HttpResponse:
    """Show one reviewer's figures and offer a spot check."""
    check(request.user, "lead_review")
    return _person_page(request, get_object_or_404(User, pk=pk), is_own=False)


@require_safe
@never_cache
@read_from_replica
def my_activity(request: Request) -> HttpResponse:
    """Show the reader's own figures, and what others changed in their decisions."""
    check(request.user, "review_evaluation")
    return _person_page(request, request.user, is_own=True)


def _person_page(request: Request, reviewer: User, *, is_own: bool) -> HttpResponse:
    scope = dashboard_filters.read_filters(request.GET, reviewer)
    found = reviewer_activity.reviewer_figures(scope.selection)
    is_lead = can(request.user, "lead_review")
    context = {
        "reviewer": reviewer,
        "is_own": is_own,
        "scope": scope,
        "dashboard_url": scope.address(reverse("dashboard")),
        "decisions_url": scope.address(reverse("decisions"), reviewer=reviewer.username),
        "chosen": scope.chosen,
        "intro": dashboard_tables.SIGNALS_NOT_VERDICTS,
        "figures": dashboard_tables.figures(found[0], scope) if found else [],
        "tables": [_linked(name, scope, has_csv=is_lead) for name in _REVIEWER_TABLES],
        "most_drawn": spot_checks.MOST_DRAWN,
    }
    return render(request, "dashboard/person.html", context)


class _Asked(NamedTuple):
    """The decisions to list: those of the scope's reviewer, or everybody's, with a signal."""

    scope: DashboardFilters
    signal: str

    @property
    def parts(self) -> dict[str, str]:
        """The query parameters besides those of the scope."""
        reviewer = self.scope.selection.reviewer
        named = {"reviewer": reviewer.username} if reviewer else {}
        return named if self.signal == ALL else named | {"signal": self.signal}

    def address(self, place: str, **more: str) -> str:
        """Return a URL for the same decisions with more parameters."""
        return self.scope.address(reverse(place), **(self.parts | more))


@require_safe
@never_cache
@read_from_replica
def decision_list(request: Request) -> HttpResponse:
    """List decisions, newest first, of a `reviewer` and with a `signal`. `after` is the cursor of a page."""
    asked = _which(request)
    after = request.GET.get("after", "")
    page = list_decisions(asked.scope.selection, reader=request.user, signal=asked.signal, after=after)
    rows = [dashboard_tables.decided(review, asked.scope) for review in page.rows]
    context = {
        "asked": asked,
        "tabs": _tabs(asked),
        "table": dashboard_tables.decisions_table(rows, SIGNALS[asked.signal]),
        "csv_url": asked.address("decisions-csv") if can(request.user, "lead_review") else "",
        "first": asked.address("decisions") if after else "",
        "next": asked.address("decisions", after=page.next_after) if page.next_after else "",
        "back": _back(request, asked.scope),
        "in_run": _in_run(asked),
    }
    return render(request, "dashboard/decisions.html", context)


def _tabs(asked: _Asked) -> list[Tab]:
    tabs = [_Asked(asked.scope, signal) for signal in SIGNALS]
    return [Tab(SIGNALS[tab.signal], tab.address("decisions"), tab == asked) for tab in tabs]


def _back(request: Request, scope: DashboardFilters) -> str:
    """Return the URL of the page with the figures."""
    reviewer = scope.selection.reviewer
    if reviewer == request.user:
        return scope.address(reverse("my-activity"))
    return scope.address(
        reverse("reviewer-activity", args=[reviewer.pk]) if reviewer else reverse("dashboard")
    )


@require_safe
def decisions_csv(request: Request) -> StreamingHttpResponse:
    """Download the decisions of all pages as CSV."""
    check(request.user, "lead_review")
    asked = _which(request)
    rows = dashboard_tables.all_decided(asked.scope, asked.signal)
    return as_csv(dashboard_tables.decisions_table(rows, ""), "decisions.csv")


def _which(request: Request) -> _Asked:
    """Read the decisions to list. Only leads may list decisions of other reviewers."""
    check(request.user, "review_evaluation")
    if request.GET.get("reviewer") != request.user.username:
        check(request.user, "lead_review")
    signal = request.GET.get("signal", ALL)
    if signal not in SIGNALS:
        raise Http404
    return _Asked(dashboard_filters.read_filters(request.GET, _reviewer(request)), signal)


def _in_run(asked: _Asked) -> str:
    """Return the URL of the same records in the run's list, if a run is chosen."""
    chosen = asked.scope.selection
    if not chosen.run:
        return ""
    by = {"decided-by": chosen.reviewer.username} if chosen.reviewer else {}
    return f"{reverse('run', args=[chosen.run.pk])}?{asked.scope.records(status='done', **by)}"
