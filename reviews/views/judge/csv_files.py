"""Download the tables of the judge's pages as CSV."""

from collections.abc import Callable

from django.http import Http404, StreamingHttpResponse

from cognireview.types.estimates import Basis, Part
from reviews.http.request import Request
from reviews.judge import error_analysis, flag_choice, flag_precision
from reviews.judge.alt_test import run_alt_tests
from reviews.judge.comparison.position_bias import measure_position_bias
from reviews.judge.leaderboard import rank_models
from reviews.judge.missed_errors import estimate_missed_errors
from reviews.views.access import replica_view
from reviews.views.judge import alt_test, causes, flags, funnel, leaderboard, position_bias, tables
from reviews.views.judge.filters import JudgeFilters, load
from reviews.views.tables import Table, as_csv

_TableBuilder = Callable[[JudgeFilters], Table]


def _of_section(basis: Basis, part: Part) -> _TableBuilder:
    return lambda filters: tables.section(filters.compared, filters, basis, part)


# The tables by their name in the URL of the CSV file.
TABLES: dict[str, _TableBuilder] = {
    **{tables.section_name(*section): _of_section(*section) for section in tables.SECTIONS},
    "groups": lambda filters: tables.all_groups(filters.compared),
    "pairs": lambda filters: tables.pairs(filters.compared),
    "after-reveal": lambda filters: tables.after_reveal(filters.compared, filters),
    "alt-test": lambda filters: alt_test.answers_table(run_alt_tests(filters.scope)),
    "alt-test-reviewers": lambda filters: alt_test.reviewers_table(run_alt_tests(filters.scope)),
    "position-orders": lambda filters: position_bias.orders_table(
        measure_position_bias(filters.scope), filters
    ),
    "position-accuracy": lambda filters: position_bias.choices_table(
        measure_position_bias(filters.scope), filters
    ),
    "reviewers": lambda filters: tables.reviewers(filters.agreement),
    "reasons": lambda filters: flags.reasons(flag_precision.measure_flag_precision(filters.scope), filters),
    "flag-choice": lambda filters: flags.choice_table(flag_choice.choose_flags(filters.scope, filters.limit)),
    "funnel": lambda filters: funnel.funnel_table(filters.followed, filters),
    "missed-errors": lambda filters: flags.flag_figures_table(estimate_missed_errors(filters.scope), filters),
    "missed-errors-by-criterion": lambda filters: flags.criterion_miss_rates(
        estimate_missed_errors(filters.scope)
    ),
    "models": lambda filters: leaderboard.models(rank_models(filters.scope)),
    "ranking-disagreements": lambda filters: leaderboard.ranking_disagreements(rank_models(filters.scope)),
    "causes": lambda filters: causes.all_causes(error_analysis.analyse_errors(filters.scope).templates),
}


@replica_view
def csv_file(request: Request, run_pk: int, table: str) -> StreamingHttpResponse:
    filters = load(request, run_pk)
    if table not in TABLES:
        raise Http404
    return as_csv(TABLES[table](filters), f"{table}.csv")
