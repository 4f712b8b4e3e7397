"""Export JSON documents: the stored text with decisions in the members of its list of records."""

from collections.abc import Generator, Iterator
from fnmatch import fnmatchcase
from io import BytesIO
from typing import IO
from zipfile import ZipFile

from reviews.exports.formats import Drain
from reviews.models import Import, Run
from reviews.storage import source_files
from reviews.storage.json_document import Rejoiner
from reviews.storage.zip_archive import copied_info


class InvalidExport(Exception):
    """The options of an export contradict each other. The message is a sentence that says why."""


def document_source(run: Run, only_import: Import | None) -> Import | None:
    """Return the import whose document is exported, or None if the export consists of lines.

    A run is exported as its newest document if that has all of the run's records.
    """
    source = only_import or run.files.last()
    if source is None or not source.is_document:
        return None
    records = source.lines - source.rejected - source.blank
    has_all = only_import is not None or records == run.evaluations.count()
    return source if has_all else None


def require_document(run: Run, only_import: Import | None) -> Import:
    """Return the import whose document is exported. Raises `InvalidExport`."""
    source = document_source(run, only_import)
    if source is None:
        raise InvalidExport(
            "The newest file of the run is not a document with all of its records. Export JSONL, or the file "
            "of one import."
        )
    return source


def imported_format(run: Run, only_import: Import | None, only: str = "all") -> str:
    """Return the format of the imported file: a key of `formats.ENDINGS`.

    An archive is exported as a whole, so some of its records are lines.
    """
    source = document_source(run, only_import)
    if source is None or (source.is_archive and only != "all"):
        return "jsonl"
    return "zip" if source.is_archive else "json"


def archive_text(source: Import, lines: Iterator[bytes]) -> Generator[bytes, None, None]:
    """Yield a ZIP archive with the files of an imported one, from the lines of its records."""
    pieces, drain = _pieces(lines), Drain()
    with (
        ZipFile(BytesIO(source_files.stored_surroundings(source).head)) as skeleton,
        ZipFile(drain, "w") as archive,
    ):
        for info in skeleton.infolist():
            with archive.open(copied_info(info), "w") as file:
                if fnmatchcase(info.filename, source.records_path or ""):
                    _write_record(file, pieces)
                else:
                    file.write(skeleton.read(info))
            yield drain.taken()
    yield drain.taken()


def _write_record(file: IO[bytes], pieces: Iterator[bytes]) -> None:
    """Write the pieces of one line to a file."""
    rejoiner = Rejoiner()
    while (piece := next(pieces, b"\n")) != b"\n":
        file.write(rejoiner.take(piece))


def _pieces(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the parts of lines, and each line end alone."""
    for block in blocks:
        first, *others = block.split(b"\n")
        yield first
        for line in others:
            yield b"\n"
            yield line


def document_text(source: Import, lines: Iterator[bytes], *, only_some: bool) -> Generator[bytes, None, None]:
    """Yield a document from the lines of its members. With `only_some`, lines were left out."""
    around, rejoiner = source_files.stored_surroundings(source), Rejoiner(only_some=only_some)
    yield around.head
    yield from map(rejoiner.take, lines)
    yield around.tail
