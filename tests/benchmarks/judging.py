"""Measure every figure about a judge on a large number of decisions."""

from collections.abc import Callable, Iterator
from statistics import median

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Max

from cognireview.types import report_parts as parts
from cognireview.types.encoding import encode
from reviews.audit import events
from reviews.database.statements import execute
from reviews.judge import (
    accuracy,
    data_summary,
    drilldown,
    error_analysis,
    flag_choice,
    flag_precision,
    funnel,
    leaderboard,
    missed_errors,
    planning,
    report,
    reviewer_agreement,
)
from reviews.judge.drilldown import RatingFilter
from reviews.judge.scope import JudgeScope
from reviews.models import Run, User
from tests.benchmarks import reviewing
from tests.benchmarks.measuring import ROUNDS, Figure, seconds

RECORDS, REVIEWS = 1_000_000, 300_000
REVIEWERS = 20
AIM = 300.0  # milliseconds
ONE_JUDGE = "judge-1"
BLIND_SHARE = 0.5

# Two judges with two prompts each on ten models; a third of the records are flagged.
_STRATA = """
    INSERT INTO stratum (run_id, judge_llm_model, judge_prompt_template_path, model_id, is_flagged)
    SELECT %(run)s, 'judge-' || judge, 'prompts/' || prompt || '.txt', 'model-' || model, flagged
    FROM generate_series(1, 2) AS judge, generate_series(1, 2) AS prompt, generate_series(1, 10) AS model,
         unnest(ARRAY[true, false]) AS flagged
"""
_COUNTS = """
    INSERT INTO stratum_count (stratum_id, verdict, evaluations, answered, clusters)
    SELECT stratum.id, verdict, size, 0, (
        SELECT string_agg(int2send(((number * 7919 + stratum.id * 31) %% 65536 - 32768)::int2), '')
        FROM generate_series(1, size) AS number
    )
    FROM stratum, unnest(ARRAY['Pass', 'Partial', 'Fail']) AS verdict,
         LATERAL (SELECT %(count)s * CASE WHEN is_flagged THEN 1 ELSE 2 END / 360 AS size) AS sized;
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
# The judge passes every fifth record. Every eleventh review changes one of three criteria and says why, every
# third was blind, with a pass in every fourth, and every tenth is of a sampled record.
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
           jsonb_build_object('Rigor', CASE number %% 5 WHEN 0 THEN 'Yes' ELSE 'No' END, 'Clarity',
                              CASE number %% 7 WHEN 0 THEN 'No' ELSE 'Yes' END, 'Results', 'Yes'),
           (number %% 11 = 0)::int, CASE number %% 5 WHEN 0 THEN 'Pass' ELSE 'Fail' END,
           CASE number %% 11 WHEN 0 THEN 'Pass' ELSE 'Fail' END, '{}',
           (CASE WHEN sampled THEN %(others)s::bigint[] ELSE %(flagged)s::bigint[] END)[1 + number %% 40],
           ARRAY['family-' || 1 + number %% 12], sampled,
           CASE number %% 3 WHEN 0 THEN jsonb_build_object(
               'Rigor', CASE number %% 12 WHEN 0 THEN 'Yes' ELSE 'No' END, 'Clarity', 'Yes', 'Results', 'No'
           ) END,
           CASE number %% 3 WHEN 0 THEN CASE number %% 12 WHEN 0 THEN 'Pass' ELSE 'Fail' END END,
           source_import_id, source_line
    FROM (
        SELECT evaluation.*, first_line AS number,
               CASE first_line %% 11 WHEN 0 THEN 'Yes' ELSE 'No' END AS score,
               first_line / 40 %% 10 = 0 AS sampled
        FROM evaluation WHERE id > %(after)s ORDER BY id LIMIT %(count)s
    ) evaluation
"""
_IN_FORCE = """
    UPDATE evaluation SET review_id = review.id, human_review_status = 'Completed'
    FROM review WHERE review.evaluation_id = evaluation.id AND evaluation.id > %(after)s
"""
# The rows that the triggers write, in a few statements. A third of the reviews were blind.
_BLIND = """
    INSERT INTO blind_scores (evaluation_id, reviewer_id, source_import_id, source_line, scores, at,
                              stratum_id, verdict, judged, judged_verdict, is_sampled, probability, families)
    SELECT evaluation_id, reviewer_id, source_import_id, source_line, blind_scores, submitted_at, stratum_id,
           blind_verdict, judged, judged_verdict, is_sampled, CASE WHEN is_sampled THEN 0.05 ELSE 0.5 END,
           families
    FROM review
    WHERE blind_scores IS NOT NULL AND evaluation_id > %(after)s
"""
_FINAL = """
    UPDATE rating SET final = human FROM rating_cell AS cell
    WHERE cell.id = cell_id AND evaluation_id = ANY(%(records)s) AND is_blind
"""
_PAIRS = """
    CREATE TEMPORARY TABLE pair AS
    SELECT stratum_id, evaluation_id, reviewer_id, blind_scores_id, review_id, pair.criterion,
           coalesce(judged_verdict, '') AS verdict, is_sampled, pair.judge, pair.human, probability, final,
           at, CASE WHEN pair.criterion IS NULL THEN families END AS families
    FROM (
        SELECT stratum_id, evaluation_id, reviewer_id, id AS blind_scores_id, NULL::bigint AS review_id,
               judged, judged_verdict, scores, verdict, is_sampled, probability, verdict AS final, at,
               families
        FROM blind_scores
        UNION ALL
        SELECT stratum_id, evaluation_id, reviewer_id, NULL, id, judged, judged_verdict,
               (SELECT jsonb_object_agg(key, value -> 'score') FROM jsonb_each(corrected_scores)), verdict,
               is_sampled, 1, NULL, submitted_at, families
        FROM review WHERE blind_scores IS NULL
    ) AS given CROSS JOIN LATERAL score_pairs(judged, judged_verdict, scores, verdict) AS pair
"""
_CELLS = """
    INSERT INTO rating_cell (stratum_id, criterion, verdict, is_blind, is_sampled, judge, human)
    SELECT DISTINCT stratum_id, criterion, verdict, blind_scores_id IS NOT NULL, is_sampled, judge, human
    FROM pair
"""
_RATINGS = """
    INSERT INTO rating (cell_id, evaluation_id, reviewer_id, blind_scores_id, review_id, cluster, probability,
                        final, families, at)
    SELECT cell.id, pair.evaluation_id, reviewer_id, blind_scores_id, pair.review_id,
           task_cluster(evaluation.task_id, evaluation.evaluation_id), probability, final, families, at
    FROM pair JOIN evaluation ON evaluation.id = pair.evaluation_id
    JOIN rating_cell AS cell ON cell.stratum_id = pair.stratum_id AND cell.verdict = pair.verdict
        AND cell.criterion IS NOT DISTINCT FROM pair.criterion AND cell.is_sampled = pair.is_sampled
        AND cell.is_blind = (blind_scores_id IS NOT NULL) AND cell.judge IS NOT DISTINCT FROM pair.judge
        AND cell.human IS NOT DISTINCT FROM pair.human
"""
_REASONS = """
    INSERT INTO reason_count (run_id, reviewer_id, family, reviews, timed, active_ms)
    SELECT run_id, reviewer_id, families[1], count(*), count(*), sum(active_ms)
    FROM review GROUP BY 1, 2, 3
"""
_CAUSES = """
    INSERT INTO cause_mention (review_id, run_id, stratum_id, criterion, cause)
    SELECT id, run_id, stratum_id, key, value FROM review CROSS JOIN LATERAL jsonb_each_text(causes)
"""


