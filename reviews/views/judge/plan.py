"""Show how many more blind reviews a target needs, and serve them first."""

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from cognireview.types.runs import PlannedPart
from reviews.http.request import Request
from reviews.inbox.place import place_of
from reviews.judge import planning, review_plan
from reviews.judge.accuracy import DEFINITIONS
from reviews.judge.planning import AIMS, NARROWEST, USUAL_TARGET, WIDEST, JudgePlan, points
from reviews.judge.scope import SCOPE_FILTERS
from reviews.models import Run
from reviews.rubric.run_settings import InvalidSettings
from reviews.views import inbox_navigation
from reviews.views.judge.filters import JudgeFilters, load_planned, read_planned_filters
from reviews.views.judge.pages import render_page
from reviews.views.judge.sections import Section
from reviews.views.judge.tables import estimate_column
from reviews.views.shortcuts import load_run, replica_view
from reviews.views.tables import NOTHING, Cell, Column, LinkedTable, Table, count, share, text_columns, words

_HELP = (
    "The fewest blind reviews that make the interval of the judge's accuracy as narrow as the target. They "
    "go where they narrow it most: to large groups of records, and to groups in which errors are frequent. "
    "\n\n"
    f"{planning.DEFINITION}"
)
_ALONE = (
    "How many blind reviews these records need on their own. It helps to decide between one figure for the "
    "run and one for each part.\n\n"
    "The blind reviews until the interval of the accuracy on these records alone is as narrow as the target."
)
_TITLES = {"run": "All records", "flagged": "Flagged records", "unflagged": "Unflagged records"}
_PARTS = [
    Column("part", "Records", is_number=False),
    Column("records", "Number"),
    Column("ratings", "Blind reviews"),
    estimate_column("accuracy", "Accuracy", DEFINITIONS["accuracy"]),
    Column("half_width", "± points"),
    Column("more", "In this plan"),
    Column("more_alone", "For it alone", _ALONE),
]
_CELLS = [
    *text_columns(flag="Flag", verdict="Verdict", judge="Judge", template="Prompt", model="Model"),
    Column("records", "Records"),
    Column("ratings", "Blind reviews"),
    Column("more", "In this plan"),
]


_TARGETS = f"Enter a number from {NARROWEST * 100:g} to {WIDEST * 100:g}."


class PlanForm(forms.Form):
    target = forms.FloatField(
        label="Target (± percentage points)",
        help_text="Half the width of the 95% interval.",
        min_value=NARROWEST * 100,
        max_value=WIDEST * 100,
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), _TARGETS),
        widget=forms.NumberInput(attrs={"step": "any", "inputmode": "decimal"}),
    )
    aim = forms.ChoiceField(
        label="For", choices=[(name, title[:1].upper() + title[1:]) for name, title in AIMS.items()]
    )


@replica_view
def show_plan(request: Request, run_pk: int) -> HttpResponse:
    """Show the plan for a target, which the query gives."""
    filters = load_planned(request, run_pk)
    return _page(request, filters, PlanForm(_entered(request.GET, filters)), HTTPStatus.OK)


@require_POST
def serve(request: Request, run_pk: int) -> HttpResponse:
    """Serve the plan for a target, or answer 422."""
    run = load_run(request, run_pk, "configure_run")
    form = PlanForm(request.POST)
    if form.is_valid():
        target, aim = form.cleaned_data["target"], form.cleaned_data["aim"]
        values = {name: request.POST.get(name, "") for name in planning.PLAN_FILTERS}
        try:
            served = review_plan.serve_plan(
                run_id=run.pk, actor=request.user, target=target / 100, aim=aim, filters=values
            )
        except InvalidSettings as invalid:
            form.add_error(None, str(invalid))
        else:
            messages.success(request, _success(served))
            if place := place_of(request):
                return inbox_navigation.go_on(request, place)
            query = {"target": f"{target:g}", "aim": aim} | served.filters
            return redirect(reverse("judge-plan", args=[run.pk], query=query))
    filters = read_planned_filters(run, request.POST)
    return _page(request, filters, form, HTTPStatus.UNPROCESSABLE_ENTITY)


