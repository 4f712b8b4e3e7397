"""List, import, export, rename and delete gold sets."""

from django import forms
from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from reviews.accounts.permissions import check
from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.judge.gold import gold_file, gold_sets
from reviews.judge.scope import SCOPE_FILTERS
from reviews.models import GoldSet
from reviews.rubric.run_settings import InvalidSettings
from reviews.storage.chunks import BLOCK_SIZE
from reviews.views.access import form_page
from reviews.views.form_fields import UploadField, refusal_in
from reviews.views.parts import render_form


class ImportForm(forms.Form):
    use_required_attribute = False
    file = UploadField(
        label="JSONL file",
        help_text="A gold set that was exported here or in another installation.",
        accept=".jsonl,.ndjson,.gz,.zst",
    )
    name = forms.CharField(
        label="Name",
        required=False,
        max_length=gold_sets.NAME_LENGTH,
        help_text="Leave empty for the name in the file.",
    )


class GoldSetForm(forms.Form):
    use_required_attribute = False
    name = forms.CharField(
        label="Name",
        max_length=gold_sets.NAME_LENGTH,
        error_messages={"required": "Enter a name for the gold set."},
    )


@form_page
def gold_set_list(request: Request) -> HttpResponse:
    """List the gold sets, newest first. POST imports one."""
    check(request.user, "lead_review")
    form = ImportForm(request.POST, request.FILES) if request.method == "POST" else ImportForm()
    if form.is_valid():
        name, blocks = form.cleaned_data["name"], form.cleaned_data["file"].chunks(BLOCK_SIZE)
        with refusal_in(form, InvalidSettings):
            gold_set = gold_file.import_gold_set(blocks=blocks, actor=request.user, name=name)
            messages.success(request, f"Imported {gold_set.name}.")
            return redirect("gold-set", gold_set.pk)
    sets = GoldSet.objects.visible_to(request.user).annotate(size=Count("ratings")).order_by("-pk")
    return render_form(request, "judge/gold_sets.html", form, sets=sets)


@form_page
def show_gold_set(request: Request, pk: int) -> HttpResponse:
    """Show a gold set. POST renames it."""
    gold_set = _load(request, pk)
    form = GoldSetForm(request.POST if request.method == "POST" else None, initial={"name": gold_set.name})
    if form.is_valid():
        with refusal_in(form, InvalidSettings):
            gold_sets.rename(gold_set_id=pk, name=form.cleaned_data["name"], actor=request.user)
            messages.success(request, "Renamed the gold set.")
            return redirect("gold-set", pk)
    counts = dict(gold_set.ratings.values_list("basis").annotate(Count("pk")))
    context = {
        "gold_set": gold_set,
        "blind": counts.get("blind", 0),
        "adjudicated": counts.get("adjudicated", 0),
        "responses": gold_set.ratings.values("response").distinct().count(),
        "filters": [(SCOPE_FILTERS.get(name, name), value) for name, value in gold_set.filters.items()],
    }
    return render_form(request, "judge/gold_set.html", form, **context)


@require_POST
def export_gold_set(request: Request, pk: int) -> StreamingHttpResponse:
    gold_set = _load(request, pk)
    return download(
        gold_file.export_gold_set(gold_set=gold_set, actor=request.user), f"{gold_set.name}-gold-set.jsonl"
    )


@require_POST
def delete_gold_set(request: Request, pk: int) -> HttpResponse:
    gold_set = _load(request, pk)
    gold_sets.delete(gold_set_id=pk, actor=request.user)
    messages.success(request, f"Deleted {gold_set.name}.")
    return redirect("gold-sets")


def _load(request: Request, pk: int) -> GoldSet:
    check(request.user, "lead_review")
    return get_object_or_404(GoldSet.objects.visible_to(request.user).select_related("run"), pk=pk)