def figures(scale: float) -> Iterator[Figure]:
    """Yield each figure of the whole run, then of one judge, and the report with all of them.

    Each is measured after three decisions, and the report also without one.
    """
    run = _filled(scale)
    for name, scope in (("", JudgeScope(run)), (", one judge", JudgeScope(run, judge=ONE_JUDGE))):
        for figure, action in _figures(scope).items():
            yield _figure(f"{figure}{name}", action, before=lambda: _change(run))
        yield _figure(f"the whole report again{name}", action)


def _figures(scope: JudgeScope) -> dict[str, Callable[[], object]]:
    changed = RatingFilter(criterion="Rigor", judge_said='"No"', human_said='"Yes"')
    return {
        "facts": lambda: data_summary.summarize_data(scope.run).as_json(),
        "funnel": lambda: encode(
            parts.Funnel, funnel.follow_records(scope, accuracy.compare_with_humans(scope))
        ),
        "plan": lambda: planning.plan_reviews(scope).as_json(),
        "flag choice": lambda: encode(parts.FlagChoice, flag_choice.choose_flags(scope)),
        "reviewers": lambda: encode(
            list[parts.ReviewerAgreement], reviewer_agreement.measure_reviewer_agreement(scope)
        ),
        "accuracy": lambda: accuracy.compare_with_humans(scope).as_json(),
        "flag reasons": lambda: encode(parts.FlagPrecision, flag_precision.measure_flag_precision(scope)),
        "missed errors": lambda: encode(parts.MissedErrors, missed_errors.estimate_missed_errors(scope)),
        "leaderboard": lambda: encode(parts.Leaderboard, leaderboard.rank_models(scope)),
        "error analysis": lambda: encode(parts.ErrorAnalysis, error_analysis.analyse_errors(scope)),
        "ratings behind a cell": lambda: drilldown.list_ratings(scope, changed),
        "the whole report": lambda: report.build_report(scope).as_json(),
    }


