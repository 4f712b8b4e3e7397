"""Bulk changes match their preview and can be undone."""

import datetime as dt

import pytest
from django.db import transaction
from django.utils import timezone

from cognireview.types.leading import UndoneBulkChange
from reviews.accounts.permissions import Denied
from reviews.dashboard import bulk_changes
from reviews.dashboard.bulk_changes import BulkOrder, BulkPreview, Kind
from reviews.dashboard.splitting import Share, Split, SplitRefused
from reviews.models import AuditEvent, BulkChange, Escalation, Evaluation, Run, User
from reviews.queue import claims
from reviews.queue.members import configure_members
from reviews.review import escalations
from reviews.search.filters import Filters
from tests.support.factories import RunFactory
from tests.support.threads import together
from tests.support.work import decide, evaluations

pytestmark = pytest.mark.django_db

SOON = timezone.now() + dt.timedelta(hours=1)


def everything(run: Run, kind: Kind, **what: object) -> BulkOrder:
    return BulkOrder(run, Filters(), kind, **what)  # type: ignore[arg-type]


def assigned(run: Run) -> list[User | None]:
    return [record.assigned_to for record in run.evaluations.order_by("first_line")]


class TestAssign:
    def test_assignment_covers_the_filtered_records(self, run: Run, lea: User, bo: User) -> None:
        evaluations(run, tasks=["1", "2", "3"])
        order = BulkOrder(run, Filters.from_query_string("task=1&task=3"), Kind.ASSIGN, bo)
        assert bulk_changes.preview(order) == BulkPreview(2, 0)
        change = bulk_changes.apply(order=order, actor=lea)
        assert change.evaluations == 2
        assert assigned(run) == [bo, None, bo]

    def test_assignment_leaves_records_that_others_claimed(
        self, run: Run, lea: User, ana: User, bo: User
    ) -> None:
        evaluations(run, tasks=["1"], claimed_by=ana, claimed_until=SOON)
        evaluations(run, tasks=["2"], claimed_by=bo, claimed_until=SOON)
        order = everything(run, Kind.ASSIGN, assigned_to=bo)
        assert bulk_changes.preview(order) == BulkPreview(1, 1)
        bulk_changes.apply(order=order, actor=lea)
        assert set(run.evaluations.values_list("task_id", "assigned_to")) == {("1", None), ("2", bo.pk)}

    def test_assignment_skips_decided_records(self, run: Run, bo: User) -> None:
        evaluations(run, tasks=["1"], human_review_status="Completed")
        evaluations(run, tasks=["2"], is_escalated=True)
        evaluations(run, tasks=["3"], assigned_to=bo)
        assert bulk_changes.preview(everything(run, Kind.ASSIGN, assigned_to=bo)) == BulkPreview(0, 0)

    def test_assignment_to_nobody_opens_records_to_everybody(self, run: Run, lea: User, bo: User) -> None:
        evaluations(run, tasks=["1", "2"], assigned_to=bo)
        bulk_changes.apply(order=everything(run, Kind.ASSIGN), actor=lea)
        assert assigned(run) == [None, None]

    def test_assignment_is_limited_in_size(
        self, run: Run, lea: User, bo: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bulk_changes, "MOST_AT_ONCE", 2)
        evaluations(run, tasks=["1", "2", "3"])
        order = everything(run, Kind.ASSIGN, assigned_to=bo)
        assert bulk_changes.preview(order).changes is None
        assert [bulk_changes.apply(order=order, actor=lea).evaluations for _ in range(3)] == [2, 1, 0]

    def test_assigned_record_goes_to_its_assignee_only(
        self, run: Run, lea: User, ana: User, bo: User
    ) -> None:
        evaluations(run, tasks=["1"])
        bulk_changes.apply(order=everything(run, Kind.ASSIGN, assigned_to=bo), actor=lea)
        assert claims.claim_next(run=run, reviewer=ana) is None
        assert claims.claim_next(run=run, reviewer=bo)


def test_prioritised_record_is_claimed_first(run: Run, lea: User, ana: User) -> None:
    evaluations(run, tasks=["1", "2"])
    order = BulkOrder(
        run, Filters.from_query_string("task=2"), Kind.PRIORITISE, priority=bulk_changes.PRIORITY_FIRST
    )
    assert bulk_changes.preview(order) == BulkPreview(1, 0)
    bulk_changes.apply(order=order, actor=lea)
    claimed = claims.claim_next(run=run, reviewer=ana)
    assert claimed
    assert claimed.task_id == "2"


