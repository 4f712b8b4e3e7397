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

from reviews.judge.comparison.judges import JudgeAndPrompt
from reviews.judge.scope import JudgeScope
from reviews.search.facets import NO_VERDICT, VERDICT_ORDER, facet_key
from reviews.search.hidden_records import hidden_from
from reviews.statistics.paired import Responses
from reviews.statistics.strata import IntArray
from reviews.statistics.sums import BoolArray, FloatArray

#: The verdicts, in the order of `EvaluationFacets.verdict_order`.
VERDICTS = tuple(verdict for verdict in VERDICT_ORDER if verdict != NO_VERDICT)

# A record and a rating as SQL packs them.
_RECORD = np.dtype(
    [
        ("response", ">i8"),
        ("record", ">i8"),
        ("verdict", ">i2"),
        ("is_flagged", ">i2"),
        ("cluster", ">i4"),
        ("judge", ">i2"),
    ]
)
_RATING = np.dtype([("record", ">i8"), ("weight", ">f8"), ("raters", ">i2")])
_RECORDS = """
    WITH answered AS (
        SELECT evaluation_id, response, verdict_order, is_flagged, cluster, {judge} AS judge
        FROM evaluation_facets AS known WHERE run_id = %(run)s AND response <= %(last)s AND {chosen}
        UNION ALL
        SELECT known.evaluation_id,
               response_key(task_id, evaluation.evaluation_id, model_id, context.response),
               verdict_order, is_flagged, cluster, {judge}
        FROM evaluation_facets AS known JOIN evaluation ON evaluation.id = known.evaluation_id
        CROSS JOIN LATERAL context_answer(known.run_id, task_id, model_id, response_id) AS context (response)
        WHERE known.run_id = %(run)s AND known.response IS NULL AND evaluation.run_id = %(run)s AND {chosen}
          AND task_id IN (SELECT task_id FROM task_context WHERE run_id = %(run)s OR run_id IS NULL)
          AND has_answer(context.response)
    )
    SELECT string_agg(
        int8send(response) || int8send(evaluation_id) || int2send(verdict_order)
        || int2send(is_flagged::int::int2) || int4send(cluster) || int2send(judge::int2), ''
    )
    FROM answered WHERE judge >= 0 AND response <= %(last)s
"""
# The numbers of responses are hashes, so those with the lowest numbers are a random sample.
_LAST = """
    SELECT response FROM evaluation_facets AS one WHERE run_id = %(first)s AND response IS NOT NULL AND {one}
      AND EXISTS (SELECT FROM evaluation_facets AS other
                  WHERE other.run_id = %(second)s AND other.response = one.response AND {other})
    ORDER BY response OFFSET %(most)s LIMIT 1
"""
# Ratings of unflagged records that were not sampled represent no others.
_RATINGS = """
    SELECT coalesce(cell.human, ''), string_agg(
        int8send(evaluation_id) || float8send(1 / probability) || int2send(raters), ''
    )
    FROM rating_cell AS cell JOIN stratum ON stratum.id = cell.stratum_id
    JOIN rating ON rating.cell_id = cell.id
    WHERE cell.stratum_id = ANY(%(strata)s) AND cell.is_blind AND cell.criterion IS NULL
      AND (stratum.is_flagged OR cell.is_sampled) AND {conditions}
    GROUP BY 1
"""
#: The most records of the other judge that form a pair with a rating.
MOST_PARTNERS = 100
_HIGHEST = 2**63 - 1
# Parameters of one query.
_MOST_KEYS = 10_000
# With more hidden records than this in a run, a figure reveals none of them.
_MOST_HIDDEN = 1_000


@dataclass(frozen=True, eq=False)
class Records:
    """Records with a verdict and an answer, as columns sorted by response."""

    #: See `response_key.sql`.
    response: IntArray
    #: The keys of the records.
    record: IntArray
    #: The place of each verdict in `VERDICTS`.
    verdict: IntArray
    is_flagged: BoolArray
    cluster: IntArray
    #: The place of each record's judge in the list of judges, or 0.
    judge: IntArray
    #: The number of records without a verdict, which are left out.
    without_verdict: int

    def __len__(self) -> int:
        return len(self.record)

    def only(self, kept: BoolArray) -> "Records":
        """Return some of the records."""
        return Records(
            self.response[kept],
            self.record[kept],
            self.verdict[kept],
            self.is_flagged[kept],
            self.cluster[kept],
            self.judge[kept],
            self.without_verdict,
        )


