"""Load anchors: responses that the judges of two runs scored, with both verdicts.

The responses are the same, so a difference between the verdicts is one between the judges. See
`response_key.sql` for what makes two responses the same.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reviews.database.statements import fetch_all, fetch_value
from reviews.judge.cells import IntArray
from reviews.judge.comparison.judges import JudgeAndPrompt
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Run
from reviews.search.hidden_records import hidden_from
from reviews.statistics.sums import Columns, FloatArray

#: Of more pairs of records than this, a random sample by response is read.
MOST_PAIRS = 20_000

KeyArray = NDArray[np.int64]

# The key of a response is a hash, so its order is random. Both sides are read in the order of an index.
_OF_RECORDS = """
    SELECT one.response, one.evaluation_id, other.evaluation_id, one.cluster, one.verdict_order,
           other.verdict_order
    FROM {one} AS one JOIN {other} AS other ON other.response = one.response
    WHERE one.run_id = %(first)s AND one.response IS NOT NULL AND other.run_id = %(second)s
      AND {of_one} AND {of_other}
    ORDER BY one.response, one.evaluation_id, other.evaluation_id LIMIT %(limit)s
"""
# Answers of records without a response, from the task context of their run.
_ANSWERS = """
    WITH answers AS MATERIALIZED (
        SELECT facets.run_id, facets.evaluation_id, facets.cluster, facets.verdict_order, {keys} AS keys,
               response_key(task_id, evaluation.evaluation_id, model_id, context.response) AS response
        FROM evaluation_facets AS facets JOIN evaluation ON evaluation.id = facets.evaluation_id
        CROSS JOIN LATERAL (
            SELECT context_answer(facets.run_id, task_id, model_id, response_id) AS response
        ) AS context
        WHERE facets.run_id IN (%(first)s, %(second)s) AND facets.response IS NULL
          AND has_answer(context.response)
    ), answered AS (
        SELECT run_id, evaluation_id, cluster, verdict_order, {keys} AS keys, response
        FROM evaluation_facets AS facets WHERE run_id IN (%(first)s, %(second)s) AND response IS NOT NULL
        UNION ALL SELECT run_id, evaluation_id, cluster, verdict_order, keys, response FROM answers
    )
"""
_HAS_ANSWERS = """
    SELECT EXISTS (SELECT FROM evaluation_facets WHERE run_id = %(first)s AND response IS NULL)
        OR EXISTS (SELECT FROM evaluation_facets WHERE run_id = %(second)s AND response IS NULL)
    WHERE EXISTS (SELECT FROM task_answer)
"""
_JUDGES = """
    SELECT id, judge_llm_model, judge_prompt_template_path FROM evaluation WHERE id = ANY(%(keys)s)
"""


@dataclass(frozen=True, eq=False)
class Anchors(Columns):
    """Pairs of records with the same response, one of each run: columns of one length."""

    #: The keys of the records.
    first: KeyArray
    second: KeyArray
    #: See `records.clusters`.
    cluster: IntArray
    #: The judges' verdicts as `EvaluationFacets.verdict_order`.
    first_verdict: IntArray
    second_verdict: IntArray
    #: 1 / pairs of the response.
    weight: FloatArray
    #: Whether there are more pairs than these: a random sample was read.
    is_sample: bool = False

    def head(self, number: int) -> "Anchors":
        """Return the first pairs."""
        return self.only(np.arange(len(self)) < number)


def load_anchors(first: JudgeScope, second: JudgeScope, shared: Collection[JudgeAndPrompt] = ()) -> Anchors:
    """Load the pairs of records of two scopes with the same response. Their runs are indexed.

    With `shared`, only pairs of records of the same judge and prompt, one of these.
    """
    of_one, values = first.facet_conditions("one")
    of_other, _ = second.facet_conditions("other")
    values |= {"first": first.run.pk, "second": second.run.pk, "limit": MOST_PAIRS + 1}
    has_answers = fetch_value(_HAS_ANSWERS, values)
    source = "answered" if has_answers else "evaluation_facets"
    statement = _OF_RECORDS.format(one=source, other=source, of_one=of_one, of_other=of_other)
    # Keys are long, so they are read only for filters.
    answers = _ANSWERS.format(keys="facets.keys" if values["chosen_keys"] else "NULL::bigint[]")
    rows = fetch_all(f"{answers} {statement}" if has_answers else statement, values)
    found = np.array(rows[:MOST_PAIRS], dtype=np.int64).reshape(-1, 6)
    if shared:
        found = _of_same_judge(found, {*shared})
    return _columns(found, is_sample=len(rows) > MOST_PAIRS)


def _columns(found: KeyArray, *, is_sample: bool = False) -> Anchors:
    """Return rows of `_OF_RECORDS` as columns."""
    _, inverse, pairs = np.unique(found[:, 0], return_inverse=True, return_counts=True)
    cluster, first_verdict, second_verdict = found[:, 3:].astype(np.int32).T
    return Anchors(
        found[:, 1], found[:, 2], cluster, first_verdict, second_verdict, 1 / pairs[inverse], is_sample
    )


def _of_same_judge(found: KeyArray, shared: Collection[JudgeAndPrompt]) -> KeyArray:
    rows = fetch_all(_JUDGES, {"keys": np.unique(found[:, 1:3]).tolist()})
    judges = {key: JudgeAndPrompt(*names) for key, *names in rows}
    sides = [[judges[key] for key in found[:, column].tolist()] for column in (1, 2)]
    return found[[one == other and one in shared for one, other in zip(*sides, strict=True)]]


def hidden_pairs(anchors: Anchors, runs: Collection[Run]) -> NDArray[np.bool_]:
    """Return for each pair whether somebody may still score one of its records blind."""
    hidden: list[int] = []
    for run in runs:
        if run.blind_share:
            keys = np.unique(np.concatenate([anchors.first, anchors.second])).tolist()
            rows = Evaluation.objects.filter(hidden_from(None, run), run=run, pk__in=keys)
            hidden += rows.values_list("pk", flat=True)
    return np.isin(anchors.first, hidden) | np.isin(anchors.second, hidden)


NO_ANCHORS = _columns(np.zeros((0, 6), dtype=np.int64))
