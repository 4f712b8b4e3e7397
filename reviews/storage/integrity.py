"""Verify an import against totals recorded when its file was stored and when the import ended.

Frames have their own checksums (`source_files`). The totals show two more faults: missing frames at the end,
and missing or changed rows about the outcomes of lines.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

from django.db.models import Q

from reviews.database.statements import fetch_all
from reviews.models import Evaluation, Import, ImportSums, Run
from reviews.storage.corruption import CorruptData, Fault, SourceFile

_OF_THE_FILE = (
    "run_id",
    "file_name",
    "state",
    "size",
    "sha256",
    "has_bom",
    "records_path",
    "is_archive",
    "repeated_lines",
    "lines",
)
_FIGURES = (*_OF_THE_FILE, *Import.OUTCOMES)
# The number of lines, and sums that change with any line number, outcome or record of a row.
_NOTED = """
    SELECT outcome, concat_ws(' ', sum(lines), sum(line), sum(line::numeric * line),
                              sum(line::numeric * lines),
                              sum(line::numeric * coalesce(evaluation_id, 0)),
                              sum(line::numeric * coalesce(first_import_id, 0)),
                              sum(line::numeric * coalesce(first_line, 0)))
    FROM import_line WHERE source_id = %s GROUP BY outcome
"""
_OUTCOMES = {"unchanged": "unchanged", "updated": "updated", "conflict": "conflicts", "rejected": "rejected"}


class ContentTotals:
    """Running totals of a source file: bytes, lines, and a hash over the checksums of its frames."""

    def __init__(self) -> None:
        self._frames = hashlib.sha256()
        self.size = self.lines = 0

    def add(self, digest: bytes, size: int, lines: int) -> None:
        """Add a frame with its checksum, and the size in bytes and the lines of its text."""
        self._frames.update(digest)
        self.size += size
        self.lines += lines

    @property
    def frames_sha256(self) -> str:
        return self._frames.hexdigest()


def record_content(source: Import, text: ContentTotals, *, document_sha256: str = "") -> None:
    """Record the totals of a stored file, once its size and SHA-256 are known.

    `document_sha256` is that of a decompressed document, if it is not recorded yet.
    """
    sums: dict[str, Any] = {
        "text_size": text.size,
        "text_lines": text.lines,
        "frames_sha256": text.frames_sha256,
    }
    if document_sha256:
        sums["text_sha256"] = document_sha256
    elif source.records_path is None:
        # The file of a compressed import has another size than its text.
        sums["text_sha256"] = source.sha256 if source.size == text.size else ""
    ImportSums.objects.bulk_create(
        [ImportSums(source=source, **sums)],
        update_conflicts=True,
        unique_fields=["source"],
        update_fields=list(sums),
    )


def record_result(source: Import) -> None:
    """Record the figures of an ended import, and the totals of its outcome rows."""
    sums = {"figures": _figures(source), "noted": _noted(source)}
    ImportSums.objects.filter(source=source).update(**sums)


def verify_content(kept: SourceFile, text: ContentTotals) -> None:
    """Compare a completely read file with its recorded totals. Raises `CorruptData`."""
    sums = ImportSums.objects.filter(source=kept.import_id).first()
    if sums is None:
        _check_lines(kept, text)
        return
    if (text.size, text.lines) != (sums.text_size, sums.text_lines):
        what = (
            f"it has {text.lines:,} lines in {text.size:,} bytes,"
            f" and had {sums.text_lines:,} lines in {sums.text_size:,} bytes"
        )
        raise CorruptData(kept.bytes_fault(what))
    if text.frames_sha256 != sums.frames_sha256:
        raise CorruptData(kept.bytes_fault("its frames are not those that were stored"))


def _check_lines(kept: SourceFile, text: ContentTotals) -> None:
    """Compare the number of lines only, if no totals were recorded."""
    done = Import.objects.filter(pk=kept.import_id, state=Import.State.DONE)
    lines = done.values_list("lines", flat=True).first()
    if lines not in {None, text.lines}:
        raise CorruptData(kept.bytes_fault(f"it has {text.lines:,} lines, and had {lines:,}"))


def has_line(source_id: int, line: int) -> bool:
    """Whether the source file of an import had that line."""
    return line > 0 and ImportSums.objects.filter(source=source_id, text_lines__gte=line).exists()


def run_imports(run: Run) -> list[Import]:
    """Return the imports in the run's files, according to their columns or their recorded figures."""
    done = str(Import.State.DONE)
    is_part = Q(run=run, state=done) | Q(sums__figures__contains={"run_id": run.pk, "state": done})
    return list(Import.objects.filter(is_part).select_related("run", "sums").order_by("pk"))


def verify_import(source: Import) -> None:
    """Compare the rows of an import with its recorded totals. Raises `CorruptData`."""
    for fault in import_faults(source):
        raise CorruptData(fault)


def import_faults(source: Import) -> Iterator[Fault]:
    """Yield each difference between the rows of an import and the totals recorded when it ended."""
    sums = ImportSums.objects.filter(source=source).first()
    if sums is None or not sums.figures:
        return
    kept, figures = SourceFile.of_import(source), _figures(source)
    changed = [name for name in _FIGURES if figures[name] != sums.figures.get(name)]
    if changed:
        yield kept.rows_fault(f"{', '.join(changed)} of the import changed after it ended")
    noted = _noted(source)
    for outcome, column in _OUTCOMES.items():
        count = int(noted.get(outcome, "0").split()[0])
        if count != sums.figures[column]:
            yield kept.rows_fault(f"{count:,} of {sums.figures[column]:,} lines noted as {outcome} are there")
        elif noted.get(outcome) != sums.noted.get(outcome):
            yield kept.rows_fault(f"lines noted as {outcome} were changed")
    records = Evaluation.objects.filter(run=sums.figures["run_id"], first_import=source).count()
    if sums.figures["state"] == Import.State.DONE and records != sums.figures["new"]:
        yield kept.rows_fault(f"{records:,} of its {sums.figures['new']:,} records are there")


def _figures(source: Import) -> dict[str, Any]:
    return {name: getattr(source, name) for name in _FIGURES}


def _noted(source: Import) -> dict[str, str]:
    """Return totals of the outcome rows by outcome. They are text, as they exceed JSON's numbers."""
    return dict(fetch_all(_NOTED, [source.pk]))
