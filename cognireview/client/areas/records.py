"""The records of a run, and reviews of them."""

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Literal

from cognireview.client.dual_methods import B, RunArea, T, call, stream
from cognireview.client.requests import Filter, decision_of, filters_of
from cognireview.types import operations
from cognireview.types.operations import Operation
from cognireview.types.records import (
    Action,
    Decision,
    Draft,
    DraftEntry,
    Record,
    RecordRow,
    Saved,
    Undone,
    Version,
)


class Records(RunArea[B]):
    """The records of a run."""

    @stream
    async def records(self, /, *, sort: str | None = None, **filters: Filter) -> AsyncIterator[RecordRow]:
        """Yield the records of all pages, with the filters of the run's page: `status="waiting"`.

        A list means any of its values. Names have underscores here: `claimed_by`.
        """
        query = {"sort": sort, **filters_of(filters)}
        async for page in self._transport.pages(operations.RECORDS, query, run=self.name):
            for row in page.evaluations:
                yield row

    @call
    async def record(self, evaluation_id: str) -> Record:
        """Return a record with everything that you may see."""
        return await self._send(operations.RECORD, evaluation_id=evaluation_id)

    @call
    async def claim(self, /, **filters: Filter) -> Record | None:
        """Claim the next available record, or return the one you have claimed; None if none is left."""
        body = {"filters": filters_of(filters)}
        return await self._send(operations.CLAIM, body=body)

    @call
    async def release(self, evaluation_id: str) -> None:
        """Release the claim on a record."""
        await self._send(operations.RELEASE, evaluation_id=evaluation_id)

    @call
    async def lock_in(
        self, evaluation_id: str, scores: Mapping[str, Any], *, version: int | None = None
    ) -> Record:
        """Lock in blind scores, and return the record with the judge's scores."""
        body = {"scores": dict(scores), "version": version}
        return await self._send(operations.LOCK_IN, body=body, evaluation_id=evaluation_id)

    @call
    async def claim_record(self, evaluation_id: str, *, take_over: bool = False) -> Record:
        """Claim a certain record, or renew your claim. A lead may take over another person's claim."""
        return await self._act(operations.CLAIM_RECORD, evaluation_id, {"take_over": take_over})

    @call
    async def skip(self, evaluation_id: str) -> None:
        """Release a record, and leave it out of your queue."""
        await self._send(operations.SKIP, evaluation_id=evaluation_id)

    @call
    async def unskip(self, evaluation_id: str | None = None) -> None:
        """Return a skipped record to your queue, or all of them."""
        if evaluation_id is None:
            await self._send(operations.UNSKIP_ALL)
        else:
            await self._send(operations.UNSKIP, evaluation_id=evaluation_id)

    @call
    async def escalate(
        self,
        evaluation_id: str,
        *,
        kind: Literal["cannot judge", "question"] = "cannot judge",
        reason: str = "",
        note: str = "",
    ) -> Record:
        """Send a record to a lead, with a reason or a note. A question needs a note."""
        return await self._act(
            operations.ESCALATE, evaluation_id, {"kind": kind, "reason": reason, "note": note}
        )

    @call
    async def decide(
        self,
        evaluation_id: str,
        scores: Mapping[str, Any],
        *,
        comments: str | None = None,
        causes: Mapping[str, str] | None = None,
        version: int | None = None,
        key: str | None = None,
    ) -> Saved:
        """Submit a decision: a score for every criterion, `{"score": ..., "justification": ...}`, or None.

        Without `comments`, the previous ones stay. With `version`, a record that has changed is not decided
        (`Conflict`). The same `key` stores a decision once, also in another process.
        """
        body = decision_of(scores, comments, causes, version)
        return await self._send(operations.REVIEW, body=body, key=key, evaluation_id=evaluation_id)

    @call
    async def revise(
        self, evaluation_id: str, scores: Mapping[str, Any], *, comments: str | None = None
    ) -> Saved:
        """Replace the current decision: your own, or as a lead anybody's."""
        return await self._act(operations.REVISE, evaluation_id, decision_of(scores, comments=comments))

    @call
    async def add_independent_review(
        self, evaluation_id: str, scores: Mapping[str, Any], *, comments: str | None = None
    ) -> Saved:
        """Add an independent review to a record that somebody else decided first."""
        body = decision_of(scores, comments=comments)
        return await self._act(operations.ADD_INDEPENDENT_REVIEW, evaluation_id, body)

    @call
    async def independent_reviews(self, evaluation_id: str) -> list[Decision]:
        """Return the independent reviews of a record that you adjudicate, the oldest first."""
        return await self._send(operations.INDEPENDENT_REVIEWS, evaluation_id=evaluation_id)

    @call
    async def adjudicate(self, evaluation_id: str) -> list[Decision]:
        """Claim a record as a lead, to decide it with the independent reviews so far, and return them."""
        return await self._send(operations.ADJUDICATE, evaluation_id=evaluation_id)

    @call
    async def reopen(self, evaluation_id: str, *, reason: str) -> Record:
        """Put a decided record back into the queue."""
        return await self._act(operations.REOPEN, evaluation_id, {"reason": reason})

    @call
    async def decisions(self, evaluation_id: str) -> list[Version]:
        """Return the versions of the decision, the latest first."""
        return await self._send(operations.DECISIONS, evaluation_id=evaluation_id)

    @call
    async def restore(self, evaluation_id: str, version: int, *, reason: str) -> Record:
        """Make an earlier version the current decision again, as a new version."""
        return await self._act(operations.RESTORE, evaluation_id, {"restored": version, "reason": reason})

    @call
    async def draft(self, evaluation_id: str) -> Draft | None:
        """Return your draft of a decision on a record, if there is one."""
        return await self._send(operations.DRAFT, evaluation_id=evaluation_id)

    @call
    async def save_draft(
        self, evaluation_id: str, entries: Iterable[DraftEntry], *, revision: int, comments: str = ""
    ) -> Draft:
        """Save a draft. `revision` has to be greater than that of the saved draft."""
        body = {"revision": revision, "entries": [*entries], "comments": comments}
        return await self._send(operations.SAVE_DRAFT, body=body, evaluation_id=evaluation_id)

    @call
    async def discard_draft(self, evaluation_id: str) -> None:
        """Discard your draft of a record."""
        await self._send(operations.DISCARD_DRAFT, evaluation_id=evaluation_id)

    @call
    async def last_action(self) -> Action | None:
        """Return the action that `undo` would undo, or None."""
        return await self._send(operations.LAST_ACTION)

    @call
    async def undo(self) -> Undone | None:
        """Undo your last action in the run, and return it, or None without one."""
        action = await self._send(operations.LAST_ACTION)
        if action is None:
            return None
        return await self._send(operations.UNDO, body={"event": action.event})

    async def _act(self, operation: Operation[T], evaluation_id: str, sent: Mapping[str, Any]) -> T:
        return await self._send(operation, body=sent, evaluation_id=evaluation_id)
