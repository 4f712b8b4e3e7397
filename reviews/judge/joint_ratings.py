"""Load the blind ratings of records that several people scored, to compare people with each other."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db import connection

from reviews.judge.cells import cell_of, load_strata
from reviews.judge.loading import loads
from reviews.judge.ratings import FloatArray, RatingKind
from reviews.judge.scope import JudgeScope
from reviews.records.clusters import CLUSTERS
from reviews.records.rubric import Rubric
from reviews.records.scores import read_score
from reviews.rubric.run_rubric import run_rubric
from reviews.statistics.reliability import Patterns
from reviews.statistics.score_categories import ScoreCategories, in_rubric_order
from reviews.statistics.strata import IntArray

# A rating as SQL packs it.
_PACKED = np.dtype([("record", ">i8"), ("reviewer", ">i8"), ("cluster", ">i2"), ("weight", ">f8")])
_LOAD = """
    SELECT cell.criterion, cell.stratum_id, cell.verdict, cell.is_sampled, cell.judge, cell.human, packed
    FROM rating_cell AS cell CROSS JOIN LATERAL (
        SELECT string_agg(
            int8send(evaluation_id) || int8send(reviewer_id) || int2send((cluster - 32768)::int2)
            || float8send(1 / probability), ''
        ) AS packed
        FROM rating WHERE rating.cell_id = cell.id AND rating.raters > 1 AND {conditions}
    ) AS found
    WHERE cell.stratum_id = ANY(%(strata)s) AND cell.is_blind AND found.packed IS NOT NULL
    ORDER BY cell.id
"""


@dataclass(frozen=True, eq=False)
class JointRatings:
    """Ratings of one criterion, or of the verdict, by several people: columns of one length."""

    #: The scores of the criterion, or the verdicts.
    scale: ScoreCategories
    kinds: tuple[RatingKind, ...]
    #: The place of each rating's kind in `kinds`.
    kind: IntArray
    #: The key of the record.
    record: IntArray
    #: The key of the person.
    reviewer: IntArray
    #: See `records.clusters`.
    cluster: IntArray
    #: The inverse of the probability with which the record was drawn and scored blind.
    weight: FloatArray

    @property
    def human(self) -> IntArray:
        """The category of each person's score, or -1."""
        return self._places(lambda kind: kind.human)

    @property
    def judge(self) -> IntArray:
        """The category of the judge's score, or -1."""
        return self._places(lambda kind: kind.judge)

    def _places(self, score: Callable[[RatingKind], Any]) -> IntArray:
        places = [self.scale.place(score(kind)) for kind in self.kinds]
        found: IntArray = np.array([-1 if place is None else place for place in places], dtype=np.int64)
        return found[self.kind]

    def only(self, condition: Callable[[RatingKind], bool]) -> "JointRatings":
        """Return the ratings of kinds that meet a condition."""
        kept = np.array([condition(kind) for kind in self.kinds], dtype=np.bool_)[self.kind]
        columns = ("kind", "record", "reviewer", "cluster", "weight")
        return replace(self, **{name: getattr(self, name)[kept] for name in columns})

    def patterns(self) -> Patterns:
        """Arrange the scores by record. Scores without a category are left out."""
        human = self.human
        kept = human >= 0
        record, place = self.record[kept], human[kept]
        order = np.lexsort((place, record))
        starts = np.flatnonzero(np.diff(record[order], prepend=-1))
        if not len(starts):
            return Patterns((), self.weight[:0], self.cluster[:0])
        # A record that is scored twice was in the smaller blind share of both times.
        return Patterns(
            tuple(tuple(each.tolist()) for each in np.split(place[order], starts[1:])),
            np.maximum.reduceat(self.weight[kept][order], starts),
            self.cluster[kept][order[starts]],
        )


@loads
def load_joint_ratings(scope: JudgeScope) -> dict[str | None, JointRatings]:
    """Load the ratings of each criterion, and of the verdict (None), in the order of the rubric.

    The filter by reviewer is ignored: it would leave nobody to compare with. Takes two queries.
    """
    scope = replace(scope, reviewer=None)
    strata = load_strata(scope)
    conditions, parameters = scope.rating_conditions
    rows: dict[str | None, list[tuple[RatingKind, bytes]]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_LOAD.format(conditions=conditions), parameters | {"strata": [*strata]})
        for criterion, key, verdict, is_sampled, *scores, packed in cursor:
            judge, human = scores if criterion is None else map(read_score, scores)
            rows[criterion].append(
                (RatingKind(cell_of(strata[key], verdict), is_sampled, judge, human), bytes(packed))
            )
    rubric = run_rubric(scope.run)
    return {name: _columns(rubric, name, rows[name]) for name in in_rubric_order(rubric, rows)}


def _columns(rubric: Rubric, criterion: str | None, rows: list[tuple[RatingKind, bytes]]) -> JointRatings:
    packed = np.frombuffer(b"".join(part for _, part in rows), dtype=_PACKED)
    counts = [len(part) // _PACKED.itemsize for _, part in rows]
    kinds = tuple(kind for kind, _ in rows)
    return JointRatings(
        ScoreCategories.from_ratings(rubric, criterion, kinds),
        kinds,
        np.repeat(np.arange(len(rows), dtype=np.int32), counts),
        packed["record"].astype(np.int64),
        packed["reviewer"].astype(np.int64),
        packed["cluster"].astype(np.int32) + CLUSTERS // 2,
        packed["weight"].astype(np.float64),
    )
