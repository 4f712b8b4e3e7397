"""The lead's desk: who works on what, figures as signals, the records behind them; and one's own figures."""

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
from reviews.views.dashboard.filters import Scope
from reviews.views.tables import Table, as_csv

_ON_THE_DESK = (
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
_OF_A_PERSON = ("days", "criteria", "overturned", "checks")


class Shown(NamedTuple):
    """A table, and the address of the same as CSV (empty for who may not have it)."""

    table: Table
    csv_url: str


@require_safe
@never_cache
@read_from_replica
def desk(request: Request) -> HttpResponse:
    """Everybody's work, or what `run`, `first` and `last` leave of it."""
    check(request.user, "lead_review")
    scope = dashboard_filters.read(request.GET)
    context = {
        "scope": scope,
        "checks": len(spot_checks.open_checks(request.user)),
        "tables": [_shown(name, scope) for name in _ON_THE_DESK],
    }
    return render(request, "dashboard/overview.html", context)


def _shown(name: str, scope: Scope) -> Shown:
    reviewer = scope.selection.reviewer
    named = {"reviewer": reviewer.username} if reviewer else {}
    return Shown(
        dashboard_tables.TABLES[name](scope), scope.address(reverse("dashboard-table", args=[name]), **named)
    )


@require_safe
@read_from_replica
def desk_table(request: Request, name: str) -> StreamingHttpResponse:
    """A table of the desk as CSV, of one `reviewer` if that is asked."""
    check(request.user, "lead_review")
    if name not in dashboard_tables.TABLES:
        raise Http404
    scope = dashboard_filters.read(request.GET, _reviewer(request))
    return as_csv(dashboard_tables.TABLES[name](scope), f"{name}.csv")


def _reviewer(request: Request) -> User | None:
    """Who is named in an address, if somebody is."""
    name = request.GET.get("reviewer", "")
    if "\0" in name:  # which the database takes for no text at all
        raise Http404
    return get_object_or_404(User, username=name) if name else None


@require_POST
def release(request: Request, pk: int) -> HttpResponse:
    """Give a record back to everybody, whoever holds it, and return to the desk."""
    check(request.user, "lead_review")
    record = get_object_or_404(Evaluation.objects.only("task_id", "model_id", "evaluation_id"), pk=pk)
    claims.release(evaluation_id=record.pk, actor=request.user)
    messages.success(request, f"Released: {record.title}. Drafts stay.")
    return redirect(dashboard_filters.read(request.GET).address(reverse("dashboard")))


# One reviewer


@require_safe
@never_cache
@read_from_replica
def person(request: Request, pk: int) -> HttpResponse:
    """One reviewer's figures, and a way to look at some of their decisions."""
    check(request.user, "lead_review")
    return _person_page(request, get_object_or_404(User, pk=pk), is_own=False)


@require_safe
@never_cache
@read_from_replica
def my_work(request: Request) -> HttpResponse:
    """One's own figures, and what others made of one's decisions."""
    check(request.user, "review_evaluation")
    return _person_page(request, request.user, is_own=True)


def _person_page(request: Request, reviewer: User, *, is_own: bool) -> HttpResponse:
    scope = dashboard_filters.read(request.GET, reviewer)
    found = reviewer_activity.reviewer_figures(scope.selection)
    tables = [_shown(name, scope) for name in _OF_A_PERSON]
    context = {
        "reviewer": reviewer,
        "is_own": is_own,
        "scope": scope,
        "desk_url": scope.address(reverse("dashboard")),
        "decisions_url": scope.address(reverse("decisions"), reviewer=reviewer.username),
        "chosen": scope.chosen,
        "intro": dashboard_tables.SIGNALS_NOT_VERDICTS,
        "figures": dashboard_tables.figures(found[0], scope) if found else [],
        "tables": tables if can(request.user, "lead_review") else [Shown(one.table, "") for one in tables],
        "most_drawn": spot_checks.MOST_DRAWN,
    }
    return render(request, "dashboard/person.html", context)


# The decisions behind a figure


class Tab(NamedTuple):
    """A signal as a choice of decisions."""

    title: str
    url: str
    is_current: bool


class _Asked(NamedTuple):
    """Whose decisions (everybody's without a reviewer in the scope), and which of them."""

    scope: Scope
    signal: str

    @property
    def parts(self) -> dict[str, str]:
        """What an address says of it beside the scope."""
        reviewer = self.scope.selection.reviewer
        named = {"reviewer": reviewer.username} if reviewer else {}
        return named if self.signal == ALL else named | {"signal": self.signal}

    def address(self, place: str, **more: str) -> str:
        """An address about the same, which may say more."""
        return self.scope.address(reverse(place), **(self.parts | more))


@require_safe
@never_cache
@read_from_replica
def decision_list(request: Request) -> HttpResponse:
    """Decisions, newest first: of a `reviewer`, with a `signal`; `after` is the place of a page."""
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


def _back(request: Request, scope: Scope) -> str:
    """The page of the figures that led here."""
    reviewer = scope.selection.reviewer
    if reviewer == request.user:
        return scope.address(reverse("my-activity"))
    return scope.address(
        reverse("reviewer-activity", args=[reviewer.pk]) if reviewer else reverse("dashboard")
    )


@require_safe
def decisions_csv(request: Request) -> StreamingHttpResponse:
    """The decisions of all pages."""
    check(request.user, "lead_review")
    asked = _which(request)
    rows = dashboard_tables.all_decided(asked.scope, asked.signal)
    return as_csv(dashboard_tables.decisions_table(rows, ""), "decisions.csv")


def _which(request: Request) -> _Asked:
    """What is asked for: one's own, or as a lead anybody's."""
    check(request.user, "review_evaluation")
    if request.GET.get("reviewer") != request.user.username:
        check(request.user, "lead_review")
    signal = request.GET.get("signal", ALL)
    if signal not in SIGNALS:
        raise Http404
    return _Asked(dashboard_filters.read(request.GET, _reviewer(request)), signal)


def _in_run(asked: _Asked) -> str:
    """The address of the run's own list of such records, where one run is chosen."""
    chosen = asked.scope.selection
    if not chosen.run:
        return ""
    by = {"decided-by": chosen.reviewer.username} if chosen.reviewer else {}
    return f"{reverse('run', args=[chosen.run.pk])}?{asked.scope.records(status='done', **by)}"
