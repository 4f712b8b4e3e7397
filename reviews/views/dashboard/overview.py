"""Show the leads' dashboard, figures of one reviewer, decisions behind a figure, and everybody's work."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts.permissions import can, check, people_with_role
from reviews.dashboard import attention, reviewer_activity, spot_checks, workload
from reviews.dashboard.drilldown import SIGNALS, Narrowed, describe_overturned, list_decisions
from reviews.http.request import Request
from reviews.models import Evaluation, User
from reviews.queue import claims
from reviews.records.scores import criterion_title
from reviews.views.dashboard import filters as dashboard_filters
from reviews.views.dashboard import known_answers, matrices
from reviews.views.dashboard import tables as dashboard_tables
from reviews.views.dashboard.filters import DashboardFilters
from reviews.views.dashboard.key_figures import key_figures
from reviews.views.dashboard.sparklines import small_multiples
from reviews.views.shortcuts import load_in_run, page_links, record_list, replica_view
from reviews.views.tables import LinkedTable, Tab, Table, as_csv, without_columns

# The tables below the matrices. `days` is folded below the charts.
_DASHBOARD_TABLES = ("runs", "now", "reviewers", "overturned", "checks")
# The most rows of these tables on the dashboard. Their CSV files have more.
_ON_DASHBOARD: dict[str, Callable[[DashboardFilters], Table]] = {
    "overturned": partial(dashboard_tables.overturns, most=20),
    "checks": partial(dashboard_tables.checks, most=20),
    "days": partial(dashboard_tables.days, most=31),
}
ALL = "all"
_REVIEWER_TABLES = ("days", "criteria", "checks")
# Overturned decisions and latest decisions on the page of a reviewer.
_MOST_OVERTURNED = 10
_MOST_DECISIONS = 10


@replica_view
def dashboard(request: Request) -> HttpResponse:
    """Show all work, filtered by `run`, `first` and `last`."""
    check(request.user, "lead_review")
    scope = dashboard_filters.read_filters(request.GET, request.user, usual=dashboard_filters.USUAL)
    runs, *others = (_linked(name, scope) for name in _DASHBOARD_TABLES)
    context = {
        "scope": scope,
        "updated_at": timezone.now(),
        "has_work": scope.runs.exists(),
        "figures": key_figures(scope),
        "attention": [
            (scope.activity(one.reviewer), one.reviewer, _reasons(one, scope))
            for one in attention.who_needs_help(scope.team)
        ],
        "compared": len(attention.comparable(scope.team)),
        "attention_help": attention.DEFINITION,
        "charts": small_multiples(scope),
        "days": _linked("days", scope),
        "runs": runs,
        "matrices": [
            (one, scope.address(reverse("dashboard-table", args=[one.name])))
            for one in (matrices.overrides(scope), matrices.agreement(scope))
        ],
        "checks": spot_checks.open_checks(request.user).count(),
        "tables": others,
    }
    is_refresh = request.htmx and request.htmx.target == "live"
    return render(request, "dashboard/live.html" if is_refresh else "dashboard/overview.html", context)


def _reasons(found: attention.Attention, scope: DashboardFilters) -> list[tuple[str, str]]:
    """Return each reason with the URL of the decisions behind it."""
    name = found.reviewer.username
    return [
        (
            reason.text,
            scope.address(
                reverse("decisions"),
                reviewer=name,
                **({} if reason.signal == ALL else {"signal": reason.signal}),
            ),
        )
        for reason in found.reasons
    ]


def _linked(name: str, scope: DashboardFilters, *, has_csv: bool = True) -> LinkedTable:
    reviewer = scope.selection.reviewer
    named = {"reviewer": reviewer.username} if reviewer else {}
    csv_url = scope.address(reverse("dashboard-table", args=[name]), **named) if has_csv else ""
    table = _ON_DASHBOARD.get(name, dashboard_tables.TABLES[name])(scope)
    return LinkedTable(_of_one_person(table) if reviewer else table, csv_url)


def _of_one_person(table: Table) -> Table:
    """Return the table without the columns that are the same in each row of one reviewer."""
    return without_columns(table, "reviewer", "reviewers")


@replica_view
def dashboard_table(request: Request, name: str) -> StreamingHttpResponse:
    """Download a table of the dashboard as CSV, for one `reviewer` if given."""
    check(request.user, "lead_review")
    if name not in dashboard_tables.TABLES:
        raise Http404
    scope = dashboard_filters.read_filters(request.GET, request.user, _person_named(request, "reviewer"))
    return as_csv(dashboard_tables.TABLES[name](scope), f"{name}.csv")


def _person_named(request: Request, parameter: str) -> User | None:
    """Return the person that a query parameter names, if any."""
    name = request.GET.get(parameter, "")
    if "\0" in name:  # PostgreSQL refuses this character
        raise Http404
    return get_object_or_404(User, username=name) if name else None


@require_POST
def release(request: Request, pk: int) -> HttpResponse:
    """Release a claimed record and return to the dashboard."""
    titles = Evaluation.objects.only("task_id", "model_id", "evaluation_id", "run")
    record = load_in_run(request, titles, pk, "lead_review")
    claims.release(evaluation_id=record.pk, actor=request.user)
    messages.success(request, f"Released: {record.title}. Drafts are kept.")
    return redirect(dashboard_filters.read_filters(request.GET, request.user).address(reverse("dashboard")))


@replica_view
def reviewer_activity_page(request: Request, pk: int) -> HttpResponse:
    """Show one reviewer's figures and offer a spot check."""
    check(request.user, "lead_review")
    return _person_page(request, get_object_or_404(User, pk=pk), is_own=False)


