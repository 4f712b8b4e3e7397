"""Checks that apply to every test."""

import warnings

import pytest
from django.template import Context, Template

from reviews.accounts import people
from reviews.models import AuditEvent
from tests.support.factories import PASSWORD


@pytest.mark.slow
def test_undefined_template_variable_fails() -> None:
    with pytest.raises(pytest.fail.Exception, match="nothing"):
        Template("{{ nothing }}").render(Context())


def test_warning_fails() -> None:
    with pytest.raises(UserWarning):
        warnings.warn("a warning", stacklevel=1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("time", ["first", "second"])
def test_rows_of_append_only_tables_are_removed_between_tests(time: str) -> None:
    assert not AuditEvent.objects.exists()
    people.add_user(username="ana", password=PASSWORD, role="reviewer", actor=None)
