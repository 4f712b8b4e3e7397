"""Load the ratings of a scope as columns: the scores of people and of the judge, by criterion or as verdicts.

Blind ratings are the scores that were locked in before the judge's scores were shown, whatever became of the
record. Assisted ratings are those of decided records whose reviewers saw them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from cognireview.types.estimates import Basis
from reviews.judge.cells import Cell, IntArray, cell_of, load_strata, unpack_clusters
from reviews.judge.figure_cache import cache_by_record
from reviews.judge.loading import loads
from reviews.judge.scope import JudgeScope
from reviews.records.scores import read_score

# The verdict, the verdict with flag reasons, or all criteria.
_RatedPart = Literal["verdicts", "families", "criteria"]
_Place = tuple[int, tuple[str, ...], bool, str, float]
FloatArray = NDArray[np.float64]
Keys = NDArray[np.int64]

# Most ratings of a cell have the same weight, so only their clusters and records are packed.
_LOAD = """
    SELECT cell.criterion, cell.stratum_id, cell.verdict, cell.is_sampled, cell.judge, cell.human, {families},
           clusters, records, weight, final, cell.id
    FROM {cells}
    WHERE cell.stratum_id = ANY(%(strata)s) AND cell.is_blind = %(is_blind)s AND {criteria}
"""
_ALL = """
    rating_cell AS cell CROSS JOIN LATERAL (
        SELECT {packed} FROM rating WHERE rating.cell_id = cell.id AND {conditions}
        GROUP BY probability, raters, final, {families}
    ) AS found
"""
_OF_RECORDS = """
    (
        SELECT cell_id, {packed} FROM rating WHERE rating.evaluation_id = ANY(%(records)s) AND {conditions}
        GROUP BY cell_id, probability, raters, final, {families}
    ) AS found JOIN rating_cell AS cell ON cell.id = cell_id
"""
_PACKED = """
    1 / (probability * raters) AS weight, final, {families},
    string_agg(int2send((cluster - 32768)::int2), '') AS clusters,
    string_agg(int8send(evaluation_id), '') AS records
