"""The form field of a day."""

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
