"""An export in any format, with its receipt."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import PurePath
from typing import Any

from django.utils import timezone

from reviews.exports import formats, jsonl
from reviews.exports.documents import InvalidExport, document_source, require_document
from reviews.exports.receipt import ExportTally, FileDigest, ReceiptFilter, ReceiptOutput
from reviews.exports.signing import sign_receipt
from reviews.models import Export, Import, Run
from reviews.storage.chunks import MeteredStream

_DOCUMENTS = ("json", "zip")
_FORMS = {"jsonl": jsonl.Form.LINES} | dict.fromkeys(_DOCUMENTS, jsonl.Form.DOCUMENT)
FIGURES = ("size", "sha256", "lines", "lines_changed", "lines_left_out")


@dataclass(frozen=True)
class ExportOptions:
    """The options of an export, which are columns of `Export`.

    `only`, `with_rejected` and `only_import` are those of `jsonl.export_lines`.
    """

    run: Run
    only: str = "all"
    with_rejected: bool = False
    only_import: Import | None = None
    #: A key of `formats.ENDINGS`.
    format: str = "jsonl"
    #: A key of `formats.COMPRESSION_ENDINGS`.
    compression: str = ""

    def check(self) -> None:
        """Raise `InvalidExport` if the options contradict each other."""
        if self.with_rejected and self.only != "all":
            raise InvalidExport("Rejected lines have no review: export them with all lines.")
        if self.with_rejected and not self.keeps_lines:
            raise InvalidExport("Rejected lines are not records: export them as JSONL.")
        if self.compression and self.format in {"parquet", "zip"}:
            subject = "Archives" if self.format == "zip" else "Parquet files"
            raise InvalidExport(f"{subject} are already compressed: choose no compression.")
        if self.only_import and (
            self.only_import.run_id != self.run.pk or self.only_import.state != Import.State.DONE
        ):
            raise InvalidExport(
                f"Import {self.only_import.pk} is not a finished import of run {self.run.name!r}."
            )
        if self.format in _DOCUMENTS:
            source = require_document(self.run, self.only_import)
            if source.is_archive != (self.format == "zip"):
                raise InvalidExport(f"The file of the run is not of the format {self.format}.")
        if self.format == "zip" and self.only != "all":
            raise InvalidExport("An archive is exported with all of its files: export all lines, or JSONL.")
        try:
            formats.check_installed(self.format)
        except formats.PackageMissing as missing:
            raise InvalidExport(str(missing)) from missing

    @property
    def keeps_lines(self) -> bool:
        """Whether the format consists of the imported lines, and not of their records."""
        return self.format in formats.OF_LINES

    @property
    def keeps_rejected(self) -> bool:
        """Whether rejected lines are exported. The file of one import includes them, if the format can."""
        is_whole = self.format in _DOCUMENTS or (self.only_import is not None and self.keeps_lines)
        return self.with_rejected or (is_whole and self.only == "all")

    @property
    def file_name(self) -> str:
        """The name of the file. It starts with the run's name, which may contain any printable character."""
        parts = [self.run.name]
        if self.only_import:
            parts.append(f"import-{self.only_import.pk}")
        if self.only != "all":
            parts.append(self.only)
        ending = self._archive_ending or formats.ENDINGS[self.format]
        ending += formats.COMPRESSION_ENDINGS[self.compression]
        return "-".join(parts) + ending

    @property
    def _archive_ending(self) -> str:
        """The ending of an imported archive, such as `.eval`. Empty for other formats."""
        source = document_source(self.run, self.only_import) if self.format == "zip" else None
        ending = PurePath(source.file_name).suffix.lower() if source else ""
        is_archive = formats.CONTENT_TYPES.get(ending) == formats.CONTENT_TYPES[".zip"]
        return ending if is_archive else ""


def export_options(export: Export) -> ExportOptions:
    return ExportOptions(**{option.name: getattr(export, option.name) for option in fields(ExportOptions)})


class ExportOutput:
    """Iterate over the bytes of an exported file. Afterwards its size and its receipt are known."""

    def __init__(self, options: ExportOptions) -> None:
        self.options = options
        self.tally = ExportTally()
        self._jsonl = jsonl.export_lines(
            options.run,
            only=options.only,
            with_rejected=options.keeps_rejected,
            only_import=options.only_import,
            form=_FORMS.get(options.format, jsonl.Form.RECORDS),
            tally=self.tally,
        )
        self._uncompressed = MeteredStream(formats.convert(self._jsonl, options.format))
        self._file = self._uncompressed
        if options.compression:
            self._file = MeteredStream(formats.compress(self._uncompressed, options.compression))

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._file)

    def close(self) -> None:
        """Stop the export. Call this in its thread, before its transaction or an outer one ends."""
        self._jsonl.close()

    @property
    def size(self) -> int:
        return self._file.size

    @property
    def sha256(self) -> str:
        return self._file.sha256

    def receipt(self, file_name: str) -> Iterator[bytes]:
        """Return the signed receipt of the complete file, in blocks of JSON."""
        options = self.options
        only_import = options.only_import.pk if options.only_import else None
        receipt = self.tally.receipt(
            run=options.run.name,
            created_at=timezone.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            options=ReceiptFilter(options.only, options.keeps_rejected, only_import),
            output=ReceiptOutput(
                name=file_name,
                format=options.format,
                compression=options.compression,
                size=self.size,
                sha256=self.sha256,
                unpacked=FileDigest(self._uncompressed.size, self._uncompressed.sha256),
                lines=self.tally.lines,
            ),
        )
        return sign_receipt(receipt)

    @property
    def figures(self) -> dict[str, Any]:
        """The figures of the complete file, by the columns of an `Export`."""
        tally = self.tally
        figures = (self.size, self.sha256, tally.lines, tally.lines_changed, tally.lines_left_out)
        return dict(zip(FIGURES, figures, strict=True))
