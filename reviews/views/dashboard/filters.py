"""The filters of the dashboard: a run and days, as query parameters.

`days` is a key of `PERIODS`. `first` or `last` replace it.
"""

import datetime as dt
from dataclasses import dataclass
from functools import cached_property

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils.http import urlencode

from reviews.dashboard.pace import RunPace, run_paces
from reviews.dashboard.reviewer_activity import Team, team_figures
from reviews.dashboard.selection import WorkSelection
from reviews.days import today
from reviews.models import Run, User
from reviews.models.runs import hidden_runs
from reviews.views.form_fields import DayField

ALL_DAYS, CUSTOM = "all", "custom"
PERIODS = {"1": "1 d", "7": "7 d", "30": "30 d", ALL_DAYS: "All"}
#: The period of the dashboard unless another one is chosen.
USUAL = "7"
_WORDS = {
    "1": "today",
    "7": "in the last 7 days",
    "30": "in the last 30 days",
    ALL_DAYS: "so far",
    CUSTOM: "on these days",
}


class DashboardFilterForm(forms.Form):
    """The filter form. An invalid value shows an error and does not filter."""

    run = forms.ModelChoiceField(
        Run.objects.none(), required=False, error_messages={"invalid_choice": "Choose a run from the list."}
    )
    first = DayField(required=False)
    last = DayField(required=False)
    days = forms.ChoiceField(choices=PERIODS.items(), required=False)

    def __init__(self, query: QueryDict, runs: QuerySet[Run]) -> None:
        super().__init__(query)
        run_field = self.fields["run"]
        assert isinstance(run_field, forms.ModelChoiceField)
        run_field.queryset = runs.order_by("-created_at", "-pk")


@dataclass(frozen=True)
class DashboardFilters:
    selection: WorkSelection
    form: DashboardFilterForm
    #: The chosen filters as query parameters.
    chosen: tuple[tuple[str, str], ...]
    #: The runs that the reader may see.
    runs: QuerySet[Run]
    #: A key of `PERIODS`, or `CUSTOM`.
    period: str

    @cached_property
    def team(self) -> Team:
        """The figures of the reviewers. Several tables of a page show them."""
        return team_figures(self.selection)

    @cached_property
    def paces(self) -> list[RunPace]:
        """The progress and pace of the chosen run, or of all that are not archived."""
        return run_paces(self.runs, self.selection.run)

    @property
    def periods(self) -> list[tuple[str, str]]:
        return list(PERIODS.items())

    @property
    def period_words(self) -> str:
        """The period at the end of a sentence."""
        return _WORDS[self.period]

    @property
    def before_words(self) -> str:
        """The period before that one, at the end of a sentence."""
        return {"1": "yesterday", CUSTOM: "as many days before"}.get(
            self.period, f"the {self.period} days before"
        )

    @property
    def is_custom(self) -> bool:
        return self.period == CUSTOM

    def address(self, place: str, **more: str) -> str:
        """Return a dashboard URL that keeps the filters and adds parameters."""
        query = urlencode([*self.chosen, *more.items()])
        return f"{place}?{query}" if query else place

    def activity(self, reviewer: User) -> str:
        """Return the URL of a reviewer's page, with the filters."""
        return self.address(reverse("reviewer-activity", args=[reviewer.pk]))

    def decisions(self, first: dt.date, last: dt.date) -> str:
        """Return the URL of the decisions of these days."""
        run, reviewer = self.selection.run, self.selection.reviewer
        kept = ({"run": str(run.pk)} if run else {}) | ({"reviewer": reviewer.username} if reviewer else {})
        return reverse("decisions", query=kept | {"first": first.isoformat(), "last": last.isoformat()})


def read_filters(
    query: QueryDict, reader: User, reviewer: User | None = None, *, usual: str = ALL_DAYS
) -> DashboardFilters:
    """Read the filters from `run`, `days`, `first` and `last`, for the work of one reviewer or of everybody.

    They select work in runs that the reader may see. `usual` is the period without another choice.
    """
    runs = Run.objects.visible_to(reader)
    form = DashboardFilterForm(query, runs)
    form.full_clean()
    given = {name: value for name, value in form.cleaned_data.items() if value}
    period = given.pop("days", usual)
    is_asked = "days" in query or period != ALL_DAYS
    if "first" in given or "last" in given:
        period, is_asked = CUSTOM, False
    said = [(name, str(value.pk if isinstance(value, Run) else value)) for name, value in given.items()]
    if is_asked:
        said.append(("days", period))
    if period.isdigit():
        given["first"] = today() - dt.timedelta(days=int(period) - 1)
    hidden = tuple(hidden_runs(reader).values_list("pk", flat=True))
    selection = WorkSelection(reviewer=reviewer, hidden_runs=hidden, **given)
    return DashboardFilters(selection, form, tuple(said), runs, period)
