"""Measure every figure about a judge on a large number of decisions."""

from collections.abc import Callable, Iterator
from statistics import median

from django.contrib.auth.models import Group

from reviews.judge import (
    accuracy,
    data_summary,
    drilldown,
    error_analysis,
    flag_precision,
    leaderboard,
    missed_errors,
    report,
)
from reviews.judge.drilldown import DecisionFilter
from reviews.judge.scope import JudgeScope
from reviews.models import Run, User
from tests.benchmarks import database, reviewing
from tests.benchmarks.measuring import ROUNDS, Figure, seconds

RECORDS, REVIEWS = 1_000_000, 300_000
REVIEWERS = 20
AIM = 300.0  # milliseconds
ONE_JUDGE = "judge-1"

# Two judges with two prompts each on ten models; a third of the records are flagged.
_STRATA = """
    INSERT INTO stratum (run_id, judge_llm_model, judge_prompt_template_path, model_id, is_flagged)
    SELECT %(run)s, 'judge-' || judge, 'prompts/' || prompt || '.txt', 'model-' || model, flagged
    FROM generate_series(1, 2) AS judge, generate_series(1, 2) AS prompt, generate_series(1, 10) AS model,
         unnest(ARRAY[true, false]) AS flagged
"""
_COUNTS = """
    INSERT INTO stratum_count (stratum_id, verdict, evaluations, answered)
    SELECT id, verdict, %(count)s * CASE WHEN is_flagged THEN 1 ELSE 2 END / 360, 0
    FROM stratum, unnest(ARRAY['Pass', 'Partial', 'Fail']) AS verdict;
    INSERT INTO facet_count (run_id, name, value, evaluations)
    SELECT %(run)s, 'reason', 'family-' || number, 1000 * number FROM generate_series(1, 12) AS number;
    INSERT INTO run_facet (run_id, name, value, title)
    SELECT run_id, name, value, value FROM facet_count;
    -- Shares are rounded down; without this the run would be taken for uncounted.
    INSERT INTO run_count (run_id, status, evaluations)
    SELECT %(run)s, 'Not Required',
           (SELECT sum(evaluations) FROM stratum_count)
           - (SELECT coalesce(sum(evaluations), 0) FROM run_count WHERE run_id = %(run)s)
"""
# Every eleventh review changes one of three criteria and says why, every seventh was blind, and every
# tenth is of a sampled record.
_REVIEWS = """
    INSERT INTO review (evaluation_id, run_id, version, reviewer_id, submitted_at, corrected_scores, origins,
                        causes, submission, active_ms, words, judged, changes, judged_verdict, verdict,
                        before, stratum_id, families, is_sampled, blind_scores, blind_verdict,
                        source_import_id, source_line)
    SELECT id, run_id, 1, (%(people)s::bigint[])[1 + number / 7 %% %(reviewers)s], now(),
           jsonb_build_object('Rigor', jsonb_build_object('score', score, 'justification', 'Skips a step.'),
                              'Clarity', jsonb_build_object('score', 'Yes', 'justification', 'It is.'),
                              'Results', jsonb_build_object('score', 'Yes', 'justification', 'They are.')),
           '{}',
           CASE number %% 11 WHEN 0 THEN jsonb_build_object('Rigor', 'cause ' || number %% 7) ELSE '{}' END,
           gen_random_uuid(), 5000 + number * 7919 %% 90000, 100 + number %% 300,
           '{"Rigor": "No", "Clarity": "Yes", "Results": "Yes"}', (number %% 11 = 0)::int, 'Fail',
           CASE number %% 11 WHEN 0 THEN 'Pass' ELSE 'Fail' END, '{}',
           (CASE WHEN sampled THEN %(others)s::bigint[] ELSE %(flagged)s::bigint[] END)[1 + number %% 40],
           ARRAY['family-' || 1 + number %% 12], sampled,
           CASE number %% 7 WHEN 0 THEN '{"Rigor": "No", "Clarity": "Yes", "Results": "No"}'::jsonb END,
           CASE number %% 7 WHEN 0 THEN 'Fail' END, source_import_id, source_line
    FROM (
        SELECT evaluation.*, number, CASE number %% 11 WHEN 0 THEN 'Yes' ELSE 'No' END AS score,
               number / 40 %% 10 = 0 AS sampled
        FROM evaluation JOIN (SELECT id, row_number() OVER (ORDER BY id) AS number FROM evaluation) numbered
            USING (id)
        ORDER BY number LIMIT %(count)s
    ) evaluation
"""
_IN_FORCE = """
    UPDATE evaluation SET review_id = review.id, human_review_status = 'Completed'
    FROM review WHERE review.evaluation_id = evaluation.id
"""
# The result of the triggers, in one statement.
_JUDGED = """
    INSERT INTO judged_count
        (stratum_id, reviewer_id, criterion, is_blind, is_sampled, judge, human, final, reviews)
    SELECT stratum_id, reviewer_id, key, blind_scores IS NOT NULL, is_sampled, value::text,
           (CASE WHEN blind_scores IS NULL THEN corrected_scores -> key -> 'score'
                 ELSE blind_scores -> key END)::text,
           (corrected_scores -> key -> 'score')::text, count(*)
    FROM review CROSS JOIN LATERAL jsonb_each(judged) GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
    UNION ALL
    SELECT stratum_id, reviewer_id, NULL, blind_scores IS NOT NULL, is_sampled, judged_verdict,
           CASE WHEN blind_scores IS NULL THEN verdict ELSE blind_verdict END, verdict, count(*)
    FROM review GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
"""
_REASONS = """
    INSERT INTO reason_count (run_id, reviewer_id, family, reviews, compared, changed, verdicts,
                              verdict_changed, timed, active_ms)
    SELECT run_id, reviewer_id, families[1], count(*), count(*), sum(changes), count(*), sum(changes),
           count(*), sum(active_ms)
    FROM review GROUP BY 1, 2, 3
"""
_CAUSES = """
    INSERT INTO cause_mention (review_id, run_id, stratum_id, criterion, cause)
    SELECT id, run_id, stratum_id, key, value FROM review CROSS JOIN LATERAL jsonb_each_text(causes)
"""


