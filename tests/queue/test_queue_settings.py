"""The settings of a run's queue: their limits, their page, and the audit event of a change."""

import datetime as dt
from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from cognireview.types.runs import QueueSettings
from reviews.accounts.permissions import Denied
from reviews.models import AuditEvent, Run, User
from reviews.queue.queue_settings import MAX_CLAIM_MINUTES, configure_queue
from reviews.rubric.run_settings import InvalidSettings
from tests.support.factories import RunFactory
from tests.support.pages import text

pytestmark = pytest.mark.django_db

DAY = dt.date(2026, 11, 27)
UNSET = QueueSettings(**dict.fromkeys(QueueSettings.__annotations__))


def test_change_leaves_one_audit_event(lea: User) -> None:
    run = RunFactory.create()
    for _ in range(2):
        configure_queue(run_id=run.pk, actor=lea, settings=replace(UNSET, claim_minutes=60, due_on=DAY))
    [event] = AuditEvent.objects.filter(action="configure queue", run=run)
    assert (event.detail["before"], event.detail["after"]) == (
        vars(UNSET),
        vars(UNSET) | {"claim_minutes": 60, "due_on": "2026-11-27"},
    )


def test_reviewer_cannot_change_settings(ana: User) -> None:
    with pytest.raises(Denied):
        configure_queue(run_id=RunFactory.create().pk, actor=ana, settings=UNSET)


@pytest.mark.parametrize("minutes", [0, -1, MAX_CLAIM_MINUTES + 1])
def test_every_value_out_of_range_is_named(lea: User, minutes: int) -> None:
    settings = replace(UNSET, claim_minutes=minutes, due_on=dt.date.max)
    with pytest.raises(InvalidSettings) as invalid:
        configure_queue(run_id=RunFactory.create().pk, actor=lea, settings=settings)
    assert invalid.value.problems.keys() == {"claim_minutes", "due_on"}


class TestPage:
    @pytest.mark.slow
    def test_lead_sets_and_clears_the_settings(self, as_lea: Client) -> None:
        run = RunFactory.create()
        page = reverse("run-queue", args=[run.pk])
        for claim_minutes, due_on, sentence in (
            ("45", "2026-11-27", "A claim lasts 45 minutes. The run is overdue since 2026-11-27."),
            ("", "", "A claim lasts 15 minutes. The run has no due date."),
        ):
            seen = as_lea.get(page).context["form"].initial["seen"]
            sent = {"claim_minutes": claim_minutes, "due_on": due_on, "seen": seen}
            assert sentence in text(as_lea.post(page, sent, follow=True))
            run.refresh_from_db()
            assert (run.claim_minutes, run.due_on) == ((45, DAY) if due_on else (None, None))

    @pytest.mark.parametrize(
        ("field", "entered", "sentence"),
        [
            *(("claim_minutes", minutes, "from 1 to 1,440") for minutes in ("0", "1441", "1.5", "soon")),
            ("due_on", "30.2.2026", "Enter a date"),
            ("due_on", "9999-01-01", "is not in the years from 1900 to 9998"),
        ],
    )
    def test_invalid_entry_is_explained(
        self, as_lea: Client, field: str, entered: str, sentence: str
    ) -> None:
        page = reverse("run-queue", args=[RunFactory.create().pk])
        refused = as_lea.post(page, {field: entered, "seen": "any"})
        assert refused.status_code == 422
        assert sentence in text(refused)

    def test_settings_that_others_changed_meanwhile_are_kept(self, as_lea: Client, max: User) -> None:
        run = RunFactory.create()
        page = reverse("run-queue", args=[run.pk])
        seen = as_lea.get(page).context["form"].initial["seen"]
        configure_queue(run_id=run.pk, actor=max, settings=replace(UNSET, due_on=DAY))
        refused = as_lea.post(page, {"claim_minutes": "45", "seen": seen})
        assert refused.status_code == 409
        assert Run.objects.get(pk=run.pk).due_on == DAY
        again = {"claim_minutes": "45", "due_on": "2026-11-27"}
        again["seen"] = refused.context["form"].data["seen"]
        assert as_lea.post(page, again).status_code == 302
