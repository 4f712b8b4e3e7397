"""The clients: blocking, and for event loops."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Self

import httpx2

from cognireview.client.areas.jobs import Export, Import
from cognireview.client.areas.leading import Escalations, Inbox, SpotChecks
from cognireview.client.areas.people import Invitations, People, Tokens
from cognireview.client.areas.run import Run
from cognireview.client.areas.site import Audit, GoldSets, Jobs, Webhooks
from cognireview.client.backends import Asynchronous, Blocking
from cognireview.client.dual_methods import Area, B, call, stream
from cognireview.client.requests import Retries, Source, file_name_of, opened
from cognireview.client.transport import Transport, read_settings
from cognireview.types import operations
from cognireview.types.files import ContextImport
from cognireview.types.operations import Operation
from cognireview.types.runs import RunDetails
from cognireview.types.site import System


class Site(Area[B]):
    """The methods of both clients."""

    def __init__(self, transport: Transport[B]) -> None:
        super().__init__(transport)
        self.people = People(transport)
        self.invitations = Invitations(transport)
        self.tokens = Tokens(transport)
        self.escalations = Escalations(transport)
        self.inbox = Inbox(transport)
        self.spot_checks = SpotChecks(transport)
        self.gold_sets = GoldSets(transport)
        self.audit = Audit(transport)
        self.webhooks = Webhooks(transport)
        self.jobs = Jobs(transport)

    def run(self, name: str) -> Run[B]:
        """Return a run by its name. No request is sent."""
        return Run(self._transport, name)

    @stream
    def runs(self, *, archived: bool = False) -> AsyncIterator[RunDetails]:
        """Yield the runs that you may see, newest first, or the archived ones."""
        return self._rows(operations.RUNS, {"archived": archived})

    @call
    async def get_import(self, import_id: int) -> Import[B]:
        """Return an import by its number."""
        details = await self._transport.send(operations.IMPORT, import_id=import_id)
        return Import(self._transport, details)

    @call
    async def get_export(self, export_id: int) -> Export[B]:
        """Return an export by its number."""
        details = await self._transport.send(operations.EXPORT, export_id=export_id)
        return Export(self._transport, details)

    @call
    async def import_context(self, source: Source, *, file_name: str | None = None) -> ContextImport:
        """Import task context for every run that has none of its own."""
        query = {"file_name": file_name_of(source, file_name)}
        with opened(source, None) as upload:
            return await self._transport.send(operations.IMPORT_SHARED_CONTEXT, query=query, body=upload)

    @call
    async def system(self) -> System:
        """Return the state of the site, for admins."""
        return await self._transport.send(operations.SYSTEM)

    @call
    async def request(
        self,
        method: str,
        address: str,
        /,
        *,
        query: Mapping[str, Any] | None = None,
        json: Mapping[str, Any] | None = None,
        **path: str,
    ) -> Any:
        """Call an operation that this version does not know, and return its JSON.

        `client.request("DELETE", "/runs/{run}/plan", run="nightly")`. Parts of the address are encoded.
        """
        operation: Operation[Any] = Operation(method, address, Any)
        return await self._transport.send(operation, query=query, body=json, **path)


class Client(Site[Blocking]):
    """A connection to CogniReview that blocks: `with Client() as client`."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 60,
        retries: Retries | None = None,
        http: httpx2.Client | None = None,
    ) -> None:
        """Read missing values from COGNIREVIEW_URL and COGNIREVIEW_TOKEN. Raises `InvalidSettings`.

        `timeout` is the longest wait, in seconds, for a connection and for each part of a response. `http` is
        a client of httpx2 with settings of your own, such as a proxy or certificates.
        """
        settings = read_settings(url, token)
        backend = Blocking(http or httpx2.Client(timeout=timeout))
        super().__init__(Transport(backend, settings, retries or Retries()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.backend.http.close()


class AsyncClient(Site[Asynchronous]):
    """A connection to CogniReview for an event loop: `async with AsyncClient() as client`.

    The arguments are those of `Client`.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 60,
        retries: Retries | None = None,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        settings = read_settings(url, token)
        backend = Asynchronous(http or httpx2.AsyncClient(timeout=timeout))
        super().__init__(Transport(backend, settings, retries or Retries()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.backend.http.aclose()
