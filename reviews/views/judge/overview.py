"""The pages about the judge's accuracy, for leads."""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from reviews.database.replica import read_from_replica
from reviews.http.request import Request
from reviews.judge import (
    accuracy,
    data_summary,
    error_analysis,
    flag_precision,
    leaderboard,
    missed_errors,
    reviewer_agreement,
)
from reviews.judge.accuracy import JudgeVsHuman
from reviews.views.access import load_run, replica_page
from reviews.views.judge import confusion, findings, tables
from reviews.views.judge.confusion import ConfusionTable
from reviews.views.judge.filters import JudgeFilters, read_filters
from reviews.views.tables import LinkedTable, Tab, Table, as_csv, on_paper

# The title and the filters of each page.
PAGES = {
    "judge": ("Judge vs human", ("judge", "template", "model", "reviewer")),
    "judge-flag-precision": ("Flag reasons", ("reviewer",)),
    "judge-missed-errors": ("Missed errors", ("judge", "template", "model")),
    "judge-leaderboard": ("Models", ("judge", "template")),
    "judge-error-analysis": ("Failure modes", ("judge", "template", "model")),
    "judge-report": ("Report", ("judge", "template", "model", "reviewer")),
}
_MOST_OPEN = 8


class Section(NamedTuple):
    """The figures of one kind of reviews, with their confusion matrices."""

    shown: LinkedTable
    confusions: list[ConfusionTable]
    is_blind: bool
    is_open: bool


def load(request: Request, run_pk: int) -> JudgeFilters:
    """Return the run with the filters of the URL. Only leads may see it."""
    return read_filters(load_run(request, run_pk, "lead_review"), request.GET)


def page(request: Request, filters: JudgeFilters, place: str, context: dict[str, Any]) -> HttpResponse:
    """Render a page of `PAGES`. Its template is named after its URL."""
    title, narrows = PAGES[place]
    around = {
        "run": filters.scope.run,
        "page_title": title,
        "filters": filters,
        "fields": [field for field in filters.fields if field.name in narrows and field.narrows],
        "idle": filters.idle(narrows),
        "kept": [(name, value) for name, value in filters.chosen.items() if name not in narrows],
        "tabs": [Tab(PAGES[other][0], filters.address(other), other == place) for other in PAGES],
    }
    name = "overview" if place == "judge" else place.removeprefix("judge-").replace("-", "_")
    return render(request, f"judge/{name}.html", around | context)


def linked(table: Table, filters: JudgeFilters) -> LinkedTable:
    return LinkedTable(table, filters.address("judge-table", table.name))


@replica_page
def accuracy_page(request: Request, run_pk: int) -> HttpResponse:
    """Show the judge's accuracy. `of` names the criterion to break down by judge, prompt and model."""
    filters = load(request, run_pk)
    compared = accuracy.compare_with_humans(filters.scope)
    criteria = {figures.criterion for figures in compared.groups}
    broken_down = request.GET.get("of") or None
    if broken_down not in criteria:
        broken_down = None
    context = {
        "headline": tables.headline(compared),
        "facts": data_summary.summarize_data(filters.scope.run),
        "sections": sections(compared, filters),
        "pairs_url": filters.address("judge-table", "pairs"),
        "groups": linked(tables.groups(compared, broken_down), filters),
        "after_reveal": linked(tables.after_reveal(compared), filters),
        "reviewers": linked(
            tables.reviewers(reviewer_agreement.measure_reviewer_agreement(filters.scope.run)), filters
        ),
    }
    return page(request, filters, "judge", context)


def sections(compared: JudgeVsHuman, filters: JudgeFilters) -> list[Section]:
    """Return a section for each kind of reviews. Only the first one has a chart: the blind reviews."""
    found: list[Section] = []
    for basis, population in compared.reviews:
        table = tables.section(compared, filters, basis, population)
        confusions = [
            confusion.confusion_table(figures, filters)
            for figures in compared.overall
            if (figures.basis, figures.population) == (basis, population)
        ]
        drawn_once = linked(on_paper(table) if found else table, filters)
        found.append(Section(drawn_once, confusions, basis == "blind", len(confusions) <= _MOST_OPEN))
    return found


@replica_page
def flag_precision_page(request: Request, run_pk: int) -> HttpResponse:
    """Show the precision of each flag reason."""
    filters = load(request, run_pk)
    found = flag_precision.measure_flag_precision(filters.scope)
    table = findings.reasons(found, filters.scope.run)
    return page(
        request, filters, "judge-flag-precision", {"shown": linked(table, filters), "rule": found.rule}
    )


@replica_page
def missed_errors_page(request: Request, run_pk: int) -> HttpResponse:
    """Show the errors in unflagged records."""
    filters = load(request, run_pk)
    found = missed_errors.estimate_missed_errors(filters.scope)
    context = {
        "missed_errors": found,
        "figures": findings.flag_figures(found),
        "figures_url": filters.address("judge-table", "missed-errors"),
        "criteria": linked(findings.criterion_miss_rates(found), filters),
    }
    return page(request, filters, "judge-missed-errors", context)


@replica_page
def leaderboard_page(request: Request, run_pk: int) -> HttpResponse:
    """Show the models as ranked by the judge and by humans."""
    filters = load(request, run_pk)
    found = leaderboard.rank_models(filters.scope)
    context = {
        "sentences": found.sentences,
        "models": linked(findings.models(found), filters),
        "disagreements": linked(findings.ranking_disagreements(found), filters),
    }
    return page(request, filters, "judge-leaderboard", context)


_TableBuilder = Callable[[JudgeFilters], Table]


def _of_compared(build: Callable[[JudgeVsHuman], Table]) -> _TableBuilder:
    return lambda filters: build(accuracy.compare_with_humans(filters.scope))


def _of_section(basis: accuracy.Basis, population: accuracy.Population) -> _TableBuilder:
    return lambda filters: tables.section(
        accuracy.compare_with_humans(filters.scope), filters, basis, population
    )


# The tables by their name in the URL of the CSV file.
TABLES: dict[str, _TableBuilder] = {
    **{tables.section_name(*of): _of_section(*of) for of in tables.SECTIONS},
    "groups": _of_compared(tables.all_groups),
    "pairs": _of_compared(tables.pairs),
    "after-reveal": _of_compared(tables.after_reveal),
    "reviewers": lambda filters: tables.reviewers(
        reviewer_agreement.measure_reviewer_agreement(filters.scope.run)
    ),
    "reasons": lambda filters: findings.reasons(
        flag_precision.measure_flag_precision(filters.scope), filters.scope.run
    ),
    "missed-errors": lambda filters: findings.flag_figures_table(
        missed_errors.estimate_missed_errors(filters.scope)
    ),
    "missed-errors-by-criterion": lambda filters: findings.criterion_miss_rates(
        missed_errors.estimate_missed_errors(filters.scope)
    ),
    "models": lambda filters: findings.models(leaderboard.rank_models(filters.scope)),
    "ranking-disagreements": lambda filters: findings.ranking_disagreements(
        leaderboard.rank_models(filters.scope)
    ),
    "causes": lambda filters: findings.all_causes(error_analysis.analyse_errors(filters.scope).templates),
}


@require_safe
@read_from_replica
def csv_file(request: Request, run_pk: int, table: str) -> StreamingHttpResponse:
    """Download a table of these pages as CSV."""
    filters = load(request, run_pk)
    if table not in TABLES:
        raise Http404
    return as_csv(TABLES[table](filters), f"{table}.csv")