@replica_view
def my_activity(request: Request) -> HttpResponse:
    """Show the reader's own figures, and what others changed in their decisions."""
    check(request.user, "review_evaluation")
    return _person_page(request, request.user, is_own=True)


def _person_page(request: Request, reviewer: User, *, is_own: bool) -> HttpResponse:
    scope = dashboard_filters.read_filters(request.GET, request.user, reviewer)
    found = scope.team.reviewers
    is_lead = can(request.user, "lead_review")
    reasons = [] if is_own or not is_lead else _reasons_of(reviewer, scope)
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
        "latest": _of_one_person(dashboard_tables.decisions_table(rows, "Latest decisions")),
        "reviewer": reviewer,
        "reasons": reasons,
        "attention_help": attention.DEFINITION,
        "is_own": is_own,
        "scope": scope,
        "dashboard_url": scope.address(reverse("dashboard")),
        "decisions_url": scope.address(reverse("decisions"), reviewer=reviewer.username),
        "chosen": scope.chosen,
        "figures": dashboard_tables.figures(found[0], scope) if found else [],
        "tables": [_linked(name, scope, has_csv=is_lead) for name in _REVIEWER_TABLES],
        "known_answers": None
        if is_own or not is_lead
        else known_answers.checks_table(reviewer, request.user, scope.selection.run),
        "most_drawn": spot_checks.MOST_DRAWN,
    }
    return render(request, "dashboard/person.html", context)


def _reasons_of(reviewer: User, scope: DashboardFilters) -> list[tuple[str, str]]:
    """Return the reasons to look at one reviewer's work, who is compared with the team."""
    team = reviewer_activity.team_figures(replace(scope.selection, reviewer=None))
    found = [one for one in attention.who_needs_help(team) if one.reviewer == reviewer]
    return _reasons(found[0], scope) if found else []


class _DecisionQuery(NamedTuple):
    #: The filters. Without a reviewer, decisions of all reviewers are listed.
    scope: DashboardFilters
    #: A key of `SIGNALS`.
    signal: str
    narrowed: Narrowed = Narrowed()

    @property
    def parts(self) -> dict[str, str]:
        """The query parameters without those of the scope."""
        reviewer = self.scope.selection.reviewer
        other = self.narrowed.other
        found = {
            "reviewer": reviewer.username if reviewer else "",
            "signal": "" if self.signal == ALL else self.signal,
            "criterion": self.narrowed.criterion,
            "other": other.username if other else "",
        }
        return {name: value for name, value in found.items() if value}

    def address(self, place: str, **more: str) -> str:
        """Return a URL for the same decisions with more parameters."""
        return self.scope.address(reverse(place), **(self.parts | more))


