"""Checks that apply to every test."""

import warnings

import pytest
from django.template import Context, Template

from reviews.accounts import people
from reviews.models import AuditEvent
from tests.support.factories import PASSWORD


def test_a_variable_that_a_template_does_not_get_fails() -> None:
    with pytest.raises(pytest.fail.Exception, match="nothing"):
        Template("{{ nothing }}").render(Context())


def test_a_warning_fails() -> None:
    with pytest.raises(UserWarning):
        warnings.warn("somebody should look", stacklevel=1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("time", ["first", "second"])
def test_a_test_that_commits_leaves_nothing_to_the_next_even_in_tables_that_refuse_it(time: str) -> None:
    assert not AuditEvent.objects.exists()
    people.add_user(username="ana", password=PASSWORD, role="reviewer", actor=None)
