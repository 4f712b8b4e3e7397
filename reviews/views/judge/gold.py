"""Freeze decisions of a run as a gold set, measure its judge against one, and manage gold sets."""

from collections.abc import Iterator
from functools import partial
from http import HTTPStatus

from django import forms
from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from cognireview.types.judge import GoldBasis
from reviews.accounts.permissions import check
from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.judge.accuracy_figures import AccuracyFigures
from reviews.judge.drilldown import ANY_SCORE
from reviews.judge.gold import gold_file, gold_sets, measurement
from reviews.judge.gold.measurement import BASES, GoldMeasurement, GoldRecord
from reviews.judge.scope import SCOPE_FILTERS, JudgeScope
from reviews.models import GoldSet, User
from reviews.records.scores import criterion_title
from reviews.rubric.run_settings import InvalidSettings
from reviews.search.listing import QueryTooSlow, time_limit
from reviews.storage.chunks import BLOCK_SIZE
from reviews.views.dot_plots import Dot, DotPlot
from reviews.views.form_fields import UploadField, refusal_in
from reviews.views.judge import confusion
from reviews.views.judge.filters import JudgeFilters, load_of_records
from reviews.views.judge.pages import render_page
from reviews.views.judge.record_lists import MOST_ROWS, record_titles, render_records, score_text
from reviews.views.judge.sections import Section
from reviews.views.judge.tables import figures_table
from reviews.views.shortcuts import form_page, render_form, replica_view
from reviews.views.tables import Cell, Column, LinkedTable, Table, as_csv, moment, share, text_columns, words


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


_TOO_SLOW = "This takes too long on a page. Run manage.py gold_sets measure instead."
TITLES: dict[GoldBasis, str] = {"blind": "Blind ratings", "adjudicated": "Adjudicated decisions"}
_RECORD_FILTERS = {"reviewer", "since", "until"}
_COLUMNS = [
    *text_columns(record="Record", judge="Judge"),
    Column("human", "Gold set", "The score or verdict in the gold set.", is_number=False),
    *text_columns(reviewer="Reviewer", at="When"),
]


@form_page
def gold_page(request: Request, run_pk: int) -> HttpResponse:
    """Measure the judge against a chosen gold set. POST freezes the decisions of the run."""
    filters = load_of_records(request, run_pk)
    form = GoldSetForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with refusal_in(form, InvalidSettings):
            frozen = gold_sets.freeze(scope=filters.scope, name=form.cleaned_data["name"], actor=request.user)
            messages.success(request, " ".join(frozen.sentences))
            return redirect(filters.address("judge-gold", set=frozen.gold_set.name))
    sets = [*GoldSet.objects.visible_to(request.user).order_by("-pk")]
    chosen = request.GET.get("set", "")
    gold_set = next((one for one in sets if one.name == chosen), None)
    problem = "Choose a gold set of the list." if chosen and gold_set is None else ""
    sections: list[Section] = []
    if gold_set:
        found = _measure(gold_set, filters.scope)
        sections = [*_sections(found, filters)] if found else []
        problem = "" if found else _TOO_SLOW
    context = {
        "form": form,
        "sets": sets,
        "gold_set": gold_set,
        "problem": problem,
        "sections": sections,
        "own": [("set", chosen)] if gold_set else [],
        "action": filters.address("judge-gold", **({"set": chosen} if gold_set else {})),
    }
    response = render_page(request, filters, "judge-gold", context)
    response.status_code = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return response


def _measure(gold_set: GoldSet, scope: JudgeScope) -> GoldMeasurement | None:
    """Measure within the time of a page: without criteria if they take longer, or else not at all."""
    for criteria in (True, False):
        try:
            with time_limit():
                return measurement.measure(gold_set, scope, criteria=criteria)
        except QueryTooSlow:
            continue
    return None


def _sections(found: GoldMeasurement, filters: JudgeFilters) -> Iterator[Section]:
    figures = found.figures.get("blind", ())
    yield Section(
        "gold",
        found.gold_set.name,
        answer=_answer(found),
        help=(
            "How often does this judge agree with decisions that were kept from an earlier run? Records are "
            f"matched by task, model and answer.\n\n{measurement.DEFINITION}"
        ),
        plot=_plot(found, filters) if figures else None,
        notes=[*found.notes, *_ignored(filters)],
        tables=[LinkedTable(figures_table("gold-blind", "Figures", figures), "")] if figures else [],
    )
    for basis, of_basis in found.figures.items():
        yield Section(
            f"gold-{basis}",
            TITLES[basis],
            help=f"Which scores the judge confuses. Each number leads to its records.\n\n{BASES[basis]}",
            template="judge/confusions.html",
            data=[
                confusion.matrix(one, partial(_address, filters, _query(found, basis, one)))
                for one in of_basis
            ],
        )


