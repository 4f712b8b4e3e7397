"""Measure every dashboard report on a large number of decisions."""

import datetime as dt
from collections.abc import Callable, Iterator
from statistics import median

from django.contrib.auth.models import Group

from reviews.dashboard import (
    daily_counts,
    drilldown,
    pace,
    presence,
    reviewer_activity,
    reviewer_pairs,
    spot_checks,
)
from reviews.dashboard.selection import WorkSelection
from reviews.database.statements import execute
from reviews.models import Run, User
from tests.benchmarks import reviewing
from tests.benchmarks.measuring import ROUNDS, Figure, seconds

RECORDS, REVIEWS = 1_000_000, 300_000
REVIEWERS, DAYS = 20, 250
AIM = 300.0  # milliseconds

# Every eleventh review changes one of three criteria; each reviewer works on all days.
_REVIEWS = """
    INSERT INTO review (evaluation_id, run_id, version, reviewer_id, submitted_at, corrected_scores, origins,
                        causes, submission, active_ms, words, judged, overridden, changes, judged_verdict,
                        verdict, before)
    SELECT id, run_id, 1, (%(people)s::bigint[])[1 + number %% %(reviewers)s],
           timestamptz '2026-01-01' + (number / %(reviewers)s %% %(days)s) * interval '1 day',
           jsonb_build_object('Rigor', jsonb_build_object('score', score, 'justification', 'Skips a step.'),
                              'Clarity', jsonb_build_object('score', 'Yes', 'justification', 'It is.'),
                              'Results', jsonb_build_object('score', 'Yes', 'justification', 'They are.')),
           '{}', '{}', gen_random_uuid(), 5000 + number * 7919 %% 90000, 100 + number %% 300,
           '{"Rigor": "No", "Clarity": "Yes", "Results": "Yes"}',
           CASE number %% 11 WHEN 0 THEN '{Rigor}'::text[] ELSE '{}' END, (number %% 11 = 0)::int, 'Fail',
           CASE number %% 11 WHEN 0 THEN 'Pass' ELSE 'Fail' END, '{}'
    FROM (
        SELECT id, run_id, number, CASE number %% 11 WHEN 0 THEN 'Yes' ELSE 'No' END AS score
        FROM (SELECT id, run_id, row_number() OVER (ORDER BY id) AS number FROM evaluation) numbered
        LIMIT %(count)s
    ) evaluation
"""
_COUNTS = """
    INSERT INTO criterion_day (run_id, reviewer_id, day, criterion, judged, overridden)
    SELECT run_id, reviewer_id, (submitted_at AT TIME ZONE 'UTC')::date, criterion, count(*),
           sum(CASE criterion WHEN 'Rigor' THEN changes ELSE 0 END)
    FROM review, unnest(ARRAY['Rigor', 'Clarity', 'Results']) AS criterion
    GROUP BY 1, 2, 3, 4
"""
_WORK_DAYS = """
    INSERT INTO reviewer_day (run_id, reviewer_id, day, decisions, changed)
    SELECT run_id, reviewer_id, (submitted_at AT TIME ZONE 'UTC')::date, count(*), sum(changes)
    FROM review GROUP BY 1, 2, 3;
    INSERT INTO record_day (run_id, reviewer_id, day, records)
    SELECT run_id, reviewer_id, day, decisions FROM reviewer_day;
"""
# Every seventh record was scored blind, and every fifth of these by two people.
_BLIND = """
    INSERT INTO stratum (run_id, judge_llm_model, judge_prompt_template_path, model_id, is_flagged)
    SELECT id, 'judge', 'prompt', 'model', true FROM run;
    INSERT INTO rating_cell (stratum_id, criterion, verdict, is_blind, is_sampled, judge, human)
    SELECT stratum.id, criterion, 'Fail', true, false, '"Yes"', human
    FROM stratum, unnest(ARRAY['Rigor', 'Clarity', 'Results']) AS criterion,
         unnest(ARRAY['"Yes"', '"No"']) AS human;
    INSERT INTO rating (cell_id, evaluation_id, reviewer_id, cluster, probability, raters, at)
    SELECT cell.id, evaluation_id, (%(people)s::bigint[])[1 + (review.id / 7 + rater) %% %(reviewers)s],
           review.id %% 65536, 1, CASE WHEN review.id %% 35 = 0 THEN 2 ELSE 1 END, submitted_at
    FROM review
    CROSS JOIN generate_series(0, 1) AS rater
    JOIN rating_cell AS cell ON (cell.human = '"No"') = ((review.id + rater) %% 13 = 0)
    WHERE review.id %% 7 = 0 AND (rater = 0 OR review.id %% 35 = 0);
"""
_IN_FORCE = """
    UPDATE evaluation SET review_id = review.id, human_review_status = 'Completed'
    FROM review WHERE review.evaluation_id = evaluation.id
"""
_EVENTS = """
    INSERT INTO audit_event
        (at, actor_id, actor_name, action, run_id, run_name, evaluation_id, record, detail)
    SELECT submitted_at, reviewer_id, 'somebody',
           CASE id %% 20 WHEN 0 THEN 'skip' WHEN 1 THEN 'release' ELSE 'submit' END,
           run_id, 'reviewing', evaluation_id, 'record', '{"claimed_by": "somebody"}'
    FROM review
"""
_OVERTURNED = """
    INSERT INTO overturn (review_id, kind, reason, actor_id, at)
    SELECT id, 'reopened', 'Step two is wrong.', reviewer_id, now() FROM review WHERE id %% 100 = 0;
    INSERT INTO withdrawal (review_id, actor_id, at)
    SELECT id, reviewer_id, now() FROM review WHERE id %% 100 = 1;
    INSERT INTO spot_check (review_id, run_id, reviewer_id, drawn_by_id, outcome)
    SELECT id, run_id, reviewer_id, reviewer_id, 'agreed' FROM review WHERE id %% 100 = 2;
"""


