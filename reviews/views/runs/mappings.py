"""Mappings: runs with a mapping, adding one, and reading a run again with another one."""

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from reviews.accounts.permissions import check
from reviews.http.request import Request
from reviews.imports.runs import get_or_create_run, run_mapping
from reviews.imports.shipped_mappings import BY_NAME, SHIPPED
from reviews.models import RUN_NAME_LENGTH, Run
from reviews.records.mapping import MOST_BYTES, FieldMapping, MappingError, format_mapping, parse_mapping
from reviews.runs.reread import RereadRefused, reread_in_request
from reviews.storage.errors import ImportRefused
from reviews.views.shortcuts import form_page, load_run, render_form

SHOWN = 50
BEGINNING = """\
[fields]
evaluation_id = "id"
judge_llm_model = "judge.model"
judge_prompt_template_path = "'a constant in single quotes'"
created_at = "timestamp"

[[criteria]]
name = "'Correctness'"
score = "score"
justification = "reason"
"""


class MappingForm(forms.Form):
    """A shipped mapping, or one in TOML."""

    shipped = forms.ChoiceField(
        label="Mapping",
        required=False,
        choices=[("", "Own mapping, below"), *((one.name, one.title) for one in SHIPPED)],
    )
    mapping = forms.CharField(
        label="Own mapping",
        required=False,
        help_text="TOML, with a JMESPath expression for each record field.",
        max_length=MOST_BYTES,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 20, "spellcheck": "false", "class": "mono"}),
    )

    def clean(self) -> dict[str, Any]:
        """Replace the mapping by the chosen one, or else by the parsed TOML."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if name := cleaned.get("shipped"):
            cleaned["mapping"] = BY_NAME[name].read()
        elif "shipped" in cleaned and "mapping" in cleaned:
            cleaned["mapping"] = self._parsed(cleaned["mapping"])
        return cleaned

    def _parsed(self, toml: str) -> FieldMapping | None:
        try:
            return parse_mapping(toml.encode())
        except MappingError as error:
            for place, reason in error.problems:
                self.add_error("mapping", f"{place}: {reason}")
            return None


class NewMappingForm(MappingForm):
    """A new or existing run, and the mapping for its files."""

    run_name = forms.CharField(
        label="Run",
        max_length=RUN_NAME_LENGTH,
        help_text="A new name creates a new run.",
    )


@form_page
def mappings(request: Request) -> HttpResponse:
    """Show the runs with a mapping, latest first. A POST adds a mapping (admins)."""
    check(request.user, "import_file")
    posted = request.POST if request.method == "POST" else None
    form = NewMappingForm(posted, initial={"mapping": BEGINNING})
    if form.is_valid():
        name, mapping = form.cleaned_data["run_name"], form.cleaned_data["mapping"]
        try:
            run = get_or_create_run(name=name, mapping=mapping, actor=request.user)
        except ImportRefused as refused:
            form.add_error("mapping" if refused.field == "mapping" else "run_name", str(refused))
        else:
            messages.success(request, f"Mapping of {run.name} saved. Now import its files.")
            return redirect("mappings")
    mapped = Run.objects.filter(archived_at=None).exclude(mapping=None).order_by("-pk")[:SHOWN]
    runs = [(run, run_mapping(run)) for run in mapped]
    return render_form(request, "runs/mappings.html", form, runs=runs)


@form_page
def mapping_page(request: Request, run_pk: int) -> HttpResponse:
    """Show the mapping of a run. A POST reads its files again with another one, or only tries to (admins)."""
    run = load_run(request, run_pk, "import_file")
    known = run_mapping(run)
    posted = request.POST if request.method == "POST" else None
    form = MappingForm(posted, initial={"mapping": format_mapping(known) if known else BEGINNING})
    context: dict[str, Any] = {"run": run, "form": form}
    if form.is_valid():
        is_trial = "trial" in request.POST
        try:
            report = reread_in_request(
                run_id=run.pk, mapping=form.cleaned_data["mapping"], actor=request.user, is_trial=is_trial
            )
        except ImportRefused as refused:
            form.add_error(None, str(refused))
            context["problems"] = refused.problems if isinstance(refused, RereadRefused) else []
        else:
            if not is_trial:
                messages.success(request, f"The files were read again: {report.records:,} records.")
                return redirect("run", run.pk)
            context["report"] = report
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "runs/reread.html", context, status=status)
