"""The records of a run, and reviews of them."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from cognireview.client import operations, responses
from cognireview.client.operations import Operation
from cognireview.client.requests import filters_of, json_body, scores_of
from cognireview.client.sync.transport import Transport


class Reviews:
    """The records of the run with a name."""

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport = transport
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def records(self, *, sort: str | None = None, **filters: Any) -> Iterator[responses.RecordRow]:
        """Yield the records of all pages, with the filters of the run's page: `status="waiting"`.

        A list means any of its values. Names have underscores here: `claimed_by`.
        """
        query: dict[str, Any] = {"sort": sort, **filters_of(filters)}
        while True:
            page = self._transport.send(operations.RECORDS, query=query, run=self.name)
            for row in page.evaluations:
                yield row
            if page.next is None:
                return
            query["after"] = page.next

    def record(self, evaluation_id: str) -> responses.Record:
        return self._transport.send(operations.RECORD, run=self.name, evaluation_id=evaluation_id)

    def claim(self, **filters: Any) -> responses.Record | None:
        """Claim the next available record, or return the one you have claimed; None if none is left."""
        body = json_body({"filters": filters_of(filters)})
        return self._transport.send(operations.CLAIM, body=body, run=self.name)

    def release(self, evaluation_id: str) -> None:
        """Release the claim on a record."""
        self._transport.send(operations.RELEASE, run=self.name, evaluation_id=evaluation_id)

    def lock_in(
        self, evaluation_id: str, scores: Mapping[str, Any], *, version: int | None = None
    ) -> responses.Record:
        """Lock in blind scores, and return the record with the judge's scores."""
        body = json_body({"scores": dict(scores), "version": version})
        return self._transport.send(operations.LOCK_IN, body=body, run=self.name, evaluation_id=evaluation_id)

    def claim_record(self, evaluation_id: str, *, take_over: bool = False) -> responses.Record:
        """Claim a certain record, or renew your claim. A lead may take over another person's claim."""
        return self._act(operations.CLAIM_RECORD, evaluation_id, {"take_over": take_over})

    def skip(self, evaluation_id: str) -> None:
        """Release a record, and leave it out of your queue."""
        self._transport.send(operations.SKIP, run=self.name, evaluation_id=evaluation_id)

    def unskip(self, evaluation_id: str | None = None) -> None:
        """Return a skipped record to your queue, or all of them."""
        if evaluation_id is None:
            self._transport.send(operations.UNSKIP_ALL, run=self.name)
        else:
            self._transport.send(operations.UNSKIP, run=self.name, evaluation_id=evaluation_id)

    def escalate(
        self,
        evaluation_id: str,
        *,
        kind: Literal["cannot judge", "question"] = "cannot judge",
        reason: str = "",
        note: str = "",
    ) -> responses.Record:
        """Send a record to a lead, with a reason or a note. A question needs a note."""
        return self._act(operations.ESCALATE, evaluation_id, {"kind": kind, "reason": reason, "note": note})

    def decide(
        self,
        evaluation_id: str,
        scores: Mapping[str, Any],
        *,
        comments: str | None = None,
        causes: Mapping[str, str] | None = None,
        version: int | None = None,
        key: str | None = None,
    ) -> responses.Saved:
        """Submit a decision: a score for every criterion, `{"score": ..., "justification": ...}`, or None.

        Without `comments`, the previous ones stay. With `version`, a record that has changed is not decided
        (`Conflict`). The same `key` stores a decision once, also in another process.
        """
        return self._submit(
            operations.REVIEW,
            evaluation_id,
            scores,
            comments=comments,
            causes=causes,
            version=version,
            key=key,
        )

    def revise(
        self, evaluation_id: str, scores: Mapping[str, Any], *, comments: str | None = None
    ) -> responses.Saved:
        """Replace the current decision: your own, or as a lead anybody's."""
        return self._submit(operations.REVISE, evaluation_id, scores, comments=comments)

    def add_independent_review(
        self, evaluation_id: str, scores: Mapping[str, Any], *, comments: str | None = None
    ) -> responses.Saved:
        """Add an independent review to a record that somebody else decided first."""
        return self._submit(operations.ADD_INDEPENDENT_REVIEW, evaluation_id, scores, comments=comments)

    def independent_reviews(self, evaluation_id: str) -> list[responses.Decision]:
        """Return the independent reviews of a record that you adjudicate, the oldest first."""
        return self._transport.send(
            operations.INDEPENDENT_REVIEWS, run=self.name, evaluation_id=evaluation_id
        )

    def adjudicate(self, evaluation_id: str) -> list[responses.Decision]:
        """Claim a record as a lead, to decide it with the independent reviews so far, and return them."""
        return self._transport.send(operations.ADJUDICATE, run=self.name, evaluation_id=evaluation_id)

    def reopen(self, evaluation_id: str, *, reason: str) -> responses.Record:
        """Put a decided record back into the queue."""
        return self._act(operations.REOPEN, evaluation_id, {"reason": reason})

    def decisions(self, evaluation_id: str) -> list[responses.Version]:
        """Return the versions of the decision, the latest first."""
        return self._transport.send(operations.DECISIONS, run=self.name, evaluation_id=evaluation_id)

    def restore(self, evaluation_id: str, version: int, *, reason: str) -> responses.Record:
        """Make an earlier version the current decision again, as a new version."""
        return self._act(operations.RESTORE, evaluation_id, {"restored": version, "reason": reason})

    def undo(self) -> responses.Undone | None:
        """Undo your last action in the run; None if there is none."""
        action = self._transport.send(operations.LAST_ACTION, run=self.name)
        if action is None:
            return None
        body = json_body({"event": action.event})
        return self._transport.send(operations.UNDO, body=body, run=self.name)

    def _submit(
        self,
        operation: Operation[responses.Saved],
        evaluation_id: str,
        scores: Mapping[str, Any],
        *,
        comments: str | None = None,
        causes: Mapping[str, str] | None = None,
        version: int | None = None,
        key: str | None = None,
    ) -> responses.Saved:
        decision: dict[str, Any] = {"corrected_scores": scores_of(scores), "causes": dict(causes or {})}
        decision["version"] = version
        if comments is not None:
            decision["comments"] = comments
        return self._transport.send(
            operation, body=json_body(decision), key=key, run=self.name, evaluation_id=evaluation_id
        )

    def _act(
        self, operation: Operation[responses.Record], evaluation_id: str, sent: Mapping[str, Any]
    ) -> responses.Record:
        return self._transport.send(
            operation, body=json_body(sent), run=self.name, evaluation_id=evaluation_id
        )
