"""The filters of the dashboard: a run and days, as query parameters."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.http import urlencode

from reviews.dashboard.reviewer_activity import WorkSelection
from reviews.models import Run, User
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

    run = forms.ModelChoiceField(Run.objects.order_by("-created_at", "-pk"), required=False)
    first = _Day(required=False)
    last = _Day(required=False)


@dataclass(frozen=True)
class DashboardFilters:
    """The chosen work with its form."""

    selection: WorkSelection
    form: DashboardFilterForm
    #: The chosen filters as query parameters.
    chosen: tuple[tuple[str, str], ...]

    def address(self, place: str, **more: str) -> str:
        """Return a dashboard URL that keeps the filters and adds parameters."""
        query = urlencode([*self.chosen, *more.items()])
        return f"{place}?{query}" if query else place

    def records(self, **more: str) -> str:
        """Return the query string of the run's list for the same days."""
        days = {"reviewed-from": self.selection.first, "reviewed-until": self.selection.last}
        return urlencode(more | {name: day.isoformat() for name, day in days.items() if day})


def read_filters(query: QueryDict, reviewer: User | None = None) -> DashboardFilters:
    """Read the filters from `run`, `first` and `last`, for one reviewer or for everybody."""
    form = DashboardFilterForm(query)
    form.full_clean()
    chosen = {name: value for name, value in form.cleaned_data.items() if value}
    said = ((name, str(value.pk if isinstance(value, Run) else value)) for name, value in chosen.items())
    return DashboardFilters(WorkSelection(reviewer=reviewer, **chosen), form, tuple(said))
