"""Two runs with records of several judges and ratings of several days, to filter."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Any

from reviews.database.statements import execute
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Rating, Run, User
from reviews.records.status import COMPLETED, NOT_REQUIRED
from reviews.search import indexing, strata
from tests.support.factories import EvaluationFactory, ImportFactory, RunFactory
from tests.support.gold import CLARITY, SCORES, rate
from tests.support.rubrics import rubric_data

JUDGES, PROMPTS, MODELS, TASKS = ("judge-1", "judge-2"), ("v1", "v2"), ("o1", "o3"), 9
NEW_YEAR = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
FILTERS: list[dict[str, str]] = [
    {"judge": "judge-1"},
    {"template": "v2"},
    {"judge": "judge-2", "template": "v1"},
    {"model": "o3"},
    {"model": "-"},
    {"task": "task 3"},
    {"reviewer": "bo"},
    {"since": "2026-01-03", "until": "2026-01-05"},
    {"judge": "judge-1", "model": "o1", "reviewer": "ana", "since": "2026-01-02"},
]


@dataclass(frozen=True)
class Rated:
    """A blind rating."""

    reviewer: str
    verdict: str
    day: int


@dataclass(frozen=True)
class Judged:
    """A record, with the judge's verdict."""

    judge: str
    template: str
    model: str | None
    task: str
    verdict: str
    is_flagged: bool
    ratings: tuple[Rated, ...]
    #: The number of its ratings, whichever of them a run holds.
    raters: int

    def matches(self, scope: JudgeScope) -> bool:
        wanted = (scope.judge, scope.template, scope.model, scope.task)
        given = (self.judge, self.template, self.model or "", self.task)
        return all(one in {None, other} for one, other in zip(wanted, given, strict=True))

    def rated_in(self, scope: JudgeScope) -> "Judged":
        """Return the record with the ratings of a scope."""
        kept = [
            one
            for one in self.ratings
            if (scope.reviewer is None or scope.reviewer.username == one.reviewer)
            and (scope.since is None or scope.since.day <= one.day)
            and (scope.until is None or one.day <= scope.until.day)
        ]
        return replace(self, ratings=tuple(kept))


def history(chance: Random) -> list[Judged]:
    """Return the records of a run: some judges of each response, most of them reviewed."""
    found = []
    for judge, template, model, task in product(JUDGES, PROMPTS, (*MODELS, None), range(TASKS)):
        if chance.random() < 0.6:
            people = chance.choice([(), ("ana",), ("bo",), ("ana", "bo")])
            ratings = (Rated(one, chance.choice(["Pass", "Fail"]), chance.randint(1, 7)) for one in people)
            verdict, is_flagged = chance.choice(["Pass", "Pass", "Fail"]), chance.random() < 0.6
            given = (judge, template, model, f"task {task}", verdict, is_flagged, tuple(ratings))
            found.append(Judged(*given, raters=len(people)))
    return found


def fill(name: str, records: Iterable[Judged]) -> Run:
    """Create a run with some records and their ratings."""
    run = RunFactory.create(name=name, rubric=rubric_data(CLARITY), blind_share=0, accuracy_target=0.8)
    given = [*records]
    source = ImportFactory.create(run=run, lines=len(given))
    rows = [
        (_record(run, one, first_import=source, first_line=line), one) for line, one in enumerate(given, 1)
    ]
    Evaluation.objects.bulk_create(record for record, _ in rows)
    indexing.index_at_once(run, [source])
    people = {person.username: person for person in User.objects.all()}
    ratings = [(record, rating) for record, one in rows for rating in one.ratings]
    for username, person in people.items():
        own = [(record, rating) for record, rating in ratings if rating.reviewer == username]
        rate([record for record, _ in own], person, [rating.verdict for _, rating in own])
        for day in {rating.day for _, rating in own}:
            of_day = [record for record, rating in own if rating.day == day]
            rated = Rating.objects.filter(evaluation__in=of_day, reviewer=person)
            rated.update(at=NEW_YEAR + dt.timedelta(days=day - 1))
    for raters in {one.raters for _, one in rows}:
        known = [record for record, one in rows if one.raters == raters]
        Rating.objects.filter(evaluation__in=known).update(raters=raters)
    strata.recount(run, {})
    # Without statistics of the new rows, PostgreSQL joins ratings with each stratum one by one.
    execute("ANALYZE stratum, rating_cell, rating")
    return run


def _record(run: Run, one: Judged, **values: Any) -> Evaluation:
    return EvaluationFactory.build(
        run=run,
        judge_llm_model=one.judge,
        judge_prompt_template_path=one.template,
        model_id=one.model,
        task_id=one.task,
        aggregated_score=one.verdict,
        parsed_rubric_scores={CLARITY: {"score": SCORES[one.verdict]}},
        structured_model_response={"response": f"{one.task} by {one.model}"},
        needs_human_review=one.is_flagged,
        is_sampled=not one.is_flagged,
        human_review_status=COMPLETED if one.is_flagged else NOT_REQUIRED,
        **values,
    )
