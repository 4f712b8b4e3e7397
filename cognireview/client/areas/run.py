"""A run with everything in it."""

from collections.abc import AsyncIterator
from typing import Any

from cognireview.client.areas.records import Records
from cognireview.client.areas.run_files import Files
from cognireview.client.areas.run_judge import Judge
from cognireview.client.areas.run_settings import SettingsArea
from cognireview.client.dual_methods import B, RunArea, call, stream
from cognireview.client.requests import filters_of
from cognireview.client.transport import Transport
from cognireview.types import operations
from cognireview.types.leading import (
    AppliedBulkChange,
    BulkChange,
    BulkPreview,
    KnownAnswerCheck,
    UndoneBulkChange,
)


class BulkChanges(RunArea[B]):
    """Changes of many records of a run at once, for leads."""

    @stream
    def all(self) -> AsyncIterator[AppliedBulkChange]:
        """Yield the changes, the newest first."""
        return self._rows(operations.BULK_CHANGES, run=self.name)

    @call
    async def preview(self, change: BulkChange) -> BulkPreview:
        """Count the records that a change would change."""
        return await self._send(operations.PREVIEW_BULK_CHANGE, body=_body(change))

    @call
    async def apply(self, change: BulkChange) -> AppliedBulkChange:
        """Assign, split, prioritise, escalate or release records, or set their due date."""
        return await self._send(operations.APPLY_BULK_CHANGE, body=_body(change))

    @call
    async def undo(self, change_id: int) -> UndoneBulkChange:
        """Restore the records of a change, except those that have changed since."""
        return await self._transport.send(operations.UNDO_BULK_CHANGE, change_id=change_id)


def _body(change: BulkChange) -> dict[str, Any]:
    return vars(change) | {"filters": filters_of(change.filters)}


class KnownAnswers(RunArea[B]):
    """Checks of reviewers against a lead's own reviews, for leads."""

    @stream
    def all(self) -> AsyncIterator[KnownAnswerCheck]:
        """Yield the checks with their figures, the newest first."""
        return self._rows(operations.KNOWN_ANSWERS, run=self.name)

    @call
    async def start(self, count: int) -> KnownAnswerCheck:
        """Start a check with so many records, whose known answers you give as your reviews."""
        return await self._send(operations.START_KNOWN_ANSWERS, body={"count": count})

    @call
    async def end(self, check_id: int) -> KnownAnswerCheck:
        """End a check. The known answers become decisions."""
        return await self._transport.send(operations.END_KNOWN_ANSWERS, check_id=check_id)


class Run(Records[B], SettingsArea[B], Files[B], Judge[B]):
    """A run by its name. It need not exist: the first import creates it."""

    def __init__(self, transport: Transport[B], name: str) -> None:
        super().__init__(transport, name)
        self.bulk = BulkChanges(transport, name)
        self.known_answers = KnownAnswers(transport, name)
