"""Describe corrupt data in storage: place, problem and remedy."""

import logging
from dataclasses import dataclass
from typing import NamedTuple

from reviews.models import Export, Import

log = logging.getLogger(__name__)

_BACKUP = "restore a backup (manage.py restore)"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in stored data. Its string is one sentence."""

    run: str
    place: str
    problem: str
    remedy: str
    #: Number of the damaged frame. None if the fault is not in a single frame.
    frame: int | None = None

    def __str__(self) -> str:
        frame = "" if self.frame is None else f", frame {self.frame}"
        return f"Run {self.run!r}, {self.place}{frame}: {self.problem}; {self.remedy}."


class CorruptData(Exception):
    """Stored data failed a check. The message is the sentence of `fault`.

    Code that catches this error to answer a request or to end a job calls `log_corruption`.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


def log_corruption(error: CorruptData) -> None:
    """Log one line for the operator."""
    log.error("%s", error)


class SourceFile(NamedTuple):
    """The identity of a source file in fault messages."""

    run: str
    import_id: int
    name: str

    @classmethod
    def of_import(cls, source: Import) -> "SourceFile":
        return cls(source.target_name, source.pk, source.file_name)

    def bytes_fault(self, problem: str, frame: int | None = None) -> Fault:
        """Return a fault in the file's bytes. The original file repairs it."""
        remedy = f"{_BACKUP}, or the original file (manage.py repair_import {self.import_id} FILE)"
        return Fault(self.run, self._place, problem, remedy, frame)

    def rows_fault(self, problem: str) -> Fault:
        """Return a fault in the rows about the file. Only a backup repairs it."""
        return Fault(self.run, self._place, problem, _BACKUP)

    @property
    def _place(self) -> str:
        return f"import {self.import_id} ({self.name})"


def export_fault(export: Export, problem: str, frame: int | None = None) -> Fault:
    """Return a fault in a finished export. Exporting again repairs it."""
    return Fault(export.run.name, f"export {export.pk}", problem, "export again", frame)
