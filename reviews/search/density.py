"""Estimate from the first records of a run how many of its records a list has.

The estimate decides how a list is searched, and whether its records are counted to the end. It never decides
which records the list has.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from django.db.models import Count, Min, Q, QuerySet

from reviews.database.statements import execute
from reviews.models import Evaluation, Run
from reviews.search import terms
from reviews.search.filters import FILTERS, Filters

# The number of records whose words are read for the estimate, in about a millisecond.
_SAMPLED = 300
# The index is not used for words in at least this share of the records: it would return all of them.
_COMMON = 0.1
# If a list has at least this share of the records, its first ones are found faster without an index.
_HIGH = 0.015
# Among this many records, such a list has more than `listing.MAX_COUNTED_OF_MANY`.
_READ = 25_000


class Density(NamedTuple):
    """The estimated share of a run's records that a list has."""

    share: float = 0
    #: Searched words that a large share of the records has.
    common_words: frozenset[str] = frozenset()
    #: The smallest primary key of the records in the estimate.
    first: int = 0

    @property
    def is_high(self) -> bool:
        return self.share >= _HIGH


def estimate(run: Run, filters: Filters, condition: Q) -> Density:
    """Estimate the share of records that fulfil the condition of a list with these filters."""
    first = run.evaluations.order_by("first_import", "first_line").values("pk")[:_SAMPLED]
    words = searched_words(filters)
    wanted = {
        f"word_{number}": Q(words__words__have=terms.tsquery(word)) for number, word in enumerate(words)
    }
    # Aggregates, because an index would find all other records, too.
    found = run.evaluations.filter(pk__in=first).aggregate(
        size=Count("pk"),
        first=Min("pk"),
        listed=Count("pk", filter=condition),
        **{name: Count("pk", filter=has_word) for name, has_word in wanted.items()},
    )
    size = max(found["size"], 1)
    common = [word for name, word in zip(wanted, words, strict=True) if found[name] >= _COMMON * size]
    return Density(found["listed"] / size, frozenset(common), found["first"] or 0)


def searched_words(filters: Filters) -> list[str]:
    """Return the words of a search; none of several searches, which are joined by OR."""
    texts = filters.values_of("q")
    return terms.searched_words(texts[0]) if len(texts) == 1 else []


def are_more(matching: QuerySet[Evaluation], number: int, filters: Filters, density: Density) -> bool:
    """Return whether a list certainly has more records than `number`.

    If it probably has a large share of the records, only the first ones of the run are read.
    """
    if not density.is_high:
        return matching[: number + 1].count() > number
    names = {name for name, _ in filters.values}
    key = "pk"
    if any(FILTERS[name].is_facet for name in names):
        key = "facets__evaluation"
    elif "q" in names:
        key = "words__evaluation"
    within = {f"{key}__gte": density.first, f"{key}__lt": density.first + _READ}
    with reading_in_order():
        return matching.filter(**within).order_by(key)[: number + 1].count() > number


_FOR_ALL_MATCHES = (
    "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin", "enable_seqscan", "enable_sort"
)  # fmt: skip
_SET = "SELECT set_config(name, %s, true) FROM unnest(%s::text[]) AS name"


@contextmanager
def reading_in_order() -> Iterator[None]:
    """Within a transaction, make PostgreSQL read records in their order until it has enough of them.

    It would find all matches first if it expects fewer of them.
    """
    execute(_SET, ["off", [*_FOR_ALL_MATCHES]])
    yield
    execute(_SET, ["on", [*_FOR_ALL_MATCHES]])