def reports(scale: float) -> Iterator[Figure]:
    """Yield each report over all decisions, then over one reviewer's month."""
    run, people = _filled(scale)
    month = WorkSelection(run, dt.date(2026, 3, 1), dt.date(2026, 3, 31), people[0])
    for name, selection in (
        ("", WorkSelection()),
        (", a run", WorkSelection(run)),
        (", a month of one", month),
    ):
        for report, action in _reports(selection).items():
            yield _figure(f"{report}{name}", action)
    yield _figure("pace of runs", lambda: pace.run_paces(Run.objects.all()))
    yield _figure("who is working", lambda: presence.active_reviewers(WorkSelection()))


def _reports(selection: WorkSelection) -> dict[str, Callable[[], object]]:
    return {
        "reviewers": lambda: reviewer_activity.team_figures(selection).reviewers,
        "criteria": lambda: daily_counts.criterion_overrides(selection),
        "criteria by reviewer": lambda: daily_counts.criterion_overrides_by_reviewer(selection),
        "days": lambda: daily_counts.day_figures(selection),
        "pairs of reviewers": lambda: reviewer_pairs.pair_agreements(selection),
        "blind agreement": lambda: reviewer_pairs.blind_agreement(selection),
        "fast decisions": lambda: drilldown.list_decisions(selection, signal="fast"),
        "overturned": lambda: drilldown.list_overturned(selection),
        "spot checks": lambda: spot_checks.completed_checks(selection),
    }


def _filled(scale: float) -> tuple[Run, list[User]]:
    run = reviewing.filled(max(int(RECORDS * scale), 1_000))
    people = [User.objects.get_or_create(username=f"reviewer{number}")[0] for number in range(REVIEWERS)]
    for person in people:
        person.groups.add(Group.objects.get(name="reviewer"))
    values = {
        "people": [person.pk for person in people],
        "reviewers": REVIEWERS,
        "days": DAYS,
        "count": max(int(REVIEWS * scale), 300),
    }
    # Skip the triggers, which would count the reviews one by one.
    execute("SET session_replication_role = replica")
    for statement in (_REVIEWS, _COUNTS, _WORK_DAYS, _BLIND, _IN_FORCE, _EVENTS, _OVERTURNED):
        execute(statement, values)
    execute("RESET session_replication_role")
    execute("VACUUM ANALYZE")
    execute("CHECKPOINT")
    return run, people


def _figure(name: str, report: Callable[[], object]) -> Figure:
    def show() -> None:
        report()

    taken = median([seconds(show) for _ in range(ROUNDS + 1)][1:]) * 1000
    return Figure(f"report: {name}", f"{taken:.0f} ms", f"{AIM:.0f} ms", taken / AIM, most=1)
