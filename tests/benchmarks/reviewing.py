"""Measure a submit with the next record, for several reviewers and queue sizes."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from statistics import median, quantiles
from typing import NamedTuple
from uuid import uuid4

from django.contrib.auth.models import Group
from django.db import connection, connections
from django.db.models import Q

from reviews.database.statements import execute, prepared_statements
from reviews.models import Evaluation, Import, Run, User
from reviews.queue import claims, progress
from reviews.review import decisions
from tests.benchmarks import database
from tests.benchmarks.measuring import Figure, seconds

SIZES = (1_000, 100_000, 1_000_000)
CROWD, CROWD_HELD = 300_000, 1_000
REVIEWERS = 8
ALONE, TOGETHER, FILTERED = 100, 50, 10  # decisions of each reviewer
AIM_ALONE, AIM_TOGETHER = 10.0, 60.0  # milliseconds
ONE_MODEL = Q(model_id="model-3")

# Five models for each task, with as much JSON as a short record has.
_FILL = """
    INSERT INTO evaluation (
        run_id, first_import_id, first_line, source_import_id, source_line, content_hash, evaluation_id,
        task_id, model_id, judge_llm_model, judge_prompt_template_path, raw_judge_output,
        parsed_rubric_scores, structured_model_response, aggregated_score, needs_human_review, review_reasons,
        human_review_status, created_at, extra)
    SELECT %(run)s, %(source)s, number, %(source)s, number, '', 'record-' || number,
           (number / 5)::text, 'model-' || number %% 5, 'judge-1', 'prompts/judge.txt',
           jsonb_build_object('raw_content', repeat('The judge wrote this. ', 40)),
           jsonb_build_object('Rigor', jsonb_build_object('score', 'No', 'justification', 'Skips a step.')),
           '{"final_answer": "1/2"}', 'Fail', true, '["Final answer does not match."]', 'Needs Review',
           now(), '{}'
    FROM generate_series(1, %(count)s) AS number
"""
# At the front of the queue, some records are claimed; half of the others are decided, half are assigned
# to somebody else.
_CROWD = """
    UPDATE evaluation SET
        claimed_by_id = CASE WHEN number <= %(held)s THEN %(other)s END,
        claimed_until = CASE WHEN number <= %(held)s THEN now() + interval '1 hour' END,
        human_review_status = CASE WHEN number > %(held)s AND number %% 2 = 0 THEN 'Completed'
                                   ELSE human_review_status END,
        assigned_to_id = CASE WHEN number > %(held)s AND number %% 2 = 1 THEN %(other)s END
    FROM (
        SELECT id, row_number() OVER (ORDER BY id) AS number FROM evaluation
        WHERE human_review_status = 'Needs Review' ORDER BY id LIMIT %(count)s
    ) front
    WHERE evaluation.id = front.id
"""


class Times(NamedTuple):
    """Milliseconds from a submit to the next record, and the records that came."""

    taken: list[float]
    records: list[int]

    @property
    def median(self) -> float:
        return median(self.taken)

    @property
    def p95(self) -> float:
        return quantiles(self.taken, n=20)[-1]


def submit_and_next(scale: float) -> Iterator[Figure]:
    """Measure one reviewer, eight, and eight with a filter at each size, then behind a crowd."""
    alone: dict[int, float] = {}
    for size in SIZES:
        count = max(int(size * scale), 1_000)
        run = filled(count)
        for name, people, steps, condition, aim in (
            ("one reviewer", 1, ALONE, claims.EVERYTHING, AIM_ALONE),
            ("eight", REVIEWERS, TOGETHER, claims.EVERYTHING, AIM_TOGETHER),
            ("eight, filtered", REVIEWERS, FILTERED, ONE_MODEL, AIM_TOGETHER),
        ):
            times = _measure(run, people, steps, condition)
            alone.setdefault(count, times.median)
            yield _figure(f"{count:,} records, {name}", times, aim)
    smallest, largest = min(alone), max(alone)
    yield Figure(
        f"submit + next: {largest:,} records against {smallest:,}",
        f"{alone[largest]:.1f} ms",
        f"{alone[smallest]:.1f} ms",
        alone[largest] / alone[smallest],
        most=1.5,
    )
    crowd = int(CROWD * scale)
    other, _ = User.objects.get_or_create(username="other")
    execute(_CROWD, {"other": other.pk, "count": crowd, "held": CROWD_HELD})
    execute("VACUUM ANALYZE evaluation")
    times = _measure(run, 1, ALONE, claims.EVERYTHING)
    yield _figure(f"behind {crowd:,} done or assigned", times, AIM_ALONE)


def filled(count: int) -> Run:
    """Create a run of `count` records, the only one in the database."""
    database.empty()
    run = Run.objects.create(name=database.RUN, blind_share=0)
    source = Import.objects.create(run=run, file_name="run.jsonl", state=Import.State.DONE)
    execute(_FILL, {"run": run.pk, "source": source.pk, "count": count})
    execute("VACUUM ANALYZE evaluation")
    execute("CHECKPOINT")
    return run


def _measure(run: Run, people: int, steps: int, condition: Q) -> Times:
    reviewers = [_reviewer(number) for number in range(people)]
    with ThreadPoolExecutor(people) as pool:
        shares = list(pool.map(partial(_go_through, run, condition, steps), reviewers))
    times = Times(*(list(chain.from_iterable(parts)) for parts in zip(*shares, strict=True)))
    assert len(set(times.records)) == len(times.records), "a record came twice"
    return times


def _reviewer(number: int) -> int:
    reviewer, _ = User.objects.get_or_create(username=f"reviewer{number}")
    reviewer.groups.add(Group.objects.get(name="reviewer"))
    return reviewer.pk


def _go_through(run: Run, condition: Q, steps: int, reviewer: int) -> Times:
    """Decide `steps` records, loading the reviewer and preparing statements as the requests do."""
    times = Times([], [])
    connection.ensure_connection()
    connection.connection.prepare_threshold = 1  # see `cognireview/wsgi.py`
    claimed = claims.claim_next(run=run, reviewer=User.objects.get(pk=reviewer), condition=condition)

    @prepared_statements()
    def step() -> None:
        nonlocal claimed
        assert claimed
        person = User.objects.get(pk=reviewer)
        _agree(claimed, person)
        claimed = claims.claim_next(run=run, reviewer=person, condition=condition)
        progress.run_progress(run)

    while claimed and len(times.taken) < steps:
        times.records.append(claimed.pk)
        times.taken.append(seconds(step) * 1000)
    if claimed:
        claims.release(evaluation_id=claimed.pk, actor=User.objects.get(pk=reviewer))
    connections.close_all()
    return times


def _agree(evaluation: Evaluation, reviewer: User) -> None:
    scores = evaluation.parsed_rubric_scores
    decisions.submit(
        evaluation_id=evaluation.pk,
        reviewer=reviewer,
        version=evaluation.version,
        scores=scores,
        comments="",
        origins=dict.fromkeys(scores, "judge"),
        judged={name: entry["score"] for name, entry in scores.items()},
        submission=uuid4(),
    )


def _figure(name: str, times: Times, aim: float) -> Figure:
    return Figure(
        f"submit + next: {name} (p95 {times.p95:.0f} ms)",
        f"{times.median:.1f} ms",
        f"{aim:.0f} ms",
        times.median / aim,
        most=1,
    )
