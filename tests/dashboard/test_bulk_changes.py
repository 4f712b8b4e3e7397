"""Bulk changes match their preview and can be undone."""

import datetime as dt

import pytest
from django.db import transaction
from django.utils import timezone

from reviews.accounts.permissions import Denied
from reviews.dashboard import bulk_changes
from reviews.dashboard.bulk_changes import BulkOrder, BulkPreview, Kind, UndoResult
from reviews.models import AuditEvent, BulkChange, Evaluation, Run, User
from reviews.queue import claims
from reviews.search.filters import Filters
from tests.support.factories import RunFactory
from tests.support.threads import together
from tests.support.work import decide, evaluations

pytestmark = pytest.mark.django_db

SOON = timezone.now() + dt.timedelta(hours=1)


@pytest.fixture
def run() -> Run:
    return RunFactory.create()


def everything(run: Run, kind: Kind, **what: object) -> BulkOrder:
    return BulkOrder(run, Filters(), kind, **what)  # type: ignore[arg-type]


def assigned(run: Run) -> list[User | None]:
    return [record.assigned_to for record in run.evaluations.order_by("first_line")]


class TestAssign:
    def test_gives_the_records_of_the_list_to_somebody(self, run: Run, lea: User, bo: User) -> None:
        evaluations(run, tasks=["1", "2", "3"])
        order = BulkOrder(run, Filters.from_query_string("task=1&task=3"), Kind.ASSIGN, bo)
        assert bulk_changes.preview(order) == BulkPreview(2, 0)
        change = bulk_changes.apply(order, lea)
        assert change.evaluations == 2
        assert assigned(run) == [bo, None, bo]

    def test_leaves_what_others_hold_and_takes_what_the_person_holds(
        self, run: Run, lea: User, ana: User, bo: User
    ) -> None:
        evaluations(run, tasks=["1"], claimed_by=ana, claimed_until=SOON)
        evaluations(run, tasks=["2"], claimed_by=bo, claimed_until=SOON)
        order = everything(run, Kind.ASSIGN, assigned_to=bo)
        assert bulk_changes.preview(order) == BulkPreview(1, 1)
        bulk_changes.apply(order, lea)
        assert set(run.evaluations.values_list("task_id", "assigned_to")) == {("1", None), ("2", bo.pk)}

    def test_is_for_what_waits_for_a_decision_only(self, run: Run, bo: User) -> None:
        evaluations(run, tasks=["1"], human_review_status="Completed")
        evaluations(run, tasks=["2"], is_escalated=True)
        evaluations(run, tasks=["3"], assigned_to=bo)
        assert bulk_changes.preview(everything(run, Kind.ASSIGN, assigned_to=bo)) == BulkPreview(0, 0)

    def test_to_nobody_gives_records_back_to_everybody(self, run: Run, lea: User, bo: User) -> None:
        evaluations(run, tasks=["1", "2"], assigned_to=bo)
        bulk_changes.apply(everything(run, Kind.ASSIGN), lea)
        assert assigned(run) == [None, None]

    def test_takes_no_more_records_than_it_says(
        self, run: Run, lea: User, bo: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bulk_changes, "MOST_AT_ONCE", 2)
        evaluations(run, tasks=["1", "2", "3"])
        order = everything(run, Kind.ASSIGN, assigned_to=bo)
        assert bulk_changes.preview(order).changes is None
        assert [bulk_changes.apply(order, lea).evaluations for _ in range(3)] == [2, 1, 0]

    def test_decides_who_gets_a_record(self, run: Run, lea: User, ana: User, bo: User) -> None:
        evaluations(run, tasks=["1"])
        bulk_changes.apply(everything(run, Kind.ASSIGN, assigned_to=bo), lea)
        assert claims.claim_next(run=run, reviewer=ana) is None
        assert claims.claim_next(run=run, reviewer=bo)


def test_what_is_prioritised_is_handed_out_first(run: Run, lea: User, ana: User) -> None:
    evaluations(run, tasks=["1", "2"])
    order = BulkOrder(
        run, Filters.from_query_string("task=2"), Kind.PRIORITISE, priority=bulk_changes.PRIORITY_FIRST
    )
    assert bulk_changes.preview(order) == BulkPreview(1, 0)
    bulk_changes.apply(order, lea)
    claimed = claims.claim_next(run=run, reviewer=ana)
    assert claimed
    assert claimed.task_id == "2"


def test_release_frees_what_is_held_and_nothing_else(run: Run, lea: User, ana: User) -> None:
    evaluations(run, tasks=["1", "2"])
    held = claims.claim_next(run=run, reviewer=ana)
    assert held
    order = everything(run, Kind.RELEASE)
    assert bulk_changes.preview(order) == BulkPreview(1, 0)
    bulk_changes.apply(order, lea)
    assert not run.evaluations.exclude(claimed_by=None).exists()


