"""Load the ratings of a scope as columns: the scores of people and of the judge, by criterion or as verdicts.

Blind ratings are the scores that were locked in before the judge's scores were shown, whatever became of the
record. Assisted ratings are those of current decisions whose reviewers saw them.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, groupby
from typing import Any, Literal, NamedTuple

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from reviews.judge.cells import PACKED_CLUSTER, Cell, IntArray, unpack_clusters
from reviews.judge.loading import loads
from reviews.judge.scope import JudgeScope

Basis = Literal["blind", "assisted"]
FloatArray = NDArray[np.float64]

# Most ratings of a cell have the same weight, so only their clusters are packed.
_BATCHES = """
    SELECT cell.criterion, cell.stratum_id, cell.verdict, cell.is_sampled, cell.judge, cell.human,
           packed, weight, final, cell.id{families}
    FROM rating_cell AS cell CROSS JOIN LATERAL (
        SELECT 1 / (probability * raters) AS weight, final{families},
               string_agg(int2send((cluster - 32768)::int2), '') AS packed
        FROM rating WHERE rating.cell_id = cell.id AND {conditions}
        GROUP BY probability, raters, final{families}
    ) AS found
    WHERE cell.stratum_id = ANY(%(strata)s) AND cell.is_blind = %(is_blind)s AND {criteria}
    ORDER BY cell.id{families}, final, weight
"""
_COUNT_BY_FAMILIES = """
    SELECT NULL, cell.stratum_id, cell.verdict, cell.is_sampled, cell.judge, cell.human, ratings, families
    FROM (
        SELECT cell_id, rating.families, count(*) AS ratings
        FROM rating_cell AS cell JOIN rating ON rating.cell_id = cell.id
        WHERE cell.stratum_id = ANY(%(strata)s) AND cell.is_blind = %(is_blind)s AND cell.criterion IS NULL
          AND {conditions}
        GROUP BY cell_id, rating.families
    ) AS found JOIN rating_cell AS cell ON cell.id = cell_id
    ORDER BY cell.id, families
"""
_COUNT = """
    SELECT NULL, cell.stratum_id, cell.verdict, cell.is_sampled, cell.judge, cell.human, ratings
    FROM rating_cell AS cell CROSS JOIN LATERAL (
        SELECT count(*) AS ratings FROM rating WHERE rating.cell_id = cell.id AND {conditions}
    ) AS found
    WHERE cell.stratum_id = ANY(%(strata)s) AND cell.is_blind = %(is_blind)s AND cell.criterion IS NULL
      AND found.ratings > 0
    ORDER BY cell.id
"""
_KINDS = """
    SELECT NULL, cell.stratum_id, cell.verdict, cell.is_sampled, cell.judge, cell.human, 1
    FROM rating_cell AS cell
    WHERE cell.stratum_id = ANY(%(strata)s) AND cell.is_blind = %(is_blind)s AND cell.criterion IS NULL
      AND EXISTS (SELECT FROM rating WHERE rating.cell_id = cell.id AND {conditions})
    ORDER BY cell.id