"""
# The parts of the statement that differ between loads.
_PARTS: dict[_RatedPart, dict[str, str]] = {
    "verdicts": {"criteria": "cell.criterion IS NULL", "families": "NULL::text[]"},
    "families": {"criteria": "cell.criterion IS NULL", "families": "families"},
    "criteria": {"criteria": "cell.criterion IS NOT NULL", "families": "NULL::text[]"},
}
_NONE, _NO_KEYS = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)


class RatingKind(NamedTuple):
    """The common values of ratings of one kind."""

    #: The cell of the records.
    cell: Cell
    is_sampled: bool
    #: The judge's score as a JSON value, or its verdict; None without one.
    judge: Any
    #: The person's score or verdict; None without one.
    human: Any
    #: The families of the record's flag reasons, where they were loaded.
    families: tuple[str, ...] = ()

    @property
    def is_rated(self) -> bool:
        """Whether the judge and the person came to a verdict."""
        return bool(self.judge and self.human)

    @property
    def is_wrong(self) -> bool:
        """Whether the person came to another verdict than the judge."""
        return self.is_rated and self.judge != self.human

    @property
    def is_representative(self) -> bool:
        """Whether the record was flagged or sampled. Others represent no records but themselves."""
        return self.cell.is_flagged or self.is_sampled


@dataclass(frozen=True, eq=False)
class RatingBatch:
    """Ratings of one kind that have more in common."""

    kind: RatingKind
    #: See `records.clusters`. Sorted, so that figures do not depend on the order of rows in the database.
    cluster: IntArray
    #: See `Ratings.weight`.
    weight: float
    #: The score (JSON text) or the verdict that was submitted after the reveal; None if none was.
    final: str | None = None
    #: The key of each rating's record, where it was loaded.
    record: Keys = field(default_factory=lambda: _NO_KEYS)
    #: The key of the cell, where it was loaded.
    cell_id: int = 0

    @property
    def place(self) -> _Place:
        """The place of the batch among those of a criterion, which differs from that of all others."""
        return self.cell_id, self.kind.families, self.final is not None, self.final or "", self.weight

    @property
    def ratings(self) -> int:
        """The number of ratings."""
        return len(self.cluster)

    def without(self, records: Keys) -> "RatingBatch":
        """Return the batch without the ratings of some records."""
        kept = np.isin(self.record, records, invert=True)
        return replace(self, cluster=self.cluster[kept], record=self.record[kept])


@dataclass(frozen=True, eq=False)
class Ratings:
    """The ratings of a criterion, or of the verdict, sorted by kind."""

    kinds: tuple[RatingKind, ...]
    #: The number of ratings of each kind.
    counts: IntArray
    #: See `records.clusters`.
    cluster: IntArray
    #: 1 / (sampling probability x blind ratings of the record). 1 for an assisted rating.
    weight: FloatArray

    def __len__(self) -> int:
        return len(self.cluster)

    @cached_property
    def computed(self) -> dict[Any, tuple[Any, Any, Any]]:
        """The last arguments and results of functions: see `computed_once.computes_once`."""
        return {}

    def _meets(self, condition: Callable[[RatingKind], bool]) -> NDArray[np.bool_]:
        return np.array([condition(kind) for kind in self.kinds], dtype=np.bool_)

    def count(self, condition: Callable[[RatingKind], bool]) -> int:
        """Count the ratings of kinds that meet a condition."""
        return int(self.counts[self._meets(condition)].sum())

    def clusters_of(self, condition: Callable[[RatingKind], bool]) -> IntArray:
        """Return the clusters of the ratings of kinds that meet a condition."""
        return self.cluster[np.repeat(self._meets(condition), self.counts)]

    def only(self, condition: Callable[[RatingKind], bool]) -> "Ratings":
        """Return the ratings of kinds that meet a condition."""
        kept = self._meets(condition)
        if kept.all():
            return self
        chosen = np.repeat(kept, self.counts)
        return Ratings(
            tuple(kind for kind, is_kept in zip(self.kinds, kept, strict=True) if is_kept),
            self.counts[kept],
            self.cluster[chosen],
            self.weight[chosen],
        )


@dataclass(frozen=True, eq=False)
class RatingTable:
    """The ratings of a criterion, or of the verdict, with the scores that were submitted after the reveal."""

    #: Sorted by their places.
    batches: tuple[RatingBatch, ...]

    @cached_property
    def ratings(self) -> Ratings:
        """The ratings as columns."""
        return rating_columns(self.batches)

    @cached_property
    def record(self) -> Keys:
        """The key of each rating's record."""
        return np.concatenate([batch.record for batch in self.batches] or [_NO_KEYS])

    @classmethod
    def from_batches(cls, batches: Iterable[RatingBatch]) -> Self:
        """Build a table of batches in different places."""
        given = {batch.place: batch for batch in batches}
        return cls(_merged((), given, given, _NO_KEYS))

    def replaced(self, records: Keys, loaded: Iterable[RatingBatch]) -> "RatingTable":
        """Replace the ratings of some records. Returns the table itself if none of them has changed."""
        known = {batch.place: batch for batch in self._with_ratings_of(records)}
        given = {batch.place: batch for batch in loaded}
        changed = [
            place
            for place in {**known, **given}
            if _rows(known.get(place), records) != _rows(given.get(place), records)
        ]
        return RatingTable(_merged(self.batches, changed, given, records)) if changed else self

    def _with_ratings_of(self, records: Keys) -> list[RatingBatch]:
        """Return the batches with ratings of some records."""
        rows = np.flatnonzero(np.isin(self.record, records))
        ends = np.cumsum([batch.ratings for batch in self.batches])
        return [self.batches[number] for number in np.unique(np.searchsorted(ends, rows, side="right"))]


def _rows(batch: RatingBatch | None, records: Keys) -> list[tuple[int, int]]:
    """Return the record and the cluster of each rating of some records, sorted."""
    if batch is None:
        return []
    chosen = np.isin(batch.record, records)
    return sorted(zip(batch.record[chosen].tolist(), batch.cluster[chosen].tolist(), strict=True))


def _merged(
    batches: Iterable[RatingBatch],
    places: Iterable[_Place],
    given: Mapping[_Place, RatingBatch],
    records: Keys,
) -> tuple[RatingBatch, ...]:
    """Replace the ratings of some records in some places."""
    known = {batch.place: batch for batch in batches}
    kinds = {(batch.cell_id, batch.kind.families): batch.kind for batch in known.values()}
    for place in places:
        parts = [known[place].without(records)] if place in known else []
        if new := given.get(place):
            parts.append(replace(new, kind=kinds.setdefault((new.cell_id, new.kind.families), new.kind)))
        known[place] = _joined(parts)
    return tuple(known[place] for place in sorted(known) if known[place].ratings)


def _joined(batches: Sequence[RatingBatch]) -> RatingBatch:
    """Join batches of the same place."""
    cluster = np.concatenate([batch.cluster for batch in batches])
    # Numbers of 16 bits are sorted fastest.
    order = np.argsort(cluster.astype(np.uint16), kind="stable")
    record = np.concatenate([batch.record for batch in batches])
    return replace(batches[0], cluster=cluster[order], record=record[order])


@dataclass(frozen=True, eq=False)
class _Tables:
    """The tables of some criteria."""

    by_criterion: Mapping[str | None, RatingTable]

    @cached_property
    def held(self) -> int:
        """The number of ratings in memory."""
        return sum(len(table.record) for table in self.by_criterion.values())


def load_ratings(scope: JudgeScope, criterion: str | None = None, *, basis: Basis = "blind") -> Ratings:
    """Load the ratings of a criterion, or of the verdict (None)."""
    found = _tables(scope, basis, "verdicts" if criterion is None else "criteria").by_criterion
    return found[criterion].ratings if criterion in found else NO_RATINGS