def test_bulk_release_clears_claims_only(run: Run, lea: User, ana: User) -> None:
    evaluations(run, tasks=["1", "2"])
    held = claims.claim_next(run=run, reviewer=ana)
    assert held
    order = everything(run, Kind.RELEASE)
    assert bulk_changes.preview(order) == BulkPreview(1, 0)
    bulk_changes.apply(order=order, actor=lea)
    assert not run.evaluations.exclude(claimed_by=None).exists()


class TestSplit:
    def test_split_is_one_change_that_is_undone_as_one(
        self, run: Run, lea: User, ana: User, bo: User
    ) -> None:
        evaluations(run, tasks=["1"], assigned_to=bo)
        evaluations(run, tasks=["2", "3", "4"])
        order = everything(run, Kind.SPLIT, split=Split((Share(ana), Share(bo)), keeps_tasks=False))
        change = bulk_changes.apply(order=order, actor=lea)
        assert assigned(run) == [ana, ana, bo, bo]
        event = AuditEvent.objects.get(action="bulk split")
        assert (event.detail["evaluations"], event.detail["given"]) == (4, {"ana": 2, "bo": 2})
        run.evaluations.filter(task_id="4").update(assigned_to=ana)
        assert bulk_changes.undo(change_id=change.pk, actor=lea) == UndoneBulkChange(3, 1)
        assert assigned(run) == [bo, None, None, ana]

    def test_split_preview_counts_the_records_of_each_person(
        self, run: Run, lea: User, ana: User, bo: User
    ) -> None:
        evaluations(run, tasks=["1", "1", "2"], assigned_to=bo)
        evaluations(run, tasks=["3"], claimed_by=lea, claimed_until=SOON)
        split = Split((Share(ana, 2), Share(bo, 0)))
        found = bulk_changes.preview_split(everything(run, Kind.SPLIT, split=split))
        assert (found.records, found.claimed, found.left) == (3, 1, 1)
        assert (found.given, found.had) == ({ana: 2}, {bo.pk: 3})

    def test_split_leaves_the_remainder_as_it_was(self, run: Run, lea: User, ana: User) -> None:
        evaluations(run, tasks=["1", "2", "3"])
        split = Split((Share(ana, 2),))
        assert bulk_changes.apply(order=everything(run, Kind.SPLIT, split=split), actor=lea).evaluations == 2
        assert assigned(run) == [ana, ana, None]

    def test_split_to_too_many_records_changes_nothing(self, run: Run, lea: User, ana: User) -> None:
        evaluations(run, tasks=["1"])
        with pytest.raises(SplitRefused):
            bulk_changes.apply(order=everything(run, Kind.SPLIT, split=Split((Share(ana, 2),))), actor=lea)
        assert not BulkChange.objects.exists()

    def test_split_refuses_people_without_access(self, run: Run, lea: User, ana: User, bo: User) -> None:
        evaluations(run, tasks=["1", "2"])
        configure_members(run_id=run.pk, actor=None, members=["ana", "lea"])
        with pytest.raises(Denied, match="bo has no access"):
            bulk_changes.apply(
                order=everything(run, Kind.SPLIT, split=Split((Share(ana), Share(bo)))), actor=lea
            )


class TestSelection:
    def test_selection_limits_a_change_to_its_records(self, run: Run, lea: User, bo: User) -> None:
        one, _, third = evaluations(run, tasks=["1", "2", "3"])
        [elsewhere] = evaluations(RunFactory.create(), tasks=["1"])
        selected = (one.pk, third.pk, elsewhere.pk)
        order = everything(run, Kind.ASSIGN, assigned_to=bo, selected=selected)
        assert bulk_changes.preview(order) == BulkPreview(2, 0)
        change = bulk_changes.apply(order=order, actor=lea)
        assert change.is_selection
        assert assigned(run) == [bo, None, bo]
        elsewhere.refresh_from_db()
        assert elsewhere.assigned_to is None

    def test_empty_selection_changes_nothing(self, run: Run, lea: User, bo: User) -> None:
        evaluations(run, tasks=["1"])
        assert (
            bulk_changes.apply(
                order=everything(run, Kind.ASSIGN, assigned_to=bo, selected=()), actor=lea
            ).evaluations
            == 0
        )


