"""The scores of a run as rows, one for each criterion of a record, and its judge."""

import datetime as dt
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from cognireview.client.dual_methods import B, RunArea, call, stream
from cognireview.client.errors import CogniReviewError
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
from cognireview.types.records import Record


@dataclass(frozen=True)
class ScoreRow:
    """A criterion of a record, with the judge's and the human's score. A missing score is None."""

    evaluation_id: str
    task_id: str | None
    model_id: str | None
    criterion: str
    judge: Any
    judge_justification: str | None
    human: Any
    human_justification: str | None
    #: judge, or extracted from raw judge output; rubric if the judge gave no score.
    origin: str


def has_parsed_scores(line: Mapping[str, Any]) -> bool:
    """Return whether the line has the judge's scores, and not only its raw output.

    Raises `CogniReviewError` for a line of another tool, whose scores only its mapping finds.
    """
    if "evaluation_id" not in line:
        raise CogniReviewError(
            "The lines of this run are those of another tool: read its scores with records() and record()."
        )
    return bool(line.get("parsed_rubric_scores"))


def rows_of_line(line: Mapping[str, Any]) -> list[ScoreRow]:
    """Return the rows of an exported line with parsed scores."""
    judge = {name: _entry(value) for name, value in line["parsed_rubric_scores"].items()}
    return _rows(line, judge, {})


def rows_of_record(line: Mapping[str, Any], record: Record) -> list[ScoreRow]:
    """Return the rows of an exported line whose scores CogniReview extracted, or nobody gave."""
    scored = [one for one in record.criteria if one.score is not None]
    judge = {one.criterion: (one.score, one.justification) for one in scored}
    return _rows(line, judge, {one.criterion: one.origin for one in scored})


def _rows(
    line: Mapping[str, Any], judge: Mapping[str, tuple[Any, Any]], origins: Mapping[str, str]
) -> list[ScoreRow]:
    given = line.get("human_corrected_scores") or {}
    human = {name: _entry(value) for name, value in given.items()}
    missing = (None, None)
    return [
        ScoreRow(
            str(line["evaluation_id"]),
            _text(line.get("task_id")),
            _text(line.get("model_id")),
            criterion,
            *judge.get(criterion, missing),
            *human.get(criterion, missing),
            origins.get(criterion, "judge" if criterion in judge else "rubric"),
        )
        for criterion in dict.fromkeys([*judge, *human])
    ]


def _entry(value: Any) -> tuple[Any, Any]:
    """Return score and justification. The scores of a file may have any shape."""
    if isinstance(value, Mapping):
        return value.get("score"), value.get("justification")
    return value, None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


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