def _success(plan: JudgePlan) -> str:
    message = f"The queue now serves {plan.more:,} more blind reviews first."
    if plan.is_design_effect_assumed:
        return f"{message} Plan again after them: their error rates decide how many more are needed."
    return message


@require_POST
def stop(request: Request, run_pk: int) -> HttpResponse:
    run = load_run(request, run_pk, "configure_run")
    review_plan.stop_plan(run_id=run.pk, actor=request.user)
    messages.success(request, "The plan has ended. The queue has its usual order.")
    place = place_of(request)
    return inbox_navigation.go_on(request, place) if place else redirect("judge-plan", run.pk)


def _entered(query: Any, filters: JudgeFilters) -> dict[str, Any]:
    """Return the target in the query, or else that of the plan being served, or else the usual one."""
    known = planning.served_plan(filters.scope.run) or {"target": USUAL_TARGET, "aim": "run"}
    usual = {"target": points(known["target"]), "aim": known["aim"]}
    return {name: query.get(name, value) for name, value in usual.items()}


def _page(request: Request, filters: JudgeFilters, form: PlanForm, status: HTTPStatus) -> HttpResponse:
    run = filters.scope.run
    target, aim = USUAL_TARGET, "run"
    if form.is_valid():
        target, aim = form.cleaned_data["target"] / 100, form.cleaned_data["aim"]
    plan = planning.plan_reviews(filters.scope, target, "parts" if aim == "parts" else "run")
    context = {
        "own": [(name, form[name].value()) for name in form.fields],
        "form": form,
        "plan": plan,
        "first_part": review_plan.FIRST_PART,
        "served": _served(run),
        "place": place_of(request),
        "obstacle": review_plan.why_not_blind(run) if plan.parts else "",
        "sections": [plan_section(plan)],
    }
    response = render_page(request, filters, "judge-plan", context)
    response.status_code = status
    return response


def plan_section(plan: JudgePlan) -> Section:
    tables = [LinkedTable(_cells(plan), "")] if plan.cells else []
    notes = plan.sentences[1:] if plan.parts else ()
    return Section(
        "plan",
        "What to review next",
        plan.sentences[0],
        help=_HELP,
        notes=notes,
        tables=tables,
        template="judge/planned.html",
        data=_parts(plan),
    )


def _served(run: Run) -> dict[str, Any] | None:
    known = planning.served_plan(run)
    if known is None:
        return None
    chosen = ", ".join(f"{SCOPE_FILTERS[name].lower()} {value}" for name, value in known["filters"].items())
    return {"points": points(known["target"]), "is_finished": known["is_finished"], "chosen": chosen}


def _parts(plan: JudgePlan) -> Table:
    return Table(
        "plan-parts", "Reviews so far and to add", _PARTS, [_part(one) for one in plan.parts], plan.unknown
    )


def _part(part: PlannedPart) -> list[Cell]:
    width = part.half_width
    return [
        words(_TITLES[part.name]),
        count(part.records),
        count(part.ratings),
        share(part.accuracy),
        NOTHING if width is None else Cell(points(width), round(width, 4)),
        count(part.more),
        count(part.more_alone) if part.is_reachable else count(part.more_alone, note="not enough"),
    ]


def _cells(plan: JudgePlan) -> Table:
    rows = []
    for planned in sorted(plan.cells, key=lambda one: -one.more):
        cell = planned.cell
        names = ("Flagged" if cell.is_flagged else "Unflagged", cell.verdict, cell.judge, cell.template)
        numbers = (planned.records, planned.ratings, planned.more)
        rows.append([*map(words, names), words(cell.model or "no model"), *map(count, numbers)])
    return Table("plan-cells", "Reviews by group of records", _CELLS, rows, plan.unknown, folds=True)
