"""Replace a damaged source file with the original."""

from collections.abc import Iterable

from django.db import transaction

from reviews.audit import events
from reviews.imports import importer, jobs
from reviews.models import Import, ImportSums
from reviews.storage import chunks, integrity, source_files
from reviews.storage.errors import ImportRefused
from reviews.storage.integrity import ContentTotals


@transaction.atomic
def repair_import(*, import_id: int, blocks: Iterable[bytes]) -> Import:
    """Store the file of an import again from the original.

    Raises `ImportRefused` for a different file, and changes nothing then.
    """
    damaged = jobs.lock_import(import_id)
    damaged.chunks.all().delete()
    meter, text = chunks.MeteredStream(blocks), ContentTotals()
    source = importer.open_source(damaged, meter)
    stored = source_files.store_chunks(damaged, importer.cut_chunks(source), text)
    importer.store_rest(damaged, source, stored)
    sums = ImportSums.objects.filter(source=damaged).first()
    expected = sums.figures.get("sha256", damaged.sha256) if sums else damaged.sha256
    if meter.sha256 != expected:
        raise ImportRefused(
            f"This is another file: its SHA-256 is {meter.sha256}, and the import's is {expected}."
        )
    integrity.record_content(damaged, text, document_sha256=source.document_sha256)
    events.record("repair import", actor=None, run=damaged.run, source=damaged, sha256=meter.sha256)
    return damaged