def test_due_dates_are_set_and_restored(run: Run, lea: User) -> None:
    first, second = dt.date(2026, 3, 2), dt.date(2026, 3, 9)
    evaluations(run, tasks=["1"], due_on=first)
    evaluations(run, tasks=["2"])
    evaluations(run, tasks=["3"], due_on=second)
    order = everything(run, Kind.DUE, due_on=second)
    assert bulk_changes.preview(order) == BulkPreview(2, 0)
    change = bulk_changes.apply(order=order, actor=lea)
    assert set(run.evaluations.values_list("due_on", flat=True)) == {second}
    assert bulk_changes.undo(change_id=change.pk, actor=lea) == UndoneBulkChange(2, 0)
    bulk_changes.apply(
        order=everything(run, Kind.DUE, selected=tuple(run.evaluations.values_list("pk", flat=True))),
        actor=lea,
    )
    assert set(run.evaluations.values_list("due_on", flat=True)) == {None}


class TestEscalate:
    @pytest.mark.slow
    def test_escalated_records_leave_the_queue_until_the_undo(self, run: Run, lea: User, ana: User) -> None:
        evaluations(run, tasks=["1", "2"])
        evaluations(run, tasks=["3"], claimed_by=ana, claimed_until=SOON)
        order = everything(run, Kind.ESCALATE, note="Which reference?")
        assert bulk_changes.preview(order) == BulkPreview(2, 1)
        change = bulk_changes.apply(order=order, actor=lea)
        assert set(Escalation.objects.values_list("note", "raised_by", "outcome")) == {
            ("Which reference?", lea.pk, "open")
        }
        answered = Escalation.objects.get(evaluation__task_id="1")
        escalations.resolve(escalation_id=answered.pk, actor=lea, outcome="returned", answer="The first.")
        assert bulk_changes.undo(change_id=change.pk, actor=lea) == UndoneBulkChange(1, 1)
        assert not run.evaluations.filter(is_escalated=True).exists()
        assert run.evaluations.filter(task_id="2", claimed_by=None).exists()


class TestRestrictedRun:
    def test_records_are_assigned_to_members_only(self, run: Run, lea: User, ana: User, bo: User) -> None:
        evaluations(run, tasks=["1"])
        configure_members(run_id=run.pk, actor=None, members=["ana", "lea"])
        with pytest.raises(Denied, match="bo has no access"):
            bulk_changes.apply(order=everything(run, Kind.ASSIGN, assigned_to=bo), actor=lea)
        bulk_changes.apply(order=everything(run, Kind.ASSIGN, assigned_to=ana), actor=lea)
        assert run.evaluations.get().assigned_to == ana


