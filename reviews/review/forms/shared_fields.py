"""Forms whose instances share their fields. Django copies those of each form, in case one is changed."""

from typing import Any, TypeVar

from django import forms

_Form = TypeVar("_Form", bound=type[forms.Form])


class _SharedFields(dict[str, forms.Field]):
    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, forms.Field]:
        return dict(self)


def shares_fields(form: _Form) -> _Form:
    """Decorate a form class. Neither its instances nor their users may change a field."""
    form.base_fields = _SharedFields(form.base_fields)
    return form
