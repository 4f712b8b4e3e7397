"""Days in UTC, and days that people enter. Other modules compute no midnight themselves."""

import datetime as dt

from django.utils import timezone

from reviews.records.schema import EARLIEST_YEAR
from reviews.records.wording import abbreviate


def today() -> dt.date:
    """Return the current day in UTC."""
    return timezone.now().astimezone(dt.UTC).date()


def midnight(day: dt.date, zone: dt.tzinfo = dt.UTC) -> dt.datetime:
    """Return the start of a day."""
    return dt.datetime.combine(day, dt.time(), zone)


def next_midnight(day: dt.date) -> dt.datetime:
    """Return the end of a day in UTC."""
    return midnight(day + dt.timedelta(days=1))


def check_year(day: dt.date) -> None:
    """Raise `ValueError` if Python and PostgreSQL cannot represent the day and the next one."""
    if not EARLIEST_YEAR <= day.year < dt.MAXYEAR:
        raise ValueError(f"“{day}” is not in the years from {EARLIEST_YEAR} to {dt.MAXYEAR - 1}.")


def read_day(text: str) -> dt.date:
    """Read a date as in 2026-11-21. Raises `ValueError` with a sentence for the person who entered it."""
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"“{abbreviate(text)}” is not a date. Write it as 2026-11-21.") from None
    check_year(day)
    return day
