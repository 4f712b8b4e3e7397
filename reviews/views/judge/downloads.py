"""Download the data behind the judge's figures, the error analysis, and examples to tune a judge with."""

from collections.abc import Iterator

from django import forms
from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from reviews.database.replica import yield_from_replica
from reviews.exports import formats, typed_tables
from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.judge import few_shot, judge_data
from reviews.judge.error_analysis import Example, analyse_errors, to_markdown
from reviews.judge.judge_data import InvalidJudgeData, JudgeDataOptions
from reviews.models import Run
from reviews.views.access import load_run
from reviews.views.form_fields import refusal_in
from reviews.views.judge.filters import load
from reviews.views.parts import render_form

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


@require_http_methods(["GET", "HEAD", "POST"])
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