def load_ratings_by_families(scope: JudgeScope, *, basis: Basis = "blind") -> Ratings:
    """Load the ratings of the verdict, with kinds that differ by flag reasons."""
    found = _tables(scope, basis, "families").by_criterion
    return found[None].ratings if found else NO_RATINGS


def load_all_ratings(scope: JudgeScope, *, basis: Basis = "blind") -> dict[str | None, Ratings]:
    """Load the ratings of the verdict (None) and of all criteria that have any."""
    return {criterion: table.ratings for criterion, table in load_tables(scope, basis=basis).items()}


def load_verdicts(scope: JudgeScope, *, basis: Basis = "blind") -> RatingTable:
    """Load the ratings of the verdict with what their reviewers submitted after the reveal."""
    return _tables(scope, basis, "verdicts").by_criterion.get(None, _NO_TABLE)


def load_tables(scope: JudgeScope, *, basis: Basis = "blind") -> dict[str | None, RatingTable]:
    """Load the same ratings with what their reviewers submitted after the reveal."""
    verdicts, criteria = (_tables(scope, basis, part) for part in ("verdicts", "criteria"))
    return {**verdicts.by_criterion, **criteria.by_criterion}


def _update(
    found: _Tables, records: frozenset[int], scope: JudgeScope, basis: Basis, part: _RatedPart
) -> _Tables:
    """Load the ratings of some records again."""
    keys = np.array(sorted(records), dtype=np.int64)
    loaded = _batches(scope, basis, part, keys.tolist())
    tables = {
        criterion: found.by_criterion.get(criterion, _NO_TABLE).replaced(keys, loaded.get(criterion, ()))
        for criterion in {**found.by_criterion, **loaded}
    }
    is_same = all(table is found.by_criterion.get(criterion) for criterion, table in tables.items())
    return found if is_same else _in_order(tables)


@loads
@cache_by_record(_update)
def _tables(scope: JudgeScope, basis: Basis, part: _RatedPart) -> _Tables:
    loaded = _batches(scope, basis, part, None)
    return _in_order({criterion: RatingTable.from_batches(found) for criterion, found in loaded.items()})


def _in_order(tables: Mapping[str | None, RatingTable]) -> _Tables:
    """Order tables by their first cells, and leave out those without ratings."""
    rated = [(criterion, table) for criterion, table in tables.items() if table.batches]
    return _Tables(dict(sorted(rated, key=lambda one: one[1].batches[0].place)))


def _batches(
    scope: JudgeScope, basis: Basis, part: _RatedPart, records: list[int] | None
) -> dict[str | None, list[RatingBatch]]:
    """Load the ratings of some records, or of all (None). Takes two queries."""
    strata = load_strata(scope)
    conditions, parameters = scope.rating_conditions
    parameters |= {"strata": [*strata], "is_blind": basis == "blind", "records": records}
    cells = _ALL if records is None else _OF_RECORDS
    found: dict[str | None, list[RatingBatch]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_statement(cells, conditions, part), parameters)
        for criterion, stratum, verdict, is_sampled, judge, human, families, *columns in cursor:
            read = read_verdict if criterion is None else read_score
            cell = cell_of(strata[stratum], verdict)
            kind = RatingKind(cell, is_sampled, read(judge), read(human), tuple(families or ()))
            clusters, packed, weight, final, cell_id = columns
            record = np.frombuffer(packed, dtype=">i8").astype(np.int64)
            batch = RatingBatch(kind, unpack_clusters(bytes(clusters)), weight, final, record, cell_id)
            found.setdefault(criterion, []).append(batch)
    return found


def _statement(cells: str, conditions: str, part: _RatedPart) -> str:
    families = _PARTS[part]["families"]
    packed = _PACKED.format(families=families)
    return _LOAD.format(
        cells=cells.format(packed=packed, conditions=conditions, families=families), **_PARTS[part]
    )


def rating_columns(batches: Sequence[RatingBatch]) -> Ratings:
    """Return the ratings of batches. Batches of the same kind have the same object and follow each other."""
    kinds: list[RatingKind] = []
    counts: list[int] = []
    for batch in batches:
        if not kinds or kinds[-1] is not batch.kind:
            kinds.append(batch.kind)
            counts.append(0)
        counts[-1] += batch.ratings
    return Ratings(
        tuple(kinds),
        np.array(counts, dtype=np.int32),
        np.concatenate([batch.cluster for batch in batches] or [_NONE]),
        np.repeat(
            np.array([batch.weight for batch in batches], dtype=np.float64),
            [batch.ratings for batch in batches],
        ),
    )


def read_verdict(word: str | None) -> str | None:
    """Return a verdict, or None for an empty word."""
    return word or None


NO_RATINGS = rating_columns([])
_NO_TABLE = RatingTable(())
