"""Form fields whose errors say what to enter, and refusals as errors of a form."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from django import forms

from reviews.accounts.people import AccountError
from reviews.days import check_year
from reviews.imports import uploads
from reviews.rubric.run_settings import InvalidSettings


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
    def __init__(self, *, min_value: int, max_value: int, **options: Any) -> None:
        sentence = f"Enter a whole number from {min_value:,} to {max_value:,}."
        messages = dict.fromkeys(("invalid", "min_value", "max_value"), sentence)
        messages |= options.pop("error_messages", {})
        super().__init__(min_value=min_value, max_value=max_value, error_messages=messages, **options)


class UploadField(forms.FileField):
    """A file that is not larger than the site takes. Browsers offer those with an ending of `accept`."""

    # Django drops the file of an aborted upload, as if no file had been chosen.
    default_error_messages: ClassVar = {
        "required": "Choose a file. If you did, the upload was interrupted: send it again."
    }

    def __init__(self, *, accept: str, **options: Any) -> None:
        super().__init__(widget=forms.FileInput(attrs={"accept": accept}), **options)

    def clean(self, data: Any, initial: Any = None) -> Any:
        file = super().clean(data, initial)
        try:
            uploads.check_size(file.size or 0)
        except uploads.FileTooLarge as error:
            raise forms.ValidationError(str(error)) from error
        return file


def add_problems(form: forms.BaseForm, invalid: InvalidSettings) -> None:
    """Add the problems of settings to the form, each to its field if there is one."""
    for name, sentences in invalid.problems.items():
        form.add_error(name if name in form.fields else None, [*sentences])


@contextmanager
def refusal_in(form: forms.BaseForm, kind: type[Exception], field: str | None = None) -> Iterator[None]:
    """Add an error that ends this block to the form: to a field, or above all fields.

    Without a field, the problems of settings and of an account are added to their own.
    """
    try:
        yield
    except kind as error:
        if isinstance(error, InvalidSettings) and field is None:
            add_problems(form, error)
        elif isinstance(error, AccountError):
            form.add_error(error.field if error.field in form.fields else None, error.reason)
        else:
            form.add_error(field, str(error))
