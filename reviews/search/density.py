"""Estimate from the first records of a run how many of its records a list has.

The estimate decides how a list is searched, and whether its records are counted to the end. It never decides
which records the list has.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.core.exceptions import EmptyResultSet
from django.db.models import F, QuerySet
from django.db.models.expressions import Combinable

from reviews.database.statements import execute, fetch_all, fetch_one, fetch_value
from reviews.models import Evaluation, EvaluationFacets, EvaluationWords, Run
from reviews.search import terms
from reviews.search.filters import Filters

# The number of records whose words are read for the estimate, in about a millisecond.
_SAMPLED = 300
# The index is not used for words in at least this share of the records: it would return all of them.
_COMMON = 0.1
# If a list has at least this share of the records, its first ones are found faster without an index.
_HIGH = 0.015
# Among this many records, such a list has more than `listing.MAX_COUNTED_OF_MANY`.
_READ = 25_000
# The names of the first records and of their words and facets hide those of the tables from the statement of
# the list. So PostgreSQL cannot find all records with a word or a facet by an index.
_ESTIMATE = """
    WITH evaluation AS MATERIALIZED (
        SELECT * FROM evaluation WHERE run_id = %s ORDER BY first_import_id, first_line LIMIT %s
    ), evaluation_words AS MATERIALIZED (
        SELECT known.* FROM evaluation JOIN evaluation_words AS known ON known.evaluation_id = evaluation.id
    ), evaluation_facets AS MATERIALIZED (
        SELECT known.* FROM evaluation JOIN evaluation_facets AS known ON known.evaluation_id = evaluation.id
    )
    SELECT (SELECT count(*) FROM evaluation), (SELECT min(id) FROM evaluation),
           (SELECT count(*) FROM ({matching}) AS listed), {words}
"""
_WITH_WORDS = "(SELECT ARRAY[{numbers}] FROM evaluation_words)"
_COUNT = """
    SELECT count(*) FROM (
        SELECT FROM ({matching}) AS listed WHERE place >= %s AND place < %s ORDER BY place LIMIT %s
    ) AS first
"""


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


class ListStatement(NamedTuple):
    """The statement of a list, a part of others: further queries of the ORM would take longer."""

    text: str
    values: tuple[Any, ...]


def compile_list(matching: QuerySet[Evaluation], places: dict[str, Combinable]) -> ListStatement | None:
    """Compile a list with some expressions and the primary key. None if no record can match.

    The last column, `place`, is the primary key in the table whose order to read the records in.
    """
    key = "pk"
    if EvaluationFacets._meta.db_table in matching.query.alias_map:
        key = "facets__evaluation"
    elif EvaluationWords._meta.db_table in matching.query.alias_map:
        key = "words__evaluation"
    rows = matching.annotate(**places, place=F(key)).values_list(*places, "pk", "place")
    try:
        return ListStatement(*rows.query.sql_with_params())
    except EmptyResultSet:
        return None


def estimate(run: Run, filters: Filters, statement: ListStatement) -> Density:
    """Estimate the share of the records of a run that a list with these filters has."""
    words = searched_words(filters)
    numbers = ", ".join("count(*) FILTER (WHERE words @@ %s::tsquery)" for _ in words)
    words_in = _WITH_WORDS.format(numbers=numbers) if words else "'{}'::bigint[]"
    given = [run.pk, _SAMPLED, *statement.values, *map(terms.tsquery, words)]
    row = fetch_one(_ESTIMATE.format(matching=statement.text, words=words_in), given)
    size, first, listed, found = row or (0, None, 0, [])
    size = max(size, 1)
    common = [word for word, number in zip(words, found, strict=True) if number >= _COMMON * size]
    return Density(listed / size, frozenset(common), first or 0)


def searched_words(filters: Filters) -> list[str]:
    """Return the words of a search; none of several searches, which are joined by OR."""
    texts = filters.values_of("q")
    return terms.searched_words(texts[0]) if len(texts) == 1 else []


def are_more(statement: ListStatement, number: int, density: Density) -> bool:
    """Return whether a list certainly has more records than `number`.

    If it probably has a large share of the records, only the first ones of the run are read.
    """
    if not density.is_high:
        return len(first_rows(statement, number + 1)) > number
    given = [*statement.values, density.first, density.first + _READ, number + 1]
    with reading_in_order():
        return int(fetch_value(_COUNT.format(matching=statement.text), given)) > number


def first_rows(statement: ListStatement, number: int) -> list[tuple[Any, ...]]:
    """Return some rows of a list, those that PostgreSQL finds first, without `place`."""
    rows = fetch_all(f"{statement.text} LIMIT %s", [*statement.values, number])
    return [row[:-1] for row in rows]


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
