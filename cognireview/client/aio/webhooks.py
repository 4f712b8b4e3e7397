"""Webhooks, for admins."""

from collections.abc import AsyncIterator, Sequence

from cognireview.client import operations, responses
from cognireview.client.aio.transport import AsyncTransport
from cognireview.client.requests import json_body

_PAGE_SIZE = 200


class AsyncWebhooks:
    """The webhooks of the site. The methods have the names of the operations of the API."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list_webhooks(self) -> AsyncIterator[responses.Webhook]:
        """Yield the webhooks, newest first."""
        after = 0
        while True:
            query = {"after": after, "limit": _PAGE_SIZE}
            page = await self._transport.send(operations.WEBHOOKS, query=query)
            for webhook in page:
                yield webhook
            if len(page) < _PAGE_SIZE:
                return
            after = page[-1].id

    async def add_webhook(
        self, url: str, *, events: Sequence[str] = ("run.reviewed",), run: str | None = None
    ) -> responses.NewWebhook:
        """Add a webhook for one run or every run, and return it with its secret."""
        body = json_body({"url": url, "events": [*events], "run": run})
        return await self._transport.send(operations.ADD_WEBHOOK, body=body)

    async def remove_webhook(self, webhook_id: int) -> None:
        """Remove a webhook, and give up its waiting messages."""
        await self._transport.send(operations.REMOVE_WEBHOOK, webhook_id=str(webhook_id))

    async def send_test_message(self, webhook_id: int) -> responses.Delivery:
        """Send a test message to a webhook."""
        return await self._transport.send(operations.TEST_WEBHOOK, webhook_id=str(webhook_id))

    async def list_webhook_deliveries(self, webhook_id: int) -> list[responses.Delivery]:
        """Return the latest messages to a webhook, newest first."""
        return await self._transport.send(operations.DELIVERIES, webhook_id=str(webhook_id))
