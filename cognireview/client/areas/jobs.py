"""Imports and exports: their progress and outcome."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from cognireview.client.decoding import decode
from cognireview.client.dual_methods import Area, B, call, stream
from cognireview.client.errors import CogniReviewError, ExportFailed, ImportFailed, TimedOut
from cognireview.client.received_file import Download
from cognireview.client.requests import Progress
from cognireview.client.transport import Transport
from cognireview.types import operations
from cognireview.types.files import ExportDetails, ImportDetails, RejectedLine
from cognireview.types.operations import Operation

# Each pause is a twentieth of the time waited so far, within these limits in seconds: the end of a short job
# is noticed soon, and a long job gets few requests.
_SHARE, _SHORTEST_PAUSE, _LONGEST_PAUSE = 0.05, 0.1, 5
D = TypeVar("D", bound=ImportDetails | ExportDetails)


class Job(Area[B], Generic[B, D]):
    """An import or an export. `details` are those of the last request."""

    _details: ClassVar[Operation[Any]]
    #: The name of its id in addresses.
    _key: ClassVar[str]
    _failure: ClassVar[type[CogniReviewError]]

    def __init__(self, transport: Transport[B], details: D) -> None:
        super().__init__(transport)
        self.details = details

    @property
    def id(self) -> int:
        return self.details.id

    async def _send(self, operation: Operation[D]) -> D:
        path: dict[str, Any] = {self._key: self.id}
        self.details = await self._transport.send(operation, **path)
        return self.details

    @call
    async def refresh(self) -> D:
        """Return the progress now."""
        return await self._send(self._details)

    @call
    async def wait(self, seconds: float = 600, *, progress: Progress | None = None) -> D:
        """Wait until all lines are imported or the file is complete, with growing pauses.

        `progress` gets the bytes that the server has read. Raises `ImportFailed` or `ExportFailed` and, after
        so many seconds, `TimedOut`: the job continues, and `wait` can be called again.
        """
        name, begun = type(self).__name__, time.monotonic()
        while not self.details.is_finished:
            waited = time.monotonic() - begun
            left = seconds - waited
            if left <= 0:
                raise TimedOut(f"{name} {self.id} is {self.details.state}.")
            pause = min(max(_SHARE * waited, _SHORTEST_PAUSE), _LONGEST_PAUSE)
            await self._transport.backend.sleep(min(pause, left))
            await self._send(self._details)
            done, size = self.details.position
            if progress and done is not None:
                progress(done, size)
        if self.details.state != "done":
            raise self._failure(f"{name} {self.id} is {self.details.state}. {self.details.error}".strip())
        return self.details


class Import(Job[B, ImportDetails]):
    """An import."""

    _details, _key, _failure = operations.IMPORT, "import_id", ImportFailed

    @stream
    async def rejects(self) -> AsyncIterator[RejectedLine]:
        """Yield the rejected lines, with field and reason."""
        async for line in self._transport.lines(operations.REJECTS, import_id=self.id):
            yield decode(RejectedLine, line)

    @stream
    async def exceptions(self) -> AsyncIterator[RejectedLine]:
        """Yield the lines that were not imported as they are, with field and reason."""
        async for line in self._transport.lines(operations.EXCEPTIONS, import_id=self.id):
            yield decode(RejectedLine, line)

    @call
    async def cancel(self) -> ImportDetails:
        """Cancel the import, unless it is finished."""
        return await self._send(operations.CANCEL_IMPORT)

    @call
    async def retry(self) -> ImportDetails:
        """Repeat the import after it failed or was cancelled."""
        return await self._send(operations.RETRY_IMPORT)

    @call
    async def as_new_run(self, run: str) -> "Import[B]":
        """Import the file, which another judge wrote, into a new run."""
        details = await self._transport.send(
            operations.IMPORT_AS_NEW_RUN, body={"run": run}, import_id=self.id
        )
        return Import(self._transport, details)


class Export(Job[B, ExportDetails]):
    """An export with a receipt."""

    _details, _key, _failure = operations.EXPORT, "export_id", ExportFailed

    @call
    async def cancel(self) -> ExportDetails:
        """Cancel the export, unless it is finished. A running job stops soon."""
        return await self._send(operations.CANCEL_EXPORT)

    @call
    async def download_to(self, path: str | Path, *, progress: Progress | None = None) -> Download:
        """Download the file of a finished export. A broken download continues where it stopped."""
        return await self._transport.download(
            operations.EXPORT_FILE, path, progress=progress, export_id=self.id
        )

    @call
    async def receipt_to(self, path: str | Path) -> Download:
        """Download the receipt of a finished export."""
        return await self._transport.download(operations.RECEIPT, path, export_id=self.id)
