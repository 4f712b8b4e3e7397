"""Work on records follows their lines when a run is read again."""

import pytest

from reviews.models import Draft, Evaluation, Reveal, Run, User
from reviews.queue import claims
from reviews.review import drafts
from tests.support.rereads import how, record, reread

pytestmark = pytest.mark.django_db


@pytest.mark.slow
class TestWork:
    """Claims, drafts, skips and assignments stay with their lines."""

    @pytest.mark.slow
    def test_claim_and_draft_stay_with_the_line(self, run: Run, ana: User, bo: User) -> None:
        one, other = record("a"), record("b")
        claims.claim(evaluation_id=one.pk, reviewer=ana)
        drafts.save(evaluation_id=one.pk, reviewer=ana, fields=[["Clarity", "No"]], revision=1)
        claims.skip(evaluation_id=other.pk, reviewer=ana)
        Evaluation.objects.filter(pk=other.pk).update(assigned_to=bo, priority=3)
        claimed = record("a")
        assert reread(run, how(evaluation_id="alt")).claims == 1
        now = record("other/a")
        assert (now.pk, now.claimed_by, now.claimed_until) == (one.pk, ana, claimed.claimed_until)
        assert now.version == claimed.version + 1
        assert Draft.objects.get().evaluation == now
        other = record("other/b")
        assert (other.assigned_to, other.priority, other.skips.get().reviewer) == (bo, 3, ana)
        assert now.events.filter(action="claim").exists()

    def test_claim_ends_if_the_record_needs_no_review(self, run: Run, ana: User) -> None:
        claims.claim(evaluation_id=record("a").pk, reviewer=ana)
        assert reread(run, how(reviewed="key == 'b'")).claims == 0
        assert record("a").claimed_by is None

    def test_scores_that_were_shown_are_not_blind_afterwards(self, run: Run, ana: User) -> None:
        claims.claim(evaluation_id=record("a").pk, reviewer=ana)
        Run.objects.update(blind_share=1)
        reread(run, how(structured_model_response="second"))
        assert Reveal.objects.get().evaluation == record("a")
