"""Write the receipt of an export: its inputs, its output, and each line that differs from its input.

A receipt may list a million lines. It is written in blocks and never complete in memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import orjson
import zstandard

RECEIPT_VERSION = 1
# A signed receipt ends with `SIGNATURE`, a JSON object and `END`. The bytes before `SIGNATURE` are signed.
SIGNATURE, END = b',\n  "signature": ', b"\n}\n"
_ENTRIES_PER_FRAME = 10_000


@dataclass(frozen=True, slots=True)
class ReceiptInput:
    """An imported file that the export was built from."""

    import_id: int
    name: str
    #: Size and SHA-256 (hexadecimal) of the file as it was uploaded.
    size: int
    sha256: str
    lines: int


@dataclass(frozen=True, slots=True)
class ReceiptFilter:
    """The options of the export."""

    only: str
    with_rejected: bool
    #: The import whose lines were exported, or None for the whole run.
    import_id: int | None


@dataclass(frozen=True, slots=True)
class FileDigest:
    """Size in bytes and SHA-256 (hexadecimal) of a file or a stream."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ReceiptOutput:
    """The exported file."""

    name: str
    format: str
    compression: str
    size: int
    sha256: str
    #: The content before compression.
    unpacked: FileDigest
    #: Number of lines as JSONL. CSV and Parquet are counted in the same way.
    lines: int


@dataclass(frozen=True, slots=True)
class LineSource:
    """A line of an import."""

    import_id: int
    line: int


class ExportTally:
    """Count and list an export's lines while they are written, for its receipt."""

    def __init__(self) -> None:
        #: Head of the audit log's chain at the moment of the export.
        self.audit_head = ""
        self.inputs: list[ReceiptInput] = []
        #: Bytes of the inputs that were read so far.
        self.bytes_read = 0
        #: Lines written, and how many of them differ from their input.
        self.lines = self.lines_changed = 0
        #: Lines of the inputs that were not written.
        self.lines_left_out = 0
        #: Whether the last written line has no line end yet.
        self.in_line = False
        self._changed = _Entries()
        self._left_out = _Entries()
        self._gap: tuple[int, int, int] | None = None

    def writes(self, block: bytes, line_ends: int) -> None:
        """Count the lines of a block with so many line ends. A line counts where it begins."""
        if block:
            begun = line_ends + (not block.endswith(b"\n"))
            self.lines += begun - self.in_line
            self.in_line = not block.endswith(b"\n")

    def changes(self, line: int, evaluation_id: str, keys: Sequence[str], source: LineSource | None) -> None:
        """Record a changed line of the output: its decided keys, and its source if that is another line."""
        entry: dict[str, Any] = {"line": line, "evaluation_id": evaluation_id, "keys": keys}
        self._changed.add(entry | ({"source": source} if source else {}))
        self.lines_changed += 1

    def leaves_out(self, import_id: int, first: int, last: int) -> None:
        """Record omitted lines of an input. An overlong line is recorded once for each of its chunks."""
        if self._gap and self._gap[0] == import_id and first <= self._gap[2] + 1:
            self.lines_left_out += max(last - self._gap[2], 0)
            self._gap = (import_id, self._gap[1], max(last, self._gap[2]))
        else:
            self._close_gap()
            self.lines_left_out += last - first + 1
            self._gap = (import_id, first, last)

    def _close_gap(self) -> None:
        if self._gap:
            import_id, first, last = self._gap
            self._left_out.add({"import_id": import_id, "first_line": first, "last_line": last})
            self._gap = None

    def receipt(
        self, *, run: str, created_at: str, options: ReceiptFilter, output: ReceiptOutput
    ) -> Iterator[bytes]:
        """Yield the receipt as JSON in blocks of bytes. Call this after the last line was written."""
        self._close_gap()
        head = {
            "receipt": RECEIPT_VERSION,
            "program": f"CogniReview {version('cognireview')}",
            "created_at": created_at,
            "run": run,
            "audit_head": self.audit_head,
            "filter": options,
            "inputs": self.inputs,
            "output": output,
            "lines_changed": self.lines_changed,
            "lines_left_out": self.lines_left_out,
        }
        yield orjson.dumps(head, option=orjson.OPT_INDENT_2).removesuffix(b"\n}") + b',\n  "changed": ['
        yield from self._changed.blocks()
        yield b'\n  ],\n  "left_out": ['
        yield from self._left_out.blocks()
        yield b"\n  ]" + END


def signed_message(digest: bytes) -> bytes:
    """Return the message that is signed for a receipt with this SHA-256."""
    return b"CogniReview receipt\n" + digest


class _Entries:
    """The items of a JSON array, one per line, compressed in memory: a million take about 10 MB."""

    def __init__(self) -> None:
        self._frames: list[bytes] = []
        self._lines: list[bytes] = []

    def add(self, entry: dict[str, Any]) -> None:
        comma = b"," if self._lines or self._frames else b""
        self._lines.append(b"%b\n    %b" % (comma, orjson.dumps(entry)))
        if len(self._lines) == _ENTRIES_PER_FRAME:
            self._frames.append(zstandard.compress(b"".join(self._lines)))
            self._lines = []

    def blocks(self) -> Iterator[bytes]:
        for frame in self._frames:
            yield zstandard.decompress(frame)
        yield b"".join(self._lines)