@replica_view
def decision_list(request: Request) -> HttpResponse:
    """List decisions, newest first, of a `reviewer` and with a `signal`. `after` is the cursor of a page."""
    query = _read_query(request)
    after = request.GET.get("after", "")
    page = list_decisions(
        query.scope.selection,
        reader=request.user,
        signal=query.signal,
        narrowed=query.narrowed,
        after=after,
    )
    rows = [dashboard_tables.decided(review, query.scope) for review in page.rows]
    table = dashboard_tables.decisions_table(rows, SIGNALS[query.signal])
    is_of_one = query.scope.selection.reviewer and not query.narrowed.other
    context = {
        "query": query,
        "tabs": _tabs(query),
        "criterion": criterion_title(query.narrowed.criterion) if query.narrowed.criterion else "",
        "other": query.narrowed.other,
        "table": _of_one_person(table) if is_of_one else table,
        "csv_url": query.address("decisions-csv") if can(request.user, "lead_review") else "",
        **page_links(query.address("decisions"), after, page.next_after),
        "back": _back_url(request, query.scope),
        "in_run": _run_list_url(query),
    }
    return render(request, "dashboard/decisions.html", context)


def _tabs(query: _DecisionQuery) -> list[Tab]:
    tabs = [_DecisionQuery(query.scope, signal, query.narrowed) for signal in SIGNALS]
    return [Tab(SIGNALS[tab.signal], tab.address("decisions"), tab == query) for tab in tabs]


def _back_url(request: Request, scope: DashboardFilters) -> str:
    """Return the URL of the page with the figures."""
    reviewer = scope.selection.reviewer
    if reviewer == request.user:
        return scope.address(reverse("my-activity"))
    return scope.activity(reviewer) if reviewer else scope.address(reverse("dashboard"))


@require_safe
def decisions_csv(request: Request) -> StreamingHttpResponse:
    """Download the decisions of all pages as CSV."""
    check(request.user, "lead_review")
    query = _read_query(request)
    rows = dashboard_tables.all_decided(query.scope, query.signal, query.narrowed)
    return as_csv(dashboard_tables.decisions_table(rows, ""), "decisions.csv")


def _read_query(request: Request) -> _DecisionQuery:
    """Read the decisions to list. Only leads may list decisions of other reviewers."""
    check(request.user, "review_evaluation")
    if request.GET.get("reviewer") != request.user.username:
        check(request.user, "lead_review")
    signal = request.GET.get("signal", ALL)
    if signal not in SIGNALS:
        raise Http404
    criterion, other = request.GET.get("criterion", ""), _person_named(request, "other")
    if "\0" in criterion:  # PostgreSQL refuses this character
        raise Http404
    if other:
        check(request.user, "lead_review")
    scope = dashboard_filters.read_filters(request.GET, request.user, _person_named(request, "reviewer"))
    return _DecisionQuery(scope, signal, Narrowed(criterion, other))


def _run_list_url(query: _DecisionQuery) -> str:
    """Return the URL of the same records in the run's list, if a run is chosen."""
    chosen = query.scope.selection
    if not chosen.run:
        return ""
    by = [("decided-by", chosen.reviewer.username)] if chosen.reviewer else []
    days = {"reviewed-from": chosen.first, "reviewed-until": chosen.last}
    on_days = [(name, day.isoformat()) for name, day in days.items() if day]
    return record_list(chosen.run, ("status", "done"), *by, *on_days)


@replica_view
def workload_page(request: Request) -> HttpResponse:
    """List the assigned records of each person by run, with their pace."""
    check(request.user, "lead_review")
    works = workload.workloads(people_with_role(), reader=request.user)
    context = {
        "rows": [(work, work.days_of_work(work.records)) for work in works],
        "run_to_assign": workload.run_to_assign(works, request.user),
        "definition": workload.PACE_DEFINITION,
    }
    return render(request, "dashboard/workload.html", context)
