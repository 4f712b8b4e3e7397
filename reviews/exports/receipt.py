"""The receipt of an export: what it was made of, what came out, and each line that is not as it came.

A receipt may tell of a million lines, so it is written in blocks and never stands in memory whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import orjson
import zstandard

RECEIPT_VERSION = 1
# A signed receipt ends with `SIGNATURE`, a JSON object and `END`; signed are the bytes before `SIGNATURE`.
SIGNATURE, END = b',\n  "signature": ', b"\n}\n"
_ENTRIES_IN_FRAME = 10_000


@dataclass(frozen=True, slots=True)
class ReceiptInput:
    """A file the export was made of: its import, and its bytes as they came."""

    import_id: int
    name: str
    size: int
    sha256: str
    lines: int


@dataclass(frozen=True, slots=True)
class ReceiptFilter:
    """What was asked for; `import_id` where the lines of one import were."""

    only: str
    with_rejected: bool
    import_id: int | None


@dataclass(frozen=True, slots=True)
class FileDigest:
    """Size and SHA-256 (hexadecimal) of a file or a stream."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ReceiptOutput:
    """The file that came out: `size` and `sha256` of its bytes, and `unpacked` of what is compressed in it.

    `lines` are those of the JSONL, in which CSV and Parquet have their records too.
    """

    name: str
    format: str
    compression: str
    size: int
    sha256: str
    unpacked: FileDigest
    lines: int


@dataclass(frozen=True, slots=True)
class LineSource:
    """A line of an import."""

    import_id: int
    line: int


class ExportTally:
    """What an export did with lines, in their order: the exporter writes it, the receipt holds it.

    `audit_head` is the head of the audit log at the moment that the export shows: all up to there is in it.
    `bytes_read` says how far it is in the inputs. `lines` counts what is written (`in_line`: the last
    of them has no end yet), `lines_changed` those of them that are not as they came, and
    `lines_left_out` those of the inputs that are not there.
    """

    def __init__(self) -> None:
        self.audit_head = ""
        self.inputs: list[ReceiptInput] = []
        self.bytes_read = self.lines = self.lines_changed = self.lines_left_out = 0
        self.in_line = False
        self._changed = _Entries()
        self._left_out = _Entries()
        self._gap: tuple[int, int, int] | None = None

    def writes(self, block: bytes, line_ends: int) -> None:
        """Count the lines of a block, which has so many line ends.

        A line that has no end yet counts with the block that begins it.
        """
        if block:
            begun = line_ends + (not block.endswith(b"\n"))
            self.lines += begun - self.in_line
            self.in_line = not block.endswith(b"\n")

    def changes(self, line: int, evaluation_id: str, keys: Sequence[str], source: LineSource | None) -> None:
        """Note a line of the output: the keys decided here, and where it is from if not its own place."""
        entry: dict[str, Any] = {"line": line, "evaluation_id": evaluation_id, "keys": keys}
        self._changed.add(entry | ({"source": source} if source else {}))
        self.lines_changed += 1

    def leaves_out(self, import_id: int, first: int, last: int) -> None:
        """Note lines of an input, of which an overlong one comes once for each of its pieces."""
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
        self, *, run: str, created_at: str, asked: ReceiptFilter, output: ReceiptOutput
    ) -> Iterator[bytes]:
        """The receipt as JSON in blocks of bytes, once everything is written."""
        self._close_gap()
        head = {
            "receipt": RECEIPT_VERSION,
            "program": f"CogniReview {version('cognireview')}",
            "created_at": created_at,
            "run": run,
            "audit_head": self.audit_head,
            "filter": asked,
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
    """Return the message that the signature of a receipt with this SHA-256 is made over."""
    return b"CogniReview receipt\n" + digest


class _Entries:
    """The items of a JSON array, one a line, compressed in memory: a million take about 10 MB."""

    def __init__(self) -> None:
        self._frames: list[bytes] = []
        self._lines: list[bytes] = []

    def add(self, entry: dict[str, Any]) -> None:
        comma = b"," if self._lines or self._frames else b""
        self._lines.append(b"%b\n    %b" % (comma, orjson.dumps(entry)))
        if len(self._lines) == _ENTRIES_IN_FRAME:
            self._frames.append(zstandard.compress(b"".join(self._lines)))
            self._lines = []

    def blocks(self) -> Iterator[bytes]:
        for frame in self._frames:
            yield zstandard.decompress(frame)
        yield b"".join(self._lines)
