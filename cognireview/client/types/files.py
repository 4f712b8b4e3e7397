"""Imports, exports, task context and file conflicts. docs/api.md explains the members."""

import datetime as dt
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class ImportDetails:
    """An import: the progress of its job, and its lines by outcome."""

    id: int
    run: str
    file_name: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    strict: bool
    error: str
    size: int
    sha256: str
    created_at: dt.datetime
    finished_at: dt.datetime | None
    counts: dict[str, int]
    of_other_judge: int
    bytes_done: int | None
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
    """A resumable upload. A complete one has an import."""

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
    new_ids: int
    claims: int


@dataclass(frozen=True)
class Mapping:
    """The mapping from the lines of a file to record fields."""

    run: str
    mapping: dict[str, Any]
    reread: Reread | None


@dataclass(frozen=True)
class ContextException:
    """A rejected entry of a file of task context."""

    place: int
    field: str
    reason: str


@dataclass(frozen=True)
class ContextImport:
    """An imported file of task context."""

    run: str | None
    tasks: int
    answers: int
    rejected: int
    exceptions: list[ContextException]


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
    #: Bytes read of the stored files.
    bytes_read: int | None
    bytes_to_read: int | None
    #: The size of the finished file in bytes.
    size: int
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
    #: The record's version, for the request that resolves the conflict.
    version: int
    file_name: str
    line: int
    #: The decision made here.
    ours: ConflictingDecision
    #: The decision in the file.
    theirs: ConflictingDecision


@dataclass(frozen=True)
class FileConflictPage:
    """A page of open conflicts, the oldest first."""

    conflicts: list[FileConflict]
    total: int
    #: The cursor of the next page, for `after`; None on the last page.
    next: str | None


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
