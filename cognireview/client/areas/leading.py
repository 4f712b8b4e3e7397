"""Escalations, the inbox and spot checks."""

import datetime as dt
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal

from cognireview.client.dual_methods import Area, B, call, stream
from cognireview.client.requests import decision_of
from cognireview.types import operations
from cognireview.types.leading import Escalation, InboxItem, InboxKind, InboxPage, SpotCheck


class Escalations(Area[B]):
    """Records that were sent to a lead."""

    @stream
    async def all(
        self, kind: Literal["question", "disagreement"] = "question", *, run: str | None = None
    ) -> AsyncIterator[Escalation]:
        """Yield the open questions or disagreements, the oldest first."""
        async for page in self._transport.pages(operations.ESCALATIONS, {"kind": kind, "run": run}):
            for escalation in page.escalations:
                yield escalation

    @stream
    def own(self) -> AsyncIterator[Escalation]:
        """Yield your escalations with their answers, the newest first."""
        return self._rows(operations.OWN_ESCALATIONS)

    @call
    async def resolve(
        self, escalation_id: int, outcome: Literal["returned", "closed", "upheld"], *, answer: str = ""
    ) -> Escalation:
        """Resolve an escalation as a lead. To decide the record instead, claim and decide it."""
        body = {"outcome": outcome, "answer": answer}
        return await self._transport.send(
            operations.RESOLVE_ESCALATION, body=body, escalation_id=escalation_id
        )

    @call
    async def withdraw(self, escalation_id: int) -> None:
        """Withdraw your escalation, and claim the record again."""
        await self._transport.send(operations.WITHDRAW_ESCALATION, escalation_id=escalation_id)

    @call
    async def mark_read(self, escalation_id: int) -> None:
        """Mark the answer to your escalation as read."""
        await self._transport.send(operations.MARK_ANSWER_READ, escalation_id=escalation_id)


class Inbox(Area[B]):
    """Everything that waits for a lead or an admin."""

    @call
    async def overview(self, *, run: str | None = None) -> InboxPage:
        """Return the number of items of each kind, and the ten oldest ones of each."""
        return await self._transport.send(operations.INBOX, query={"run": run})

    @stream
    async def all(self, kind: InboxKind, *, run: str | None = None) -> AsyncIterator[InboxItem]:
        """Yield the items of a kind, the oldest first."""
        async for page in self._transport.pages(operations.INBOX, {"kind": kind, "run": run}):
            for item in page.items:
                yield item

    @call
    async def retry(self, place: str) -> None:
        """Retry the failed job of an item."""
        await self._transport.send(operations.RETRY_FAILURE, place=place)

    @call
    async def dismiss(self, place: str) -> None:
        """Dismiss the failed job of an item."""
        await self._transport.send(operations.DISMISS_FAILURE, place=place)


class SpotChecks(Area[B]):
    """Decisions that leads check."""

    @stream
    def all(self) -> AsyncIterator[SpotCheck]:
        """Yield the open checks, the oldest first."""
        return self._rows(operations.SPOT_CHECKS)

    @call
    async def draw(
        self,
        reviewer: str,
        count: int,
        *,
        run: str | None = None,
        first: dt.date | None = None,
        last: dt.date | None = None,
    ) -> list[SpotCheck]:
        """Draw decisions of a reviewer, perhaps of some days in UTC, which are inclusive."""
        body = {"reviewer": reviewer, "count": count, "run": run, "first": first, "last": last}
        return await self._transport.send(operations.DRAW_SPOT_CHECKS, body=body)

    @call
    async def select(self, run: str, evaluation_ids: Sequence[str]) -> list[SpotCheck]:
        """Check the decisions of these records of a run, without yours and those checked before."""
        body = {"evaluation_ids": list(evaluation_ids)}
        return await self._transport.send(operations.SELECT_SPOT_CHECKS, body=body, run=run)

    @call
    async def get(self, check_id: int) -> SpotCheck:
        """Return a check."""
        return await self._transport.send(operations.SPOT_CHECK, check_id=check_id)

    @call
    async def agree(self, check_id: int, *, note: str = "") -> SpotCheck:
        """Agree to the decision, perhaps with a note for the reviewer."""
        return await self._transport.send(operations.AGREE, body={"note": note}, check_id=check_id)

    @call
    async def reopen(self, check_id: int, *, reason: str) -> SpotCheck:
        """Put the record back into the queue."""
        return await self._transport.send(
            operations.REOPEN_CHECKED, body={"reason": reason}, check_id=check_id
        )

    @call
    async def correct(
        self,
        check_id: int,
        scores: Mapping[str, Any],
        *,
        reason: str,
        comments: str | None = None,
        causes: Mapping[str, str] | None = None,
        version: int | None = None,
        key: str | None = None,
    ) -> SpotCheck:
        """Replace the decision, with the arguments of `decide`."""
        body = decision_of(scores, comments, causes, version) | {"reason": reason}
        return await self._transport.send(operations.CORRECT, body=body, key=key, check_id=check_id)