def _filled(scale: float) -> Run:
    records = max(int(RECORDS * scale), 1_000)
    run = reviewing.filled(records)
    run.blind_share = BLIND_SHARE
    run.save()
    people = [User.objects.get_or_create(username=f"reviewer{number}")[0] for number in range(REVIEWERS)]
    for person in people:
        person.groups.add(Group.objects.get(name="reviewer"))
    execute(_STRATA, {"run": run.pk})
    execute(_COUNTS, {"run": run.pk, "count": records})
    # Skip the triggers, which would count the reviews one by one.
    execute("SET session_replication_role = replica")
    values = _values(run, 0, max(int(REVIEWS * scale), 300))
    for statement in (_REVIEWS, _IN_FORCE, _BLIND):
        execute(statement, values)
    for statement in (_PAIRS, _CELLS, _RATINGS, _REASONS, _CAUSES):
        execute(statement)
    execute("RESET session_replication_role")
    execute("VACUUM ANALYZE")
    execute("CHECKPOINT")
    return run


def _values(run: Run, after: int, count: int) -> dict[str, object]:
    people = User.objects.filter(groups__name="reviewer").order_by("pk")
    strata = {flag: run.strata.filter(is_flagged=flag).order_by("pk") for flag in (True, False)}
    return {
        "people": list(people.values_list("pk", flat=True)),
        "reviewers": REVIEWERS,
        "flagged": list(strata[True].values_list("pk", flat=True)),
        "others": list(strata[False].values_list("pk", flat=True)),
        "after": after,
        "count": count,
    }


@transaction.atomic
def _change(run: Run, records: int = 3) -> None:
    """Decide the next records, every third of them after blind scores."""
    after = run.reviews.aggregate(last=Max("evaluation"))["last"]
    decided = run.evaluations.filter(pk__gt=after).order_by("pk")[:records]
    values = _values(run, after, len(decided)) | {"records": [record.pk for record in decided]}
    for statement in (_REVIEWS, _IN_FORCE, _BLIND, _FINAL):
        execute(statement, values)
    for record in decided:
        events.record("submit", actor=None, evaluation=record)


def _figure(name: str, figure: Callable[[], object], *, before: Callable[[], None] = lambda: None) -> Figure:
    def show() -> None:
        figure()

    times = []
    for _ in range(ROUNDS + 1):
        before()
        times.append(seconds(show))
    taken = median(times[1:]) * 1000
    return Figure(f"judge: {name}", f"{taken:.0f} ms", f"{AIM:.0f} ms", taken / AIM, most=1)
