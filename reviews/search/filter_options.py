"""List the possible values of a run's filters. The cost does not depend on the number of records."""

from typing import NamedTuple

from reviews.database.statements import fetch_all, prepared_statements
from reviews.models import Run
from reviews.records.scores import criterion_title
from reviews.search import facets
from reviews.search.filters import FILTERS

MAX_OPTIONS = 200


class FilterOption(NamedTuple):
    """A value of a filter that occurs in a run, with its label."""

    value: str
    title: str


# The first values of each filter, however many a run has.
_FACETS = """
    SELECT wanted.name, value, title FROM unnest(%s::text[]) AS wanted(name) CROSS JOIN LATERAL (
        SELECT value, title FROM run_facet
        WHERE run_id = %s AND run_facet.name = wanted.name ORDER BY value LIMIT %s
    ) AS first
"""
# Loose index scan: jump from one value of the column to the next in an index on run and column.
_DISTINCT = """
    WITH RECURSIVE found AS (
        (SELECT {column} AS value FROM evaluation
         WHERE run_id = %(run)s AND {column} >= %(start)s ORDER BY {column} LIMIT 1)
        UNION ALL
        SELECT (SELECT {column} FROM evaluation
                WHERE run_id = %(run)s AND {column} > found.value ORDER BY {column} LIMIT 1)
        FROM found WHERE found.value IS NOT NULL
    )
    SELECT value FROM found WHERE value IS NOT NULL LIMIT %(most)s
"""


@prepared_statements()
def facet_options(run: Run, *names: str) -> dict[str, list[FilterOption]]:
    """Return the values that occur in a run, by the name of their filter."""
    found: dict[str, list[FilterOption]] = {name: [] for name in names}
    for name, value, title in fetch_all(_FACETS, [list(names), run.pk, MAX_OPTIONS]):
        found[name].append(FilterOption(value, title or _title(name, value)))
    return found


def _title(name: str, value: str) -> str:
    if name != "score":
        return value
    criterion, _, score = value.rpartition("=")
    return f"{criterion_title(criterion)}: {score}"


# Judges, prompts, models and verdicts, each counted over all strata.
_COUNTS = """
    SELECT judge_llm_model, judge_prompt_template_path, model_id, verdict, sum(evaluations)
    FROM stratum_count JOIN stratum ON stratum.id = stratum_id WHERE run_id = %s
    GROUP BY GROUPING SETS ((judge_llm_model), (judge_prompt_template_path), (model_id), (verdict))
"""
_COUNTED = ("judge", "template", "model", "verdict")
# Those of the first values of each filter, as `_FACETS` offers them.
_FACET_COUNTS = """
    SELECT wanted.name, value, evaluations FROM unnest(%s::text[]) AS wanted(name) CROSS JOIN LATERAL (
        SELECT value, evaluations FROM facet_count
        WHERE run_id = %s AND facet_count.name = wanted.name ORDER BY value LIMIT %s
    ) AS first
"""


@prepared_statements()
def option_counts(run: Run) -> dict[str, dict[str, int]]:
    """Return the numbers of records in a run by filter and offered value, of filters counted at import.

    They are of an older state while `strata.why_not_counted`. See `without_hidden_counts`.
    """
    counts: dict[str, dict[str, int]] = {name: {} for name in _COUNTED}
    for *values, number in fetch_all(_COUNTS, [run.pk]):
        [(name, value)] = [pair for pair in zip(_COUNTED, values, strict=True) if pair[1] is not None]
        counts[name][value or (facets.NO_VERDICT if name == "verdict" else "")] = int(number)
    for name, value, number in fetch_all(_FACET_COUNTS, [list(FILTERS), run.pk, MAX_OPTIONS]):
        counts.setdefault(name, {})[value] = number
    return counts


def without_hidden_counts(run: Run, counts: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """Leave out the counts of filters that a page must not show.

    In a run with blind reviews, these are filters by the judge's output, and in a run with random samples
    flag reasons.
    """
    return {name: known for name, known in counts.items() if not _is_hidden(run, name)}


def _is_hidden(run: Run, name: str) -> bool:
    reveals = FILTERS[name].reveals if name in FILTERS else ("judge output",)
    return (run.blind_share > 0 and "judge output" in reveals) or (
        run.draws_samples and "flag reasons" in reveals
    )


@prepared_statements()
def decided_by_names(run: Run) -> list[str]:
    """Return the names of reviewers with decisions in a run, made here or imported."""
    return _distinct(run, "human_reviewer_id", "", MAX_OPTIONS)


def task_ids(run: Run, prefix: str, most: int) -> list[str]:
    """Return up to `most` task ids of a run with a prefix."""
    found = _distinct(run, "task_id", prefix, most)
    return [task for task in found if task.startswith(prefix)]


def _distinct(run: Run, column: str, start: str, most: int) -> list[str]:
    values = {"run": run.pk, "start": start, "most": most}
    return [value for (value,) in fetch_all(_DISTINCT.format(column=column), values)]
