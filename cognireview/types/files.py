"""Imports, exports, task context and file conflicts. docs/api.md explains the members."""

import datetime as dt
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class ImportDetails:
    """An import: the progress of its job, and the outcomes of its lines."""

    id: int
    run: str
    """A new run exists once the import is done."""
    file_name: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    strict: bool
    error: str
    size: int
    """The size of the uploaded file in bytes."""
    sha256: str
    created_at: dt.datetime
    finished_at: dt.datetime | None
    counts: dict[str, int]
    """Lines by outcome, so far."""
    of_other_judge: int
    """Rejected lines with another judge's evaluation of a record of the run. Import such a file into another
    run."""
    bytes_done: int | None
    """Bytes read of the uncompressed file; null without a job."""
    bytes_to_do: int | None
    seconds_left: int | None

    @property
    def is_finished(self) -> bool:
        return self.state not in {"queued", "running"}

    @property
    def position(self) -> tuple[int | None, int | None]:
        """The bytes read so far, and all bytes."""
        return self.bytes_done, self.bytes_to_do


@dataclass(frozen=True)
class UploadProgress:
    """An upload: the bytes received so far, and its import once it is complete."""

    offset: int
    size: int
    import_id: int | None


@dataclass(frozen=True)
class RejectedLine:
    """A line that was not imported."""

    line: int
    outcome: str
    field: str
    reason: str


@dataclass(frozen=True)
class Reread:
    """A run whose stored files were read again with another mapping."""

    records: int
    new_records: int
    """Records whose lines were rejected before."""
    new_ids: int
    """Records with another evaluation_id than before."""
    claims: int
    """Claims that continue."""


@dataclass(frozen=True)
class Mapping:
    """The mapping from the lines of a file to record fields."""

    run: str
    mapping: dict[str, Any]
    reread: Reread | None
    """The records read again; null if the run had none."""


@dataclass(frozen=True)
class ContextException:
    """A rejected entry of a file of task context."""

    place: int
    """The line number, or the position in the array, from 1."""
    field: str
    """Empty for the entry as a whole."""
    reason: str


@dataclass(frozen=True)
class ContextImport:
    """An imported file of task context."""

    run: str | None
    """Null for context that all runs share."""
    tasks: int
    answers: int
    rejected: int
    exceptions: list[ContextException]
    """The first thousand rejected entries."""


@dataclass(frozen=True)
class ExportDetails:
    """An export and the progress of its job."""

    id: int
    run: str
    state: Literal["unfinished", "done", "failed", "cancelled"]
    error: str
    only: str
    with_rejected: bool
    import_id: int | None
    format: str
    compression: str
    created_by: str
    created_at: dt.datetime
    finished_at: dt.datetime | None
    is_being_cancelled: bool
    bytes_read: int | None
    """Bytes read of the stored files."""
    bytes_to_read: int | None
    size: int
    """The size of the finished file in bytes."""
    sha256: str
    lines: int
    lines_changed: int
    lines_left_out: int

    @property
    def is_finished(self) -> bool:
        return self.state != "unfinished"

    @property
    def position(self) -> tuple[int | None, int | None]:
        """The bytes read so far, and all bytes."""
        return self.bytes_read, self.bytes_to_read


@dataclass(frozen=True)
class ConflictingDecision:
    """One of the two decisions."""

    status: str
    reviewer: str
    at: dt.datetime | None
    corrected_scores: dict[str, Any]
    comments: str
    verdict: str


@dataclass(frozen=True)
class FileConflict:
    """An open conflict."""

    id: int
    evaluation_id: str
    version: int
    """The record's version, for the request that resolves the conflict."""
    file_name: str
    line: int
    ours: ConflictingDecision
    """The decision made here."""
    theirs: ConflictingDecision
    """The decision in the file."""


@dataclass(frozen=True)
class FileConflictPage:
    """A page of open conflicts, the oldest first."""

    conflicts: list[FileConflict]
    total: int
    next: str | None
    """The cursor of the next page, for `after`; null on the last page."""


@dataclass(frozen=True)
class RefusedConflict:
    """A conflict that was not resolved."""

    id: int
    reason: str


@dataclass(frozen=True)
class ResolvedConflicts:
    """The outcome of resolving conflicts."""

    resolved: int
    refused: list[RefusedConflict]
