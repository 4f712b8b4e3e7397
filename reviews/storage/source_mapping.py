"""The mapping that the lines of an import are read with."""

import datetime as dt

from reviews.models import Import
from reviews.records import mapping
from reviews.records.expressions import plain_path
from reviews.records.mapping import FieldMapping, Outside
from reviews.records.schema import NO_LIMITS
from reviews.storage import source_files
from reviews.storage.source_text import read_archive_document, read_document


def declared_mapping(source: Import) -> FieldMapping | None:
    """Return the mapping of an import's run. An import into a new run has the mapping itself."""
    wanted = source.run.mapping if source.run else source.mapping
    return mapping.mapping_from_json(wanted) if wanted else None


def source_mapping(source: Import) -> FieldMapping | None:
    """Return the mapping of an import's run with the values of the import, or None without a mapping."""
    read = declared_mapping(source)
    if read is None:
        return None
    if not isinstance(source.created_at, dt.datetime):  # a new row, before its default was read
        source.refresh_from_db(fields=["created_at"])
    received_at = source.created_at.isoformat(timespec="microseconds")
    document = None
    if read.uses_document and source.is_archive and read.archive:
        around = source_files.stored_surroundings(source)
        document = read_archive_document(around, read.archive.document, NO_LIMITS)
    elif read.uses_document and source.records_path and not source.is_archive:
        around = source_files.stored_surroundings(source)
        document = read_document(around, plain_path(source.records_path), NO_LIMITS)
    return read.of_import(
        Outside(
            file=source.file_name,
            source_id=source.pk,
            run=source.run_name,
            received_at=received_at,
            document=document,
        )
    )
