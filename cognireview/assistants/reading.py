"""Tools that read."""

from typing import Annotated, Literal

from pydantic import Field

from cognireview.assistants.tools import Filters, RecordId, Run, Tools, tool
from cognireview.types import operations
from cognireview.types.judge import Relation

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
