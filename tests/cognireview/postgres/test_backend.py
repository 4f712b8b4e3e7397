"""Our database backend: no cursor outlives its transaction, as behind a transaction pooler it must not."""

import pytest
from django.db import connection, transaction

from reviews.models import User
from tests.support.factories import UserFactory

pytestmark = pytest.mark.django_db(transaction=True)


def cursors_while_iterating() -> set[int]:
    found = set()
    for _ in User.objects.order_by("pk").iterator(chunk_size=1):
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_cursors")
            found.add((cursor.fetchone() or [0])[0])
    return found


def test_server_side_cursor_is_used_only_inside_transaction() -> None:
    UserFactory.create_batch(3)
    assert cursors_while_iterating() == {0}
    with transaction.atomic():
        assert cursors_while_iterating() == {1}