class TestUndo:
    def test_undo_restores_previous_assignees(self, run: Run, lea: User, ana: User, bo: User) -> None:
        evaluations(run, tasks=["1"], assigned_to=ana)
        evaluations(run, tasks=["2"])
        change = bulk_changes.apply(order=everything(run, Kind.ASSIGN, assigned_to=bo), actor=lea)
        assert bulk_changes.undo(change_id=change.pk, actor=lea) == UndoneBulkChange(2, 0)
        assert set(run.evaluations.values_list("task_id", "assigned_to")) == {("1", ana.pk), ("2", None)}

    def test_undo_leaves_records_that_were_changed_since(
        self, run: Run, lea: User, ana: User, bo: User
    ) -> None:
        evaluations(run, tasks=["1", "2"])
        change = bulk_changes.apply(order=everything(run, Kind.ASSIGN, assigned_to=bo), actor=lea)
        bulk_changes.apply(
            order=BulkOrder(run, Filters.from_query_string("task=1"), Kind.ASSIGN, ana), actor=lea
        )
        assert bulk_changes.undo(change_id=change.pk, actor=lea) == UndoneBulkChange(1, 1)
        assert set(run.evaluations.values_list("task_id", "assigned_to")) == {("1", ana.pk), ("2", None)}

    @pytest.mark.slow
    def test_undo_gives_nothing_back_to_people_without_access(
        self, run: Run, lea: User, ana: User, bo: User
    ) -> None:
        evaluations(run, tasks=["1"], assigned_to=ana)
        [claimed] = evaluations(run, tasks=["2"])
        claims.claim(evaluation_id=claimed.pk, reviewer=ana)
        released = bulk_changes.apply(order=everything(run, Kind.RELEASE), actor=lea)
        assigned = bulk_changes.apply(order=everything(run, Kind.ASSIGN, assigned_to=bo), actor=lea)
        configure_members(run_id=run.pk, actor=None, members=["bo", "lea"])
        assert bulk_changes.undo(change_id=assigned.pk, actor=lea) == UndoneBulkChange(1, 1)
        assert bulk_changes.undo(change_id=released.pk, actor=lea) == UndoneBulkChange(0, 1)
        records = run.evaluations.order_by("task_id")
        assert [(one.task_id, one.assigned_to, one.claimed_by) for one in records] == [
            ("1", bo, None),
            ("2", None, None),
        ]

    def test_undo_restores_previous_priorities(self, run: Run, lea: User) -> None:
        evaluations(run, tasks=["1"])
        change = bulk_changes.apply(
            order=everything(run, Kind.PRIORITISE, priority=bulk_changes.PRIORITY_FIRST), actor=lea
        )
        assert bulk_changes.undo(change_id=change.pk, actor=lea) == UndoneBulkChange(1, 0)
        assert run.evaluations.get().priority == bulk_changes.PRIORITY_NORMAL

    def test_undo_restores_claims_of_unclaimed_records(
        self, run: Run, lea: User, ana: User, bo: User
    ) -> None:
        one, other = evaluations(run, tasks=["1", "2"])
        for evaluation in (one, other):
            claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        change = bulk_changes.apply(order=everything(run, Kind.RELEASE), actor=lea)
        claims.claim(evaluation_id=one.pk, reviewer=bo)
        assert bulk_changes.undo(change_id=change.pk, actor=lea) == UndoneBulkChange(1, 1)
        assert set(run.evaluations.values_list("task_id", "claimed_by")) == {("1", bo.pk), ("2", ana.pk)}

    @pytest.mark.slow
    def test_undo_restores_no_claim_of_a_decided_record(
        self, run: Run, lea: User, ana: User, bo: User
    ) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        change = bulk_changes.apply(order=everything(run, Kind.RELEASE), actor=lea)
        claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
        decide(evaluation, bo)
        assert bulk_changes.undo(change_id=change.pk, actor=lea) == UndoneBulkChange(0, 1)

    def test_change_is_undone_only_once(self, run: Run, lea: User) -> None:
        change = bulk_changes.apply(order=everything(run, Kind.RELEASE), actor=lea)
        bulk_changes.undo(change_id=change.pk, actor=lea)
        with pytest.raises(bulk_changes.UndoRefused, match="already undone"):
            bulk_changes.undo(change_id=change.pk, actor=lea)


def test_bulk_changes_are_for_leads_only(run: Run, lea: User, ana: User) -> None:
    with pytest.raises(Denied):
        bulk_changes.apply(order=everything(run, Kind.RELEASE), actor=ana)
    change = bulk_changes.apply(order=everything(run, Kind.RELEASE), actor=lea)
    with pytest.raises(Denied):
        bulk_changes.undo(change_id=change.pk, actor=ana)


def test_bulk_event_has_kind_and_number_of_records(run: Run, lea: User, bo: User) -> None:
    evaluations(run, tasks=["1", "2"])
    change = bulk_changes.apply(
        order=BulkOrder(run, Filters.from_query_string("verdict=Fail"), Kind.ASSIGN, bo), actor=lea
    )
    event = AuditEvent.objects.get(action="bulk assign")
    assert (event.actor, event.run) == (lea, run)
    assert event.detail == {
        "change": change.pk,
        "query": "verdict=Fail",
        "assigned_to": "bo",
        "priority": None,
        "due_on": None,
        "evaluations": 2,
        "given": {},
    }


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_bulk_change_skips_locked_records(lea: User, bo: User) -> None:
    run = RunFactory.create()
    one, _ = evaluations(run, tasks=["1", "2"])
    with transaction.atomic():
        Evaluation.objects.select_for_update().get(pk=one.pk)
        [change] = together(
            lambda: bulk_changes.apply(order=everything(run, Kind.ASSIGN, assigned_to=bo), actor=lea)
        )
    assert change.evaluations == BulkChange.objects.get().evaluations == 1
