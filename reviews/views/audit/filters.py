"""The filters of the audit log in its address."""

import datetime as dt
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.http import urlencode

from reviews.audit.listing import EventFilter, find_run
from reviews.audit.phrases import GROUPS, PHRASES, action_title
from reviews.days import midnight
from reviews.http.request import Request
from reviews.http.time_zone import reader_zone
from reviews.models import User
from reviews.views.form_fields import DayField

# The prefix of a choice that stands for all actions of a group.
_GROUP = "group:"


def _choices() -> list[Any]:
    groups = [
        (
            title,
            [(f"{_GROUP}{title}", f"All: {title}"), *((action, action_title(action)) for action in phrases)],
        )
        for title, phrases in GROUPS.items()
    ]
    return [("", "All actions"), *groups]


class FilterForm(forms.Form):
    """Filters of the audit log. Every field may be empty."""

    use_required_attribute = False
    person = forms.CharField(
        label="Person", required=False, max_length=150, widget=forms.TextInput(attrs={"list": "people"})
    )
    action = forms.ChoiceField(label="Action", required=False, choices=_choices)
    run = forms.CharField(label="Run", required=False, widget=forms.TextInput(attrs={"list": "runs"}))
    record = forms.CharField(label="Record (evaluation_id)", required=False)
    address = forms.GenericIPAddressField(label="IP address", required=False)
    since = DayField(label="From", required=False)
    until = DayField(label="Until", required=False)

    def __init__(self, values: QueryDict, request: Request) -> None:
        super().__init__(values, auto_id="filter-%s")
        self._reader = request.user
        self._zone = reader_zone(request)
        for field in self.fields.values():
            field.widget.attrs["autocomplete"] = "off"

    def clean_person(self) -> User | None:
        name = self.cleaned_data["person"]
        found = User.objects.filter(username__iexact=name).first() if name else None
        if name and not found:
            raise forms.ValidationError(f"No person has the username {name!r}.")
        return found

    def clean_run(self) -> int | None:
        name = self.cleaned_data["run"]
        found = find_run(name, self._reader) if name else None
        if name and found is None:
            raise forms.ValidationError(f"No run is named {name!r}.")
        return found

    def clean(self) -> None:
        since, until = (self.cleaned_data.get(name) for name in ("since", "until"))
        if since and until and until < since:
            self.add_error("until", "This date is before the first one.")

    @property
    def wanted(self) -> EventFilter:
        """The filter that was entered. The form must be valid."""
        values = self.cleaned_data
        action = values["action"]
        group = GROUPS.get(action.removeprefix(_GROUP), {}) if action.startswith(_GROUP) else {}
        return EventFilter(
            person=values["person"],
            actions=[*group] or ([action] if action in PHRASES else []),
            run=values["run"],
            record=values["record"],
            address=values["address"],
            since=self._start_of(values["since"]),
            until=self._start_of(values["until"], days=1),
        )

    @property
    def query(self) -> str:
        """The filters as a query string, without empty ones."""
        return urlencode({name: value for name in self.fields if (value := self.data.get(name, ""))})

    def _start_of(self, day: dt.date | None, *, days: int = 0) -> dt.datetime | None:
        """Return the start of a day in the reader's time zone."""
        if day is None:
            return None
        try:
            start = midnight(day + dt.timedelta(days=days), self._zone)
            return start.astimezone(dt.UTC)
        except OverflowError:
            return None
