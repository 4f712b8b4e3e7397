"""Days in UTC, and days that people enter."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from reviews.days import midnight, next_midnight, read_day


def test_day_lasts_from_midnight_to_midnight() -> None:
    day = dt.date(2026, 2, 28)
    assert midnight(day).isoformat() == "2026-02-28T00:00:00+00:00"
    assert next_midnight(day).isoformat() == "2026-03-01T00:00:00+00:00"
    assert midnight(day, ZoneInfo("Asia/Kolkata")).isoformat() == "2026-02-28T00:00:00+05:30"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1899-12-31", "“1899-12-31” is not in the years from 1900 to 9998."),
        ("9999-01-01", "“9999-01-01” is not in the years from 1900 to 9998."),
        ("2026-02-29", "“2026-02-29” is not a date. Write it as 2026-11-21."),
        ("9" * 61, f"“{'9' * 60}…” is not a date. Write it as 2026-11-21."),
    ],
)
def test_entered_day_must_exist_and_have_a_next_day(text: str, problem: str) -> None:
    assert read_day("1900-01-01") == dt.date(1900, 1, 1)
    with pytest.raises(ValueError, match=problem):
        read_day(text)
