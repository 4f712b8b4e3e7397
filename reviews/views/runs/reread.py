"""The page that reads a run again with another mapping."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from reviews.http.request import Request
from reviews.imports.runs import run_mapping
from reviews.records.mapping import format_mapping
from reviews.runs.reread import RereadRefused, reread_in_request
from reviews.storage.errors import ImportRefused
from reviews.views.access import form_page, load_run
from reviews.views.runs.mappings import BEGINNING, MappingForm


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
