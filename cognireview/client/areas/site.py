"""Gold sets, the audit log, webhooks and jobs."""

import datetime as dt
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from cognireview.client.dual_methods import Area, B, call, stream
from cognireview.client.received_file import Download
from cognireview.client.requests import Source, opened
from cognireview.types import operations
from cognireview.types.audit import AuditEvent, Chain
from cognireview.types.judge import GoldSet
from cognireview.types.site import (
    Delivery,
    Job,
    Kind,
    NewWebhook,
    NewWebhookSecret,
    State,
    Webhook,
    WebhookSecret,
)


class Audit(Area[B]):
    """The audit log, for leads and admins."""

    @stream
    async def events(
        self,
        *,
        person: str | None = None,
        action: str | None = None,
        run: str | None = None,
        record: str | None = None,
        address: str | None = None,
        since: dt.datetime | None = None,
        until: dt.datetime | None = None,
    ) -> AsyncIterator[AuditEvent]:
        """Yield events, newest first. `since` is inclusive, and `until` is not."""
        query = {"person": person, "action": action, "run": run, "record": record, "address": address}
        async for page in self._transport.pages(
            operations.AUDIT_EVENTS, {**query, "since": since, "until": until}
        ):
            for event in page.events:
                yield event

    @stream
    def entries(self, *, run: str | None = None, after: int = 0) -> AsyncIterator[dict[str, Any]]:
        """Yield the entries of the hash chain from the one after a position, the oldest first."""
        return self._transport.lines(operations.AUDIT_LOG, query={"run": run, "after": after})

    @call
    async def export_to(self, path: str | Path, *, run: str | None = None, after: int = 0) -> Download:
        """Download these entries, for `manage.py verify_audit`."""
        query = {"run": run, "after": after}
        return await self._transport.download(operations.AUDIT_LOG, path, query=query)

    @call
    async def chain(self) -> Chain:
        """Return the state of the log, and its latest checks."""
        return await self._transport.send(operations.CHAIN)

    @call
    async def check_chain(self) -> Chain:
        """Let a job check the log. `chain` returns the outcome."""
        return await self._transport.send(operations.CHECK_CHAIN)


class Webhooks(Area[B]):
    """The webhooks of the site, for admins."""

    @stream
    def all(self) -> AsyncIterator[Webhook]:
        """Yield the webhooks, newest first."""
        return self._rows(operations.WEBHOOKS)

    @call
    async def add(
        self, url: str, *, events: Sequence[str] = ("run.reviewed",), run: str | None = None
    ) -> NewWebhook:
        """Add a webhook for one run or every run, and return it with its secret."""
        body = {"url": url, "events": [*events], "run": run}
        return await self._transport.send(operations.ADD_WEBHOOK, body=body)

    @call
    async def remove(self, webhook_id: int) -> None:
        """Remove a webhook, and give up its waiting messages."""
        await self._transport.send(operations.REMOVE_WEBHOOK, webhook_id=webhook_id)

    @call
    async def send_test_message(self, webhook_id: int) -> Delivery:
        """Send a test message to a webhook."""
        return await self._transport.send(operations.TEST_WEBHOOK, webhook_id=webhook_id)

    @stream
    def deliveries(self, webhook_id: int) -> AsyncIterator[Delivery]:
        """Yield the messages to a webhook, newest first."""
        return self._rows(operations.DELIVERIES, webhook_id=webhook_id)

    @call
    async def resend(self, webhook_id: int, delivery_id: int) -> Delivery:
        """Send a delivered or given up message again, with the same id."""
        return await self._transport.send(
            operations.RESEND_MESSAGE, webhook_id=webhook_id, delivery_id=delivery_id
        )

    @call
    async def secrets(self, webhook_id: int) -> list[WebhookSecret]:
        """Return the secrets of a webhook, newest first. Each message is signed with all of them."""
        return await self._transport.send(operations.WEBHOOK_SECRETS, webhook_id=webhook_id)

    @call
    async def add_secret(self, webhook_id: int) -> NewWebhookSecret:
        """Add a secret to a webhook, and return it."""
        return await self._transport.send(operations.ADD_WEBHOOK_SECRET, webhook_id=webhook_id)

    @call
    async def remove_secret(self, webhook_id: int, secret_id: int) -> None:
        """Remove a secret of a webhook. Its last one stays."""
        await self._transport.send(
            operations.REMOVE_WEBHOOK_SECRET, webhook_id=webhook_id, secret_id=secret_id
        )


class Jobs(Area[B]):
    """The jobs of the site, for admins."""

    @stream
    def all(self, kind: Kind | None = None, *, state: State | None = None) -> AsyncIterator[Job]:
        """Yield the jobs, failed ones first."""
        return self._rows(operations.JOBS, {"kind": kind, "state": state})

    @call
    async def retry(self, kind: Kind, job_id: int) -> None:
        """Run a failed job again."""
        await self._transport.send(operations.RETRY_JOB, kind=kind, job_id=job_id)

    @call
    async def cancel(self, kind: Kind, job_id: int) -> None:
        """Cancel a job that has not started."""
        await self._transport.send(operations.CANCEL_JOB, kind=kind, job_id=job_id)


class GoldSets(Area[B]):
    """The gold sets of the site. `freeze_gold_set` and `measure_gold_set` are methods of a run."""

    @stream
    def all(self) -> AsyncIterator[GoldSet]:
        """Yield the gold sets that you may see, newest first."""
        return self._rows(operations.GOLD_SETS)

    @call
    async def import_file(self, source: Source, *, name: str | None = None) -> GoldSet:
        """Import an exported gold set. `name` replaces the name in the file."""
        with opened(source, None) as upload:
            return await self._transport.send(operations.IMPORT_GOLD_SET, query={"name": name}, body=upload)

    @call
    async def export_to(self, name: str, path: str | Path) -> Download:
        """Download a gold set as JSONL."""
        return await self._transport.download(operations.EXPORT_GOLD_SET, path, name=name)

    @call
    async def rename(self, name: str, new_name: str) -> GoldSet:
        """Rename a gold set."""
        return await self._transport.send(operations.RENAME_GOLD_SET, body={"name": new_name}, name=name)

    @call
    async def delete(self, name: str) -> None:
        """Delete a gold set. The decisions of its run stay."""
        await self._transport.send(operations.DELETE_GOLD_SET, name=name)
