"""Webhooks: add, list, test and remove them."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Field, Router

from cognireview.types import operations, site
from cognireview.types.encoding import members
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.lookup import get_run
from reviews.api.pagination import LIST_SIZE, After, Limit, list_by_key
from reviews.api.problems import invalid_field
from reviews.models import Webhook, WebhookDelivery
from reviews.notifications.event_types import WEBHOOK_EVENTS
from reviews.records.conflicts import Conflict
from reviews.webhooks import deliveries, signing_secrets

router = Router(tags=["webhooks"])


class WebhookIn(Body):
    """The URL and the events of a webhook."""

    url: str = Field(min_length=1, max_length=2000, description="The allow-list must have its host.")
    run: str | None = Field(default=None, description="Null for every run.")
    events: list[str] = Field(
        default=[deliveries.REVIEWED],
        min_length=1,
        max_length=100,
        json_schema_extra={"items": {"type": "string", "enum": [*WEBHOOK_EVENTS]}},
    )


@operation(router, operations.WEBHOOKS, scope="manage", permission="manage_webhooks")
def list_webhooks(
    request: ApiRequest, response: HttpResponse, after: After = 0, limit: Limit = LIST_SIZE
) -> list[dict[str, Any]]:
    """List the webhooks, the newest first. Admins only."""
    found = list_by_key(request, response, deliveries.active_webhooks(), after=after, limit=limit)
    return [members(site.Webhook, webhook) for webhook in found]


@operation(router, operations.ADD_WEBHOOK, scope="manage", permission="manage_webhooks", problems=(404,))
def add_webhook(request: ApiRequest, sent: WebhookIn) -> dict[str, Any]:
    """Add a webhook. The response contains its secret."""
    if unknown := [name for name in sent.events if name not in WEBHOOK_EVENTS]:
        raise invalid_field("events", f"Unknown event: {unknown[0][:100]}.")
    run = get_run(sent.run, request.user) if sent.run is not None else None
    made = deliveries.add_webhook(
        url=sent.url, run=run, events=list(dict.fromkeys(sent.events)), actor=request.user
    )
    return {**members(site.Webhook, made.webhook), "secret": made.secret}


@operation(router, operations.DELIVERIES, scope="manage", permission="manage_webhooks")
def list_webhook_deliveries(
    request: ApiRequest, webhook_id: int, response: HttpResponse, after: After = 0, limit: Limit = LIST_SIZE
) -> list[dict[str, Any]]:
    """List the messages to a webhook, the newest first."""
    found = deliveries.webhook_deliveries(_find(webhook_id))
    return [_delivery(one) for one in list_by_key(request, response, found, after=after, limit=limit)]


@operation(router, operations.TEST_WEBHOOK, scope="manage", permission="manage_webhooks")
def send_test_message(request: ApiRequest, webhook_id: int) -> dict[str, Any]:
    """Send a test message to a webhook."""
    return _delivery(deliveries.send_test(webhook=_find(webhook_id), actor=request.user))


@operation(router, operations.RESEND_MESSAGE, scope="manage", permission="manage_webhooks", problems=(409,))
def resend_webhook_message(request: ApiRequest, webhook_id: int, delivery_id: int) -> dict[str, Any]:
    """Send a delivered or given up message again, with the same `webhook-id`."""
    sent = _find(webhook_id).deliveries.select_related("run")
    found = get_object_or_404(sent, pk=delivery_id)
    if not deliveries.retry(delivery_id=found.pk, actor=request.user, is_delivered_too=True):
        raise Conflict("This message is still being sent.")
    found.refresh_from_db()
    return _delivery(found)


@operation(router, operations.WEBHOOK_SECRETS, scope="manage", permission="manage_webhooks")
def list_webhook_secrets(request: ApiRequest, webhook_id: int) -> list[dict[str, Any]]:
    """List the secrets of a webhook, the newest first. Each message is signed with all of them."""
    return [members(site.WebhookSecret, row) for row in signing_secrets.secrets_of(_find(webhook_id))]


@operation(
    router, operations.ADD_WEBHOOK_SECRET, scope="manage", permission="manage_webhooks", problems=(409,)
)
def add_webhook_secret(request: ApiRequest, webhook_id: int) -> dict[str, Any]:
    """Add a secret to a webhook. Remove the old one when the receiver knows the new one."""
    made = signing_secrets.add(webhook=_find(webhook_id), actor=request.user)
    return {**members(site.WebhookSecret, made.row), "secret": made.text}


@operation(
    router, operations.REMOVE_WEBHOOK_SECRET, scope="manage", permission="manage_webhooks", problems=(409,)
)
def remove_webhook_secret(request: ApiRequest, webhook_id: int, secret_id: int) -> None:
    """Remove a secret of a webhook. Its last one stays."""
    found = get_object_or_404(signing_secrets.secrets_of(_find(webhook_id)), pk=secret_id)
    signing_secrets.remove(secret=found, actor=request.user)


@operation(router, operations.REMOVE_WEBHOOK, scope="manage", permission="manage_webhooks")
def remove_webhook(request: ApiRequest, webhook_id: int) -> None:
    """Remove a webhook, and give up its waiting messages."""
    deliveries.remove_webhook(webhook=_find(webhook_id), actor=request.user)


def _find(webhook_id: int) -> Webhook:
    return get_object_or_404(deliveries.active_webhooks(), pk=webhook_id)


def _delivery(delivery: WebhookDelivery) -> dict[str, Any]:
    attempts = sorted(delivery.attempts.all(), key=lambda attempt: attempt.number)
    return members(site.Delivery, delivery, attempts=attempts)