class TestUndo:
    def test_gives_each_record_back_what_it_had(self, run: Run, lea: User, ana: User, bo: User) -> None:
        evaluations(run, tasks=["1"], assigned_to=ana)
        evaluations(run, tasks=["2"])
        change = bulk_changes.apply(everything(run, Kind.ASSIGN, assigned_to=bo), lea)
        assert bulk_changes.undo(change_id=change.pk, actor=lea) == UndoResult(2, 0)
        assert set(run.evaluations.values_list("task_id", "assigned_to")) == {("1", ana.pk), ("2", None)}

    def test_leaves_what_was_changed_since(self, run: Run, lea: User, ana: User, bo: User) -> None:
        evaluations(run, tasks=["1", "2"])
        change = bulk_changes.apply(everything(run, Kind.ASSIGN, assigned_to=bo), lea)
        bulk_changes.apply(BulkOrder(run, Filters.from_query_string("task=1"), Kind.ASSIGN, ana), lea)
        assert bulk_changes.undo(change_id=change.pk, actor=lea) == UndoResult(1, 1)
        assert set(run.evaluations.values_list("task_id", "assigned_to")) == {("1", ana.pk), ("2", None)}

    def test_of_a_priority_brings_the_order_back(self, run: Run, lea: User) -> None:
        evaluations(run, tasks=["1"])
        change = bulk_changes.apply(
            everything(run, Kind.PRIORITISE, priority=bulk_changes.PRIORITY_FIRST), lea
        )
        assert bulk_changes.undo(change_id=change.pk, actor=lea) == UndoResult(1, 0)
        assert run.evaluations.get().priority == bulk_changes.PRIORITY_NORMAL

    def test_of_a_release_gives_back_what_nobody_took(self, run: Run, lea: User, ana: User, bo: User) -> None:
        one, other = evaluations(run, tasks=["1", "2"])
        for evaluation in (one, other):
            claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        change = bulk_changes.apply(everything(run, Kind.RELEASE), lea)
        claims.claim(evaluation_id=one.pk, reviewer=bo)
        assert bulk_changes.undo(change_id=change.pk, actor=lea) == UndoResult(1, 1)
        assert set(run.evaluations.values_list("task_id", "claimed_by")) == {("1", bo.pk), ("2", ana.pk)}

    def test_of_a_release_gives_nobody_what_was_decided(
        self, run: Run, lea: User, ana: User, bo: User
    ) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        change = bulk_changes.apply(everything(run, Kind.RELEASE), lea)
        claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
        decide(evaluation, bo)
        assert bulk_changes.undo(change_id=change.pk, actor=lea) == UndoResult(0, 1)

    def test_is_done_once(self, run: Run, lea: User) -> None:
        change = bulk_changes.apply(everything(run, Kind.RELEASE), lea)
        bulk_changes.undo(change_id=change.pk, actor=lea)
        with pytest.raises(bulk_changes.UndoRefused, match="already undone"):
            bulk_changes.undo(change_id=change.pk, actor=lea)


def test_changes_of_many_records_are_for_leads(run: Run, lea: User, ana: User) -> None:
    with pytest.raises(Denied):
        bulk_changes.apply(everything(run, Kind.RELEASE), ana)
    change = bulk_changes.apply(everything(run, Kind.RELEASE), lea)
    with pytest.raises(Denied):
        bulk_changes.undo(change_id=change.pk, actor=ana)


def test_the_event_says_what_was_done_to_how_many(run: Run, lea: User, bo: User) -> None:
    evaluations(run, tasks=["1", "2"])
    change = bulk_changes.apply(
        BulkOrder(run, Filters.from_query_string("verdict=Fail"), Kind.ASSIGN, bo), lea
    )
    event = AuditEvent.objects.get(action="bulk assign")
    assert (event.actor, event.run) == (lea, run)
    assert event.detail == {
        "change": change.pk,
        "query": "verdict=Fail",
        "assigned_to": "bo",
        "priority": None,
        "evaluations": 2,
    }


@pytest.mark.django_db(transaction=True)
def test_a_record_that_somebody_has_locked_is_passed_over(lea: User, bo: User) -> None:
    run = RunFactory.create()
    one, _ = evaluations(run, tasks=["1", "2"])
    with transaction.atomic():
        Evaluation.objects.select_for_update().get(pk=one.pk)
        [change] = together(lambda: bulk_changes.apply(everything(run, Kind.ASSIGN, assigned_to=bo), lea))
    assert change.evaluations == BulkChange.objects.get().evaluations == 1
