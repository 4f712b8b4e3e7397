"""How long a claim lasts in a run, and how often a page renews it."""

import datetime as dt

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviews.dashboard import presence
from reviews.dashboard.selection import WorkSelection
from reviews.models import Run, User
from reviews.queue import claims
from reviews.queue.claim_columns import renewal_interval
from tests.support.factories import EvaluationFactory
from tests.support.work import claim_expiry

pytestmark = pytest.mark.django_db


def test_claim_lasts_as_long_as_its_run_says(ana: User) -> None:
    evaluation = EvaluationFactory.create(run__claim_minutes=120)
    before = timezone.now()
    claimed = claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
    assert before <= claim_expiry(claimed) - dt.timedelta(hours=2) <= timezone.now()


def test_renewal_has_the_new_length(ana: User, lea: User) -> None:
    evaluation = EvaluationFactory.create()
    claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
    Run.objects.update(claim_minutes=60)
    renewed_until = claims.renew(evaluation_id=evaluation.pk, reviewer=ana)
    assert renewed_until > timezone.now() + dt.timedelta(minutes=59)


@pytest.mark.parametrize(("minutes", "seconds"), [(1, 12), (5, 60), (15, 60), (600, 60)])
def test_page_renews_several_times_before_the_claim_expires(minutes: int, seconds: int) -> None:
    assert renewal_interval(Run(claim_minutes=minutes)).total_seconds() == seconds


def test_last_sign_of_life_is_when_the_claim_was_renewed(ana: User, lea: User) -> None:
    evaluation = EvaluationFactory.create(run__claim_minutes=240)
    before = timezone.now()
    claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
    [present] = presence.active_reviewers(WorkSelection())
    assert before <= present.last_seen <= timezone.now()


def test_review_screen_has_the_renewal_interval(client: Client, ana: User) -> None:
    evaluation = EvaluationFactory.create(run__claim_minutes=1)
    claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
    client.force_login(ana)
    page = client.get(reverse("evaluation", args=[evaluation.pk])).content.decode()
    assert 'data-renew-every="12"' in page
