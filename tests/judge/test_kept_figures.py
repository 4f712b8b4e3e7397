"""Figures stay in memory until their run changes."""

import gc
import weakref

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from reviews.audit import events
from reviews.judge import kept
from reviews.judge.accuracy import JudgeVsHuman, compare_with_humans
from reviews.judge.funnel import follow_records
from reviews.judge.missed_errors import estimate_missed_errors
from reviews.judge.scope import JudgeScope
from reviews.models import Run, RunCount, StratumCount, User
from tests.support.factories import RunFactory
from tests.support.population import count_records, rated, stratum
from tests.support.threads import together

pytestmark = pytest.mark.django_db(transaction=True)

_FORGET_SEALS = """
    SET session_replication_role = replica;
    DELETE FROM audit_seal;
    RESET session_replication_role;
"""


@pytest.fixture(autouse=True)
def _empty_memory() -> None:
    kept.forget_figures()


@pytest.fixture
def run(ana: User) -> Run:
    made = RunFactory.create(blind_share=0.5)
    rated(stratum(made, {"Pass": 100}), ana, "Pass", "Pass", 20)
    touch(made)
    return made


@transaction.atomic
def touch(run: Run) -> None:
    """Leave an event of the run, as each change does."""
    events.record("rename", actor=None, run=run)


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


def test_figures_follow_a_transaction_that_began_before_they_were_computed(run: Run, ana: User) -> None:
    with transaction.atomic():
        add_rating(run, ana)
        # This event has a later number and is committed earlier.
        together(lambda: touch(run))
        assert together(lambda: ratings(run)) == [20]
    assert ratings(run) == 21


def test_figures_follow_a_count_of_the_records(run: Run) -> None:
    assert compare(run).records["run"] == 100
    with transaction.atomic():
        StratumCount.objects.all().delete()
        count_records(run.strata.get(), "Pass", range(100))
        count_records(run.strata.get(), "Fail", range(50))
    assert "not all counted" in compare(run).unknown
    RunCount.objects.create(run=run, status="Completed", evaluations=50)
    assert compare(run).records["run"] == 150


def test_figures_are_computed_again_after_a_restored_backup(run: Run, ana: User) -> None:
    assert ratings(run) == 20
    with connection.cursor() as cursor:
        cursor.execute(_FORGET_SEALS)
    add_rating(run, ana)
    assert ratings(run) == 21


def test_figures_are_computed_again_after_many_events(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_MOST_EVENTS", 2)
    first = compare(run)
    for _ in range(3):
        touch(RunFactory.create())
    assert compare(run) is not first


def test_figures_without_an_event_are_not_kept(ana: User) -> None:
    run = RunFactory.create(blind_share=0.5)
    rated(stratum(run, {"Pass": 100}), ana, "Pass", "Pass", 20)
    assert compare(run) is not compare(run)


def test_least_recently_used_figures_leave_a_full_memory(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_MOST_HELD", 2_300)
    first, missed = compare(run), estimate_missed_errors(JudgeScope(run))
    assert first.held == 120
    assert compare(run) is first
    other = compare_with_humans(JudgeScope(run, judge="judge-1"))
    assert compare(run) is first
    assert compare_with_humans(JudgeScope(run, judge="judge-1")) is other
    assert estimate_missed_errors(JudgeScope(run)) is missed
    compare_with_humans(JudgeScope(run, model="o1"))
    assert compare(run) is not first


def test_funnel_keeps_no_earlier_figures_alive(run: Run) -> None:
    first = compare(run)
    reference = weakref.ref(first)
    funnel = follow_records(JudgeScope(run), first)
    touch(run)
    assert follow_records(JudgeScope(run), compare(run)) == funnel
    del first
    gc.collect()
    assert reference() is None