def _answer(found: GoldMeasurement) -> str:
    headline = found.headline
    if headline is None:
        return found.unknown or "No record of this run can be measured with a blind rating of the gold set."
    if headline.accuracy.value is None:
        return headline.accuracy.why
    return f"The judge is right on {share(headline.accuracy).words} of the gold set's verdicts."


def _plot(found: GoldMeasurement, filters: JudgeFilters) -> DotPlot:
    dots = [
        Dot(
            one.title,
            share(one.accuracy, _address(filters, _query(found, "blind", one), ANY_SCORE, ANY_SCORE)),
            has_line=one.criterion is None,
        )
        for one in found.figures["blind"]
    ]
    title = "Agreement with the gold set's verdicts and scores"
    return DotPlot(title, dots, line=filters.target, line_title="target of the verdict")


def _ignored(filters: JudgeFilters) -> Iterator[str]:
    if _RECORD_FILTERS & {*filters.chosen}:
        yield "The filters by reviewer and date apply to freezing only, not to these figures."


def _address(filters: JudgeFilters, query: dict[str, str], judge: str, human: str) -> str:
    """Return the URL of the records with a pair of scores."""
    return filters.address("judge-gold-records", **query, judge_said=judge, human_said=human)


def _query(found: GoldMeasurement, basis: GoldBasis, figures: AccuracyFigures) -> dict[str, str]:
    query = {"set": found.gold_set.name, "basis": basis}
    return query | ({"criterion": figures.criterion} if figures.criterion else {})


@replica_view
def list_records(request: Request, run_pk: int, *, is_csv: bool = False) -> HttpResponseBase:
    """List the records behind a count, or download them as CSV."""
    filters = load_of_records(request, run_pk)
    gold_set, rows = _records(request, filters)
    criterion = request.GET.get("criterion", "")
    if is_csv:
        return as_csv(_table(rows, criterion, request.user), "gold-set.csv")
    description = (
        f"Decisions of the gold set {gold_set.name} on responses of this run. Records in the queue are "
        "counted, but not listed."
    )
    return render_records(
        request,
        filters,
        _table(rows[:MOST_ROWS], criterion, request.user),
        title=f"{criterion_title(criterion) if criterion else 'Verdict'}: gold set {gold_set.name}",
        description=description,
        count=len(rows),
        csv_place="judge-gold-records-csv",
        back=filters.address("judge-gold", set=gold_set.name),
    )


def _records(request: Request, filters: JudgeFilters) -> tuple[GoldSet, list[GoldRecord]]:
    """Return the gold set of the URL and the records to list. Raises `Http404`."""
    query = request.GET
    if "\0" in "".join(query.dict().values()):
        raise Http404
    basis = next((basis for basis in BASES if basis == query.get("basis")), None)
    gold_set = GoldSet.objects.visible_to(request.user).filter(name=query.get("set", "")).first()
    if basis is None or gold_set is None:
        raise Http404
    said = (query.get("judge_said", ""), query.get("human_said", ""))
    try:
        with time_limit():
            return gold_set, measurement.list_records(
                gold_set, filters.scope, basis, query.get("criterion") or None, said
            )
    except QueryTooSlow:
        raise Http404(_TOO_SLOW) from None


def _table(rows: list[GoldRecord], criterion: str, reader: User) -> Table:
    return Table("gold-records", "Records", _COLUMNS, [*_rows(rows, criterion, reader)], "No such records.")


def _rows(rows: list[GoldRecord], criterion: str, reader: User) -> Iterator[list[Cell]]:
    titles = record_titles([one.record for one in rows], reader)
    # A record may have been deleted meanwhile.
    for one in (one for one in rows if one.record in titles):
        yield [
            titles[one.record],
            *(words(score_text(score, criterion)) for score in (one.judge, one.human)),
            words(one.reviewer),
            moment(one.at),
        ]
