"""Measure the judge of a run against a gold set: the frozen decisions on the same responses.

A record has the same response as a rating of the set if task, model and answer are equal: see
`response_key.sql`. If several records of the run have it, they share the weight of the rating.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Q
from numpy.typing import NDArray

from cognireview.types import judge
from cognireview.types.encoding import members
from cognireview.types.estimates import Basis
from cognireview.types.judge import GoldBasis
from reviews.database.replica import read_from_replica
from reviews.database.statements import fetch_all
from reviews.judge.accuracy_figures import AccuracyFigures, Measured
from reviews.judge.cells import FEWEST, PACKED_CLUSTER, Cell, unpack_clusters
from reviews.judge.drilldown import is_said
from reviews.judge.rated_run import totals_of_ratings
from reviews.judge.ratings import RatingBatch, RatingKind, Ratings, rating_columns, read_verdict
from reviews.judge.scope import JudgeScope
from reviews.judge.score_pairs import ScorePairs
from reviews.models import GoldRating, GoldSet
from reviews.records.rubric import Rubric
from reviews.records.rubric_file import rubric_from_json
from reviews.records.scores import criterion_title, read_score
from reviews.records.status import QUEUE_STATUSES
from reviews.records.wording import counted
from reviews.rubric.run_rubric import run_rubric
from reviews.search import indexing
from reviews.search.facets import NO_VERDICT, VERDICT_ORDER
from reviews.search.hidden_records import hidden_from
from reviews.statistics.score_categories import ScoreCategories, in_rubric_order

#: The filters of the judge's pages that are about records.
GOLD_FILTERS = ("judge", "template", "model", "task")
BASES: dict[GoldBasis, str] = {
    "blind": "Blind ratings: people scored the responses before they saw any judge's scores. Each is "
    "weighted to the records that it represented in the run it comes from.",
    "adjudicated": "Adjudicated decisions: a lead decided between reviewers who disagreed, and saw a judge's "
    "scores. They are about hard responses only, and describe these and no others.",
}
DEFINITION = (
    "The share of the gold set's ratings whose verdict (or score of a criterion) this run's judge gave, too. "
    "It describes the responses that are in the gold set and in this run. The interval counts tasks."
)
# A rating as SQL packs it.
_PACKED = np.dtype([("cluster", PACKED_CLUSTER), ("weight", ">f8")])
_NO_CRITERIA = "Criteria take too long on a page. Run manage.py gold_sets measure instead."
_NOT_INDEXED = "The records of the run are still being indexed. Try again in a few minutes."

# Ratings of the gold set with the records of the run that have the same response, with the weight of each
# pair. The second part finds responses in task context.
_PAIRED = """
    WITH gold AS NOT MATERIALIZED (SELECT * FROM gold_rating WHERE gold_set_id = %(gold_set)s),
    matched AS (
        SELECT gold.id, facets.evaluation_id AS record, facets.verdict_order
        FROM gold JOIN evaluation_facets AS facets
             ON facets.run_id = %(run)s AND facets.response = gold.response
        UNION ALL
        SELECT gold.id, facets.evaluation_id, facets.verdict_order
        FROM gold
        JOIN evaluation AS found ON found.run_id = %(run)s AND found.task_id = gold.task_id
             AND found.model_id IS NOT DISTINCT FROM gold.model_id
        JOIN evaluation_facets AS facets ON facets.evaluation_id = found.id AND facets.response IS NULL
        CROSS JOIN LATERAL (
            SELECT context_answer(found.run_id, found.task_id, found.model_id, found.response_id) AS answer
        ) AS context
        WHERE has_answer(answer)
          AND response_key(found.task_id, found.evaluation_id, found.model_id, answer) = gold.response
    ), paired AS (
        SELECT gold.*, record, record = ANY(%(hidden)s) AS is_hidden, human_review_status,
               (%(verdicts)s::text[])[verdict_order + 1] AS judged_verdict,
               judged_scores(parsed_rubric_scores, extracted_scores) AS judged,
               1 / count(*) OVER (PARTITION BY basis, record)::float8 AS part,
               int2send((task_cluster(gold.task_id, gold.evaluation_id) - 32768)::int2) || float8send(
                   1 / (probability * raters * count(*) OVER (PARTITION BY gold.id))
               ) AS packed
        FROM matched JOIN gold USING (id) JOIN evaluation ON evaluation.id = record
        WHERE (%(judge)s::text IS NULL OR judge_llm_model = %(judge)s)
          AND (%(template)s::text IS NULL OR judge_prompt_template_path = %(template)s)
          AND (%(model)s::text IS NULL OR coalesce(evaluation.model_id, '') = %(model)s)
          AND (%(task)s::text IS NULL OR evaluation.task_id = %(task)s)
    )
