"""A clock for the demo's decisions, which are made in seconds and dated on several days."""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from django.db.models import DateTimeField, Model
from django.db.models.expressions import DatabaseDefault
from django.db.models.signals import pre_save
from django.utils import timezone

from reviews.days import midnight

_MORNING = dt.timedelta(hours=9, minutes=5)
_LAST_HOUR = dt.timedelta(minutes=50)


class WorkingDays:
    """A clock that runs in the mornings of working days and, on the last day, in the hour before `now`."""

    def __init__(self, *, days: int, now: dt.datetime) -> None:
        earlier = (now.date() - dt.timedelta(days=back) for back in range(1, 3 * days + 3))
        mornings = [midnight(day) + _MORNING for day in earlier if day.weekday() < 5][: days - 1]
        self._starts = [*reversed(mornings), now - _LAST_HOUR]
        self._end = now
        self._day = 0
        self.now = self._starts[0]

    def pass_time(self, time: dt.timedelta) -> None:
        """Move on, but not beyond the present."""
        self.now = min(self.now + time, self._end)

    def next_day(self) -> None:
        """Move on to the next day, if there is one."""
        if self._day < len(self._starts) - 1:
            self._day += 1
            self.now = max(self._starts[self._day], self.now)

    def read(self) -> dt.datetime:
        return self.now

    @contextmanager
    def keep(self) -> Iterator[None]:
        """Date rows with this clock that are saved one by one."""

        def fill_in(instance: Model, **_: Any) -> None:
            for field in instance._meta.concrete_fields:
                # Not `getattr`, which queries each column that was not loaded.
                is_unset = isinstance(instance.__dict__.get(field.attname), DatabaseDefault)
                if is_unset and isinstance(field, DateTimeField):
                    setattr(instance, field.attname, self.now)

        pre_save.connect(fill_in, weak=False)
        try:
            with mock.patch.object(timezone, "now", side_effect=self.read):
                yield
        finally:
            pre_save.disconnect(fill_in)
