"""Form fields of days and numbers, whose errors say what to enter."""

from typing import Any, ClassVar

from django import forms

from reviews.days import check_year


class DayField(forms.DateField):
    """A day that both PostgreSQL and Python can represent, with the day after it."""

    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    default_error_messages: ClassVar = {"invalid": "Enter a date, such as 2026-11-21."}

    def __init__(self, **options: Any) -> None:
        super().__init__(input_formats=["%Y-%m-%d"], **options)

    def validate(self, value: Any) -> None:
        super().validate(value)
        try:
            if value:
                check_year(value)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None


class WholeNumberField(forms.IntegerField):
    """A whole number from `min_value` to `max_value`."""

    def __init__(self, *, min_value: int, max_value: int, **options: Any) -> None:
        sentence = f"Enter a whole number from {min_value:,} to {max_value:,}."
        messages = dict.fromkeys(("invalid", "min_value", "max_value"), sentence)
        messages |= options.pop("error_messages", {})
        super().__init__(min_value=min_value, max_value=max_value, error_messages=messages, **options)
