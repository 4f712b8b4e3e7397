"""The address of every page, and a row for each key in it."""

import re
from collections.abc import Callable
from uuid import UUID

from django.utils import timezone

from reviews.accounts import api_tokens, one_time_links
from reviews.models import (
    ApiToken,
    BulkChange,
    Escalation,
    Evaluation,
    Export,
    GoldSet,
    KnownAnswerCheck,
    OneTimeLink,
    SavedView,
    SpotCheck,
    User,
    Webhook,
)
from reviews.urls import pages
from tests.support.factories import EvaluationFactory, ExportFactory
from tests.support.work import decide

ROUTES = {pattern.name: str(pattern.pattern) for pattern in pages}
# First part of an address -> finds the key in it for a record.
_KEYS: dict[str, Callable[[Evaluation], object]] = {
    "runs": lambda record: record.run_id,
    "imports": lambda record: record.first_import_id,
    "evaluations": lambda record: record.pk,
    "exports": lambda _: Export.objects.get().pk,
    "escalations": lambda _: Escalation.objects.get().pk,
    "bulk-changes": lambda _: BulkChange.objects.get().pk,
    "views": lambda _: SavedView.objects.get().pk,
    "known-answers": lambda _: KnownAnswerCheck.objects.get().pk,
    "spot-checks": lambda _: SpotCheck.objects.get().pk,
    "people": lambda _: User.objects.get(username="max").pk,
    "dashboard": lambda record: record.pk,
    "links": lambda _: OneTimeLink.objects.get().pk,
    "tokens": lambda _: ApiToken.objects.order_by("pk")[0].pk,
    "webhooks": lambda _: Webhook.objects.get().pk,
    "jobs": lambda _: 0,
    "gold-sets": lambda _: GoldSet.objects.get().pk,
    "account": lambda _: 0,
}


def one_of_everything(max: User, record: Evaluation | None = None) -> Evaluation:
    """Create a waiting record, and a row for every primary key in the addresses."""
    record = record or EvaluationFactory.create()
    ExportFactory.create(run=record.run)
    of_another = EvaluationFactory.create(run=record.run, is_escalated=True)
    Escalation.objects.create(
        evaluation=of_another,
        run=record.run,
        kind=Escalation.Kind.CANNOT_JUDGE,
        raised_by=max,
        outcome="open",
    )
    BulkChange.objects.create(run=record.run, actor=max, kind=BulkChange.Kind.RELEASE)
    SavedView.objects.create(run=record.run, owner=max, name="all", is_shared=True)
    GoldSet.objects.create(
        run=record.run,
        name="gold",
        run_name=record.run.name,
        filters={},
        rubric={},
        frozen_at=record.created_at,
    )
    KnownAnswerCheck.objects.create(run=record.run, started_by=max, ended_by=max, ended_at=timezone.now())
    one_time_links.invite(role="reviewer", actor=max)
    api_tokens.create(person=max, scopes=["read"], actor=None)
    Webhook.objects.create(url="https://hooks.example.org/", created_by=max)
    drawn = decide(EvaluationFactory.create(run=record.run), max)
    SpotCheck.objects.create(review=drawn, run=record.run, reviewer=max, drawn_by=max)
    return record


def address(name: str, record: Evaluation) -> str:
    """Return the address of a URL name for the record, its run, its import or its export."""
    find = _KEYS.get(ROUTES[name].split("/")[0])
    path = re.sub("<int:[a-z_]+>", str(find and find(record)), ROUTES[name])
    path = (
        path.replace("<token>", "0" * 40)
        .replace("<slug:kind>", "nothing")
        .replace("<uuid:pk>", str(UUID(int=0)))
    )
    path = path.replace("<slug:slug>", "conflict")
    return "/" + path.replace("<slug:name>", "days").replace("<slug:table>", "groups").replace(
        "<slug:provider_id>", "sso"
    )
