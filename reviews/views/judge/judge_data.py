"""Download the data behind the judge's figures."""

from django import forms
from django.http import HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_http_methods

from reviews.exports import formats, typed_tables
from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.judge import judge_data
from reviews.judge.judge_data import InvalidJudgeData, JudgeDataOptions
from reviews.models import Run
from reviews.views.access import load_run
from reviews.views.parts import render_form

_FORMAT_NAMES = {"jsonl": "JSONL", "csv": "CSV", "parquet": "Parquet"}


class JudgeDataForm(forms.Form):
    """A table and its format."""

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
        """Return the options of a valid form."""
        return JudgeDataOptions(self._run, self.cleaned_data["table"], self.cleaned_data["format"])


@require_http_methods(["GET", "HEAD", "POST"])
def judge_data_page(request: Request, run_pk: int) -> HttpResponse | StreamingHttpResponse:
    """Show the form. POST downloads a table, which reveals the judge's scores of the run."""
    run = load_run(request, run_pk, "export_run")
    form = JudgeDataForm(request.POST if request.method == "POST" else None, run=run)
    if form.is_valid():
        try:
            options = form.options()
            blocks = judge_data.export_judge_data(options=options, reader=request.user)
            kind = formats.CONTENT_TYPES[formats.ENDINGS[options.format]]
            return download(blocks, options.file_name, content_type=kind)
        except InvalidJudgeData as reason:
            form.add_error(None, str(reason))
    return render_form(request, "judge/judge_data.html", form, run=run)
