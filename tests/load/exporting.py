"""Export a run under load, with jobs and as streams over the API."""

import hashlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import orjson
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from reviews.audit import log
from reviews.exports import jobs, stored_files, verify_log
from reviews.exports.output import ExportOptions
from reviews.exports.verify_log import AuditLogFile
from reviews.exports.verify_receipt import read_receipt
from reviews.models import AuditEvent, Export, ExportPart, Import, Run, User
from tests.load.client import SECONDS_TO_COME_BACK, Client, GaveUp, Unknown

SECONDS_TO_BUILD = 120
# The number of built exports, counted from the last, to compare with originals and audit log.
CHECKED = 8
T = TypeVar("T")


def patiently(ask: Callable[[], T]) -> T:
    """Repeat a database query while the database is away. Raises `GaveUp`."""
    end = time.monotonic() + SECONDS_TO_COME_BACK
    while time.monotonic() < end:
        try:
            return ask()
        except (OperationalError, InterfaceError):
            connection.close()
            time.sleep(0.2)
    raise GaveUp(f"the database does not answer for {SECONDS_TO_COME_BACK} seconds")


@dataclass
class Exporting:
    """Requests exports of a run. `wrong` lists unexpected answers."""

    client: Client
    run: str
    chance: random.Random
    wrong: list[str] = field(default_factory=list)
    streamed: list[str] = field(default_factory=list)
    broken_off: int = 0

    def work_until(self, stopped: threading.Event) -> None:
        try:
            while not stopped.wait(self.chance.uniform(0.5, 3)):
                self._stream() if self.chance.random() < 0.5 else self._build()
        except GaveUp as error:
            self.wrong.append(str(error))
        finally:
            connection.close()

    def _stream(self) -> None:
        digest = hashlib.sha256()
        try:
            for block in self.client.download("export", f"runs/{self.run}/export"):
                digest.update(block)
        except Unknown:
            self.broken_off += 1
        else:
            self.streamed.append(digest.hexdigest())

    def _build(self) -> None:
        export = patiently(self._asked_for)
        end = time.monotonic() + SECONDS_TO_BUILD
        while patiently(lambda: Export.objects.get(pk=export.pk)).state == Export.State.UNFINISHED:
            if time.monotonic() > end:
                raise GaveUp(f"export {export.pk} is not built within {SECONDS_TO_BUILD} seconds")
            time.sleep(0.3)

    def _asked_for(self) -> Export:
        return jobs.enqueue(
            options=ExportOptions(Run.objects.get(name=self.run)), actor=User.objects.get(username="max")
        )

    def problems(self, originals: list[Path], folder: Path) -> Iterator[str]:
        """Report incomplete streams, and built exports that differ from original + audit log."""
        whole = set(AuditEvent.objects.filter(action="export").values_list("detail__sha256", flat=True))
        for digest in self.streamed:
            if digest not in whole:
                yield f"an export ended as if it were whole, and is not: {digest}"
        written = folder / "audit.jsonl"
        with written.open("wb") as file:
            file.writelines(log.jsonl_lines())
        by_name = {original.name: original for original in originals}
        for export in Export.objects.filter(state=Export.State.DONE).order_by("-pk")[:CHECKED]:
            yield from (f"export {export.pk}: {problem}" for problem in _compared(export, by_name, written))


def _compared(export: Export, by_name: dict[str, Path], written: Path) -> list[str]:
    """List the faults of an export compared with its receipt and with an audit log written later."""
    exported, receipt = written.with_name("built.jsonl"), written.with_name("built.receipt.json")
    exported.write_bytes(
        b"".join(stored_files.stored_range(export, ExportPart.Kind.FILE, 0, export.size - 1))
    )
    receipt.write_bytes(b"".join(stored_files.stored_receipt(export)))
    contents = read_receipt(receipt)
    inputs = [by_name[Import.objects.get(pk=one["import_id"]).file_name] for one in contents["inputs"]]
    inputs = _with_moved_lines(contents, inputs, written.parent)
    with written.open("rb") as file:
        opened = AuditLogFile(file, str(written))
        return verify_log.verify_with_log(opened, inputs, exported, settings.LIMITS, contents).problems


def _with_moved_lines(contents: dict[str, Any], originals: list[Path], folder: Path) -> list[Path]:
    """Copy the originals with each updated line in the place of the record's first line.

    `verify_export` compares a record with its first line only. The receipt says which line of which file an
    export contains instead. `contents` gets the hashes of the copies.
    """
    moved = {one["evaluation_id"]: one["source"] for one in contents["changed"] if "source" in one}
    by_import = {one["import_id"]: path for one, path in zip(contents["inputs"], originals, strict=True)}
    texts = {name: _line(by_import[one["import_id"]], one["line"]) for name, one in moved.items()}
    made = []
    for source, original in zip(contents["inputs"], originals, strict=True):
        found = {}
        with original.open("rb") as lines:
            for number, line in enumerate(lines):
                name = _id_in(line) if texts else None
                if name in texts:
                    found[number] = texts.pop(name)
        made.append(_patched(original, found, folder, source) if found else original)
    return made


def _patched(original: Path, found: dict[int, bytes], folder: Path, source: dict[str, Any]) -> Path:
    path = folder / f"moved-{source['import_id']}.jsonl"
    with original.open("rb") as lines, path.open("wb") as file:
        file.writelines(found.get(number, line) for number, line in enumerate(lines))
    with path.open("rb") as file:
        source["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
    return path


def _line(path: Path, number: int) -> bytes:
    with path.open("rb") as lines:
        return next(islice(lines, number - 1, None))


def _id_in(line: bytes) -> str | None:
    """Return the id of the record in a line, or None."""
    try:
        return str(orjson.loads(line)["evaluation_id"])
    except (orjson.JSONDecodeError, TypeError, KeyError):
        return None
