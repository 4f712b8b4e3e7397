"""Imports and exports: their progress and outcome."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from cognireview.client.decoding import decode
from cognireview.client.dual_methods import Area, B, call, stream
from cognireview.client.errors import ExportFailed, ImportFailed, TimedOut
from cognireview.client.received_file import Download
from cognireview.client.requests import Progress
from cognireview.client.transport import Transport
from cognireview.types import operations
from cognireview.types.files import ExportDetails, ImportDetails, RejectedLine

# Each pause is a tenth of the time waited so far, within these limits in seconds: the end of a short job is
# noticed soon, and a long job gets few requests.
_SHARE, _SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 0.1, 5
D = TypeVar("D", ImportDetails, ExportDetails)


class Import(Area[B]):
    """An import. `details` are those of the last request."""

    def __init__(self, transport: Transport[B], details: ImportDetails) -> None:
        super().__init__(transport)
        self.details = details

    @property
    def id(self) -> int:
        return self.details.id

    async def _refresh(self) -> ImportDetails:
        self.details = await self._transport.send(operations.IMPORT, import_id=self.id)
        return self.details

    @call
    async def refresh(self) -> ImportDetails:
        """Return the progress of the import now."""
        return await self._refresh()

    @call
    async def wait(self, seconds: float = 600, *, progress: Progress | None = None) -> ImportDetails:
        """Wait until all lines are imported, with growing pauses.

        `progress` gets the bytes that the server has read. Raises `ImportFailed` and, after so many
        seconds, `TimedOut`: the import continues, and `wait` can be called again.
        """
        details = await _finished(self._transport, self.details, self._refresh, seconds, progress)
        if details.state != "done":
            raise ImportFailed(f"Import {self.id} is {details.state}. {details.error}".strip())
        return details

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
        self.details = await self._transport.send(operations.CANCEL_IMPORT, import_id=self.id)
        return self.details

    @call
    async def retry(self) -> ImportDetails:
        """Repeat the import after it failed or was cancelled."""
        self.details = await self._transport.send(operations.RETRY_IMPORT, import_id=self.id)
        return self.details

    @call
    async def as_new_run(self, run: str) -> "Import[B]":
        """Import the file, which another judge wrote, into a new run."""
        details = await self._transport.send(
            operations.IMPORT_AS_NEW_RUN, body={"run": run}, import_id=self.id
        )
        return Import(self._transport, details)


class Export(Area[B]):
    """An export with a receipt. `details` are those of the last request."""

    def __init__(self, transport: Transport[B], details: ExportDetails) -> None:
        super().__init__(transport)
        self.details = details

    @property
    def id(self) -> int:
        return self.details.id

    async def _refresh(self) -> ExportDetails:
        self.details = await self._transport.send(operations.EXPORT, export_id=self.id)
        return self.details

    @call
    async def refresh(self) -> ExportDetails:
        """Return the progress of the export now."""
        return await self._refresh()

    @call
    async def wait(self, seconds: float = 600, *, progress: Progress | None = None) -> ExportDetails:
        """Wait until the file is complete, as for an import. Raises `ExportFailed` and `TimedOut`."""
        details = await _finished(self._transport, self.details, self._refresh, seconds, progress)
        if details.state != "done":
            raise ExportFailed(f"Export {self.id} is {details.state}. {details.error}".strip())
        return details

    @call
    async def cancel(self) -> ExportDetails:
        """Cancel the export, unless it is finished. A running job stops soon."""
        self.details = await self._transport.send(operations.CANCEL_EXPORT, export_id=self.id)
        return self.details

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


async def _finished(
    transport: Transport[Any],
    details: D,
    refresh: Callable[[], Awaitable[D]],
    seconds: float,
    progress: Progress | None,
) -> D:
    """Return the details of a finished job. Raises `TimedOut`."""
    begun = time.monotonic()
    while not details.is_finished:
        waited = time.monotonic() - begun
        left = seconds - waited
        if left <= 0:
            name = type(details).__name__.removesuffix("Details")
            raise TimedOut(f"{name} {details.id} is {details.state}.")
        pause = min(max(_SHARE * waited, _SHORTEST_PAUSE), _LONGEST_PAUSE)
        await transport.backend.sleep(min(pause, left))
        details = await refresh()
        done, size = details.position
        if progress and done is not None:
            progress(done, size)
    return details
