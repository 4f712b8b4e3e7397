"""Show the leads' dashboard, the figures of one reviewer, and the decisions behind a figure."""

from typing import NamedTuple

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts.permissions import can, check
from reviews.dashboard import reviewer_activity, spot_checks
from reviews.dashboard.drilldown import SIGNALS, list_decisions
from reviews.dashboard.overturned import describe_overturned
from reviews.database.replica import read_from_replica
from reviews.http.request import Request
from reviews.models import Evaluation, User
from reviews.queue import claims
from reviews.views.access import load_in_run, replica_page
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
_REVIEWER_TABLES = ("days", "criteria", "checks")
# Overturned decisions and latest decisions on the page of a reviewer.
_MOST_OVERTURNED = 10
_MOST_DECISIONS = 10


@replica_page
def dashboard(request: Request) -> HttpResponse:
    """Show all work, filtered by `run`, `first` and `last`."""
    check(request.user, "lead_review")
    scope = dashboard_filters.read_filters(request.GET, request.user)
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
    scope = dashboard_filters.read_filters(request.GET, request.user, _reviewer(request))
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
    titles = Evaluation.objects.only("task_id", "model_id", "evaluation_id", "run")
    record = load_in_run(request, titles, pk)
    claims.release(evaluation_id=record.pk, actor=request.user)
    messages.success(request, f"Released: {record.title}. Drafts are kept.")
    return redirect(dashboard_filters.read_filters(request.GET, request.user).address(reverse("dashboard")))


@replica_page
def reviewer_activity_page(request: Request, pk: int) -> HttpResponse:
    """Show one reviewer's figures and offer a spot check."""
    check(request.user, "lead_review")
    return _person_page(request, get_object_or_404(User, pk=pk), is_own=False)


@replica_page
def my_activity(request: Request) -> HttpResponse:
    """Show the reader's own figures, and what others changed in their decisions."""
    check(request.user, "review_evaluation")
    return _person_page(request, request.user, is_own=True)


def _person_page(request: Request, reviewer: User, *, is_own: bool) -> HttpResponse:
    scope = dashboard_filters.read_filters(request.GET, request.user, reviewer)
    found = reviewer_activity.reviewer_figures(scope.selection)
    is_lead = can(request.user, "lead_review")
    overturned = describe_overturned(scope.selection)
    shows_all = "overturned" in request.GET
    latest = list_decisions(scope.selection, reader=request.user).rows[:_MOST_DECISIONS]
    rows = [dashboard_tables.decided(review, scope) for review in latest]
    context = {
        "overturned": overturned if shows_all else overturned[:_MOST_OVERTURNED],
        "overturned_count": found[0].overturned if found else 0,
        "done": found[0].done if found else 0,
        "more_url": ""
        if shows_all or len(overturned) <= _MOST_OVERTURNED
        else scope.address(request.path, overturned="all"),
        "overturned_csv": _linked("overturned", scope).csv_url if is_lead else "",
        "latest": dashboard_tables.decisions_table(rows, "Latest decisions"),
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


class _DecisionQuery(NamedTuple):
    """The decisions to list."""

    #: The filters. Without a reviewer, decisions of all reviewers are listed.
    scope: DashboardFilters
    #: A key of `SIGNALS`.
    signal: str

    @property
    def parts(self) -> dict[str, str]:
        """The query parameters without those of the scope."""
        reviewer = self.scope.selection.reviewer
        named = {"reviewer": reviewer.username} if reviewer else {}
        return named if self.signal == ALL else named | {"signal": self.signal}

    def address(self, place: str, **more: str) -> str:
        """Return a URL for the same decisions with more parameters."""
        return self.scope.address(reverse(place), **(self.parts | more))


@replica_page
def decision_list(request: Request) -> HttpResponse:
    """List decisions, newest first, of a `reviewer` and with a `signal`. `after` is the cursor of a page."""
    query = _read_query(request)
    after = request.GET.get("after", "")
    page = list_decisions(query.scope.selection, reader=request.user, signal=query.signal, after=after)
    rows = [dashboard_tables.decided(review, query.scope) for review in page.rows]
    context = {
        "query": query,
        "tabs": _tabs(query),
        "table": dashboard_tables.decisions_table(rows, SIGNALS[query.signal]),
        "csv_url": query.address("decisions-csv") if can(request.user, "lead_review") else "",
        "first": query.address("decisions") if after else "",
        "next": query.address("decisions", after=page.next_after) if page.next_after else "",
        "back": _back_url(request, query.scope),
        "in_run": _run_list_url(query),
    }
    return render(request, "dashboard/decisions.html", context)


def _tabs(query: _DecisionQuery) -> list[Tab]:
    tabs = [_DecisionQuery(query.scope, signal) for signal in SIGNALS]
    return [Tab(SIGNALS[tab.signal], tab.address("decisions"), tab == query) for tab in tabs]


def _back_url(request: Request, scope: DashboardFilters) -> str:
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
    query = _read_query(request)
    rows = dashboard_tables.all_decided(query.scope, query.signal)
    return as_csv(dashboard_tables.decisions_table(rows, ""), "decisions.csv")


def _read_query(request: Request) -> _DecisionQuery:
    """Read the decisions to list. Only leads may list decisions of other reviewers."""
    check(request.user, "review_evaluation")
    if request.GET.get("reviewer") != request.user.username:
        check(request.user, "lead_review")
    signal = request.GET.get("signal", ALL)
    if signal not in SIGNALS:
        raise Http404
    return _DecisionQuery(
        dashboard_filters.read_filters(request.GET, request.user, _reviewer(request)), signal
    )


def _run_list_url(query: _DecisionQuery) -> str:
    """Return the URL of the same records in the run's list, if a run is chosen."""
    chosen = query.scope.selection
    if not chosen.run:
        return ""
    by = {"decided-by": chosen.reviewer.username} if chosen.reviewer else {}
    return f"{reverse('run', args=[chosen.run.pk])}?{query.scope.records(status='done', **by)}"