@dataclass(frozen=True, eq=False)
class RatedRecords:
    """Blind ratings of flagged and sampled records, as columns."""

    record: IntArray
    #: The place of the human verdict in `VERDICTS`, or another number of a score; -1 without one.
    human: IntArray
    #: 1 / (probability with which the record was drawn and scored blind).
    weight: FloatArray
    #: The number of blind ratings of the record.
    raters: IntArray

    def __len__(self) -> int:
        return len(self.record)

    def only(self, kept: npt.NDArray[Any]) -> "RatedRecords":
        """Return some of the ratings."""
        return RatedRecords(self.record[kept], self.human[kept], self.weight[kept], self.raters[kept])


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
    sides: tuple[Records, Records]
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
        cluster = np.zeros(size, dtype=np.int64)
        cluster[self.places[0]] = first.cluster
        flags = [self._count(side, self.sides[side].is_flagged, 2, size) for side in range(2)]
        return Responses(
            cluster,
            self._count(0, first.verdict, len(VERDICTS), size),
            self._count(1, second.verdict, len(VERDICTS), size),
            np.concatenate(flags, axis=1),
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


def last_of_sample(first: JudgeScope, second: JudgeScope, most: int) -> int | None:
    """Return the last response of a random sample of about `most` records of the first scope.

    Their responses are in both scopes, which differ in the run alone. None if there are no more than these.
    """
    one, values = first.facet_conditions("one")
    other, _ = second.facet_conditions("other")
    values |= {"first": first.run.pk, "second": second.run.pk, "most": most}
    with connection.cursor() as cursor:
        cursor.execute(_LAST.format(one=one, other=other), values)
        found = cursor.fetchone()
    return found[0] if found else None


def load_records(
    scope: JudgeScope, judges: tuple[JudgeAndPrompt, ...] = (), *, last: int | None = None
) -> Records:
    """Load the records of a scope, or of some of its judges. Takes one query.

    With `last`, only those of responses up to this one.
    """
    chosen, values = scope.facet_conditions("known")
    values |= {"run": scope.run.pk, "last": _HIGHEST if last is None else last}
    judge = "0"
    if judges:
        judge = "CASE"
        for place, name in enumerate(judges):
            values[f"keys{place}"] = [facet_key("judge", name.judge), facet_key("template", name.template)]
            judge += f" WHEN keys @> %(keys{place})s::bigint[] THEN {place}"
        judge += " ELSE -1 END"
    with connection.cursor() as cursor:
        cursor.execute(_RECORDS.format(judge=judge, chosen=chosen), values)
        [(packed,)] = cursor.fetchall()
    found = np.frombuffer(packed or b"", dtype=_RECORD)
    has_verdict = found["verdict"] < len(VERDICTS)
    columns = {name: found[name].astype(np.int64)[has_verdict] for name in found.dtype.names or ()}
    order = np.argsort(columns["response"], kind="stable")
    columns = {name: column[order] for name, column in columns.items()}
    return Records(
        columns["response"],
        columns["record"],
        columns["verdict"],
        columns["is_flagged"] > 0,
        columns["cluster"],
        columns["judge"],
        int((~has_verdict).sum()),
    )


def rating_conditions(scopes: Sequence[JudgeScope]) -> tuple[str, dict[str, Any]]:
    """Return the ratings of scopes that differ in the run alone as SQL, with parameters that name the strata.

    Takes a query.
    """
    conditions, values = scopes[0].rating_conditions
    of_scopes = reduce(or_, (scope.strata() for scope in scopes))
    return conditions, values | {"strata": [*of_scopes.values_list("pk", flat=True)]}


def load_ratings(scopes: Sequence[JudgeScope]) -> RatedRecords:
    """Load the blind ratings of the verdict of flagged and sampled records. Takes two queries.

    The scopes differ in the run alone.
    """
    conditions, values = rating_conditions(scopes)
    with connection.cursor() as cursor:
        cursor.execute(_RATINGS.format(conditions=conditions), values)
        parts = [
            unpack_ratings(bytes(packed), VERDICTS.index(human) if human in VERDICTS else -1)
            for human, packed in cursor
        ]
    return concatenate(parts)


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
    parts = [*parts, unpack_ratings(b"", -1)]
    record = np.concatenate([one.record for one in parts])
    order = np.argsort(record, kind="stable")
    return RatedRecords(
        record[order],
        np.concatenate([one.human for one in parts])[order],
        np.concatenate([one.weight for one in parts])[order],
        np.concatenate([one.raters for one in parts])[order],
    )


def match(first: Records, second: Records, ratings: RatedRecords) -> Matches:
    """Match the records of two judges. Records and ratings without a partner are left out."""
    kept = (_occurs(one.response, other.response) for one, other in ((first, second), (second, first)))
    return _match(first.only(next(kept)), second.only(next(kept)), ratings)


def _occurs(sought: IntArray, known: IntArray) -> BoolArray:
    """Return which values occur among others. Both are sorted."""
    if not len(known):
        return np.zeros(len(sought), dtype=np.bool_)
    occurs: BoolArray = known[np.minimum(np.searchsorted(known, sought), len(known) - 1)] == sought
    return occurs


def _match(first: Records, second: Records, ratings: RatedRecords) -> Matches:
    """Match records whose responses both have."""
    sides = first, second
    return _with_ratings(sides, (_number(first.response), _number(second.response)), ratings)


def _number(response: IntArray) -> IntArray:
    """Number sorted values from 0. Equal ones have the same number."""
    numbers: IntArray = np.cumsum(np.diff(response, prepend=response[:1]) != 0)
    return numbers


def _with_ratings(
    sides: tuple[Records, Records], places: tuple[IntArray, IntArray], ratings: RatedRecords
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
            some = asked[start : start + _MOST_KEYS].tolist()
            # An array, because a list of so many parameters is slow.
            found += hidden.filter(pk__in=RawSQL("SELECT unnest(%s::bigint[])", [some]))
    return np.array(found, dtype=np.int64)
