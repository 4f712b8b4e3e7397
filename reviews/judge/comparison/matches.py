"""Match the records of two judges that have the same response, and find the blind ratings of these responses.

Two records have the same response if task, model and answer are equal: see `response_key.sql`. A rating says
what a person thinks of the response, so it applies to the records of both judges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from django.db import connection
from django.db.models.expressions import RawSQL

from reviews.judge.comparison.judged_records import VERDICTS, JudgedRecords, array_of
from reviews.judge.scope import JudgeScope
from reviews.search.hidden_records import hidden_from
from reviews.statistics.paired import Responses
from reviews.statistics.strata import IntArray
from reviews.statistics.sums import BoolArray, Columns, FloatArray

# A rating as SQL packs it.
_RATING = np.dtype([("record", ">i8"), ("weight", ">f8"), ("raters", ">i2")])
# Ratings of unflagged records that were not sampled represent no others.
_RATINGS = """
    SELECT cell.criterion, cell.judge, cell.human, string_agg(
        int8send(evaluation_id) || float8send(1 / probability) || int2send(raters), ''
    )
    FROM rating_cell AS cell JOIN stratum ON stratum.id = cell.stratum_id
    JOIN rating ON rating.cell_id = cell.id
    WHERE cell.stratum_id = ANY(%(strata)s) AND cell.is_blind
      AND (cell.criterion IS NULL) = %(of_verdict)s
      AND (stratum.is_flagged OR cell.is_sampled) AND {conditions}
    GROUP BY 1, 2, 3
