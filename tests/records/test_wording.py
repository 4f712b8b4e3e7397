"""Numbers in sentences are rounded as people round them."""

import pytest

from reviews.records.wording import per_day, percent, rounded, shorten_middle


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [
        (12.5, 0, "13"),
        (13.5, 0, "14"),
        (-12.5, 0, "-13"),
        (-0.4, 0, "0"),
        (100 * 0.145, 0, "15"),
        (30.25, 1, "30.3"),
        (0.125, 2, "0.13"),
        (1999.5, 0, "2,000"),
        (0, 2, "0.00"),
    ],
)
def test_middle_is_rounded_away_from_zero(number: float, digits: int, text: str) -> None:
    assert rounded(number, digits) == text


def test_share_of_five_in_eight_is_63_percent() -> None:
    assert percent(5 / 8) == "63%"


@pytest.mark.parametrize(
    ("number", "text"), [(30.5, "30.5"), (12.0, "12"), (9.96, "10"), (1234.56, "1,234.6")]
)
def test_work_per_day_has_a_decimal_unless_it_is_zero(number: float, text: str) -> None:
    assert per_day(number) == text


@pytest.mark.parametrize(
    ("text", "shown"), [("abc", "abc"), ("123456789", "123456789"), ("1234567890", "12345…890")]
)
def test_long_text_keeps_its_beginning_and_its_end(text: str, shown: str) -> None:
    assert shorten_middle(text, 9) == shown