"""


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


class RatingBatch(NamedTuple):
    """Ratings of one kind that have more in common."""

    kind: RatingKind
    #: The cluster of each: see `cells.unpack_clusters`.
    packed: bytes
    #: See `Ratings.weight`.
    weight: float
    #: The score (JSON text) or the verdict that was submitted after the reveal; None if none was.
    final: str | None = None

    @property
    def ratings(self) -> int:
        """The number of ratings."""
        return len(self.packed) // PACKED_CLUSTER.itemsize


@dataclass(frozen=True, eq=False)
class RatingCounts:
    """The numbers of ratings of a criterion, or of the verdict, by kind."""

    kinds: tuple[RatingKind, ...]
    #: The number of ratings of each kind.
    counts: IntArray

    def only(self, condition: Callable[[RatingKind], bool]) -> "RatingCounts":
        """Return the kinds that meet a condition."""
        kept = [place for place, kind in enumerate(self.kinds) if condition(kind)]
        return RatingCounts(tuple(self.kinds[place] for place in kept), self.counts[kept])


@dataclass(frozen=True, eq=False)
class Ratings:
    """The ratings of a criterion, or of the verdict: columns of one length, sorted by kind."""

    kinds: tuple[RatingKind, ...]
    #: The place of each rating's kind in `kinds`.
    kind: IntArray
    #: See `records.clusters`.
    cluster: IntArray
    #: 1 / (sampling probability x blind ratings of the record). 1 for an assisted rating.
    weight: FloatArray

    def __len__(self) -> int:
        return len(self.kind)

    @cached_property
    def counts(self) -> IntArray:
        """The number of ratings of each kind."""
        return np.bincount(self.kind, minlength=len(self.kinds)).astype(np.int32)

    def only(self, condition: Callable[[RatingKind], bool]) -> "Ratings":
        """Return the ratings of kinds that meet a condition."""
        kept = np.array([condition(kind) for kind in self.kinds], dtype=np.bool_)
        if kept.all():
            return self
        number = np.cumsum(kept, dtype=np.int32) - 1
        chosen = kept[self.kind]
        return Ratings(
            tuple(kind for kind, is_kept in zip(self.kinds, kept, strict=True) if is_kept),
            number[self.kind[chosen]],
            self.cluster[chosen],
            self.weight[chosen],
        )


@loads
def load_ratings(scope: JudgeScope, criterion: str | None = None, *, basis: Basis = "blind") -> Ratings:
    """Load the ratings of a criterion, or of the verdict (None). Takes two queries."""
    if (known := load_all_ratings.known(scope, basis=basis)) is not None:
        return known.get(criterion) or NO_RATINGS
    condition = "cell.criterion IS NULL" if criterion is None else "cell.criterion = %(criterion)s"
    found = _batches(scope, basis, _statement(condition), {"criterion": criterion})
    return rating_columns(found.get(criterion, []))


@loads
def load_ratings_by_families(scope: JudgeScope, *, basis: Basis = "blind") -> Ratings:
    """Load the ratings of the verdict, with kinds that differ by flag reasons. Takes two queries."""
    found = _batches(scope, basis, _statement("cell.criterion IS NULL", families=", families"), {})
    return rating_columns(found.get(None, []))


@loads
def load_all_ratings(scope: JudgeScope, *, basis: Basis = "blind") -> dict[str | None, Ratings]:
    """Load the ratings of the verdict (None) and of all criteria that have any. Takes two queries."""
    batches = load_batches(scope, basis=basis)
    return {criterion: rating_columns(found) for criterion, found in batches.items()}


@loads
def load_batches(scope: JudgeScope, *, basis: Basis = "blind") -> dict[str | None, list[RatingBatch]]:
    """Load the same ratings with what their reviewers submitted after the reveal. Takes two queries."""
    return _batches(scope, basis, _statement("true"), {})


def _statement(criteria: str, *, families: str = "") -> str:
    return _BATCHES.replace("{criteria}", criteria).replace("{families}", families)


@loads
def count_ratings(scope: JudgeScope, *, basis: Basis) -> RatingCounts:
    """Count the ratings of the verdict. Takes two queries."""
    if (known := load_all_ratings.known(scope, basis=basis)) is not None:
        ratings = known.get(None) or NO_RATINGS
        return RatingCounts(ratings.kinds, ratings.counts)
    return _count(scope, basis, _COUNT)


@loads
def count_ratings_by_families(scope: JudgeScope, *, basis: Basis) -> RatingCounts:
    """Count the ratings of the verdict, with kinds that differ by flag reasons. Takes two queries."""
    return _count(scope, basis, _COUNT_BY_FAMILIES)


def _count(scope: JudgeScope, basis: Basis, statement: str) -> RatingCounts:
    rows = _rows(scope, basis, statement, {}).get(None, [])
    return RatingCounts(
        tuple(_with_families(kind, families) for kind, (_, *families) in rows),
        np.array([count for _, (count, *_) in rows], dtype=np.int32),
    )


@loads
def list_kinds(scope: JudgeScope, *, basis: Basis) -> tuple[RatingKind, ...]:
    """List the kinds of the ratings of the verdict, without counting them. Takes two queries."""
    return tuple(kind for kind, _ in _rows(scope, basis, _KINDS, {}).get(None, []))


def _batches(
    scope: JudgeScope, basis: Basis, statement: str, values: dict[str, Any]
) -> dict[str | None, list[RatingBatch]]:
    found: dict[str | None, list[RatingBatch]] = {}
    for criterion, rows in _rows(scope, basis, statement, values).items():
        batches = found[criterion] = []
        for (_cell, *families), same in groupby(rows, key=lambda row: row[1][3:]):
            of_kind = [*same]
            kind = _with_families(of_kind[0][0], families)
            for _, (packed, weight, final, *_) in of_kind:
                batches.append(RatingBatch(kind, bytes(packed), weight, final))
    return found


def _with_families(kind: RatingKind, families: list[list[str]]) -> RatingKind:
    return RatingKind(*kind[:-1], tuple(chain.from_iterable(families)))


def _rows(
    scope: JudgeScope, basis: Basis, statement: str, values: dict[str, Any]
) -> dict[str | None, list[tuple[RatingKind, list[Any]]]]:
    """Return each kind of rating with its further columns, by criterion."""
    strata = {stratum.pk: stratum for stratum in scope.strata()}
    conditions, parameters = scope.rating_conditions
    parameters |= values | {"strata": [*strata], "is_blind": basis == "blind"}
    found: dict[str | None, list[tuple[RatingKind, list[Any]]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(statement.replace("{conditions}", conditions), parameters)
        for criterion, key, verdict, is_sampled, judge_text, human_text, *columns in cursor:
            of = strata[key]
            cell = Cell(
                of.is_flagged, verdict, of.judge_llm_model, of.judge_prompt_template_path, of.model_id
            )
            read = read_verdict if criterion is None else read_score
            kind = RatingKind(cell, is_sampled, read(judge_text), read(human_text))
            found.setdefault(criterion, []).append((kind, columns))
    return found


def rating_columns(batches: Sequence[RatingBatch]) -> Ratings:
    """Return the ratings of batches. Batches of the same kind have the same object and follow each other."""
    kinds: list[RatingKind] = []
    places = []
    for batch in batches:
        if not kinds or kinds[-1] is not batch.kind:
            kinds.append(batch.kind)
        places.append(len(kinds) - 1)
    sizes = [batch.ratings for batch in batches]
    return Ratings(
        tuple(kinds),
        np.repeat(np.array(places, dtype=np.int32), sizes),
        unpack_clusters(b"".join(batch.packed for batch in batches)),
        np.repeat(np.array([batch.weight for batch in batches], dtype=np.float64), sizes),
    )


def read_verdict(word: str | None) -> str | None:
    """Return a verdict, or None for an empty word."""
    return word or None


@lru_cache(maxsize=1024)
def read_score(text: str | None) -> Any:
    """Parse a score from its JSON text. Returns the text itself if it was cut off."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


NO_RATINGS = rating_columns([])
