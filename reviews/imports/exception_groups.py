"""Group the exceptions of an import, so thousands of lines with one cause are one row of a report."""

from collections.abc import Collection
from typing import NamedTuple

from psycopg import sql

from reviews.database.statements import fetch_all
from reviews.models import Import, ImportLine
from reviews.records.reason_families import LEFT_OUT

# Everything but unchanged lines.
REPORTED = (ImportLine.Outcome.CONFLICT, ImportLine.Outcome.REJECTED, ImportLine.Outcome.UPDATED)
MAX_GROUPS = 50
EXAMPLES = 3

# Removed from a reason before grouping: quoted values, then numbers.
_PARTICULARS = (r"""'[^']*'|"[^"]*"|`[^`]*`""", r"[-+]?\d+(?:[.,:]\d+)*")
# Longer reasons are compared by their beginning.
_COMPARED = 300
# PostgreSQL sorts the lines of a large import on disk, and only the groups are returned.
_GROUPS = sql.SQL("""
    SELECT outcome, field, (array_agg(reason) FILTER (WHERE place = 1))[1], count(*),
           array_agg(line ORDER BY line) FILTER (WHERE place <= {examples}),
           min(reason COLLATE "C") < max(reason COLLATE "C")
    FROM (
        SELECT outcome, field, family, reason, line,
               row_number() OVER (PARTITION BY outcome, field, family ORDER BY line) AS place
        FROM (
            SELECT outcome, field, reason, line, {family} COLLATE "C" AS family
            FROM import_line WHERE source_id = %(import)s AND outcome = ANY(%(outcomes)s)
        ) AS exception
    ) AS placed
    GROUP BY outcome, field, family ORDER BY outcome, count(*) DESC, min(line) LIMIT {most}
""")


class LineGroup(NamedTuple):
    """Lines of an import with the same outcome, the same field and reasons of one kind."""

    outcome: str
    field: str
    #: The reason of the first line.
    reason: str
    #: How many lines are in the group.
    size: int
    #: The first line numbers.
    examples: list[int]
    #: Whether quoted values or numbers in the other reasons differ.
    varies: bool = False

    @property
    def more(self) -> int:
        """How many lines are in the group after the examples."""
        return self.size - len(self.examples)


def group_exceptions(
    source: Import, outcomes: Collection[str] = REPORTED, *, most: int = MAX_GROUPS
) -> list[LineGroup]:
    """Return at most `most` groups, by outcome, and within an outcome the largest groups first."""
    family = sql.SQL("left(reason, {})").format(_COMPARED)
    for pattern in _PARTICULARS:
        family = sql.SQL("regexp_replace({}, {}, {}, 'g')").format(family, pattern, LEFT_OUT)
    query = _GROUPS.format(family=family, examples=EXAMPLES, most=most)
    values = {"import": source.pk, "outcomes": [str(outcome) for outcome in outcomes]}
    return [LineGroup(*row) for row in fetch_all(query, values)]
