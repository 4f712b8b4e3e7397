"""Queries that are compiled once."""

from typing import Any

import pytest
from django.db import transaction
from django.db.models import F, QuerySet
from django.db.transaction import TransactionManagementError
from django.utils import timezone

from reviews.database.compiled_queries import CompiledQuery, CompiledStatement, parameter, with_constants
from reviews.database.statements import fetch_value
from reviews.models import ApiToken, User
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
    assert fetch_value(statement, [7]) == "50%'s 7!"


def test_rows_equal_those_of_the_query_with_their_related_and_missing_values() -> None:
    ana = UserFactory.create(username="ana", shortcuts={"next": "x"})
    token = ApiToken.objects.create(person=ana, token_hash="a", scopes=["read"], expires_at=timezone.now())

    def build() -> QuerySet[ApiToken]:
        known = ApiToken.objects.filter(token_hash=parameter("hash")).select_related("person")
        return known.annotate(owner=F("person__username")).defer("name")

    [found] = CompiledQuery(build).rows(hash="a")
    assert vars(found)["owner"] == "ana"
    assert "name" not in vars(found)
    with sent_statements() as statements:
        assert (found, found.person, found.person.shortcuts) == (token, ana, {"next": "x"})
        assert not statements.sent
        assert found.name == token.name
    found.name = "new"
    found.save(update_fields=["name"])
    assert ApiToken.objects.get().name == "new"


def test_query_of_values_gives_dicts() -> None:
    UserFactory.create(username="ana", shortcuts={"next": "x"})
    names = User.objects.values("shortcuts", name=F("username")).filter(username=parameter("name"))
    both: CompiledQuery[Any] = CompiledQuery(lambda: names.union(names.filter(is_active=True), all=True))
    assert both.rows(name="ana") == [{"shortcuts": {"next": "x"}, "name": "ana"}] * 2


def test_statement_gives_instances_with_more_columns() -> None:
    ana = UserFactory.create(username="ana", shortcuts={"next": "x"})
    statement = CompiledStatement(User, "SELECT person.*, 1 AS more FROM person WHERE username = %s")
    for _ in range(2):
        [found] = statement.rows(["ana"])
        assert (found, found.shortcuts, vars(found)["more"]) == (ana, {"next": "x"}, 1)
    assert statement.rows(["bo"]) == []
