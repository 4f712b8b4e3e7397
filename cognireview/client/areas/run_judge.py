"""The scores of a run, and its judge."""

import datetime as dt
from collections.abc import AsyncIterator, Iterable
from typing import Literal, TypedDict, Unpack

from cognireview.client.areas.run_area import RunArea
from cognireview.client.dual_methods import B, call, stream
from cognireview.client.score_rows import ScoreRow, has_parsed_scores, rows_of_line, rows_of_record
from cognireview.types import operations
from cognireview.types.judge import (
    Comparison,
    Drift,
    FrozenGoldSet,
    GoldMeasurement,
    History,
    JudgeReport,
    Relation,
)


class JudgeFilters(TypedDict, total=False):
    """The ratings and records that figures about a judge count."""

    judge: str | None
    #: The prompt.
    template: str | None
    #: "-" for records without a model.
    model: str | None
    #: A username.
    reviewer: str | None
    task: str | None
    #: The first and the last day in UTC.
    since: dt.date | None
    until: dt.date | None


class Judge(RunArea[B]):
    """The judge of a run."""

    @stream
    async def scores(self, *, only: Literal["all", "reviewed"] = "all") -> AsyncIterator[ScoreRow]:
        """Yield a row for each criterion of each record, with the judge's and the human's score.

        Scores that CogniReview extracted from raw judge output take one more request for each such record.
        """
        exported = self._transport.lines(operations.EXPORT_RUN, query={"only": only}, run=self.name)
        async for line in exported:
            if has_parsed_scores(line):
                rows = rows_of_line(line)
            else:
                record = await self._send(operations.RECORD, evaluation_id=line["evaluation_id"])
                rows = rows_of_record(line, record)
            for row in rows:
                yield row

    @call
    async def judge_report(
        self, *, require: Iterable[str] = (), **filters: Unpack[JudgeFilters]
    ) -> JudgeReport:
        """Return the accuracy of the judge. `require` has requirements such as `accuracy >= 0.8`."""
        query = {"require": list(require), **filters}
        return await self._send(operations.REPORT, query=query)

    @call
    async def compare_judge(self, earlier: str, **filters: Unpack[JudgeFilters]) -> Comparison:
        """Compare the judge with that of an earlier run on the same responses."""
        return await self._send(operations.COMPARISON, query={"earlier": earlier, **filters})

    @call
    async def judge_drift(self, earlier: str, **filters: Unpack[JudgeFilters]) -> Drift:
        """Return the judge's shift since an earlier run."""
        return await self._send(operations.DRIFT, query={"earlier": earlier, **filters})

    @call
    async def judge_history(self, by: Relation | None = None, **filters: Unpack[JudgeFilters]) -> History:
        """Return the accuracy of the judge in this run and in related ones."""
        return await self._send(operations.HISTORY, query={"by": by, **filters})

    @call
    async def freeze_gold_set(self, name: str, /, **filters: str) -> FrozenGoldSet:
        """Freeze the decisions of the run under a name. The filters are those of the report."""
        return await self._send(operations.FREEZE_GOLD_SET, body={"name": name, **filters})

    @call
    async def measure_gold_set(self, name: str, **filters: Unpack[JudgeFilters]) -> GoldMeasurement:
        """Measure the judge against a gold set."""
        return await self._send(operations.MEASURE_GOLD_SET, query={**filters}, name=name)
