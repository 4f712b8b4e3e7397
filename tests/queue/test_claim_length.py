"""How long a claim lasts in a run, and how often a page renews it."""

import datetime as dt

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviews.accounts.permissions import Denied
from reviews.dashboard import presence
from reviews.dashboard.selection import WorkSelection
from reviews.models import AuditEvent, Run, User
from reviews.queue import claims
from reviews.queue.claim_length import MAX_MINUTES, configure_claim_length, renewal_interval
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.work import claim_expiry

pytestmark = pytest.mark.django_db


def configured(lea: User, minutes: int | None) -> Run:
    return configure_claim_length(run_id=RunFactory.create().pk, actor=lea, minutes=minutes)


def test_claim_lasts_as_long_as_its_run_says(ana: User, lea: User) -> None:
    evaluation = EvaluationFactory.create(run=configured(lea, 120))
    before = timezone.now()
    claimed = claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
    assert before <= claim_expiry(claimed) - dt.timedelta(hours=2) <= timezone.now()


def test_renewal_has_the_new_length(ana: User, lea: User) -> None:
    evaluation = EvaluationFactory.create()
    claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
    configure_claim_length(run_id=evaluation.run_id, actor=lea, minutes=60)
    renewed_until = claims.renew(evaluation_id=evaluation.pk, reviewer=ana)
    assert renewed_until > timezone.now() + dt.timedelta(minutes=59)


def test_change_leaves_an_audit_event(lea: User) -> None:
    run = configured(lea, 60)
    configure_claim_length(run_id=run.pk, actor=lea, minutes=None)
    changes = AuditEvent.objects.filter(action="configure claims", run=run).order_by("pk")
    assert [event.detail for event in changes] == [
        {"before": None, "after": 60},
        {"before": 60, "after": None},
    ]


def test_reviewer_cannot_change_it(ana: User) -> None:
    with pytest.raises(Denied):
        configured(ana, 60)


@pytest.mark.parametrize("minutes", [0, -1, MAX_MINUTES + 1])
def test_length_out_of_range_is_refused(lea: User, minutes: int) -> None:
    with pytest.raises(ValueError, match=str(minutes)):
        configured(lea, minutes)


@pytest.mark.parametrize(("minutes", "seconds"), [(1, 12), (5, 60), (15, 60), (600, 60)])
def test_page_renews_several_times_before_the_claim_expires(minutes: int, seconds: int) -> None:
    assert renewal_interval(Run(claim_minutes=minutes)).total_seconds() == seconds


def test_last_sign_of_life_is_when_the_claim_was_renewed(ana: User, lea: User) -> None:
    evaluation = EvaluationFactory.create(run=configured(lea, 240))
    before = timezone.now()
    claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
    [present] = presence.active_reviewers(WorkSelection())
    assert before <= present.last_seen <= timezone.now()


class TestPage:
    def test_lead_sets_the_length(self, as_lea: Client) -> None:
        run = RunFactory.create()
        posted = as_lea.post(reverse("run-claim-length", args=[run.pk]), {"minutes": "45"}, follow=True)
        assert "A claim lasts 45 minutes." in posted.content.decode()
        run.refresh_from_db()
        assert run.claim_minutes == 45

    def test_empty_field_means_the_setting_of_the_site(self, as_lea: Client) -> None:
        run = RunFactory.create(claim_minutes=45)
        posted = as_lea.post(reverse("run-claim-length", args=[run.pk]), {"minutes": ""}, follow=True)
        assert "A claim lasts 15 minutes." in posted.content.decode()

    @pytest.mark.parametrize("minutes", ["0", "1441", "1.5", "soon"])
    def test_wrong_length_is_refused(self, as_lea: Client, minutes: str) -> None:
        run = RunFactory.create()
        assert (
            as_lea.post(reverse("run-claim-length", args=[run.pk]), {"minutes": minutes}).status_code == 422
        )
        run.refresh_from_db()
        assert run.claim_minutes is None

    def test_review_screen_has_the_renewal_interval(self, client: Client, ana: User) -> None:
        evaluation = EvaluationFactory.create(run__claim_minutes=1)
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        client.force_login(ana)
        page = client.get(reverse("evaluation", args=[evaluation.pk])).content.decode()
        assert 'data-renew-every="12"' in page
