"""Concurrent undos, and undo during claims and revisions by others."""

from functools import partial

import pytest

from reviews.models import Draft, Evaluation, Run, User
from reviews.queue import claims
from reviews.records.conflicts import Conflict
from reviews.review import decisions, drafts
from reviews.review.undo import Undone, last_action, undo
from tests.support.factories import UserFactory
from tests.support.threads import together
from tests.support.undone_actions import KINDS, claim, record_in, submit
from tests.support.work import decide, fresh

pytestmark = pytest.mark.django_db


@pytest.fixture
def evaluation(run: Run, ana: User) -> Evaluation:
    """A record that ana has claimed, with a draft."""
    record = claims.claim(evaluation_id=record_in(run, "7").pk, reviewer=ana)
    drafts.save(evaluation_id=record.pk, reviewer=ana, fields=[["comments", "Hm."]], revision=1)
    return record


PUT_OFF = [name for name in KINDS if name != "submit"]
# Concurrent undos of the kinds: the fast suite tries one.
ONE_KIND = ["submit", *(pytest.param(name, marks=pytest.mark.slow) for name in PUT_OFF)]


def acted_twice(run: Run, kind: str) -> tuple[User, list[Evaluation]]:
    """Return a reviewer and two records, each with an action of this kind."""
    ana = UserFactory.create(role="reviewer")
    records = [record_in(run, task) for task in "78"]
    for record in records:
        claim(record, ana)
        KINDS[kind][0](record, ana)
    return ana, records


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
class TestConcurrency:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ONE_KIND)
    def test_two_undos_at_once_undo_two_actions(self, run: Run, kind: str) -> None:
        ana, records = acted_twice(run, kind)
        undone = together(*(partial(undo, run=run, actor=ana) for _ in range(2)))
        assert {one.evaluation for one in undone} == {*records}
        assert {fresh(record).claimed_by for record in records} == {ana}

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ONE_KIND)
    def test_double_click_on_a_toast_undoes_one_action(self, run: Run, kind: str) -> None:
        ana, records = acted_twice(run, kind)
        action = last_action(run=run, actor=ana)
        assert action
        click = partial(undo, run=run, actor=ana, event=action.event.pk)
        outcomes = together(click, click, expecting=Conflict)
        assert sorted(type(one).__name__ for one in outcomes) == ["Conflict", "Undone"]
        assert [fresh(record).is_claimed for record in records] == [False, True]

    @pytest.mark.parametrize("kind", PUT_OFF)
    def test_undo_and_claim_of_another_give_the_record_to_one(self, run: Run, kind: str) -> None:
        ana = UserFactory.create(role="reviewer")
        lead = UserFactory.create(role="lead")  # may claim an escalated record, too
        record = record_in(run, "7")
        claim(record, ana)
        KINDS[kind][0](record, ana)
        outcomes = together(
            partial(undo, run=run, actor=ana),
            partial(claims.claim, evaluation_id=record.pk, reviewer=lead),
            expecting=Conflict,
        )
        [refused] = [one for one in outcomes if isinstance(one, Conflict)]
        winner = ana if isinstance(outcomes[0], Undone) else lead
        assert fresh(record).claimed_by == winner
        assert f"{winner.name} has been reviewing this since" in refused.reason

    def test_undo_and_revision_by_a_lead_leave_one_outcome(self, run: Run) -> None:
        ana, lead = (UserFactory.create(role=role) for role in ("reviewer", "lead"))
        record = record_in(run, "7")
        submit(record, ana)
        outcomes = together(
            partial(undo, run=run, actor=ana),
            partial(decide, fresh(record), lead, by=decisions.revise),
            expecting=Conflict,
        )
        [refused] = [one for one in outcomes if isinstance(one, Conflict)]
        is_undone = isinstance(outcomes[0], Undone)
        assert fresh(record).in_queue == is_undone
        assert Draft.objects.filter(evaluation=record, reviewer=ana).exists() == is_undone
        assert refused.reason
