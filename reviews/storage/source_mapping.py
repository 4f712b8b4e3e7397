"""The mapping that the lines of an import are read with."""

import datetime as dt

from reviews.models import Import
from reviews.records import mapping
from reviews.records.mapping import FieldMapping, Outside


def source_mapping(source: Import) -> FieldMapping | None:
    """Return the mapping of an import's run with the values of the import, or None without a mapping.

    An import into a new run has the mapping itself.
    """
    wanted = source.run.mapping if source.run else source.mapping
    if not wanted:
        return None
    if not isinstance(source.created_at, dt.datetime):  # a new row, before its default was read
        source.refresh_from_db(fields=["created_at"])
    received_at = source.created_at.isoformat(timespec="microseconds")
    outside = Outside(
        file=source.file_name, source_id=source.pk, run=source.run_name, received_at=received_at
    )
    return mapping.mapping_from_json(wanted).of_import(outside)
