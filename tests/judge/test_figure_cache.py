"""Figures stay in memory until their run changes."""

import gc
import random
import weakref
from contextlib import suppress
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from cognireview.types import report_parts
from cognireview.types.encoding import encode
from reviews.audit import events
from reviews.database.statements import execute
from reviews.judge import figure_cache
from reviews.judge.accuracy import JudgeVsHuman, compare_with_humans
from reviews.judge.data_summary import largest_families
from reviews.judge.flag_precision import measure_flag_precision
from reviews.judge.funnel import follow_records
from reviews.judge.leaderboard import rank_models
from reviews.judge.missed_errors import estimate_missed_errors
from reviews.judge.planning import plan_reviews
from reviews.judge.ratings import load_all_ratings
from reviews.judge.scope import JudgeScope
from reviews.models import BlindScores, Evaluation, FacetCount, Run, RunCount, StratumCount, User
from reviews.records.conflicts import Conflict
from reviews.review.decisions import revise, undo
from reviews.search import strata
from tests.support.factories import RunFactory
from tests.support.population import count_records, rated, stratum
from tests.support.rubrics import rubric_data
from tests.support.threads import together
from tests.support.work import decide, evaluations, lock_in_scores

pytestmark = pytest.mark.django_db(transaction=True)

CLARITY, DEPTH = "Clarity", "Depth"

_FORGET_SEALS = """
    SET session_replication_role = replica;
    DELETE FROM audit_seal;
    RESET session_replication_role;
"""


@pytest.fixture(autouse=True)
def _empty_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_cache, "_cache", figure_cache._Cache())


@pytest.fixture
def run(ana: User) -> Run:
    made = RunFactory.create(blind_share=0.5)
    rated(stratum(made, {"Pass": 100}), ana, "Pass", "Pass", 20)
    touch(made)
    return made


@transaction.atomic
def touch(run: Run, record: Evaluation | None = None) -> None:
    """Leave an event of the run, as each change does."""
    events.record("claim" if record else "rename", actor=None, run=run, evaluation=record)


def rated_records(run: Run, *tasks: str) -> list[Evaluation]:
    """Create records with scores by the judge."""
    scores = {CLARITY: {"score": "No", "justification": ""}, DEPTH: {"score": 4, "justification": ""}}
    return evaluations(
        run,
        tasks=tasks,
        model_id="o1",
        aggregated_score="Fail",
        parsed_rubric_scores=scores,
        structured_model_response={"steps": ["It is 4."]},
    )


@transaction.atomic
def lock_in(record: Evaluation, person: User, score: str) -> None:
    """Lock in blind scores, once for each version of the record."""
    place = {"source_import": record.source_import, "source_line": record.source_line}
    if not BlindScores.objects.filter(evaluation=record, reviewer=person, **place).exists():
        lock_in_scores(record, person, {CLARITY: score})
    touch(record.run, record)


def loads(run: Run) -> list[str]:
    """Compute figures, and return the ratings that each statement loaded: all, or those of records."""
    with CaptureQueriesContext(connection) as queries:
        compare(run)
    statements = [query["sql"] for query in queries.captured_queries if "string_agg" in query["sql"]]
    return ["all" if "LATERAL" in sql else "records" for sql in statements]


def add_rating(run: Run, ana: User) -> None:
    """Add a blind rating and its event."""
    rated(run.strata.get(), ana, "Pass", "Fail", 1)
    touch(run)


def compare(run: Run) -> JudgeVsHuman:
    return compare_with_humans(JudgeScope(run))


def ratings(run: Run) -> int:
    return compare(run).ratings["blind", "run"]


def test_figures_of_an_unchanged_run_are_computed_once(run: Run) -> None:
    first = compare(run)
    with CaptureQueriesContext(connection) as queries:
        assert compare(run) is first
    assert not [query for query in queries.captured_queries if "rating_cell" in query["sql"]]


def test_figures_of_another_scope_are_computed_apart(run: Run, ana: User, bo: User) -> None:
    assert compare_with_humans(JudgeScope(run, reviewer=ana)).headline
    assert compare_with_humans(JudgeScope(run, reviewer=bo)).headline is None


def test_figures_follow_a_committed_change(run: Run, ana: User) -> None:
    assert ratings(run) == 20
    with transaction.atomic():
        add_rating(run, ana)
    assert ratings(run) == 21


def test_figures_survive_a_change_that_is_rolled_back(run: Run, ana: User) -> None:
    first = compare(run)
    with transaction.atomic():
        add_rating(run, ana)
        transaction.set_rollback(True)
    assert compare(run) is first


def test_figures_survive_a_change_of_another_run(run: Run) -> None:
    first = compare(run)
    touch(RunFactory.create())
    assert compare(run) is first


def test_figures_in_a_transaction_include_its_own_changes(run: Run, ana: User) -> None:
    assert ratings(run) == 20
    with transaction.atomic():
        add_rating(run, ana)
        assert ratings(run) == 21
        transaction.set_rollback(True)
    assert ratings(run) == 20


