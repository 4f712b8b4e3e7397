"""Download the judge's tables, the data behind them, the error analysis, and examples to tune a judge."""

from collections.abc import Callable, Iterator

from django import forms
from django.conf import settings
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from cognireview.types.estimates import Basis, Part
from reviews.database.replica import yield_from_replica
from reviews.exports import formats, typed_tables
from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.judge import error_analysis, few_shot, flag_choice, flag_precision, judge_data
from reviews.judge.alt_test import run_alt_tests
from reviews.judge.comparison.position_bias import measure_position_bias
from reviews.judge.error_analysis import Example, analyse_errors, to_markdown
from reviews.judge.judge_data import InvalidJudgeData, JudgeDataOptions
from reviews.judge.leaderboard import rank_models
from reviews.judge.missed_errors import estimate_missed_errors
from reviews.models import Run
from reviews.views.form_fields import refusal_in
from reviews.views.judge import alt_test, causes, flags, funnel, leaderboard, position_bias, tables
from reviews.views.judge.filters import JudgeFilters, load
from reviews.views.shortcuts import form_page, load_run, render_form, replica_view
from reviews.views.tables import Table, as_csv

_FORMAT_NAMES = {"jsonl": "JSONL", "csv": "CSV", "parquet": "Parquet"}


class JudgeDataForm(forms.Form):
    table = forms.ChoiceField(
        label="Table",
        choices=[("ratings", "Ratings"), ("population", "Population")],
        widget=forms.RadioSelect,
        initial="ratings",
    )
    format = forms.ChoiceField(label="Format")

    def __init__(self, *args: object, run: Run, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._run = run
        format_field = self.fields["format"]
        assert isinstance(format_field, forms.ChoiceField)
        format_field.choices = [
            (name, _FORMAT_NAMES[name]) for name in typed_tables.FORMATS if formats.is_installed(name)
        ]

    def options(self) -> JudgeDataOptions:
        return JudgeDataOptions(self._run, self.cleaned_data["table"], self.cleaned_data["format"])


@form_page
def judge_data_page(request: Request, run_pk: int) -> HttpResponse | StreamingHttpResponse:
    """Show the form. POST downloads a table, which reveals the judge's scores of the run."""
    run = load_run(request, run_pk, "export_run")
    form = JudgeDataForm(request.POST if request.method == "POST" else None, run=run)
    if form.is_valid():
        with refusal_in(form, InvalidJudgeData):
            options = form.options()
            blocks = judge_data.export_judge_data(options=options, reader=request.user)
            kind = formats.CONTENT_TYPES[formats.ENDINGS[options.format]]
            return download(blocks, options.file_name, content_type=kind)
    return render_form(request, "judge/judge_data.html", form, run=run)


@require_safe
def error_analysis_markdown(request: Request, run_pk: int) -> StreamingHttpResponse:
    """Download the analysis as Markdown, with links to the records."""
    filters = load(request, run_pk)

    def link(example: Example) -> str:
        return f"{settings.PUBLIC_URL}{reverse('evaluation', args=[example.evaluation])}"

    @yield_from_replica
    def blocks() -> Iterator[bytes]:
        for line in to_markdown(analyse_errors(filters.scope), link):
            yield line.encode()

    name = f"{filters.scope.run.name}-error-analysis.md"
    return download(blocks(), name, content_type="text/markdown; charset=utf-8")


@require_safe
def few_shot_examples(request: Request, run_pk: int) -> StreamingHttpResponse:
    """Download corrected scores as JSON lines, to tune a judge with."""
    filters = load(request, run_pk)
    return download(few_shot.stream_examples(filters.scope), f"{filters.scope.run.name}-few-shot.jsonl")


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
