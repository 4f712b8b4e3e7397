"""Load the records whose judges are compared.

They stay in the memory of the process until an import, a rubric or task context may have changed them:
decisions change none of them.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reviews.database.statements import fetch_value
from reviews.judge.comparison.judges import JudgeAndPrompt
from reviews.judge.figure_cache import cache_records
from reviews.judge.scope import JudgeScope
from reviews.search.facets import NO_VERDICT, VERDICT_ORDER, facet_key
from reviews.statistics.strata import IntArray
from reviews.statistics.sums import BoolArray, Columns, FloatArray

#: The verdicts, in the order of `EvaluationFacets.verdict_order`.
VERDICTS = tuple(verdict for verdict in VERDICT_ORDER if verdict != NO_VERDICT)

# A record as SQL packs it.
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
_RECORDS = """
    WITH answered AS (
        SELECT evaluation_id, response, verdict_order, is_flagged, cluster, {judge} AS judge
        FROM evaluation_facets AS known WHERE run_id = %(run)s AND {some} AND {chosen}
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
    FROM answered WHERE judge >= 0 AND {some}
"""
# The numbers of responses are hashes, so those with the lowest numbers are a random sample.
_LAST = """
    SELECT response FROM evaluation_facets AS one WHERE run_id = %(first)s AND response IS NOT NULL AND {one}
      AND EXISTS (SELECT FROM evaluation_facets AS other
                  WHERE other.run_id = %(second)s AND other.response = one.response AND {other})
    ORDER BY response OFFSET %(most)s LIMIT 1
"""
# PostgreSQL takes longer to plan a constant array of many values than to read their rows.
_ANY = "ANY(ARRAY(SELECT unnest(%({})s::bigint[])))"
_RATED = f"""
    SELECT ARRAY(
        SELECT DISTINCT response FROM evaluation_facets
        WHERE evaluation_id = {_ANY.format("records")} AND response IS NOT NULL
        ORDER BY response LIMIT %(most)s
    )
"""  # noqa: S608 (constants)
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


@dataclass(frozen=True, eq=False)
class JudgedRecords(Columns):
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
    #: The number of responses that each record's response represents.
    weight: FloatArray
    #: The number of records without a verdict, which are left out.
    without_verdict: int


class Selection(NamedTuple):
    """The records of scopes that differ in the run alone."""

    #: The records of each scope.
    sides: tuple[JudgedRecords, ...]
    #: The last response of a random sample of the common ones. None if all were loaded.
    last: int | None

    @property
    def held(self) -> int:
        """The number of records in memory."""
        return sum(map(len, self.sides))


@cache_records
def select_records(
    scopes: tuple[JudgeScope, ...], judges: tuple[tuple[JudgeAndPrompt, ...], ...], most: int | None
) -> Selection:
    """Load the records of one or two scopes, of these judges of each. An empty tuple selects all judges.

    Of more than `most` records of the first scope with a common response, a random sample of this size is
    loaded. Takes a query for each scope, and one more with a limit.
    """
    last = None if most is None else _last_of_sample(scopes[0], scopes[-1], most)
    sides = (load_records(scope, names, last=last) for scope, names in zip(scopes, judges, strict=True))
    return Selection(tuple(sides), last)


def add_rated(
    selected: Selection,
    scopes: tuple[JudgeScope, ...],
    judges: tuple[tuple[JudgeAndPrompt, ...], ...],
    records: IntArray,
    most: int | None,
) -> tuple[JudgedRecords, ...]:
    """Add the responses of rated records to a random sample of responses, and weight the others.

    A sample of all responses would leave most ratings out. Of more than `most` rated responses, a random
    sample of this size is added. Each side of the result is sorted. Takes a query, and one for each scope.
    Without a sample, all responses are there already.
    """
    last = selected.last
    if last is None:
        return selected.sides
    rated = np.array(fetch_value(_RATED, {"records": array_of(records), "most": most}), dtype=np.int64)
    last_rated = max(last, int(rated[-1])) if len(rated) == most else _HIGHEST
    added = rated[rated > last]
    sides = []
    for side, scope, names in zip(selected.sides, scopes, judges, strict=True):
        more = load_records(scope, names, responses=added)
        # Responses of the sample come first.
        columns = {
            name: np.concatenate([getattr(side, name), getattr(more, name)]) for name in _RECORD.names or ()
        }
        is_rated = np.isin(columns["response"], rated)
        weight = np.where(is_rated, 1 / _share_up_to(last_rated), 1 / _share_up_to(last))
        without_verdict = side.without_verdict + more.without_verdict
        sides.append(JudgedRecords(**columns, weight=weight, without_verdict=without_verdict))
    return tuple(sides)


def array_of(numbers: IntArray) -> str:
    """Return the numbers as the text of an array: psycopg takes much longer for a list of them."""
    return f"{{{','.join(map(str, numbers.tolist()))}}}"


def _share_up_to(last: int) -> float:
    """Return the share of all responses whose numbers are at most this one."""
    return (last - _LOWEST) / (_HIGHEST - _LOWEST)


def _last_of_sample(first: JudgeScope, second: JudgeScope, most: int) -> int | None:
    """Return the last response of a random sample of about `most` records of the first scope.

    Their responses are in both scopes, which differ in the run alone. None if there are no more than these.
    """
    one, values = first.facet_conditions("one")
    other, _ = second.facet_conditions("other")
    values |= {"first": first.run.pk, "second": second.run.pk, "most": most}
    found: int | None = fetch_value(_LAST.format(one=one, other=other), values)
    return found


def load_records(
    scope: JudgeScope,
    judges: tuple[JudgeAndPrompt, ...] = (),
    *,
    last: int | None = None,
    responses: IntArray | None = None,
) -> JudgedRecords:
    """Load the records of a scope, or of some of its judges. Takes one query.

    With `last`, only those of responses up to this one. With `responses`, only those of these.
    """
    chosen, values = scope.facet_conditions("known")
    values |= {"run": scope.run.pk, "last": _HIGHEST if last is None else last}
    some = "response <= %(last)s"
    if responses is not None:
        values["responses"], some = array_of(responses), f"response = {_ANY.format('responses')}"
    judge = "0"
    if judges:
        judge = "CASE"
        for place, name in enumerate(judges):
            values[f"keys{place}"] = [facet_key("judge", name.judge), facet_key("template", name.template)]
            judge += f" WHEN keys @> %(keys{place})s::bigint[] THEN {place}"
        judge += " ELSE -1 END"
    packed = fetch_value(_RECORDS.format(judge=judge, chosen=chosen, some=some), values)
    found = np.frombuffer(packed or b"", dtype=_RECORD)
    has_verdict = found["verdict"] < len(VERDICTS)
    columns: dict[str, NDArray[Any]] = {name: found[name].astype(np.int64) for name in _RECORD.names or ()}
    columns["is_flagged"] = columns["is_flagged"] > 0
    weight, without_verdict = np.ones(len(found)), int((~has_verdict).sum())
    records = JudgedRecords(**columns, weight=weight, without_verdict=without_verdict).only(has_verdict)
    return records.only(np.argsort(records.response, kind="stable"))
