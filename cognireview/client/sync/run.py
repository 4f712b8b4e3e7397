"""A run: its settings, files, scores and judge."""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from cognireview.client import figures, operations, responses
from cognireview.client.received_file import Download
from cognireview.client.requests import (
    Progress,
    Source,
    as_lines,
    definition,
    file_name_of,
    json_body,
    opened,
)
from cognireview.client.score_rows import ScoreRow, has_parsed_scores, rows_of_line, rows_of_record
from cognireview.client.sync.imports import Import
from cognireview.client.sync.reviews import Reviews
from cognireview.client.sync.uploads import RESUMABLE_BYTES, send_resumable


class Run(Reviews):
    """A run by its name. It need not exist: the first import creates it."""

    # The run

    def details(self) -> responses.RunDetails:
        """Return the number of its records in each state."""
        return self._transport.send(operations.RUN, run=self.name)

    def rename(self, name: str) -> responses.RunDetails:
        found = self._transport.send(operations.CHANGE_RUN, body=json_body({"name": name}), run=self.name)
        self.name = found.name
        return found

    def archive(self) -> responses.RunDetails:
        return self._transport.send(operations.CHANGE_RUN, body=json_body({"archived": True}), run=self.name)

    def unarchive(self) -> responses.RunDetails:
        return self._transport.send(operations.CHANGE_RUN, body=json_body({"archived": False}), run=self.name)

    def delete(self, *, confirmation: str) -> None:
        """Delete the run with everything about it. `confirmation` repeats its name."""
        query = {"confirmation": confirmation}
        self._transport.send(operations.DELETE_RUN, query=query, run=self.name)

    def members(self) -> list[str] | None:
        """Return who may see the run, besides admins; None if everybody may."""
        return (self._transport.send(operations.MEMBERS, run=self.name)).members

    def set_members(self, members: list[str] | None) -> None:
        """Restrict the run to members, or open it to everybody with None."""
        body = json_body({"members": members})
        self._transport.send(operations.SET_MEMBERS, body=body, run=self.name)

    def rubric(self) -> responses.Rubric:
        return self._transport.send(operations.RUBRIC, run=self.name)

    def set_rubric(
        self, rubric: str | Path | Mapping[str, Any], *, seen: str | None = None
    ) -> responses.Rubric:
        """Declare the rubric: TOML as text or in a file (`Path`), or the same members.

        With `seen`, the fingerprint that you read, a rubric that has changed since is not replaced:
        `Conflict`.
        """
        return self._transport.send(
            operations.SET_RUBRIC, query={"seen": seen}, body=definition(rubric), run=self.name
        )

    def guideline(self) -> responses.Guideline:
        return self._transport.send(operations.GUIDELINE, run=self.name)

    def set_guideline(self, text: str, *, seen: int | None = None) -> responses.Guideline:
        """Write the next version. With `seen`, another version than this one is not replaced (`Conflict`)."""
        body = json_body({"text": text, "seen": seen})
        return self._transport.send(operations.SET_GUIDELINE, body=body, run=self.name)

    # Files

    def import_file(
        self,
        source: Source,
        *,
        file_name: str | None = None,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> Import:
        """Send a file, by its path or as bytes, perhaps compressed. `wait` for the import that it returns.

        A broken upload starts again, or that of a large file continues where it stopped; importing a file
        twice changes nothing. With `strict`, one invalid line rejects the whole file.
        """
        name = file_name_of(source, file_name)
        query = {"file_name": name, "strict": strict}
        with opened(source, progress) as upload:
            if upload.size >= RESUMABLE_BYTES:
                metadata = {"filename": name or f"{self.name}.jsonl", "run": self.name}
                metadata |= {"strict": str(strict).lower()}
                return Import(self._transport, send_resumable(self._transport, upload, metadata))
            details = self._transport.send(operations.CREATE_IMPORT, query=query, body=upload, run=self.name)
        return Import(self._transport, details)

    def import_records(
        self, records: Iterable[Mapping[str, Any]], *, file_name: str | None = None, strict: bool = False
    ) -> Import:
        """Send records as a file of JSON lines."""
        return self.import_file(as_lines(records), file_name=file_name, strict=strict)

    def set_mapping(
        self, mapping: str | Path | Mapping[str, Any], *, dry_run: bool = False
    ) -> responses.Mapping:
        """Set how files of another tool are read: `{"name": "promptfoo"}`, or TOML as text or `Path`."""
        return self._transport.send(
            operations.SET_MAPPING, query={"dry_run": dry_run}, body=definition(mapping), run=self.name
        )

    def import_context(
        self, source: Source, *, file_name: str | None = None, progress: Progress | None = None
    ) -> responses.ContextImport:
        """Import task context for this run: prompts, reference answers and responses."""
        query = {"file_name": file_name_of(source, file_name)}
        with opened(source, progress) as upload:
            return self._transport.send(operations.IMPORT_CONTEXT, query=query, body=upload, run=self.name)

    def export_to(
        self,
        path: str | Path,
        *,
        only: Literal["all", "reviewed"] = "all",
        progress: Progress | None = None,
    ) -> Download:
        """Export the run with its decisions to a file, which replaces an older one once it is complete."""
        return self._transport.download(
            operations.EXPORT, path, query={"only": only}, progress=progress, run=self.name
        )

    def exported(self, *, only: Literal["all", "reviewed"] = "all") -> Iterator[dict[str, Any]]:
        """Yield the exported lines, each as a dict. Only for runs that are exported as JSONL."""
        for line in self._transport.lines(operations.EXPORT, query={"only": only}, run=self.name):
            yield line

    def judge_data_to(
        self,
        path: str | Path,
        *,
        table: Literal["ratings", "population"] = "ratings",
        file_format: Literal["jsonl", "csv", "parquet"] = "jsonl",
    ) -> Download:
        """Download the data behind the judge's metrics."""
        query = {"table": table, "format": file_format}
        return self._transport.download(operations.JUDGE_DATA, path, query=query, run=self.name)

    # Scores and the judge

    def scores(self, *, only: Literal["all", "reviewed"] = "all") -> Iterator[ScoreRow]:
        """Yield a row for each criterion of each record, with the judge's and the human's score.

        Scores that CogniReview extracted from raw judge output take one more request for each such record.
        """
        for line in self.exported(only=only):
            if has_parsed_scores(line):
                rows = rows_of_line(line)
            else:
                rows = rows_of_record(line, self.record(str(line["evaluation_id"])))
            for row in rows:
                yield row

    def judge_report(
        self,
        *,
        require: Iterable[str] = (),
        judge: str | None = None,
        template: str | None = None,
        model: str | None = None,
        reviewer: str | None = None,
        task: str | None = None,
        since: dt.date | None = None,
        until: dt.date | None = None,
    ) -> figures.JudgeReport:
        """Return the accuracy of the judge. `require` has requirements such as `accuracy >= 0.8`."""
        query: dict[str, Any] = {
            "require": list(require),
            "judge": judge,
            "template": template,
            "model": model,
        }
        query |= {"reviewer": reviewer, "task": task, "since": since, "until": until}
        return self._transport.send(operations.REPORT, query=query, run=self.name)

    def compare_judge(self, earlier: str) -> figures.Comparison:
        """Compare the judge with that of an earlier run on the same responses."""
        return self._transport.send(operations.COMPARISON, query={"earlier": earlier}, run=self.name)

    def judge_drift(self, earlier: str) -> figures.Drift:
        """Return the judge's shift since an earlier run."""
        return self._transport.send(operations.DRIFT, query={"earlier": earlier}, run=self.name)

    def judge_history(self, by: Literal["judge", "prompt", "criteria"] | None = None) -> figures.History:
        """Return the accuracy of the judge in this run and in related ones."""
        return self._transport.send(operations.HISTORY, query={"by": by}, run=self.name)

    def freeze_gold_set(self, name: str, **filters: str) -> figures.FrozenGoldSet:
        """Freeze the decisions of the run under a name. The filters are those of the report."""
        body = json_body({"name": name, **filters})
        return self._transport.send(operations.FREEZE_GOLD_SET, body=body, run=self.name)

    def measure_gold_set(self, name: str) -> figures.GoldMeasurement:
        """Measure the judge against a gold set."""
        return self._transport.send(operations.MEASURE_GOLD_SET, run=self.name, name=name)
