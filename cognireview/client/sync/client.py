"""The client: its runs, imports and audit events."""

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, Self

import httpx2

from cognireview.client import audit, figures, operations, responses
from cognireview.client.operations import Operation
from cognireview.client.requests import Retries, Source, file_name_of, json_body, opened
from cognireview.client.settings import read_settings
from cognireview.client.sync.imports import Import
from cognireview.client.sync.run import Run
from cognireview.client.sync.site import Site
from cognireview.client.sync.transport import Transport
from cognireview.client.sync.waiting import HttpClient
from cognireview.client.sync.webhooks import Webhooks


class Client:
    """A connection to CogniReview: `with Client() as client`."""

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
        self._transport = Transport(
            http or HttpClient(timeout=httpx2.Timeout(timeout)), settings, retries or Retries()
        )
        #: The jobs and the state of the site, for admins.
        self.site = Site(self._transport)
        #: The webhooks of the site, for admins.
        self.webhooks = Webhooks(self._transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def request(
        self,
        method: str,
        address: str,
        *,
        query: Mapping[str, Any] | None = None,
        json: Any = None,
        **path: str,
    ) -> Any:
        """Call an operation that has no method, and return its JSON. Parts of the address are encoded.

        `client.request("DELETE", "/runs/{run}/plan", run="nightly")`
        """
        operation: Operation[Any] = Operation(method, address, Any)
        body = None if json is None else json_body(json)
        return self._transport.send(operation, query=query, body=body, **path)

    def run(self, name: str) -> Run:
        """Return a run by its name. No request is sent."""
        return Run(self._transport, name)

    def runs(self, *, archived: bool = False) -> list[responses.RunDetails]:
        """Return the runs that you may see, newest first, or the archived ones."""
        return self._transport.send(operations.RUNS, query={"archived": archived})

    def get_import(self, import_id: int) -> Import:
        """Return an import by its number."""
        details = self._transport.send(operations.IMPORT, import_id=str(import_id))
        return Import(self._transport, details)

    def import_context(self, source: Source, *, file_name: str | None = None) -> responses.ContextImport:
        """Import task context for every run that has none of its own."""
        query = {"file_name": file_name_of(source, file_name)}
        with opened(source, None) as upload:
            return self._transport.send(operations.IMPORT_SHARED_CONTEXT, query=query, body=upload)

    def gold_sets(self) -> list[figures.GoldSet]:
        """Return the gold sets that you may see, newest first."""
        return self._transport.send(operations.GOLD_SETS)

    def escalations(
        self, kind: Literal["question", "disagreement"] = "question", *, run: str | None = None
    ) -> Iterator[responses.Escalation]:
        """Yield the open questions or disagreements, the oldest first."""
        query = {"kind": kind, "run": run}
        while True:
            page = self._transport.send(operations.ESCALATIONS, query=query)
            for escalation in page.escalations:
                yield escalation
            if page.next is None:
                return
            query["after"] = page.next

    def own_escalations(self) -> list[responses.Escalation]:
        """Return your 20 latest escalations with their answers, the newest first."""
        return self._transport.send(operations.OWN_ESCALATIONS)

    def resolve_escalation(
        self, escalation_id: int, outcome: Literal["returned", "closed", "upheld"], *, answer: str = ""
    ) -> responses.Escalation:
        """Resolve an escalation as a lead. To decide the record instead, claim and decide it."""
        body = json_body({"outcome": outcome, "answer": answer})
        return self._transport.send(
            operations.RESOLVE_ESCALATION, body=body, escalation_id=str(escalation_id)
        )

    def withdraw_escalation(self, escalation_id: int) -> None:
        """Withdraw your escalation, and claim the record again."""
        self._transport.send(operations.WITHDRAW_ESCALATION, escalation_id=str(escalation_id))

    def token(self) -> responses.Token:
        """Return the token that the client sends, with the scopes that the role of its owner allows."""
        return self._transport.send(operations.OWN_TOKEN)

    def audit_events(self, **filters: Any) -> Iterator[audit.AuditEvent]:
        """Yield audit events of all pages, newest first: by `person`, `action`, `run`, `record` and more."""
        query = dict(filters)
        while True:
            page = self._transport.send(operations.AUDIT_EVENTS, query=query)
            for event in page.events:
                yield event
            if page.next is None:
                return
            query["after"] = page.next
