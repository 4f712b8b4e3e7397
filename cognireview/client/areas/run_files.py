"""The files of a run: imports, exports, task context and conflicts."""

from base64 import b64encode
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from cognireview.client.areas.jobs import Export, Import
from cognireview.client.dual_methods import B, RunArea, call, stream
from cognireview.client.errors import CogniReviewError, Conflict, Problem, UnexpectedResponse, Unreachable
from cognireview.client.received_file import Download
from cognireview.client.requests import Progress, Source, Upload, as_lines, definition, file_name_of, opened
from cognireview.client.transport import Transport
from cognireview.types import files, operations
from cognireview.types.files import ImportDetails

#: Files of at least this size are sent by the tus protocol.
RESUMABLE_BYTES = 8 * 1024 * 1024
_TUS = {"Tus-Resumable": "1.0.0"}
_KIND = "application/offset+octet-stream"


async def send_resumable(
    transport: Transport[Any], upload: Upload, metadata: Mapping[str, str]
) -> ImportDetails:
    """Send a file, and return its import. Raises `Unreachable` if no attempt makes progress any more."""
    described = ",".join(f"{name} {b64encode(text.encode()).decode()}" for name, text in metadata.items())
    begun = {"Upload-Length": str(upload.size), "Upload-Metadata": described}
    found = await transport.headers(operations.CREATE_UPLOAD, headers=_TUS | begun)
    upload_id = found["location"].rpartition("/")[2]
    try:
        await _append(transport, upload, upload_id)
    except Problem:
        # An unfinished upload takes up space on the server.
        with suppress(CogniReviewError):
            await transport.headers(operations.CANCEL_UPLOAD, headers=_TUS, upload_id=upload_id)
        raise
    progress = await transport.send(operations.UPLOAD, upload_id=upload_id)
    if progress.import_id is None:
        raise UnexpectedResponse(f"The upload {upload_id} is complete and has no import.")
    return await transport.send(operations.IMPORT, import_id=progress.import_id)


async def _append(transport: Transport[Any], upload: Upload, upload_id: str) -> None:
    """Send the file from the offset that the server has, as often as needed."""
    offset = failures = 0
    while offset < upload.size:
        try:
            await transport.headers(
                operations.APPEND,
                body=replace(upload, kind=_KIND, start=offset),
                headers=_TUS | {"Upload-Offset": str(offset)},
                upload_id=upload_id,
            )
            break
        except (Unreachable, Conflict):
            await transport.backend.sleep(transport.retries.pause(failures))
            asked = await transport.headers(operations.CHECK_UPLOAD, headers=_TUS, upload_id=upload_id)
            reached = int(asked["upload-offset"])
            failures = 0 if reached > offset else failures + 1
            if failures > transport.retries.times:
                raise
            offset = reached


Only = Literal["all", "reviewed"]


