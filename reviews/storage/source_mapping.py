"""The mapping that the lines of an import are read with."""

import datetime as dt

from reviews.models import Import
from reviews.records import mapping
from reviews.records.mapping import FieldMapping, Outside


def source_mapping(source: Import) -> FieldMapping | None:
    """Return the mapping of an import's run with the values of the import, or None without a mapping."""
    run = source.run
    if not run.mapping:
        return None
    if not isinstance(source.created_at, dt.datetime):  # a new row, before its default was read
        source.refresh_from_db(fields=["created_at"])
    received_at = source.created_at.isoformat(timespec="microseconds")
    outside = Outside(file=source.file_name, source_id=source.pk, run=run.name, received_at=received_at)
    return mapping.mapping_from_json(run.mapping).of_import(outside)