"""
#: The most records of the other judge that form a pair with a rating.
MOST_PARTNERS = 100
# Parameters of one query.
_MOST_KEYS = 10_000
# With more hidden records than this in a run, a figure reveals none of them.
_MOST_HIDDEN = 1_000


@dataclass(frozen=True, eq=False)
class RatedRecords(Columns):
    """Blind ratings of flagged and sampled records, as columns."""

    record: IntArray
    #: The place of the human verdict in `VERDICTS`, or another number of a score; -1 without one.
    human: IntArray
    #: 1 / (probability with which the record was drawn and scored blind).
    weight: FloatArray
    #: The number of blind ratings of the record.
    raters: IntArray


class Pairs(NamedTuple):
    """Rated records with a record of the other judge and the same response, as columns."""

    #: The place of the rating.
    rating: IntArray
    #: The places of the records among those of their judge.
    first: IntArray
    second: IntArray


@dataclass(frozen=True, eq=False)
class Matches:
    """The responses that two judges judged, with their records and ratings."""

    #: The records of the first and of the second judge whose response both judged.
    sides: tuple[JudgedRecords, JudgedRecords]
    #: For each side, the place of each record's response in `responses`.
    places: tuple[IntArray, IntArray]
    #: The ratings of these records.
    ratings: RatedRecords
    #: For each rating, the side of its record, 0 or 1.
    side: IntArray
    #: For each rating, the place of its record in the columns of its side.
    place: IntArray

    @cached_property
    def responses(self) -> Responses:
        """The responses as columns."""
        first, second = self.sides
        size = int(self.places[0].max(initial=-1)) + 1
        cluster, weight = np.zeros(size, dtype=np.int64), np.zeros(size)
        cluster[self.places[0]], weight[self.places[0]] = first.cluster, first.weight
        flags = [self._count(side, self.sides[side].is_flagged, 2, size) for side in range(2)]
        return Responses(
            cluster,
            self._count(0, first.verdict, len(VERDICTS), size),
            self._count(1, second.verdict, len(VERDICTS), size),
            np.concatenate(flags, axis=1),
            weight,
        )

    def _count(self, side: int, column: npt.NDArray[Any], width: int, size: int) -> IntArray:
        key = self.places[side] * width + column
        counts: IntArray = np.bincount(key, minlength=size * width).reshape(size, width)
        return counts

    @cached_property
    def response(self) -> IntArray:
        """The place of each rating's response in `responses`."""
        return self._of_rated(self.places)

    @property
    def frame(self) -> IntArray:
        """For each rating, `PairedRatings.frame`."""
        flagged = self._of_rated((self.sides[0].is_flagged, self.sides[1].is_flagged))
        return self.side * 2 + flagged.astype(np.int64)

    def _of_rated(self, columns: tuple[npt.NDArray[Any], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return the values of the rated records in columns of both sides."""
        found = np.zeros(len(self.side), dtype=columns[0].dtype)
        for side, column in enumerate(columns):
            chosen = self.side == side
            found[chosen] = column[self.place[chosen]]
        return found

    @cached_property
    def pairs(self) -> Pairs:
        """Each rated record with the records of the other judge, up to `MOST_PARTNERS`."""
        counts, starts = np.zeros((2, len(self.side)), dtype=np.int64)
        for side in range(2):
            chosen = self.side == side
            others = self.places[1 - side]
            starts[chosen] = np.searchsorted(others, self.response[chosen])
            counts[chosen] = np.searchsorted(others, self.response[chosen], side="right") - starts[chosen]
        counts = np.minimum(counts, MOST_PARTNERS)
        rating = np.repeat(np.arange(len(counts)), counts)
        before = np.cumsum(counts) - counts
        other = np.arange(len(rating)) - np.repeat(before - starts, counts)
        own = self.place[rating]
        is_first = self.side[rating] == 0
        return Pairs(rating, np.where(is_first, own, other), np.where(is_first, other, own))

    def without(self, responses: BoolArray) -> "Matches":
        """Return the matches without some responses and their ratings."""
        first, second = (
            records.only(~responses[places]) for records, places in zip(self.sides, self.places, strict=True)
        )
        return _match(first, second, self.ratings)

    def rated_by(self, ratings: RatedRecords) -> "Matches":
        """Return the same records with other ratings. Those of other records are left out."""
        return _with_ratings(self.sides, self.places, ratings)


def fetch_ratings(scopes: Sequence[JudgeScope], *, of_verdict: bool) -> list[tuple[Any, ...]]:
    """Fetch the blind ratings of the verdict, or of criteria, of flagged and sampled records.

    A row has the criterion, the judge's and the human's score, and packed ratings: see `unpack_ratings`. The
    scopes differ in the run alone. Takes two queries.
    """
    conditions, values = scopes[0].rating_conditions
    of_scopes = reduce(or_, (scope.strata() for scope in scopes))
    values |= {"strata": [*of_scopes.values_list("pk", flat=True)], "of_verdict": of_verdict}
    with connection.cursor() as cursor:
        cursor.execute(_RATINGS.format(conditions=conditions), values)
        return [*cursor]


def load_ratings(scopes: Sequence[JudgeScope]) -> RatedRecords:
    """Load the ratings of the verdict."""
    return concatenate(
        [
            unpack_ratings(bytes(packed), VERDICTS.index(human) if human in VERDICTS else -1)
            for *_, human, packed in fetch_ratings(scopes, of_verdict=True)
        ]
    )


def unpack_ratings(packed: bytes, human: int) -> RatedRecords:
    """Return ratings with one score that SQL packed: record, weight and raters."""
    found = np.frombuffer(packed, dtype=_RATING)
    return RatedRecords(
        found["record"].astype(np.int64),
        np.full(len(found), human, dtype=np.int64),
        found["weight"].astype(np.float64),
        found["raters"].astype(np.int64),
    )


def concatenate(parts: Sequence[RatedRecords]) -> RatedRecords:
    """Return all ratings of several parts, in the order of records."""
    rows = [(one.record, one.human, one.weight, one.raters) for one in (*parts, unpack_ratings(b"", -1))]
    found = RatedRecords(*map(np.concatenate, zip(*rows, strict=True)))
    return found.only(np.argsort(found.record, kind="stable"))


def match(first: JudgedRecords, second: JudgedRecords, ratings: RatedRecords) -> Matches:
    """Match the records of two judges. Records and ratings without a partner are left out."""
    kept = (_occurs(one.response, other.response) for one, other in ((first, second), (second, first)))
    return _match(first.only(next(kept)), second.only(next(kept)), ratings)


def _occurs(sought: IntArray, known: IntArray) -> BoolArray:
    """Return which values occur among others. Both are sorted."""
    if not len(known):
        return np.zeros(len(sought), dtype=np.bool_)
    occurs: BoolArray = known[np.minimum(np.searchsorted(known, sought), len(known) - 1)] == sought
    return occurs


def _match(first: JudgedRecords, second: JudgedRecords, ratings: RatedRecords) -> Matches:
    """Match records whose responses both have."""
    sides = first, second
    return _with_ratings(sides, (_number(first.response), _number(second.response)), ratings)


def _number(response: IntArray) -> IntArray:
    """Number sorted values from 0. Equal ones have the same number."""
    numbers: IntArray = np.cumsum(np.diff(response, prepend=response[:1]) != 0)
    return numbers


def _with_ratings(
    sides: tuple[JudgedRecords, JudgedRecords], places: tuple[IntArray, IntArray], ratings: RatedRecords
) -> Matches:
    record = np.concatenate([sides[0].record, sides[1].record])
    order = np.argsort(record)
    found = np.searchsorted(record, ratings.record, sorter=order)
    kept = found < len(record)
    at = order[found[kept]]
    kept[kept] = record[at] == ratings.record[kept]
    at = order[found[kept]]
    side = (at >= len(sides[0])).astype(np.int64)
    return Matches(sides, places, ratings.only(kept), side, at - side * len(sides[0]))


def hidden_keys(scope: JudgeScope, records: IntArray, is_rated: BoolArray) -> IntArray:
    """Return those of these records of a scope that somebody may still score blind.

    Of more than `_MOST_KEYS` records, all rated ones are returned, and up to `_MOST_HIDDEN` of the others.
    """
    run = scope.run
    if not run.blind_share:
        return np.zeros(0, dtype=np.int64)
    hidden = scope.records().filter(hidden_from(None, run)).order_by().values_list("pk", flat=True)
    found = [*hidden[: _MOST_HIDDEN + 1]]
    if len(found) > _MOST_HIDDEN:
        asked = records if len(records) <= _MOST_KEYS else records[is_rated]
        for start in range(0, len(asked), _MOST_KEYS):
            some = array_of(asked[start : start + _MOST_KEYS])
            found += hidden.filter(pk__in=RawSQL("SELECT unnest(%s::bigint[])", [some]))
    return np.array(found, dtype=np.int64)