@pytest.mark.slow
def test_figures_follow_a_transaction_that_began_before_they_were_computed(run: Run, ana: User) -> None:
    with transaction.atomic():
        add_rating(run, ana)
        # This event has a later number and is committed earlier.
        together(lambda: touch(run))
        assert together(lambda: ratings(run)) == [20]
    assert ratings(run) == 21


@pytest.mark.slow
def test_figures_follow_a_count_of_the_records(run: Run) -> None:
    assert compare(run).records["run"] == 100
    with transaction.atomic():
        StratumCount.objects.all().delete()
        count_records(run.strata.get(), "Pass", range(100))
        count_records(run.strata.get(), "Fail", range(50))
    assert "not all counted" in compare(run).unknown
    RunCount.objects.create(run=run, status="Completed", evaluations=50)
    assert compare(run).records["run"] == 150


def test_largest_families_are_looked_up_again_after_a_count_of_the_records_alone(run: Run, ana: User) -> None:
    FacetCount.objects.create(run=run, name="reason", value="length", evaluations=60)
    assert largest_families(JudgeScope(run)) == ({"length": 60}, 0)
    add_rating(run, ana)
    with CaptureQueriesContext(connection) as queries:
        largest_families(JudgeScope(run))
    assert not any("facet_count" in query["sql"] for query in queries.captured_queries)
    with transaction.atomic():
        FacetCount.objects.update(evaluations=90)
        count_records(run.strata.get(), "Fail", range(50))
        RunCount.objects.create(run=run, status="Completed", evaluations=50)
    assert largest_families(JudgeScope(run)) == ({"length": 90}, 0)


@pytest.mark.slow
def test_figures_are_computed_again_after_a_restored_backup(run: Run, ana: User) -> None:
    assert ratings(run) == 20
    execute(_FORGET_SEALS)
    add_rating(run, ana)
    assert ratings(run) == 21


def test_figures_are_computed_again_after_many_events(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_cache, "_MOST_EVENTS", 2)
    first = compare(run)
    for _ in range(3):
        touch(RunFactory.create())
    assert compare(run) is not first


def test_figures_without_an_event_are_not_cached(ana: User) -> None:
    run = RunFactory.create(blind_share=0.5)
    rated(stratum(run, {"Pass": 100}), ana, "Pass", "Pass", 20)
    assert compare(run) is not compare(run)


@pytest.mark.slow
def test_least_recently_used_figures_leave_a_full_cache(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_cache, "_MOST_HELD", 2_200)
    first, missed = compare(run), estimate_missed_errors(JudgeScope(run))
    assert first.held == 20
    assert compare(run) is first
    other = compare_with_humans(JudgeScope(run, judge="judge-1"))
    assert compare(run) is first
    assert compare_with_humans(JudgeScope(run, judge="judge-1")) is other
    assert estimate_missed_errors(JudgeScope(run)) is missed
    for scope in (JudgeScope(run, model="o1"), JudgeScope(run, template="prompts/judge.txt")):
        compare_with_humans(scope)
    assert compare(run) is not first


@pytest.mark.slow
def test_ratings_of_changed_records_alone_are_loaded_again(run: Run, ana: User) -> None:
    [record] = rated_records(run, "1")
    assert ratings(run) == 20
    lock_in(record, ana, "Yes")
    assert loads(run) == ["records", "records"]
    assert ratings(run) == 21
    touch(run)
    assert loads(run) == ["all", "all"]


@pytest.mark.slow
def test_figures_survive_an_event_of_a_record_whose_ratings_stay(run: Run, ana: User) -> None:
    [record] = rated_records(run, "1")
    lock_in(record, ana, "Yes")
    first = load_all_ratings(JudgeScope(run))
    touch(run, record)
    assert all(one is first[name] for name, one in load_all_ratings(JudgeScope(run)).items())
    lock_in(record, User.objects.create(username="cy"), "No")
    assert load_all_ratings(JudgeScope(run))[None] is not first[None]


@pytest.mark.slow
def test_changed_records_alone_are_looked_up_again_as_records_to_score(run: Run, ana: User) -> None:
    run.blind_share = 1.0
    run.save()
    record, _ = rated_records(run, "1", "2")
    touch(run)
    assert follow_records(JudgeScope(run), compare(run)).missing == 2
    lock_in(record, ana, "Yes")
    with CaptureQueriesContext(connection) as queries:
        found = follow_records(JudgeScope(run), compare(run))
    assert (found.missing, found.assigned) == (1, 3)
    looked_up = [query["sql"] for query in queries if 'int8send("evaluation"' in query["sql"]]
    assert len(looked_up) == 3
    assert all(f'"evaluation"."id" IN ({record.pk})' in sql for sql in looked_up)


