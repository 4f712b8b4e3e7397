"""Members: restrict a run to named people, and what happens to the work of those who lose access."""

import pytest
from django.conf import LazySettings
from django.db import transaction

from reviews.accounts import people
from reviews.accounts.permissions import Denied, people_in
from reviews.models import AuditEvent, Draft, Evaluation, Run, User
from reviews.queue import claims
from reviews.queue.members import change_reviewer_role, configure_members, current_members
from reviews.records.conflicts import SettingsChanged
from reviews.review import drafts
from reviews.rubric.run_settings import InvalidSettings, fingerprint
from tests.support.factories import EvaluationFactory
from tests.support.lines import file_of, import_data, line
from tests.support.threads import start_and_wait_for_lock, together
from tests.support.work import decide, evaluations

pytestmark = pytest.mark.django_db


def restrict(run: Run, *members: User) -> None:
    names = [member.username for member in members]
    configure_members(run_id=run.pk, actor=None, members=names)
    run.refresh_from_db()


class TestConfigureMembers:
    def test_run_is_open_by_default(self, run: Run, ana: User) -> None:
        assert current_members(run) is None
        assert run.is_visible_to(ana)

    def test_new_runs_are_restricted_by_a_setting(self, settings: LazySettings, ana: User, max: User) -> None:
        settings.RESTRICT_NEW_RUNS = True
        run = import_data(file_of(line()), run="algebra").target_run
        assert current_members(run) == []
        assert [*people_in(run)] == [max]
        configure_members(run_id=run.pk, actor=max, members=None)
        assert [*people_in(Run.objects.get())] == [ana, max]

    def test_members_are_set_and_audited(self, run: Run, ana: User, bo: User, lea: User) -> None:
        configure_members(run_id=run.pk, actor=lea, members=["lea", "ana"])
        run.refresh_from_db()
        assert current_members(run) == ["ana", "lea"]
        assert not run.is_visible_to(bo)
        event = AuditEvent.objects.get(action="configure members")
        assert (event.run, event.actor, event.detail) == (run, lea, {"before": None, "after": ["ana", "lea"]})

    def test_run_is_opened_again(self, run: Run, ana: User, bo: User) -> None:
        restrict(run, ana)
        configure_members(run_id=run.pk, actor=None, members=None)
        run.refresh_from_db()
        assert current_members(run) is None
        assert run.is_visible_to(bo)

    def test_unchanged_members_record_no_event(self, run: Run, ana: User) -> None:
        restrict(run, ana)
        restrict(run, ana)
        assert AuditEvent.objects.filter(action="configure members").count() == 1

    def test_lead_cannot_leave_out_themselves(self, run: Run, ana: User, lea: User, max: User) -> None:
        with pytest.raises(InvalidSettings, match="Add yourself"):
            configure_members(run_id=run.pk, actor=lea, members=["ana"])
        configure_members(run_id=run.pk, actor=max, members=["ana"])
        assert current_members(Run.objects.get()) == ["ana"]

    def test_former_member_cannot_configure_members(self, run: Run, ana: User, lea: User) -> None:
        restrict(run, ana)
        with pytest.raises(Denied, match="no longer have access"):
            configure_members(run_id=run.pk, actor=lea, members=None)

    def test_reviewer_cannot_configure_members(self, run: Run, ana: User) -> None:
        with pytest.raises(Denied):
            configure_members(run_id=run.pk, actor=ana, members=["ana"])

    def test_every_unknown_name_is_reported(self, run: Run, ana: User, eve: User, max: User) -> None:
        with pytest.raises(InvalidSettings) as refused:
            configure_members(run_id=run.pk, actor=max, members=["zoe", "ana", "eve"])
        assert refused.value.problems == {
            "members": [
                "There is no reviewer, lead or admin named eve.",
                "There is no reviewer, lead or admin named zoe.",
            ]
        }
        assert current_members(run) is None

    def test_deactivated_member_can_stay(self, run: Run, ana: User, bo: User, max: User) -> None:
        restrict(run, ana, bo)
        people.deactivate(person=bo, actor=max)
        restrict(run, ana, bo)
        assert current_members(run) == ["ana", "bo"]
        assert [*people_in(run)] == [ana, max]

    def test_change_by_somebody_else_is_reported(self, run: Run, ana: User, bo: User, max: User) -> None:
        restrict(run, ana)
        with pytest.raises(SettingsChanged):
            configure_members(run_id=run.pk, actor=max, members=["bo"], seen=fingerprint(None))
        configure_members(run_id=run.pk, actor=max, members=["bo"], seen=fingerprint(["ana"]))
        assert current_members(run) == ["bo"]