def figures(scale: float) -> Iterator[Figure]:
    """Yield each figure of the whole run, then of one judge, and the report with all of them."""
    run = _filled(scale)
    for name, scope in (("", JudgeScope(run)), (", one judge", JudgeScope(run, judge=ONE_JUDGE))):
        for figure, action in _figures(scope).items():
            yield _figure(f"{figure}{name}", action)


def _figures(scope: JudgeScope) -> dict[str, Callable[[], object]]:
    changed = DecisionFilter(criterion="Rigor", judge_said='"No"', human_said='"Yes"')
    return {
        "facts": lambda: data_summary.summarize_data(scope.run).as_json(),
        "judge vs human": lambda: accuracy.compare_with_humans(scope).as_json(),
        "reasons": lambda: flag_precision.measure_flag_precision(scope).as_json(),
        "escapes": lambda: missed_errors.estimate_missed_errors(scope).as_json(),
        "scoreboard": lambda: leaderboard.rank_models(scope).as_json(),
        "defects with examples": lambda: error_analysis.analyse_errors(scope).as_json(),
        "decisions behind a cell": lambda: drilldown.list_decisions(scope, changed),
        "the whole report": lambda: report.build_report(scope).as_json(),
    }


def _filled(scale: float) -> Run:
    records = max(int(RECORDS * scale), 1_000)
    run = reviewing.filled(records)
    people = [User.objects.get_or_create(username=f"reviewer{number}")[0] for number in range(REVIEWERS)]
    for person in people:
        person.groups.add(Group.objects.get(name="reviewer"))
    database.execute(_STRATA, {"run": run.pk})
    database.execute(_COUNTS, {"run": run.pk, "count": records})
    values = {
        "people": [person.pk for person in people],
        "reviewers": REVIEWERS,
        "flagged": list(run.strata.filter(is_flagged=True).values_list("pk", flat=True)),
        "others": list(run.strata.filter(is_flagged=False).values_list("pk", flat=True)),
        "count": max(int(REVIEWS * scale), 300),
    }
    # Skip the triggers, which would count the reviews one by one.
    database.execute("SET session_replication_role = replica")
    database.execute(_REVIEWS, values)
    for statement in (_IN_FORCE, _JUDGED, _REASONS, _CAUSES):
        database.execute(statement)
    database.execute("RESET session_replication_role")
    database.execute("VACUUM ANALYZE")
    database.execute("CHECKPOINT")
    return run


def _figure(name: str, figure: Callable[[], object]) -> Figure:
    def show() -> None:
        figure()

    taken = median([seconds(show) for _ in range(ROUNDS + 1)][1:]) * 1000
    return Figure(f"judge: {name}", f"{taken:.0f} ms", f"{AIM:.0f} ms", taken / AIM, most=1)
