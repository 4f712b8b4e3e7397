"""The judge's pages: their tabs, filters, sections and cards."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.shortcuts import render

from reviews.http.request import Request
from reviews.judge.loading import shares_loads
from reviews.judge.target import check_target
from reviews.views.judge import (
    accuracy,
    alt_test,
    causes,
    flags,
    funnel,
    leaderboard,
    overview,
    position_bias,
)
from reviews.views.judge.filters import JudgeFilters, load
from reviews.views.judge.headline import headline
from reviews.views.judge.sections import Card, Section
from reviews.views.shortcuts import replica_view
from reviews.views.tables import Tab


class Page(NamedTuple):
    """A page for leads. Its URL has the name that it has in `PAGES`."""

    #: The text of its tab.
    title: str
    #: The functions that build its sections, from top to bottom.
    sections: tuple[Callable[[JudgeFilters], Iterator[Section]], ...] = ()
    template: str = "judge/page.html"


PAGES = {
    "judge": Page(
        "Overview",
        (accuracy.overview_sections, funnel.funnel_sections, accuracy.data_sections),
        "judge/overview.html",
    ),
    "judge-errors": Page(
        "Errors",
        (
            accuracy.error_sections,
            accuracy.group_sections,
            position_bias.position_bias_sections,
            causes.cause_sections,
        ),
    ),
    "judge-flags": Page("Flags", flags.SECTIONS),
    "judge-models": Page("Models", (leaderboard.model_sections,)),
    "judge-reviewers": Page("Reviewers", (accuracy.reviewer_sections, alt_test.alt_test_sections)),
    "judge-compare": Page("Compare", template="judge/compare.html"),
    "judge-history": Page("Over runs", template="judge/history.html"),
    "judge-gold": Page("Gold sets", template="judge/gold.html"),
    "judge-plan": Page("Plan", template="judge/plan.html"),
    "judge-report": Page("Report", template="judge/report.html"),
}
#: The URLs of the pages that consist of sections alone, below that of the overview.
PATHS = {
    place: place.removeprefix("judge-") for place, page in PAGES.items() if page.sections and place != "judge"
}
#: The functions that build the cards of the overview: short answers that lead to a page.
CARDS: tuple[Callable[[JudgeFilters], Iterator[Card]], ...] = (
    overview.error_cards,
    overview.missed_error_cards,
    overview.comparison_cards,
    overview.plan_cards,
)


@replica_view
@shares_loads
def show_overview(request: Request, run_pk: int) -> HttpResponse:
    """Show how good the judge is, with a short answer to each further question."""
    filters = load(request, run_pk)
    check = check_target(filters.compared)
    context = {
        "headline": headline(filters, filters.compared, filters.followed, check),
        "cards": [card for build in CARDS for card in build(filters)],
    }
    return render_page(request, filters, "judge", context)


@replica_view
@shares_loads
def show_page(request: Request, run_pk: int, place: str) -> HttpResponse:
    return render_page(request, load(request, run_pk), place, {})


def render_page(request: Request, filters: JudgeFilters, place: str, context: dict[str, Any]) -> HttpResponse:
    """Render a page of `PAGES` with its sections, and with further variables of its template.

    `own` among these are parameters of the page itself, as pairs, which its filters keep.
    """
    page = PAGES[place]
    fields = [field for field in filters.fields if field.narrows]
    shown = {field.name for field in fields}
    around = {
        "run": filters.scope.run,
        "page_title": page.title,
        "filters": filters,
        "fields": fields,
        "kept": [(name, value) for name, value in filters.chosen.items() if name not in shown],
        "tabs": [Tab(PAGES[other].title, filters.address(other), other == place) for other in PAGES],
        "sections": [section for build in page.sections for section in build(filters)],
    }
    return render(request, page.template, around | context)
