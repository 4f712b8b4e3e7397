"""Measure every dashboard report on a large number of decisions."""

import datetime as dt
from collections.abc import Callable, Iterator
from statistics import median

from django.contrib.auth.models import Group

from reviews.dashboard import drilldown, presence, reviewer_activity, spot_checks
from reviews.dashboard.reviewer_activity import WorkSelection
from reviews.models import Run, User
from tests.benchmarks import database, reviewing
from tests.benchmarks.measuring import ROUNDS, Figure, seconds

RECORDS, REVIEWS = 1_000_000, 300_000
REVIEWERS, DAYS = 20, 250
AIM = 300.0  # milliseconds

# Every eleventh review changes one of three criteria; each reviewer works on all days.
_REVIEWS = """
    INSERT INTO review (evaluation_id, run_id, version, reviewer_id, submitted_at, corrected_scores, origins,
                        causes, submission, active_ms, words, judged, changes, judged_verdict, verdict,
                        before)
    SELECT id, run_id, 1, (%(people)s::bigint[])[1 + number %% %(reviewers)s],
           timestamptz '2026-01-01' + (number / %(reviewers)s %% %(days)s) * interval '1 day',
           jsonb_build_object('Rigor', jsonb_build_object('score', score, 'justification', 'Skips a step.'),
                              'Clarity', jsonb_build_object('score', 'Yes', 'justification', 'It is.'),
                              'Results', jsonb_build_object('score', 'Yes', 'justification', 'They are.')),
           '{}', '{}', gen_random_uuid(), 5000 + number * 7919 %% 90000, 100 + number %% 300,
           '{"Rigor": "No", "Clarity": "Yes", "Results": "Yes"}', (number %% 11 = 0)::int, 'Fail',
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
    yield _figure("who is working", lambda: presence.active_reviewers(WorkSelection()))


def _reports(selection: WorkSelection) -> dict[str, Callable[[], object]]:
    return {
        "reviewers": lambda: reviewer_activity.reviewer_figures(selection),
        "criteria": lambda: reviewer_activity.criterion_overrides(selection),
        "criteria by reviewer": lambda: reviewer_activity.criterion_overrides_by_reviewer(selection),
        "days": lambda: reviewer_activity.day_figures(selection),
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
    database.execute("SET session_replication_role = replica")
    for statement in (_REVIEWS, _COUNTS, _IN_FORCE, _EVENTS, _OVERTURNED):
        database.execute(statement, values)
    database.execute("RESET session_replication_role")
    database.execute("VACUUM ANALYZE")
    database.execute("CHECKPOINT")
    return run, people


def _figure(name: str, report: Callable[[], object]) -> Figure:
    def show() -> None:
        report()

    taken = median([seconds(show) for _ in range(ROUNDS + 1)][1:]) * 1000
    return Figure(f"report: {name}", f"{taken:.0f} ms", f"{AIM:.0f} ms", taken / AIM, most=1)
