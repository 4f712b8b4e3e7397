"""The tools of assistants. A tool is a method that calls one operation of the API, whose id is its name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from json import dumps
from typing import Annotated, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from cognireview.client import AsyncClient, CogniReviewError
from cognireview.client.requests import decision_of
from cognireview.types import operations
from cognireview.types.judge import Relation
from cognireview.types.operations import Operation

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
        self.client = client


def tool(operation: Operation[Any], scope: str) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that makes a method the tool of an operation, which returns JSON.

    Arguments that are not part of the address are the query of the operation, or its body. A method that
    sends something else returns it. A refusal becomes an error that the assistant reads.
    """

    def mark(method: Callable[..., dict[str, Any] | None]) -> Any:
        @wraps(method)
        async def call(tools: Tools, **given: Any) -> str:
            path = {name: str(given[name]) for name in given if f"{{{name}}}" in operation.path}
            others = {name: value for name, value in given.items() if name not in path}
            sent: Any = method(tools, **given) or others or None
            place: dict[str, Any] = {"query" if operation.method == "GET" else "json": sent, **path}
            try:
                found = await tools.client.request(operation.method, operation.path, **place)
            except CogniReviewError as error:
                raise ToolError(str(error)) from error
            return dumps(found, ensure_ascii=False)

        vars(call)["tool"] = Tool(operation, scope)
        return call

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
    def list_runs(self, *, archived: bool = False) -> None:
        """List the runs, newest first, with the number of records in each state."""

    @tool(operations.RUN, "read")
    def read_run(self, run: Run) -> None:
        """Return the number of a run's records in each state."""

    @tool(operations.RUBRIC, "read")
    def get_rubric(self, run: Run) -> None:
        """Return the rubric: the criteria of a run and their possible scores."""

    @tool(operations.GUIDELINE, "read")
    def get_guideline(self, run: Run) -> None:
        """Return the guideline for the reviewers of a run."""

    @tool(operations.RECORDS, "read")
    def list_records(
        self,
        run: Run,
        filters: Filters | None = None,
        sort: str | None = None,
        after: _Cursor = None,
    ) -> dict[str, Any]:
        """Find records of a run: 50 of them, and `next` for the next page."""
        return {**(filters or {}), "sort": sort, "after": after}

    @tool(operations.RECORD, "read")
    def read_record(self, run: Run, evaluation_id: RecordId) -> None:
        """Read a record: prompt, responses, the judge's scores with justifications, and the decision.

        The judge's scores are left out while the owner of the token reviews the record blind.
        """

    @tool(operations.DECISIONS, "read")
    def list_decisions(self, run: Run, evaluation_id: RecordId) -> None:
        """List the versions of the decision on a record, the latest first."""

    @tool(operations.REPORT, "read")
    def get_judge_report(
        self,
        run: Run,
        *,
        require: _Requirements = None,
        judge: str | None = None,
        template: str | None = None,
        model: str | None = None,
        reviewer: str | None = None,
        task: str | None = None,
    ) -> None:
        """Return how well the judge of a run agrees with people. For leads and admins."""

    @tool(operations.COMPARISON, "read")
    def compare_judges(
        self,
        run: Run,
        earlier: _Earlier,
        *,
        judge: str | None = None,
        template: str | None = None,
        model: str | None = None,
        task: str | None = None,
    ) -> None:
        """Compare the accuracy of a run's judge with that of an earlier run on the same responses."""

    @tool(operations.DRIFT, "read")
    def get_judge_drift(
        self,
        run: Run,
        earlier: _Earlier,
        *,
        judge: str | None = None,
        template: str | None = None,
        model: str | None = None,
        task: str | None = None,
    ) -> None:
        """Return whether the judge became milder or stricter since an earlier run."""

    @tool(operations.HISTORY, "read")
    def get_accuracy_over_runs(self, run: Run, by: Relation | None = None) -> None:
        """Return the accuracy of the judge in a run and in related runs."""

    @tool(operations.GOLD_SETS, "read")
    def list_gold_sets(self) -> None:
        """List the gold sets, which are frozen human decisions. For leads and admins."""

    @tool(operations.MEASURE_GOLD_SET, "read")
    def measure_gold_set(self, run: Run, name: str) -> None:
        """Measure the judge of a run against a gold set."""

    @tool(operations.ESCALATIONS, "read")
    def list_escalations(
        self,
        kind: Literal["question", "disagreement"] = "question",
        run: str | None = None,
        after: _Cursor = None,
    ) -> None:
        """List the open questions or disagreements, the oldest first. For leads and admins."""

    @tool(operations.OWN_ESCALATIONS, "read")
    def list_own_escalations(self) -> None:
        """List the latest escalations of the owner of the token, with their answers."""


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
    def claim_next_record(self, run: Run, filters: Filters | None = None) -> dict[str, Any]:
        """Claim the next record to review, or return the claimed one; null if none is left."""
        return {"filters": filters or {}}

    @tool(operations.CLAIM_RECORD, "review")
    def claim_record(self, run: Run, evaluation_id: RecordId) -> dict[str, Any]:
        """Claim a certain record, or renew the claim."""
        return {"take_over": False}

    @tool(operations.RELEASE, "review")
    def release_record(self, run: Run, evaluation_id: RecordId) -> None:
        """Release the claim on a record."""

    @tool(operations.LOCK_IN, "review")
    def lock_in_blind_scores(
        self, run: Run, evaluation_id: RecordId, scores: _Scores, version: _Version = None
    ) -> None:
        """Lock in blind scores, and return the record with the judge's scores."""

    @tool(operations.REVIEW, "review")
    def submit_review(
        self,
        run: Run,
        evaluation_id: RecordId,
        scores: _Scores,
        *,
        comments: str | None = None,
        causes: _Causes = None,
        version: _Version = None,
    ) -> dict[str, Any]:
        """Submit the decision on a claimed record."""
        return decision_of(scores, comments, causes, version)

    @tool(operations.REVISE, "review")
    def revise_decision(
        self,
        run: Run,
        evaluation_id: RecordId,
        scores: _Scores,
        *,
        comments: str | None = None,
        causes: _Causes = None,
    ) -> dict[str, Any]:
        """Replace the current decision on a record: one's own, or as a lead anybody's."""
        return decision_of(scores, comments, causes)

    @tool(operations.SKIP, "review")
    def skip_record(self, run: Run, evaluation_id: RecordId) -> None:
        """Release a record, and leave it out of one's queue."""

    @tool(operations.ESCALATE, "review")
    def escalate_record(
        self,
        run: Run,
        evaluation_id: RecordId,
        kind: Literal["cannot judge", "question"] = "cannot judge",
        reason: str = "",
        note: str = "",
    ) -> None:
        """Send a record to a lead, with a reason or a note. A question needs a note."""

    @tool(operations.RESOLVE_ESCALATION, "review")
    def resolve_escalation(
        self, escalation_id: int, outcome: Literal["returned", "closed", "upheld"], answer: str = ""
    ) -> None:
        """Resolve an escalation as a lead. To decide the record instead, claim it and submit a review."""

    @tool(operations.REOPEN, "review")
    def reopen_record(self, run: Run, evaluation_id: RecordId, reason: str) -> None:
        """Put a decided record back into the queue."""

    @tool(operations.LAST_ACTION, "review")
    def get_last_action(self, run: Run) -> None:
        """Return the last action in a run, which undo_last_action would undo; null if there is none."""

    @tool(operations.UNDO, "review")
    def undo_last_action(
        self, run: Run, event: Annotated[int, Field(description="`event` of get_last_action.")]
    ) -> None:
        """Undo the last action in a run."""
