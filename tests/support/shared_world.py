"""Rows that tests of a class or a module share: written once, and undone after the last test."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from pytest_django.plugin import DjangoDbBlocker


@contextmanager
def shared_world(blocker: DjangoDbBlocker) -> Iterator[None]:
    """Keep the rows that a fixture of a class or a module writes in this block until the fixture ends.

    Each test undoes its own changes, as usual. All its tests see the rows, and none may be transactional.
    `now()` is the beginning of the block. Keys are the same in each test, so load the rows again there.
    """
    block: Any = transaction.atomic()
    block._from_testcase = True  # as the block of a test: the program may begin durable transactions
    with blocker.unblock(), block:
        yield
        transaction.set_rollback(True)
