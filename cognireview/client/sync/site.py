"""The jobs and the state of the site, for admins."""

from collections.abc import Iterator

from cognireview.client import operations
from cognireview.client.site_responses import Job, Kind, State, System
from cognireview.client.sync.transport import Transport

_PAGE_SIZE = 200


class Site:
    """The site as a whole. The methods have the names of the operations of the API."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list_jobs(self, kind: Kind | None = None, *, state: State | None = None) -> Iterator[Job]:
        """Yield the jobs, failed ones first."""
        number = 1
        while True:
            query = {"kind": kind, "state": state, "page": number, "limit": _PAGE_SIZE}
            page = self._transport.send(operations.JOBS, query=query)
            for job in page:
                yield job
            if len(page) < _PAGE_SIZE:
                return
            number += 1

    def retry_job(self, kind: Kind, job_id: int) -> None:
        """Run a failed job again."""
        self._transport.send(operations.RETRY_JOB, kind=kind, job_id=str(job_id))

    def cancel_job(self, kind: Kind, job_id: int) -> None:
        """Cancel a job that has not started."""
        self._transport.send(operations.CANCEL_JOB, kind=kind, job_id=str(job_id))

    def get_system(self) -> System:
        """Return the state of the site."""
        return self._transport.send(operations.SYSTEM)
