"""The jobs and the state of the site, for admins."""

from collections.abc import AsyncIterator

from cognireview.client import operations
from cognireview.client.aio.transport import AsyncTransport
from cognireview.client.site_responses import Job, Kind, State, System

_PAGE_SIZE = 200


class AsyncSite:
    """The site as a whole. The methods have the names of the operations of the API."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list_jobs(self, kind: Kind | None = None, *, state: State | None = None) -> AsyncIterator[Job]:
        """Yield the jobs, failed ones first."""
        number = 1
        while True:
            query = {"kind": kind, "state": state, "page": number, "limit": _PAGE_SIZE}
            page = await self._transport.send(operations.JOBS, query=query)
            for job in page:
                yield job
            if len(page) < _PAGE_SIZE:
                return
            number += 1

    async def retry_job(self, kind: Kind, job_id: int) -> None:
        """Run a failed job again."""
        await self._transport.send(operations.RETRY_JOB, kind=kind, job_id=str(job_id))

    async def cancel_job(self, kind: Kind, job_id: int) -> None:
        """Cancel a job that has not started."""
        await self._transport.send(operations.CANCEL_JOB, kind=kind, job_id=str(job_id))

    async def get_system(self) -> System:
        """Return the state of the site."""
        return await self._transport.send(operations.SYSTEM)
