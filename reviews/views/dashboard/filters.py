"""Which part of the work the desk shows: a run and days, as they stand in the address."""

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
    """A day that PostgreSQL's calendar has, and Python's the day after it."""

    widget = forms.DateInput(attrs={"type": "date"})

    def validate(self, value: Any) -> None:
        super().validate(value)
        if value and not EARLIEST_YEAR <= value.year < dt.MAXYEAR:
            raise forms.ValidationError("This day is out of the calendar.")


class ScopeForm(forms.Form):
    """What is chosen. A value that is wrong says so, and narrows nothing."""

    run = forms.ModelChoiceField(Run.objects.order_by("-created_at", "-pk"), required=False)
    first = _Day(required=False)
    last = _Day(required=False)


@dataclass(frozen=True)
class Scope:
    """`chosen` is what narrows the work, as an address says it; empty for all there is."""

    selection: WorkSelection
    form: ScopeForm
    chosen: tuple[tuple[str, str], ...]

    def address(self, place: str, **more: str) -> str:
        """An address of the desk that keeps what is chosen, and says more."""
        query = urlencode([*self.chosen, *more.items()])
        return f"{place}?{query}" if query else place

    def records(self, **more: str) -> str:
        """The query string of a run's list for what is chosen there: the days of the decisions, and more."""
        days = {"reviewed-from": self.selection.first, "reviewed-until": self.selection.last}
        return urlencode(more | {name: day.isoformat() for name, day in days.items() if day})


def read(query: QueryDict, reviewer: User | None = None) -> Scope:
    """The scope of an address: `run`, `first`, `last`; of one reviewer's work or of everybody's."""
    form = ScopeForm(query)
    form.full_clean()
    chosen = {name: value for name, value in form.cleaned_data.items() if value}
    said = ((name, str(value.pk if isinstance(value, Run) else value)) for name, value in chosen.items())
    return Scope(WorkSelection(reviewer=reviewer, **chosen), form, tuple(said))
