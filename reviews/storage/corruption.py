"""Describe faults of kept files: place, fault and remedy."""

import logging
from dataclasses import dataclass
from typing import NamedTuple

from reviews.models import Export, Import

log = logging.getLogger(__name__)

_BACKUP = "restore a backup (manage.py restore)"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault as one sentence and as its parts. Without `frame`, the fault lies in several or in none."""

    run: str
    place: str
    what: str
    remedy: str
    frame: int | None = None

    def __str__(self) -> str:
        frame = "" if self.frame is None else f", frame {self.frame}"
        return f"Run {self.run!r}, {self.place}{frame}: {self.what}; {self.remedy}."


class CorruptData(Exception):
    """Stored data fails its checks. The message is the sentence of `fault`.

    Code that turns it into an answer or the end of a job calls `note`.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


def log_corruption(damaged: CorruptData) -> None:
    """Write one line to the log, for the operator."""
    log.error("%s", damaged)


class SourceFile(NamedTuple):
    """The kept file of an import, as faults name it."""

    run: str
    import_id: int
    name: str

    @classmethod
    def of_import(cls, source: Import) -> "SourceFile":
        return cls(source.run.name, source.pk, source.file_name)

    def bytes_fault(self, what: str, frame: int | None = None) -> Fault:
        """A fault of the bytes, which the original file heals."""
        remedy = f"{_BACKUP}, or the original file (manage.py repair_import {self.import_id} FILE)"
        return Fault(self.run, self._place, what, remedy, frame)

    def rows_fault(self, what: str) -> Fault:
        """A fault of the rows that describe the file, which only a backup heals."""
        return Fault(self.run, self._place, what, _BACKUP)

    @property
    def _place(self) -> str:
        return f"import {self.import_id} ({self.name})"


def export_fault(export: Export, what: str, frame: int | None = None) -> Fault:
    """A fault of a finished export."""
    return Fault(export.run.name, f"export {export.pk}", what, "export again", frame)
