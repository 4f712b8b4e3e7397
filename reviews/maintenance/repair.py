"""Replace a damaged kept file by the original one."""

from collections.abc import Iterable

from django.db import transaction

from reviews.audit import events
from reviews.imports import importer
from reviews.models import Import, ImportSums
from reviews.storage import checksums, source_files
from reviews.storage.checksums import Text
from reviews.storage.source_files import Refused


@transaction.atomic
def repair(import_id: int, blocks: Iterable[bytes]) -> Import:
    """Store the file of an import again, from the file that was imported.

    Raises `Refused` for another file, and then nothing has changed.
    """
    damaged = importer.locked(import_id)
    damaged.chunks.all().delete()
    meter, text = source_files.Meter(blocks), Text()
    for _ in source_files.keep(damaged, importer.cut(meter), text):
        pass
    sums = ImportSums.objects.filter(source=damaged).first()
    expected = sums.figures.get("sha256", damaged.sha256) if sums else damaged.sha256
    if meter.sha256 != expected:
        raise Refused(f"This is another file: its SHA-256 is {meter.sha256}, and the import's is {expected}.")
    checksums.record_text(damaged, text)
    events.record("repair import", actor=None, run=damaged.run, source=damaged, sha256=meter.sha256)
    return damaged
