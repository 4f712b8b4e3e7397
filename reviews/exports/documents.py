"""Export JSON documents: the stored text with decisions in the members of its list of records."""

from collections.abc import Generator, Iterator

from reviews.models import Import, Run
from reviews.storage import source_files
from reviews.storage.json_document import Rejoiner


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
            "The newest file of the run is not a JSON document with all of its records. Export JSONL, or the "
            "file of one import."
        )
    return source


def imported_format(run: Run, only_import: Import | None) -> str:
    """Return the format that gives back the imported file: a key of `formats.ENDINGS`."""
    return "json" if document_source(run, only_import) else "jsonl"


def document_text(source: Import, lines: Iterator[bytes], *, only_some: bool) -> Generator[bytes, None, None]:
    """Yield a document from the lines of its members. With `only_some`, lines were left out."""
    around, rejoiner = source_files.stored_surroundings(source), Rejoiner(only_some=only_some)
    yield around.head
    yield from map(rejoiner.take, lines)
    yield around.tail
