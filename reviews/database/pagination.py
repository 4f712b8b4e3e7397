"""Cursor pagination. A query loads one row more than a page shows, to know whether another page follows."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row")
ModelRow = TypeVar("ModelRow", bound=Model)
_KEY = re.compile(r"[0-9]{1,18}")


class Page(NamedTuple, Generic[Row]):
    """A page of a list."""

    rows: list[Row]
    #: The cursor of the next page; empty on the last page.
    next_after: str


def parse_key(cursor: str) -> int | None:
    """Return the primary key in a cursor; None if the cursor is empty or invalid."""
    return int(cursor) if _KEY.fullmatch(cursor) else None


def page_by_key(
    rows: QuerySet[ModelRow], *, after: str, size: int, newest_first: bool = False
) -> Page[ModelRow]:
    """Load a page of rows by primary key. An empty or invalid cursor gives the first page."""
    key = parse_key(after)
    if key is not None:
        rows = rows.filter(pk__lt=key) if newest_first else rows.filter(pk__gt=key)
    found = rows.order_by("-pk" if newest_first else "pk")[: size + 1]
    return split_page(found, size, lambda row: str(row.pk))


def split_page(found: Iterable[Row], size: int, cursor: Callable[[Row], str]) -> Page[Row]:
    """Make a page of at most `size + 1` rows. `cursor` returns the cursor of the page after a row."""
    found = list(found)
    shown = found[:size]
    return Page(shown, cursor(shown[-1]) if len(found) > size else "")


def all_rows(load: Callable[[str], Page[Row]]) -> Iterator[Row]:
    """Yield the rows of every page. `load` returns the page after a cursor."""
    page = load("")
    yield from page.rows
    while page.next_after:
        page = load(page.next_after)
        yield from page.rows
