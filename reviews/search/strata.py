"""Count the records of a run by stratum. Estimates about the judge are weighted by these counts."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Sum

from reviews.database.statements import execute, fetch_value, prepared_statements
from reviews.models import Evaluation, Run, Stratum, StratumCount
from reviews.records.status import NOT_REQUIRED
from reviews.search.facets import NO_VERDICT, READ_VERDICT

NOT_COUNTED = (
    "The records of this run are not all counted yet, so figures about all of them are unknown. "
    "They appear when the counting job of the last import is done."
)

# The filters by what strata and their counts have, with its place in a count.
FILTERS = {
    "judge": "stratum__judge_llm_model",
    "template": "stratum__judge_prompt_template_path",
    "model": "stratum__model_id",
    "verdict": "verdict",
}

# Missing strata are added; then all counts of the run are replaced.
_ADD = """
    INSERT INTO stratum (run_id, judge_llm_model, judge_prompt_template_path, model_id, is_flagged)
    SELECT DISTINCT run_id, judge_llm_model, judge_prompt_template_path, coalesce(model_id, ''),
           needs_human_review
    FROM evaluation WHERE run_id = %(run)s
    ON CONFLICT DO NOTHING
"""
_CLEAR_RECORDS = "DELETE FROM stratum_count USING stratum WHERE stratum.id = stratum_id AND run_id = %(run)s"
# Computing a cluster takes longer than reading it from the index.
_COUNT_RECORDS = """
    INSERT INTO stratum_count (stratum_id, verdict, evaluations, answered, clusters)
    SELECT stratum.id, coalesce(aggregated_score, (
        SELECT verdict FROM unnest(%(read_keys)s::bigint[], %(read_verdicts)s::text[]) AS facet (key, verdict)
        WHERE key = ANY(evaluation_facets.keys) LIMIT 1
    ), '') AS verdict, count(*), count(*) FILTER (WHERE has_answer),
        coalesce(string_agg(
            int2send((
                coalesce(cluster, task_cluster(evaluation.task_id, evaluation.evaluation_id)) - 32768
            )::int2), ''
        ) FILTER (WHERE needs_human_review OR is_sampled OR human_review_status = %(not_required)s), '')
    FROM evaluation LEFT JOIN evaluation_facets ON evaluation_facets.evaluation_id = evaluation.id
    JOIN stratum ON (
        stratum.run_id, stratum.judge_llm_model, stratum.judge_prompt_template_path, stratum.model_id,
        stratum.is_flagged
    ) = (
        evaluation.run_id, evaluation.judge_llm_model, evaluation.judge_prompt_template_path,
        coalesce(evaluation.model_id, ''), needs_human_review
    )
    WHERE evaluation.run_id = %(run)s GROUP BY 1, 2
"""
_CLEAR_FACETS = "DELETE FROM facet_count WHERE run_id = %(run)s"
# Keys are counted before they get their names, so PostgreSQL neither sorts them nor compares texts.
_COUNT_FACETS = """
    INSERT INTO facet_count (run_id, name, value, evaluations)
    SELECT %(run)s, name, value, records
    FROM (
        SELECT unnest(keys) AS key, count(*) AS records FROM evaluation_facets
        WHERE run_id = %(run)s GROUP BY 1
    ) AS counted
    JOIN unnest(%(keys)s::bigint[], %(names)s::text[], %(values)s::text[]) AS facet (key, name, value)
        USING (key)
"""
# Whether all records of the run are counted. One statement, so that either all parts see an import that
# commits meanwhile, or none does. The sums are compared as well, in case the row of a pending import is lost.
IS_COUNTED = """
    SELECT NOT EXISTS (
        SELECT FROM unindexed_import JOIN import ON import.id = unindexed_import.source_id
        WHERE import.run_id = %(run)s
    ) AND (
        SELECT coalesce(sum(evaluations), 0) FROM run_count WHERE run_id = %(run)s
    ) = (
        SELECT coalesce(sum(evaluations), 0)
        FROM stratum_count JOIN stratum ON stratum.id = stratum_id WHERE run_id = %(run)s
    )
"""


def count(run: Run, filters: Mapping[str, Sequence[str]]) -> int:
    """Return the number of records that filters in `FILTERS` find, by their values, in a counted run."""
    wanted = {f"{FILTERS[name]}__in": [*values] for name, values in filters.items()}
    if NO_VERDICT in filters.get("verdict", ()):
        wanted["verdict__in"].append("")
    counted = StratumCount.objects.filter(stratum__run=run, **wanted).aggregate(sum=Sum("evaluations"))
    return counted["sum"] or 0


def get_stratum(evaluation: Evaluation) -> Stratum:
    """Return the stratum of a record. It is created if it is missing."""
    stratum, _created = Stratum.objects.get_or_create(
        run=evaluation.run,
        judge_llm_model=evaluation.judge_llm_model,
        judge_prompt_template_path=evaluation.judge_prompt_template_path,
        model_id=evaluation.model_id or "",
        is_flagged=evaluation.needs_human_review,
    )
    return stratum


@transaction.atomic
def recount(run: Run, facets: Mapping[tuple[str, str], int]) -> None:
    """Count a run's records by stratum and verdict, and by these facets: (name, value) -> key.

    Called at the end of an import, when its records are indexed.
    """
    read = {value: key for (name, value), key in facets.items() if name == READ_VERDICT}
    values: dict[str, Any] = {
        "run": run.pk,
        "keys": [*facets.values()],
        "names": [name for name, _ in facets],
        "values": [value for _, value in facets],
        "read_keys": [*read.values()],
        "read_verdicts": [*read],
        "not_required": NOT_REQUIRED,
    }
    # Two imports that end together take turns.
    execute("SELECT FROM run WHERE id = %(run)s FOR NO KEY UPDATE", values)
    for statement in (_ADD, _CLEAR_RECORDS, _COUNT_RECORDS, _CLEAR_FACETS, _COUNT_FACETS):
        execute(statement, values)


@prepared_statements()
def why_not_counted(run: Run) -> str:
    """Return why figures about all records of a run are unknown; empty once all records are counted.

    While an import is only partly counted, the counts are of an older state of the run. Ask before the counts
    are read: an import that commits in between then leaves counts that were complete when this was asked.
    """
    return "" if fetch_value(IS_COUNTED, {"run": run.pk}) else NOT_COUNTED