class Files(RunArea[B]):
    """The files of a run."""

    @call
    async def import_file(
        self,
        source: Source,
        *,
        file_name: str | None = None,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> Import[B]:
        """Send a file, by its path or as bytes, perhaps compressed. `wait` for the import that it returns.

        A broken upload starts again, or that of a large file continues where it stopped; importing a file
        twice changes nothing. With `strict`, one invalid line rejects the whole file.
        """
        return await self._import(source, file_name, strict=strict, progress=progress)

    @call
    async def import_records(
        self, records: Iterable[Mapping[str, Any]], *, file_name: str | None = None, strict: bool = False
    ) -> Import[B]:
        """Send records as a file of JSON lines."""
        return await self._import(as_lines(records), file_name, strict=strict)

    async def _import(
        self, source: Source, file_name: str | None, *, strict: bool, progress: Progress | None = None
    ) -> Import[B]:
        name = file_name_of(source, file_name)
        query = {"file_name": name, "strict": strict}
        with opened(source, progress) as upload:
            if upload.size >= RESUMABLE_BYTES:
                metadata = {"filename": name or f"{self.name}.jsonl", "run": self.name}
                metadata |= {"strict": str(strict).lower()}
                return Import(self._transport, await send_resumable(self._transport, upload, metadata))
            details = await self._send(operations.CREATE_IMPORT, query=query, body=upload)
        return Import(self._transport, details)

    @stream
    async def imports(self) -> AsyncIterator[Import[B]]:
        """Yield the imports of the run, the newest first."""
        async for details in self._rows(operations.IMPORTS, run=self.name):
            yield Import(self._transport, details)

    @call
    async def set_mapping(
        self, mapping: str | Path | Mapping[str, Any], *, dry_run: bool = False
    ) -> files.Mapping:
        """Set how files of another tool are read: `{"name": "promptfoo"}`, or TOML as text or `Path`."""
        return await self._send(operations.SET_MAPPING, query={"dry_run": dry_run}, body=definition(mapping))

    @call
    async def import_context(
        self, source: Source, *, file_name: str | None = None, progress: Progress | None = None
    ) -> files.ContextImport:
        """Import task context for this run: prompts, reference answers and responses."""
        query = {"file_name": file_name_of(source, file_name)}
        with opened(source, progress) as upload:
            return await self._send(operations.IMPORT_CONTEXT, query=query, body=upload)

    @call
    async def export_to(
        self, path: str | Path, *, only: Only = "all", progress: Progress | None = None
    ) -> Download:
        """Export the run with its decisions to a file, which replaces an older one once it is complete."""
        return await self._transport.download(
            operations.EXPORT_RUN, path, query={"only": only}, progress=progress, run=self.name
        )

    @stream
    def exported(self, *, only: Only = "all") -> AsyncIterator[dict[str, Any]]:
        """Yield the exported lines, each as a dict. Only for runs that are exported as JSONL."""
        return self._transport.lines(operations.EXPORT_RUN, query={"only": only}, run=self.name)

    @call
    async def start_export(
        self,
        *,
        only: Only = "all",
        with_rejected: bool = False,
        import_id: int | None = None,
        file_format: Literal["jsonl", "csv", "parquet"] | None = None,
        compression: Literal["", "gzip", "zstd"] = "",
    ) -> Export[B]:
        """Start an export with a receipt, in the format of the imported files or in another one.

        `wait` for the export that it returns. `import_id` exports one file of the run.
        """
        body: dict[str, Any] = {"only": only, "with_rejected": with_rejected, "import_id": import_id}
        body |= {"format": file_format, "compression": compression}
        return Export(self._transport, await self._send(operations.CREATE_EXPORT, body=body))

    @stream
    async def exports(self) -> AsyncIterator[Export[B]]:
        """Yield the exports of the run, the newest first."""
        async for details in self._rows(operations.EXPORTS, run=self.name):
            yield Export(self._transport, details)

    @call
    async def independent_reviews_to(self, path: str | Path) -> Download:
        """Download the independent reviews as JSONL, except those that you must not see yet."""
        return await self._transport.download(operations.EXPORT_INDEPENDENT_REVIEWS, path, run=self.name)

    @call
    async def few_shot_to(self, path: str | Path) -> Download:
        """Download corrected scores as examples for the judge's prompt, as JSONL."""
        return await self._transport.download(operations.FEW_SHOT, path, run=self.name)

    @call
    async def judge_data_to(
        self,
        path: str | Path,
        *,
        table: Literal["ratings", "population"] = "ratings",
        file_format: Literal["jsonl", "csv", "parquet"] = "jsonl",
    ) -> Download:
        """Download the data behind the judge's metrics."""
        query = {"table": table, "format": file_format}
        return await self._transport.download(operations.JUDGE_DATA, path, query=query, run=self.name)

    @stream
    async def conflicts(self) -> AsyncIterator[files.FileConflict]:
        """Yield the open conflicts between imported decisions and those made here, the oldest first."""
        async for page in self._transport.pages(operations.CONFLICTS, run=self.name):
            for conflict in page.conflicts:
                yield conflict

    @call
    async def resolve_conflicts(
        self, keep: Literal["ours", "theirs"], conflicts: Iterable[files.FileConflict]
    ) -> files.ResolvedConflicts:
        """Keep the decisions made here (`ours`), or those of the files (`theirs`)."""
        which = [{"id": one.id, "version": one.version} for one in conflicts]
        return await self._send(operations.RESOLVE_CONFLICTS, body={"keep": keep, "conflicts": which})
