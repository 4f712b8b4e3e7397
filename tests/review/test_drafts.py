"""Drafts of reviewers with a claim: saving, revisions and removal."""

import datetime as dt
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from reviews.accounts.permissions import Denied
from reviews.models import AuditEvent, Draft, Evaluation, User
from reviews.queue import claims as queue_claims
from reviews.records.conflicts import DraftOutdated, RecordUnavailable
from reviews.review import drafts, escalations, undo
from tests.support.factories import EvaluationFactory
from tests.support.work import decide, end_claim

pytestmark = pytest.mark.django_db

FIELDS = [["criteria-0-name", "Clarity"], ["criteria-0-score", "No"], ["comments", "Half typed"]]


@pytest.fixture
def evaluation(ana: User) -> Evaluation:
    """A record that ana has claimed."""
    return queue_claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)


def save(evaluation: Evaluation, reviewer: User, **other: Any) -> Draft:
    sent: dict[str, Any] = {"fields": FIELDS, "revision": 1} | other
    return drafts.save(evaluation_id=evaluation.pk, reviewer=reviewer, **sent)


def kept(evaluation: Evaluation, reviewer: User) -> Any:
    draft = drafts.find_draft(evaluation, reviewer)
    return draft and draft.fields


class TestSave:
    def test_draft_keeps_fields_in_order_for_each_reviewer(
        self, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        save(evaluation, ana)
        assert kept(evaluation, ana) == FIELDS
        assert drafts.find_draft(evaluation, lea) is None

    def test_newer_revision_replaces_the_draft(self, evaluation: Evaluation, ana: User) -> None:
        save(evaluation, ana)
        save(evaluation, ana, fields=[["comments", "More"]], revision=2)
        assert kept(evaluation, ana) == [["comments", "More"]]
        assert Draft.objects.count() == 1

    @pytest.mark.parametrize("revision", [1, 2])
    def test_older_revision_is_refused(self, evaluation: Evaluation, ana: User, revision: int) -> None:
        newest = save(evaluation, ana, revision=2)
        with pytest.raises(DraftOutdated) as outdated:
            save(evaluation, ana, fields=[["comments", "From another tab"]], revision=revision)
        assert outdated.value.saved_at == newest.saved_at
        assert kept(evaluation, ana) == FIELDS

    def test_draft_sent_twice_is_saved_once(self, evaluation: Evaluation, ana: User) -> None:
        assert save(evaluation, ana) == save(evaluation, ana)

    def test_draft_writes_no_event(self, evaluation: Evaluation, ana: User) -> None:
        before = AuditEvent.objects.count()
        save(evaluation, ana)
        assert AuditEvent.objects.count() == before

    def test_draft_accepts_null_characters(self, evaluation: Evaluation, ana: User) -> None:
        save(evaluation, ana, fields=[["comments", "a\0b"]])
        assert kept(evaluation, ana) == [["comments", "a\ufffdb"]]

    def test_draft_is_denied_to_people_without_a_role(self, evaluation: Evaluation, eve: User) -> None:
        with pytest.raises(Denied):
            save(evaluation, eve)


class TestClaimRenewal:
    def until(self, evaluation: Evaluation) -> dt.datetime:
        evaluation.refresh_from_db()
        assert evaluation.claimed_until
        return evaluation.claimed_until

    def test_draft_renews_the_claim(self, evaluation: Evaluation, ana: User, settings: Settings) -> None:
        soon = timezone.now() + dt.timedelta(minutes=2)
        Evaluation.objects.update(claimed_until=soon)
        save(evaluation, ana)
        assert self.until(evaluation) > soon

    def test_draft_leaves_a_fresh_claim_unchanged(self, evaluation: Evaluation, ana: User) -> None:
        before = self.until(evaluation)
        save(evaluation, ana)
        assert self.until(evaluation) == before

    def test_draft_renews_an_expired_claim_that_nobody_took(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        end_claim(evaluation)
        save(evaluation, ana)
        with pytest.raises(RecordUnavailable, match=r"^ana has been reviewing"):
            queue_claims.claim(evaluation_id=evaluation.pk, reviewer=bo)

    def test_claim_that_continues_a_draft_names_its_revision(self, evaluation: Evaluation, ana: User) -> None:
        save(evaluation, ana)
        queue_claims.release(evaluation_id=evaluation.pk, actor=ana)
        queue_claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        end_claim(evaluation)
        save(evaluation, ana, revision=2)
        end_claim(evaluation)
        queue_claims.renew(evaluation_id=evaluation.pk, reviewer=ana)
        claims = AuditEvent.objects.filter(action="claim").order_by("pk")
        assert [claim.detail for claim in claims] == [
            {},
            {"draft": 1},
            {"draft": 2, "renewed": True},
            {"draft": 2, "renewed": True},
        ]

    def test_claim_of_a_record_with_anothers_draft_names_no_revision(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        save(evaluation, ana)
        end_claim(evaluation)
        queue_claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
        assert AuditEvent.objects.get(action="claim", actor=bo).detail == {}


class TestLateDraft:
    """It is refused, and the reviewer learns why. An earlier draft stays."""

    def taken(self, evaluation: Evaluation, bo: User) -> str:
        end_claim(evaluation)
        queue_claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
        return "bo has been reviewing this since "

    def decided(self, evaluation: Evaluation, bo: User) -> str:
        end_claim(evaluation)
        decide(evaluation, bo)
        return "bo submitted this at "

    def handed_over(self, evaluation: Evaluation, bo: User) -> str:
        end_claim(evaluation)
        escalations.escalate(evaluation_id=evaluation.pk, reviewer=bo, kind="question", reason="", note="")
        return "bo sent this to a lead at "

    def released(self, evaluation: Evaluation, _bo: User) -> str:
        Evaluation.objects.update(claimed_by=None, claimed_until=None)
        return "Your claim on this record has ended."

    @pytest.mark.parametrize("happens", [taken, decided, handed_over, released])
    def test_late_draft_is_refused(self, evaluation: Evaluation, ana: User, bo: User, happens: Any) -> None:
        save(evaluation, ana)
        sentence = happens(self, evaluation, bo)
        with pytest.raises(RecordUnavailable, match=f"^{sentence}"):
            save(evaluation, ana, fields=[["comments", "Too late"]], revision=2)
        assert kept(evaluation, ana) == FIELDS

    @pytest.mark.parametrize("who", ["bo", "lea"])
    def test_draft_without_a_claim_is_refused(
        self, request: pytest.FixtureRequest, evaluation: Evaluation, who: str
    ) -> None:
        with pytest.raises(RecordUnavailable):
            save(evaluation, request.getfixturevalue(who))
        assert not Draft.objects.exists()

    def test_draft_of_a_skipped_record_does_not_claim_it(self, evaluation: Evaluation, ana: User) -> None:
        queue_claims.skip(evaluation_id=evaluation.pk, reviewer=ana)
        with pytest.raises(RecordUnavailable):
            save(evaluation, ana)
        assert queue_claims.claim_next(run=evaluation.run, reviewer=ana) is None


class TestDraftLifetime:
    def test_submit_deletes_the_draft(self, evaluation: Evaluation, ana: User, lea: User) -> None:
        save(evaluation, ana)
        Draft.objects.create(evaluation=evaluation, reviewer=lea, fields=FIELDS)
        decide(evaluation, ana)
        assert drafts.find_draft(evaluation, ana) is None
        assert kept(evaluation, lea) == FIELDS

    def test_escalation_keeps_the_draft(self, evaluation: Evaluation, ana: User) -> None:
        save(evaluation, ana)
        escalations.escalate(evaluation_id=evaluation.pk, reviewer=ana, kind="question", reason="", note="")
        assert kept(evaluation, ana) == FIELDS

    def test_draft_can_be_discarded(self, evaluation: Evaluation, ana: User) -> None:
        save(evaluation, ana)
        drafts.discard(evaluation_id=evaluation.pk, reviewer=ana)
        assert drafts.find_draft(evaluation, ana) is None

    def test_draft_of_a_revision_needs_no_claim(self, evaluation: Evaluation, ana: User) -> None:
        decide(evaluation, ana)
        save(evaluation, ana)
        assert kept(evaluation, ana) == FIELDS

    def test_draft_of_an_undone_review_replaces_an_older_one(self, evaluation: Evaluation, ana: User) -> None:
        decide(evaluation, ana, comments="Checked.")
        save(evaluation, ana, revision=7)
        undo.undo(run=evaluation.run, actor=ana)
        assert kept(evaluation, ana)[-1] == ["comments", "Checked."]