"""
_VERDICTS = """
    {paired}
    SELECT basis, NULL AS criterion, is_flagged, is_hidden, judged_verdict, verdict, sum(part),
           string_agg(packed, '')
    FROM paired GROUP BY 1, 3, 4, 5, 6 ORDER BY 1, 3, 4, 5, 6
"""
_CRITERIA = """
    {paired}
    SELECT basis, left(key, 200) AS criterion, is_flagged, is_hidden, left(value::text, 200) AS judge,
           left((scores -> key)::text, 200) AS human, sum(part), string_agg(packed, '')
    FROM paired CROSS JOIN LATERAL jsonb_each(judged)
    GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
"""
_COUNTS = """
    {paired}
    SELECT (SELECT count(DISTINCT response) FROM gold), count(DISTINCT response), count(DISTINCT record)
    FROM paired
"""
_RECORDS = """
    {paired}
    SELECT record, pair.judge, pair.human, reviewer, at
    FROM paired CROSS JOIN LATERAL score_pairs(judged, judged_verdict, scores, verdict) AS pair
    WHERE basis = %(basis)s AND pair.criterion IS NOT DISTINCT FROM %(criterion)s
      AND NOT human_review_status = ANY(%(queue)s)
    ORDER BY record, id
"""


class GoldCounts(NamedTuple):
    """How much of a gold set and of a run a measurement is about."""

    #: Responses of the gold set.
    responses: int
    #: Those of them that records of the scope have.
    matched: int
    #: Records of the scope.
    records: int
    #: Those of them with a response of the gold set.
    matched_records: int

    @property
    def sentence(self) -> str:
        """The records that the gold set covers, and the others, in one or two sentences."""
        found = f"{counted(self.matched, 'response')} of the gold set's {self.responses:,}"
        covered = f"This run has {found}, in {counted(self.matched_records, 'record')}."
        rest = self.records - self.matched_records
        if not rest:
            return covered
        return f"{covered} About the other {counted(rest, 'record')} of the run, the gold set says nothing."


@dataclass(frozen=True, eq=False)
class GoldMeasurement:
    """The figures of a judge against a gold set."""

    gold_set: GoldSet
    scope: JudgeScope
    counts: GoldCounts
    #: The verdict first, then the criteria in the order of the rubric.
    figures: dict[GoldBasis, tuple[AccuracyFigures, ...]]
    #: Caveats of the figures.
    notes: tuple[str, ...]
    #: Why there are no figures.
    unknown: str = ""

    @property
    def headline(self) -> AccuracyFigures | None:
        """The figures of the verdict, from blind ratings."""
        return self.find("blind", None)

    def find(self, basis: GoldBasis, criterion: str | None) -> AccuracyFigures | None:
        """Return the figures of a criterion, or of the verdict (None), if there are ratings."""
        return next((one for one in self.figures.get(basis, ()) if one.criterion == criterion), None)

    def as_json(self) -> dict[str, Any]:
        figures = [
            members(judge.GoldMetrics, one, basis=basis)
            for basis, found in self.figures.items()
            for one in found
        ]
        given = {"gold_set": described(self.gold_set), "figures": figures, **self.counts._asdict()}
        return members(judge.GoldMeasurement, self, **given)


class GoldRecord(NamedTuple):
    """A record of the run and a rating of its response in the gold set."""

    record: int
    #: A score or verdict; None without one.
    judge: Any
    human: Any
    reviewer: str
    at: dt.datetime


def described(gold_set: GoldSet) -> dict[str, Any]:
    """Return the facts about a gold set as JSON values."""
    return members(judge.GoldSet, gold_set, run=gold_set.run_name)


@read_from_replica
def measure(gold_set: GoldSet, scope: JudgeScope, *, criteria: bool = True) -> GoldMeasurement:
    """Compare the judge of a scope with a gold set, by verdict and by criterion. Only `GOLD_FILTERS` apply.

    Records that somebody may still score blind count if no count of them could reveal the judge's score of
    one.
    """
    if not indexing.is_indexed(scope.run):
        return GoldMeasurement(gold_set, scope, GoldCounts(0, 0, 0, 0), {}, (), _NOT_INDEXED)
    values = _values(gold_set, scope)
    [(responses, matched, records)] = _fetch(_COUNTS, values)
    counts = GoldCounts(responses, matched, scope.records().count(), records)
    statements = (_VERDICTS, _CRITERIA) if criteria else (_VERDICTS,)
    groups = [_Group(*row) for statement in statements for row in _fetch(statement, values)]
    found = _Found(groups, run_rubric(scope.run), is_imported=gold_set.is_imported)
    notes = _notes(gold_set, found, has_criteria=criteria)
    return GoldMeasurement(gold_set, scope, counts, found.figures, (counts.sentence, *notes))


@read_from_replica
def list_records(
    gold_set: GoldSet, scope: JudgeScope, basis: GoldBasis, criterion: str | None, said: tuple[str, str]
) -> list[GoldRecord]:
    """Return the records with a pair of scores, of the judge and of people (see `drilldown.is_said`).

    Records in the queue are not listed: the reader may still have to score them blind.
    """
    values = _values(gold_set, scope) | {"basis": basis, "criterion": criterion, "queue": [*QUEUE_STATUSES]}
    read = read_verdict if criterion is None else read_score
    return [
        GoldRecord(record, read(judge), read(human), reviewer, at)
        for record, judge, human, reviewer, at in _fetch(_RECORDS, values)
        if is_said(judge, said[0]) and is_said(human, said[1])
    ]


def _fetch(statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    return fetch_all(statement.format(paired=_PAIRED), values)


def _values(gold_set: GoldSet, scope: JudgeScope) -> dict[str, Any]:
    return {
        "gold_set": gold_set.pk,
        "run": scope.run.pk,
        "hidden": _hidden(gold_set, scope),
        "verdicts": [word for word in VERDICT_ORDER if word != NO_VERDICT],
        **{name: getattr(scope, name) for name in GOLD_FILTERS},
    }


def _hidden(gold_set: GoldSet, scope: JudgeScope) -> list[int]:
    """Return the keys of records that somebody may still score blind, if their response may be in the set."""
    if not scope.run.blind_share:
        return []
    responses = GoldRating.objects.filter(gold_set=gold_set).values("response")
    may_match = Q(facets__response__in=responses) | Q(facets__response=None)
    hidden = scope.records().filter(hidden_from(None, scope.run), may_match)
    return [*hidden.values_list("pk", flat=True)]


class _Group(NamedTuple):
    """Ratings with the same pair of scores, as SQL returns them."""

    basis: GoldBasis
    criterion: str | None
    is_flagged: bool
    #: Whether somebody may still score the records blind.
    is_hidden: bool
    judge: str | None
    human: str | None
    #: The number of records, or less: a record with different ratings counts in part.
    records: float
    packed: bytes

    @property
    def columns(self) -> NDArray[np.void]:
        """The cluster and the weight of each rating."""
        return np.frombuffer(self.packed, dtype=_PACKED)

    @property
    def ratings(self) -> int:
        return len(self.columns)

    def batch(self) -> RatingBatch:
        """Return the ratings, each with the weight 1."""
        read = read_verdict if self.criterion is None else read_score
        cell = Cell(self.is_flagged, "", "", "", "")
        kind = RatingKind(cell, not self.is_flagged, read(self.judge), read(self.human))
        return RatingBatch(kind, unpack_clusters(self.columns["cluster"].tobytes()), weight=1.0)

    @property
    def is_right(self) -> bool:
        return self.judge is not None and read_score(self.judge) == read_score(self.human)


class _Found:
    """The ratings of a gold set with the judge's scores."""

    def __init__(self, groups: list[_Group], rubric: Rubric, *, is_imported: bool) -> None:
        self.rubric, self.is_imported = rubric, is_imported
        #: Ratings of the verdict that are left out: see `_many`.
        self.omitted = 0
        self.is_flagged_only = all(one.is_flagged for one in groups if one.basis == "blind")
        found: dict[GoldBasis, dict[str | None, AccuracyFigures]] = {}
        for (basis, criterion), rows in groupby(groups, key=itemgetter(0, 1)):
            shown = self._shown([*rows])
            if shown:
                found.setdefault(basis, {})[criterion] = self._figures(basis, criterion, shown)
        self.figures = {
            basis: tuple(found[basis][name] for name in in_rubric_order(rubric, found[basis]))
            for basis in BASES
            if basis in found
        }

    def _shown(self, groups: list[_Group]) -> list[_Group]:
        """Return the ratings to count of a criterion, or of the verdict."""
        hidden = [] if self.is_imported else _many([one for one in groups if one.is_hidden])
        shown = [one for one in groups if not one.is_hidden or one in hidden]
        if groups[0].criterion is None:
            self.omitted += sum(one.ratings for one in groups) - sum(one.ratings for one in shown)
        return shown

    def _figures(self, basis: GoldBasis, criterion: str | None, groups: list[_Group]) -> AccuracyFigures:
        ratings = rating_columns([one.batch() for one in groups])
        ratings = replace(ratings, weight=np.concatenate([one.columns["weight"] for one in groups]))
        scale = ScoreCategories.from_ratings(self.rubric, criterion, ratings.kinds)
        pairs = ScorePairs(scale, ratings.kinds, ratings.counts)
        counted_as: Basis = "blind" if basis == "blind" else "assisted"
        return AccuracyFigures(criterion, counted_as, "run", pairs, partial(_measure, ratings, pairs))


