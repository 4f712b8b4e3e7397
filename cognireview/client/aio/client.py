"""The client: its runs, imports and audit events."""

from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Literal, Self

import httpx2

from cognireview.client import audit, figures, operations, responses
from cognireview.client.aio.imports import AsyncImport
from cognireview.client.aio.run import AsyncRun
from cognireview.client.aio.site import AsyncSite
from cognireview.client.aio.transport import AsyncTransport
from cognireview.client.aio.waiting import HttpClient
from cognireview.client.aio.webhooks import AsyncWebhooks
from cognireview.client.operations import Operation
from cognireview.client.requests import Retries, Source, file_name_of, json_body, opened
from cognireview.client.settings import read_settings


class AsyncClient:
    """A connection to CogniReview: `async with AsyncClient() as client`."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 60,
        retries: Retries | None = None,
        http: HttpClient | None = None,
    ) -> None:
        """Read what is not given from COGNIREVIEW_URL and COGNIREVIEW_TOKEN. Raises `InvalidSettings`.

        `timeout` is the longest wait, in seconds, for a connection and for each part of a response. `http` is
        a client of httpx2 with settings of your own, such as a proxy or certificates.
        """
        settings = read_settings(url, token)
        self._transport = AsyncTransport(
            http or HttpClient(timeout=httpx2.Timeout(timeout)), settings, retries or Retries()
        )
        #: The jobs and the state of the site, for admins.
        self.site = AsyncSite(self._transport)
        #: The webhooks of the site, for admins.
        self.webhooks = AsyncWebhooks(self._transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def request(
        self,
        method: str,
        address: str,
        *,
        query: Mapping[str, Any] | None = None,
        json: Any = None,
        **path: str,
    ) -> Any:
        """Call an operation that has no method, and return its JSON. Parts of the address are encoded.

        `await client.request("DELETE", "/runs/{run}/plan", run="nightly")`
        """
        operation: Operation[Any] = Operation(method, address, Any)
        body = None if json is None else json_body(json)
        return await self._transport.send(operation, query=query, body=body, **path)

    def run(self, name: str) -> AsyncRun:
        """Return a run by its name. No request is sent."""
        return AsyncRun(self._transport, name)

    async def runs(self, *, archived: bool = False) -> list[responses.RunDetails]:
        """Return the runs that you may see, newest first, or the archived ones."""
        return await self._transport.send(operations.RUNS, query={"archived": archived})

    async def get_import(self, import_id: int) -> AsyncImport:
        """Return an import by its number."""
        details = await self._transport.send(operations.IMPORT, import_id=str(import_id))
        return AsyncImport(self._transport, details)

    async def import_context(
        self, source: Source, *, file_name: str | None = None
    ) -> responses.ContextImport:
        """Import task context for every run that has none of its own."""
        query = {"file_name": file_name_of(source, file_name)}
        with opened(source, None) as upload:
            return await self._transport.send(operations.IMPORT_SHARED_CONTEXT, query=query, body=upload)

    async def gold_sets(self) -> list[figures.GoldSet]:
        """Return the gold sets that you may see, newest first."""
        return await self._transport.send(operations.GOLD_SETS)

    async def escalations(
        self, kind: Literal["question", "disagreement"] = "question", *, run: str | None = None
    ) -> AsyncIterator[responses.Escalation]:
        """Yield the open questions or disagreements, the oldest first."""
        query = {"kind": kind, "run": run}
        while True:
            page = await self._transport.send(operations.ESCALATIONS, query=query)
            for escalation in page.escalations:
                yield escalation
            if page.next is None:
                return
            query["after"] = page.next

    async def own_escalations(self) -> list[responses.Escalation]:
        """Return your 20 latest escalations with their answers, the newest first."""
        return await self._transport.send(operations.OWN_ESCALATIONS)

    async def resolve_escalation(
        self, escalation_id: int, outcome: Literal["returned", "closed", "upheld"], *, answer: str = ""
    ) -> responses.Escalation:
        """Resolve an escalation as a lead. To decide the record instead, claim and decide it."""
        body = json_body({"outcome": outcome, "answer": answer})
        return await self._transport.send(
            operations.RESOLVE_ESCALATION, body=body, escalation_id=str(escalation_id)
        )

    async def withdraw_escalation(self, escalation_id: int) -> None:
        """Withdraw your escalation, and claim the record again."""
        await self._transport.send(operations.WITHDRAW_ESCALATION, escalation_id=str(escalation_id))

    async def token(self) -> responses.Token:
        """Return the token that the client sends, with the scopes that the role of its owner allows."""
        return await self._transport.send(operations.OWN_TOKEN)

    async def audit_events(self, **filters: Any) -> AsyncIterator[audit.AuditEvent]:
        """Yield audit events of all pages, newest first: by `person`, `action`, `run`, `record` and more."""
        query = dict(filters)
        while True:
            page = await self._transport.send(operations.AUDIT_EVENTS, query=query)
            for event in page.events:
                yield event
            if page.next is None:
                return
            query["after"] = page.next
