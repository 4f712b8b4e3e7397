"""Tools that claim, decide and escalate records. They act as the owner of the token."""

from typing import Annotated, Any, Literal

from pydantic import Field

from cognireview.assistants.tools import Filters, RecordId, Run, Tools, tool
from cognireview.client.requests import decision_of
from cognireview.types import operations

_Scores = Annotated[
    dict[str, Any],
    Field(
        description="A score for every criterion: a value, an object with score and justification, or null "
        "to exclude the criterion."
    ),
]
_Version = Annotated[
    int | None, Field(description="The version of the record that was read. A changed record is refused.")
]
_Causes = Annotated[
    dict[str, str] | None, Field(description="Why the judge was wrong: a cause for each corrected criterion.")
]


class ReviewingTools(Tools):
    """The work of reviewers and leads."""

    @tool(operations.CLAIM, "review")
    async def claim_next_record(self, run: Run, filters: Filters | None = None) -> str:
        """Claim the next record to review, or return the claimed one; null if none is left."""
        return await self._call(operations.CLAIM, json={"filters": filters or {}}, run=run)

    @tool(operations.CLAIM_RECORD, "review")
    async def claim_record(self, run: Run, evaluation_id: RecordId) -> str:
        """Claim a certain record, or renew the claim."""
        sent = {"take_over": False}
        return await self._call(operations.CLAIM_RECORD, json=sent, run=run, evaluation_id=evaluation_id)

    @tool(operations.RELEASE, "review")
    async def release_record(self, run: Run, evaluation_id: RecordId) -> str:
        """Release the claim on a record."""
        return await self._call(operations.RELEASE, run=run, evaluation_id=evaluation_id)

    @tool(operations.LOCK_IN, "review")
    async def lock_in_blind_scores(
        self, run: Run, evaluation_id: RecordId, scores: _Scores, version: _Version = None
    ) -> str:
        """Lock in blind scores, and return the record with the judge's scores."""
        sent = {"scores": scores, "version": version}
        return await self._call(operations.LOCK_IN, json=sent, run=run, evaluation_id=evaluation_id)

    @tool(operations.REVIEW, "review")
    async def submit_review(
        self,
        run: Run,
        evaluation_id: RecordId,
        scores: _Scores,
        *,
        comments: str | None = None,
        causes: _Causes = None,
        version: _Version = None,
    ) -> str:
        """Submit the decision on a claimed record."""
        sent = decision_of(scores, comments, causes, version)
        return await self._call(operations.REVIEW, json=sent, run=run, evaluation_id=evaluation_id)

    @tool(operations.REVISE, "review")
    async def revise_decision(
        self,
        run: Run,
        evaluation_id: RecordId,
        scores: _Scores,
        *,
        comments: str | None = None,
        causes: _Causes = None,
    ) -> str:
        """Replace the current decision on a record: one's own, or as a lead anybody's."""
        sent = decision_of(scores, comments, causes)
        return await self._call(operations.REVISE, json=sent, run=run, evaluation_id=evaluation_id)

    @tool(operations.SKIP, "review")
    async def skip_record(self, run: Run, evaluation_id: RecordId) -> str:
        """Release a record, and leave it out of one's queue."""
        return await self._call(operations.SKIP, run=run, evaluation_id=evaluation_id)

    @tool(operations.ESCALATE, "review")
    async def escalate_record(
        self,
        run: Run,
        evaluation_id: RecordId,
        kind: Literal["cannot judge", "question"] = "cannot judge",
        reason: str = "",
        note: str = "",
    ) -> str:
        """Send a record to a lead, with a reason or a note. A question needs a note."""
        sent = {"kind": kind, "reason": reason, "note": note}
        return await self._call(operations.ESCALATE, json=sent, run=run, evaluation_id=evaluation_id)

    @tool(operations.RESOLVE_ESCALATION, "review")
    async def resolve_escalation(
        self, escalation_id: int, outcome: Literal["returned", "closed", "upheld"], answer: str = ""
    ) -> str:
        """Resolve an escalation as a lead. To decide the record instead, claim it and submit a review."""
        sent = {"outcome": outcome, "answer": answer}
        return await self._call(operations.RESOLVE_ESCALATION, json=sent, escalation_id=escalation_id)

    @tool(operations.REOPEN, "review")
    async def reopen_record(self, run: Run, evaluation_id: RecordId, reason: str) -> str:
        """Put a decided record back into the queue."""
        sent = {"reason": reason}
        return await self._call(operations.REOPEN, json=sent, run=run, evaluation_id=evaluation_id)

    @tool(operations.LAST_ACTION, "review")
    async def get_last_action(self, run: Run) -> str:
        """Return the last action in a run, which undo_last_action would undo; null if there is none."""
        return await self._call(operations.LAST_ACTION, run=run)

    @tool(operations.UNDO, "review")
    async def undo_last_action(
        self, run: Run, event: Annotated[int, Field(description="`event` of get_last_action.")]
    ) -> str:
        """Undo the last action in a run."""
        return await self._call(operations.UNDO, json={"event": event}, run=run)