def _many(hidden: list[_Group]) -> list[_Group]:
    """Return the hidden records of which there are so many that counts reveal none of the judge's scores.

    The reader may know each of the gold set's scores. An imported set can be made for this purpose, so its
    hidden records never count.
    """
    of_score: dict[str | None, float] = {}
    for one in hidden:
        of_score[one.human] = of_score.get(one.human, 0) + one.records
    kept = [one for one in hidden if of_score[one.human] >= FEWEST]
    right = sum(one.records for one in kept if one.is_right)
    wrong = sum(one.records for one in kept if not one.is_right)
    return kept if min(right, wrong) >= FEWEST else []


def _measure(ratings: Ratings, pairs: ScorePairs) -> Measured:
    return Measured(pairs.confusion(totals_of_ratings(ratings, pairs.one_hot)))


def _notes(gold_set: GoldSet, found: _Found, *, has_criteria: bool) -> Iterator[str]:
    if found.omitted:
        yield (
            f"Not counted: {counted(found.omitted, 'rating')} of records that can still be scored blind. A "
            "count could reveal the judge's verdict on one of them."
        )
    if "blind" in found.figures and found.is_flagged_only:
        yield (
            "All blind ratings of the gold set are of records that were flagged in its run. Such records are "
            "harder than the rest, above all for the judge whose scores caused the flags."
        )
    frozen = rubric_from_json(gold_set.rubric)
    is_like = frozen.judges_like(found.rubric) and {*frozen.names} == {*found.rubric.names}
    if found.figures and not is_like:
        yield (
            "The rubric of this run is not that of the gold set: a score or verdict may not mean the same in "
            "both."
        )
    if not has_criteria:
        yield _NO_CRITERIA
        return
    unrated = [
        name
        for name in found.rubric.names
        if "blind" in found.figures and not any(one.criterion == name for one in found.figures["blind"])
    ]
    if unrated:
        yield f"The gold set has no scores of: {', '.join(map(criterion_title, unrated))}."