class TestLostAccess:
    def test_claims_and_assignments_of_outsiders_end(self, run: Run, ana: User, bo: User, max: User) -> None:
        kept, lost, assigned, of_max = evaluations(run, tasks=["1", "2", "3", "4"])
        elsewhere = EvaluationFactory.create()
        for record, person in ((kept, ana), (lost, bo), (of_max, max), (elsewhere, bo)):
            claims.claim(evaluation_id=record.pk, reviewer=person)
        Evaluation.objects.filter(pk__in=[assigned.pk, elsewhere.pk]).update(assigned_to=bo)
        restrict(run, ana)
        claimed = dict(Evaluation.objects.values_list("pk", "claimed_by__username"))
        assert (claimed[kept.pk], claimed[of_max.pk], claimed[elsewhere.pk]) == ("ana", "max", "bo")
        assert claimed[lost.pk] is claimed[assigned.pk] is None
        assert [*Evaluation.objects.filter(assigned_to=bo)] == [elsewhere]
        event = AuditEvent.objects.get(action="release all")
        assert (event.run, event.detail) == (run, {"username": "bo", "claims": 1, "assigned": 1})

    def test_decisions_and_drafts_stay(self, run: Run, ana: User, bo: User) -> None:
        decided, drafted = evaluations(run, tasks=["1", "2"])
        review = decide(decided, bo)
        claims.claim(evaluation_id=drafted.pk, reviewer=bo)
        drafts.save(evaluation_id=drafted.pk, reviewer=bo, fields=[["comments", "half"]], revision=1)
        restrict(run, ana)
        decided.refresh_from_db()
        assert decided.review == review
        assert Draft.objects.get().fields == [["comments", "half"]]

    def test_outsider_claims_nothing_even_if_the_run_was_open_when_loaded(
        self, run: Run, ana: User, bo: User, max: User
    ) -> None:
        evaluations(run, tasks=["1", "2", "3"])
        loaded = Run.objects.get()
        restrict(run, ana)
        assert claims.claim_next(run=loaded, reviewer=bo) is None
        assert claims.prefetch_next(run=loaded, reviewer=bo, after=[]) is None
        assert claims.claim_next(run=loaded, reviewer=ana)
        assert claims.claim_next(run=loaded, reviewer=max)

    def test_outsider_cannot_claim_a_certain_record(self, run: Run, ana: User, bo: User) -> None:
        [record] = evaluations(run, tasks=["1"])
        restrict(run, ana)
        with pytest.raises(Evaluation.DoesNotExist):
            claims.claim(evaluation_id=record.pk, reviewer=bo)

    def test_former_admin_loses_records_of_restricted_runs(self, run: Run, ana: User, max: User) -> None:
        other = people.add_user(username="kim", password="long enough 42", role="admin", actor=None)
        [hidden], shown = evaluations(run, tasks=["1"]), EvaluationFactory.create()
        restrict(run, ana)
        for record in (hidden, shown):
            claims.claim(evaluation_id=record.pk, reviewer=other)
        change_reviewer_role(person=other, role="reviewer", actor=max)
        assert [*Evaluation.objects.filter(claimed_by=other)] == [shown]


@pytest.mark.slow
class TestConcurrency:
    @pytest.mark.slow
    @pytest.mark.django_db(transaction=True)
    def test_claims_and_restriction_leave_no_claim_of_an_outsider(
        self, run: Run, ana: User, bo: User
    ) -> None:
        for _ in range(5):
            [record] = evaluations(run, tasks=["1"])
            together(
                lambda: claims.claim_next(run=Run.objects.get(pk=run.pk), reviewer=bo),
                lambda: restrict(run, ana),
            )
            assert not run.evaluations.filter(claimed_by=bo).exists()
            configure_members(run_id=run.pk, actor=None, members=None)
            Evaluation.objects.filter(pk=record.pk).update(human_review_status="Completed")

    @pytest.mark.django_db(transaction=True)
    def test_restriction_waits_for_a_claim_and_releases_it(self, run: Run, ana: User, bo: User) -> None:
        [record] = evaluations(run, tasks=["1"])
        with transaction.atomic():
            claims.claim(evaluation_id=record.pk, reviewer=bo)
            restriction = start_and_wait_for_lock(lambda: restrict(run, ana))
        restriction.result()
        record.refresh_from_db()
        assert record.claimed_by is None

    @pytest.mark.django_db(transaction=True)
    def test_claim_waits_for_a_restriction_and_gets_nothing(self, run: Run, ana: User, bo: User) -> None:
        [record] = evaluations(run, tasks=["1"])
        loaded = Run.objects.get()
        with transaction.atomic():
            restrict(run, ana)
            claim = start_and_wait_for_lock(lambda: claims.claim_next(run=loaded, reviewer=bo))
        assert claim.result() is None
        record.refresh_from_db()
        assert record.claimed_by is None
