"""Imports: their progress, outcome and rejected lines."""

import time
from collections.abc import AsyncIterator

from cognireview.client import operations
from cognireview.client.aio.transport import AsyncTransport
from cognireview.client.aio.waiting import sleep
from cognireview.client.decoding import decode
from cognireview.client.errors import ImportFailed, TimedOut
from cognireview.client.requests import Progress
from cognireview.client.responses import ImportDetails, RejectedLine

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10


class AsyncImport:
    """An import. `details` are those of the last request."""

    def __init__(self, transport: AsyncTransport, details: ImportDetails) -> None:
        self._transport = transport
        self.details = details

    @property
    def id(self) -> int:
        return self.details.id

    async def refresh(self) -> ImportDetails:
        """Return the progress of the import now."""
        self.details = await self._transport.send(operations.IMPORT, import_id=str(self.id))
        return self.details

    async def wait(self, seconds: float = 600, *, progress: Progress | None = None) -> ImportDetails:
        """Wait until all lines are imported, with growing pauses.

        `progress` gets the bytes that the server has read. Raises `ImportFailed` and, after so many
        seconds, `TimedOut`: the import continues, and `wait` can be called again.
        """
        end, pause = time.monotonic() + seconds, _FIRST_PAUSE
        while not self.details.is_finished:
            left = end - time.monotonic()
            if left <= 0:
                raise TimedOut(f"Import {self.id} is {self.details.state}.")
            await sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
            await self.refresh()
            if progress and self.details.bytes_done is not None:
                progress(self.details.bytes_done, self.details.bytes_to_do)
        if self.details.state != "done":
            raise ImportFailed(f"Import {self.id} is {self.details.state}. {self.details.error}".strip())
        return self.details

    async def rejects(self) -> AsyncIterator[RejectedLine]:
        """Yield the rejected lines, with field and reason."""
        async for line in self._transport.lines(operations.REJECTS, import_id=str(self.id)):
            yield decode(RejectedLine, line)
