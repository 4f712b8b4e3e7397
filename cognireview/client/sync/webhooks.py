"""Webhooks, for admins."""

from collections.abc import Iterator, Sequence

from cognireview.client import operations, responses
from cognireview.client.requests import json_body
from cognireview.client.sync.transport import Transport

_PAGE_SIZE = 200


class Webhooks:
    """The webhooks of the site. The methods have the names of the operations of the API."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list_webhooks(self) -> Iterator[responses.Webhook]:
        """Yield the webhooks, newest first."""
        after = 0
        while True:
            query = {"after": after, "limit": _PAGE_SIZE}
            page = self._transport.send(operations.WEBHOOKS, query=query)
            for webhook in page:
                yield webhook
            if len(page) < _PAGE_SIZE:
                return
            after = page[-1].id

    def add_webhook(
        self, url: str, *, events: Sequence[str] = ("run.reviewed",), run: str | None = None
    ) -> responses.NewWebhook:
        """Add a webhook for one run or every run, and return it with its secret."""
        body = json_body({"url": url, "events": [*events], "run": run})
        return self._transport.send(operations.ADD_WEBHOOK, body=body)

    def remove_webhook(self, webhook_id: int) -> None:
        """Remove a webhook, and give up its waiting messages."""
        self._transport.send(operations.REMOVE_WEBHOOK, webhook_id=str(webhook_id))

    def send_test_message(self, webhook_id: int) -> responses.Delivery:
        """Send a test message to a webhook."""
        return self._transport.send(operations.TEST_WEBHOOK, webhook_id=str(webhook_id))

    def list_webhook_deliveries(self, webhook_id: int) -> list[responses.Delivery]:
        """Return the latest messages to a webhook, newest first."""
        return self._transport.send(operations.DELIVERIES, webhook_id=str(webhook_id))