@pytest.mark.slow
def test_blind_figures_survive_an_assisted_decision(run: Run, ana: User, bo: User) -> None:
    blind, assisted = rated_records(run, "1", "2")
    lock_in(blind, ana, "Yes")
    before = compare(run)
    Evaluation.objects.filter(pk=assisted.pk).update(was_shown=True)
    decide(Evaluation.objects.get(pk=assisted.pk), bo, judged={CLARITY: "No"})
    after = compare(run)
    assert after is not before
    assert after.ratings["assisted", "run"] == 1
    assert all(one is other for one, other in zip(before.blind, after.blind, strict=True))
    lock_in(blind, bo, "No")
    assert compare(run).blind[0] is not after.blind[0]
    cached, found = (one.find(None, "assisted", "run") for one in (after, compare(run)))
    assert cached
    assert found is cached


@pytest.mark.slow
def test_ratings_of_changed_records_are_loaded_with_the_filters_of_a_scope(
    run: Run, ana: User, bo: User
) -> None:
    records = rated_records(run, "1", "2")
    scopes = [JudgeScope(run, reviewer=ana), JudgeScope(run, task="2"), JudgeScope(run, judge="judge-2")]
    assert [len(load_all_ratings(scope)) for scope in scopes] == [1, 0, 0]
    for record, person in zip(records, (ana, bo), strict=True):
        lock_in(record, person, "Yes")
    assert [len(load_all_ratings(scope).get(CLARITY, ())) for scope in scopes] == [1, 1, 0]


@pytest.mark.slow
def test_all_ratings_are_loaded_after_changes_of_many_records(
    run: Run, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure_cache, "_MOST_RECORDS", 2)
    records = rated_records(run, "1", "2", "3")
    assert ratings(run) == 20
    for record in records:
        lock_in(record, ana, "Yes")
    assert loads(run) == ["all", "all"]
    assert ratings(run) == 23


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "steps"),
    [(0, 6), *(pytest.param(seed, 15, marks=pytest.mark.exhaustive) for seed in (1, 2, 3, 4))],
)
def test_figure_cache_equal_fresh_ones_after_any_history(
    seed: int, steps: int, ana: User, bo: User, lea: User
) -> None:
    chance = random.Random(seed)
    run = RunFactory.create(rubric=rubric_data(CLARITY, DEPTH), blind_share=0.5)
    records = rated_records(run, *"111223344")
    strata.recount(run, {})
    touch(run)
    scopes = [JudgeScope(run), JudgeScope(run, reviewer=bo), JudgeScope(run, task="1")]
    for _ in range(steps):
        for _ in range(chance.randint(1, 2)):
            with suppress(Conflict), transaction.atomic():
                change(chance, Evaluation.objects.get(pk=chance.choice(records).pk), [ana, bo, lea])
                transaction.set_rollback(chance.random() < 0.2)
        scope = chance.choice(scopes)
        known = figures(scope)
        with transaction.atomic():
            assert figures(scope) == known


def change(chance: random.Random, record: Evaluation, people: list[User]) -> None:
    """Change a record, and leave the event that the change of a person has."""
    person, score = chance.choice(people), chance.choice(["Yes", "No", "Partial"])
    match chance.choice(["lock in", "submit", "submit", "revise", "undo", "claim", "file", "count"]):
        case "lock in":
            lock_in(record, person, score)
        case "submit":
            scores = {CLARITY: {"score": score, "justification": "So."}}
            decide(
                record, person, scores=scores, origins={CLARITY: "human"}, judged={CLARITY: "No", DEPTH: 4}
            )
        case "revise" if record.review:
            decide(record, record.review.reviewer, by=revise, judged={CLARITY: "No"})
        case "undo" if record.review:
            undo(review=record.review)
        case "file":
            record.parsed_rubric_scores = {CLARITY: {"score": score, "justification": ""}}
            record.content_hash = chance.randbytes(16)
            record.save()
            touch(record.run)
        case "count":
            strata.recount(record.run, {})
        case _:
            touch(record.run, record)


def figures(scope: JudgeScope) -> list[Any]:
    """Return figures of all kinds as JSON, apart from counts that need no ratings."""
    return [
        compare_with_humans(scope).as_json(),
        encode(report_parts.MissedErrors, estimate_missed_errors(scope)),
        encode(report_parts.Leaderboard, rank_models(scope)),
        encode(report_parts.FlagPrecision, measure_flag_precision(scope)),
        encode(report_parts.Funnel, follow_records(scope, compare_with_humans(scope))),
        plan_reviews(scope).as_json(),
    ]


@pytest.mark.slow
def test_funnel_keeps_no_earlier_figures_alive(run: Run) -> None:
    first = compare(run)
    reference = weakref.ref(first)
    funnel = follow_records(JudgeScope(run), first)
    touch(run)
    assert follow_records(JudgeScope(run), compare(run)) == funnel
    del first
    gc.collect()
    assert reference() is None
