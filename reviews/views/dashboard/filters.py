"""The filters of the dashboard: a run and days, as query parameters."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.http import urlencode

from reviews.dashboard.reviewer_activity import WorkSelection
from reviews.models import Run, User
from reviews.models.runs import hidden_runs
from reviews.records.schema import EARLIEST_YEAR


class _Day(forms.DateField):
    """A day that both PostgreSQL and Python can represent, with the day after it."""

    widget = forms.DateInput(attrs={"type": "date"})

    def validate(self, value: Any) -> None:
        super().validate(value)
        if value and not EARLIEST_YEAR <= value.year < dt.MAXYEAR:
            raise forms.ValidationError(f"Enter a year from {EARLIEST_YEAR} to {dt.MAXYEAR - 1}.")


class DashboardFilterForm(forms.Form):
    """The filter form. An invalid value shows an error and does not filter."""

    run = forms.ModelChoiceField(Run.objects.none(), required=False)
    first = _Day(required=False)
    last = _Day(required=False)

    def __init__(self, query: QueryDict, runs: QuerySet[Run]) -> None:
        super().__init__(query)
        run_field = self.fields["run"]
        assert isinstance(run_field, forms.ModelChoiceField)
        run_field.queryset = runs.order_by("-created_at", "-pk")


@dataclass(frozen=True)
class DashboardFilters:
    """The chosen work with its form."""

    selection: WorkSelection
    form: DashboardFilterForm
    #: The chosen filters as query parameters.
    chosen: tuple[tuple[str, str], ...]
    #: The runs that the reader may see.
    runs: QuerySet[Run]

    def address(self, place: str, **more: str) -> str:
        """Return a dashboard URL that keeps the filters and adds parameters."""
        query = urlencode([*self.chosen, *more.items()])
        return f"{place}?{query}" if query else place

    def records(self, **more: str) -> str:
        """Return the query string of the run's list for the same days."""
        days = {"reviewed-from": self.selection.first, "reviewed-until": self.selection.last}
        return urlencode(more | {name: day.isoformat() for name, day in days.items() if day})


def read_filters(query: QueryDict, reader: User, reviewer: User | None = None) -> DashboardFilters:
    """Read the filters from `run`, `first` and `last`, for the work of one reviewer or of everybody.

    They select work in runs that the reader may see.
    """
    runs = Run.objects.visible_to(reader)
    form = DashboardFilterForm(query, runs)
    form.full_clean()
    chosen = {name: value for name, value in form.cleaned_data.items() if value}
    said = ((name, str(value.pk if isinstance(value, Run) else value)) for name, value in chosen.items())
    hidden = tuple(hidden_runs(reader).values_list("pk", flat=True))
    selection = WorkSelection(reviewer=reviewer, hidden_runs=hidden, **chosen)
    return DashboardFilters(selection, form, tuple(said), runs)
