"""Queries that are compiled once."""

import pytest
from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.transaction import TransactionManagementError

from reviews.database.compiled_queries import CompiledQuery, parameter, with_constants
from reviews.models import User
from tests.support.factories import UserFactory
from tests.support.statements import sent_statements

pytestmark = pytest.mark.django_db(transaction=True)


def test_query_is_built_once_and_takes_new_values_each_time() -> None:
    built = []

    def build() -> QuerySet[User]:
        built.append(1)
        return User.objects.filter(username=parameter("name"), is_active=True).prefetch_related("groups")

    ana, bo = (UserFactory.create(username=name, role="reviewer") for name in ("ana", "bo"))
    query = CompiledQuery(build)
    assert [query.first(name=name) for name in ("ana", "bo", "eve", "ana")] == [ana, bo, None, ana]
    assert len(built) == 1
    with sent_statements() as statements:
        [found] = query.rows(name="bo")
        assert [group.name for group in found.groups.all()] == ["reviewer"]
    assert len(statements.sent) == 2


def test_locking_query_needs_a_transaction_each_time() -> None:
    ana = UserFactory.create(username="ana")
    query = CompiledQuery(lambda: User.objects.filter(pk=parameter("key")).select_for_update())
    with transaction.atomic():
        assert query.first(key=ana.pk) == ana
    with pytest.raises(TransactionManagementError):
        query.first(key=ana.pk)


def test_constants_are_written_into_a_statement_and_parameters_stay() -> None:
    statement, left = with_constants("SELECT %s || %s::text || %s", ["50%'s ", -1, "!"], parameters=[-1])
    assert left == [-1]
    with connection.cursor() as cursor:
        cursor.execute(statement, [7])
        assert cursor.fetchone() == ("50%'s 7!",)
