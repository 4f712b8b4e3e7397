"""The tools of assistants. A tool is a method that calls one operation of the API, whose id is its name."""

from collections.abc import Callable
from dataclasses import dataclass
from json import dumps
from typing import Annotated, Any, Literal, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from cognireview.client import AsyncClient, CogniReviewError
from cognireview.client.requests import decision_of
from cognireview.types import operations
from cognireview.types.judge import Relation
from cognireview.types.operations import Operation

F = TypeVar("F", bound=Callable[..., Any])
Run = Annotated[str, Field(description="The name of the run.")]
RecordId = Annotated[str, Field(description="The evaluation_id of the record.")]
Filters = Annotated[
    dict[str, str | list[str]],
    Field(
        description="Filters such as status (waiting, claimed, escalated, done, not-required), q (words), "
        "task, model, judge, verdict, reason or decided-by. A list means any of its values."
    ),
]


@dataclass(frozen=True)
class Tool:
    """The operation that a tool calls, and the scope that a token needs for it."""

    operation: Operation[Any]
    scope: str

    @property
    def annotations(self) -> ToolAnnotations:
        """Hints for programs that ask people before a tool writes."""
        method = self.operation.method
        return ToolAnnotations(
            read_only_hint=method == "GET",
            destructive_hint=False,
            idempotent_hint=method in {"GET", "PUT", "DELETE"},
            open_world_hint=False,
        )


class Tools:
    """Tools that call a site with the token of a client."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def _call(
        self, operation: Operation[Any], *, query: Any = None, json: Any = None, **path: Any
    ) -> str:
        """Return the JSON of an operation, or null. A refusal becomes an error that the assistant reads."""
        parts = {name: str(value) for name, value in path.items()}
        try:
            found = await self._client.request(
                operation.method, operation.path, query=query, json=json, **parts
            )
        except CogniReviewError as error:
            raise ToolError(str(error)) from error
        return dumps(found, ensure_ascii=False)


def tool(operation: Operation[Any], scope: str) -> Callable[[F], F]:
    """Mark a method as the tool of an operation."""

    def mark(method: F) -> F:
        method.tool = Tool(operation, scope)  # type: ignore[attr-defined]
        return method

    return mark


def tools_of(kind: type[Tools]) -> dict[str, Tool]:
    """Return the tools of a class by name."""
    return {name: member.tool for name, member in vars(kind).items() if hasattr(member, "tool")}


_Requirements = Annotated[
    list[str] | None,
    Field(description="Requirements such as `accuracy >= 0.8`. The answer says which are met."),
]
_Earlier = Annotated[str, Field(description="The name of the earlier run.")]
_Cursor = Annotated[str | None, Field(description="`next` of the previous page.")]


class ReadingTools(Tools):
    """The runs, records and figures that the owner of the token may see."""

    @tool(operations.RUNS, "read")
    async def list_runs(self, *, archived: bool = False) -> str:
        """List the runs, newest first, with the number of records in each state."""
        return await self._call(operations.RUNS, query={"archived": archived})

    @tool(operations.RUN, "read")
    async def read_run(self, run: Run) -> str:
        """Return the number of a run's records in each state."""
        return await self._call(operations.RUN, run=run)

    @tool(operations.RUBRIC, "read")
    async def get_rubric(self, run: Run) -> str:
        """Return the rubric: the criteria of a run and their possible scores."""
        return await self._call(operations.RUBRIC, run=run)

    @tool(operations.GUIDELINE, "read")
    async def get_guideline(self, run: Run) -> str:
        """Return the guideline for the reviewers of a run."""
        return await self._call(operations.GUIDELINE, run=run)

    @tool(operations.RECORDS, "read")
    async def list_records(
        self,
        run: Run,
        filters: Filters | None = None,
        sort: str | None = None,
        after: _Cursor = None,
    ) -> str:
        """Find records of a run: 50 of them, and `next` for the next page."""
        query = {**(filters or {}), "sort": sort, "after": after}
        return await self._call(operations.RECORDS, query=query, run=run)

    @tool(operations.RECORD, "read")
    async def read_record(self, run: Run, evaluation_id: RecordId) -> str:
        """Read a record: prompt, responses, the judge's scores with justifications, and the decision.

        The judge's scores are left out while the owner of the token reviews the record blind.
        """
        return await self._call(operations.RECORD, run=run, evaluation_id=evaluation_id)

    @tool(operations.DECISIONS, "read")
    async def list_decisions(self, run: Run, evaluation_id: RecordId) -> str:
        """List the versions of the decision on a record, the latest first."""
        return await self._call(operations.DECISIONS, run=run, evaluation_id=evaluation_id)

    @tool(operations.REPORT, "read")
    async def get_judge_report(
        self,
        run: Run,
        *,
        require: _Requirements = None,
        judge: str | None = None,
        template: str | None = None,
        model: str | None = None,
        reviewer: str | None = None,
        task: str | None = None,
    ) -> str:
        """Return how well the judge of a run agrees with people. For leads and admins."""
        query = {"require": require, "judge": judge, "template": template, "model": model}
        query |= {"reviewer": reviewer, "task": task}
        return await self._call(operations.REPORT, query=query, run=run)

    @tool(operations.COMPARISON, "read")
    async def compare_judges(
        self,
        run: Run,
        earlier: _Earlier,
        *,
        judge: str | None = None,
        template: str | None = None,
        model: str | None = None,
        task: str | None = None,
    ) -> str:
        """Compare the accuracy of a run's judge with that of an earlier run on the same responses."""
        query = {"earlier": earlier, "judge": judge, "template": template, "model": model, "task": task}
        return await self._call(operations.COMPARISON, query=query, run=run)

    @tool(operations.DRIFT, "read")
    async def get_judge_drift(
        self,
        run: Run,
        earlier: _Earlier,
        *,
        judge: str | None = None,
        template: str | None = None,
        model: str | None = None,
        task: str | None = None,
    ) -> str:
        """Return whether the judge became milder or stricter since an earlier run."""
        query = {"earlier": earlier, "judge": judge, "template": template, "model": model, "task": task}
        return await self._call(operations.DRIFT, query=query, run=run)

    @tool(operations.HISTORY, "read")
    async def get_accuracy_over_runs(self, run: Run, by: Relation | None = None) -> str:
        """Return the accuracy of the judge in a run and in related runs."""
        return await self._call(operations.HISTORY, query={"by": by}, run=run)

    @tool(operations.GOLD_SETS, "read")
    async def list_gold_sets(self) -> str:
        """List the gold sets, which are frozen human decisions. For leads and admins."""
        return await self._call(operations.GOLD_SETS)

    @tool(operations.MEASURE_GOLD_SET, "read")
    async def measure_gold_set(self, run: Run, name: str) -> str:
        """Measure the judge of a run against a gold set."""
        return await self._call(operations.MEASURE_GOLD_SET, run=run, name=name)

    @tool(operations.ESCALATIONS, "read")
    async def list_escalations(
        self,
        kind: Literal["question", "disagreement"] = "question",
        run: str | None = None,
        after: _Cursor = None,
    ) -> str:
        """List the open questions or disagreements, the oldest first. For leads and admins."""
        query = {"kind": kind, "run": run, "after": after}
        return await self._call(operations.ESCALATIONS, query=query)

    @tool(operations.OWN_ESCALATIONS, "read")
    async def list_own_escalations(self) -> str:
        """List the latest escalations of the owner of the token, with their answers."""
        return await self._call(operations.OWN_ESCALATIONS)


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
