"""Read an export and the original files as an import does, and verify its receipt. Uses no database."""

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from reviews.exports import formats
from reviews.exports.receipt import END, RECEIPT_VERSION, SIGNATURE, signed_message
from reviews.exports.verify_export import Comparison, MatchedRecord, compare
from reviews.records.mapping import FieldMapping, Outside
from reviews.records.schema import NO_LIMITS, Limits
from reviews.storage.chunks import read_blocks
from reviews.storage.errors import ImportRefused
from reviews.storage.json_document import Surroundings, on_one_line
from reviews.storage.source_text import SourceText, read_archive_document, read_document

_SPACES = b" \t\r"


class ComparedFile:
    """A file whose lines are compared, and which was imported with the mapping, if any.

    Reading raises `ImportRefused` and `OSError`.
    """

    def __init__(self, path: Path, mapping: FieldMapping | None = None) -> None:
        self.path, self._mapping = path, mapping
        #: Whether the members of a document are read as in an export that consists of lines.
        self.as_jsonl = False
        #: The text around the list of a document, and a hash of all space between its members, once all lines
        #: were read.
        self.surroundings: Surroundings | None = None
        self.layout = ""

    @property
    def is_document(self) -> bool:
        with self.path.open("rb") as file, closing(self._text(read_blocks(file))) as text:
            return text.path is not None

    def document(self) -> object:
        """Return the document without its list of records, or None for a file of lines."""
        with self.path.open("rb") as file:
            text = self._text(read_blocks(file))
            for _ in self._read(text):
                pass
        if text.is_archive and self._mapping and self._mapping.archive:
            return read_archive_document(text.surroundings, self._mapping.archive.document, NO_LIMITS)
        return read_document(text.surroundings, text.path, NO_LIMITS) if text.path else None

    def lines(self) -> Iterator[bytes]:
        """Yield the lines with their line ends. The members of a document have no space around them."""
        with self.path.open("rb") as file:
            text = self._text(read_blocks(file))
            lines = _lines(self._read(text))
            if text.path is None:
                yield from lines
            else:
                yield from self._members(text, lines)

    def _members(self, text: SourceText, lines: Iterable[bytes]) -> Iterator[bytes]:
        layout = hashlib.sha256()
        for line in lines:
            member = line.removesuffix(b"\n")
            bare = member.strip(_SPACES)
            before, after = member.split(bare, 1) if bare else (member, b"")
            layout.update(b"%d %b %d %b" % (len(before), before, len(after), after))
            yield (on_one_line(bare) if self.as_jsonl else bare) + b"\n"
        self.surroundings, self.layout = text.surroundings, layout.hexdigest()

    def _text(self, blocks: Iterable[bytes]) -> SourceText:
        try:
            mapping = self._mapping
            return SourceText(
                blocks,
                most=sys.maxsize,
                records=mapping.record_path if mapping else (),
                archives=(mapping.archive.records,) if mapping and mapping.archive else (),
                limits=NO_LIMITS,
            )
        except ImportRefused as reason:
            raise self._refused(reason) from reason

    def _read(self, text: SourceText) -> Iterator[bytes]:
        try:
            yield from text
        except ImportRefused as reason:
            raise self._refused(reason) from reason

    def _refused(self, reason: ImportRefused) -> ImportRefused:
        return ImportRefused(f"{self.path}: {reason}")


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines with their line ends."""
    begun: list[bytes] = []
    for block in blocks:
        *ended, rest = block.split(b"\n")
        for line in ended:
            yield b"".join([*begun, line, b"\n"])
            begun = []
        begun.append(rest)
    if any(begun):
        yield b"".join(begun)


UNREADABLE = (OSError, ImportRefused)
# A Parquet file begins with it.
_PARQUET = b"PAR1"


class InvalidReceipt(Exception):
    """The file is not a receipt of an export. The message describes the fault."""


def read_receipt(path: Path) -> dict[str, Any]:
    """Read the receipt in a file. Raises `InvalidReceipt` and OSError."""
    try:
        receipt = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise InvalidReceipt(f"{path} is not a receipt: {error}") from error
    if not isinstance(receipt, dict) or receipt.get("receipt") != RECEIPT_VERSION:
        raise InvalidReceipt(f"{path} is not a receipt of version {RECEIPT_VERSION}")
    return receipt


def signature_problem(path: Path, trusted: str = "") -> str:
    """Return why the signature of a receipt is invalid, or an empty string.

    `trusted` is the public key of the site that wrote it, 64 hexadecimal digits. Without one, the key in the
    receipt is used: that finds a receipt that was edited, but not one that was signed again with another key.
    Raises OSError.
    """
    content, _, rest = path.read_bytes().rpartition(SIGNATURE)
    try:
        entry = orjson.loads(rest.removesuffix(END))
        public_key, signature = entry["public_key"], bytes.fromhex(entry["ed25519"])
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
    except (ValueError, KeyError, TypeError):
        return "the receipt has no signature"
    if trusted and public_key != trusted.lower():
        return f"the receipt was signed with another key: {public_key}"
    try:
        key.verify(signature, signed_message(hashlib.sha256(content).digest()))
    except InvalidSignature:
        return "the receipt was changed after it was signed"
    return ""


Witness = Callable[[MatchedRecord], Iterable[str]]


def verify_files(
    receipt: dict[str, Any] | None,
    originals: list[Path],
    exported: Path,
    limits: Limits,
    *,
    mapping: FieldMapping | None = None,
    witness: Witness = lambda _met: (),
) -> Comparison:
    """Compare an export with its originals, in the order of their imports, and all with the receipt, if any.

    `mapping` and `witness` are those of `compare`. The lines of a table (CSV, Parquet) are not compared, only
    its size and hash. Raises `InvalidReceipt` for an incomplete receipt, and `UNREADABLE`.
    """
    files = _Files(originals, exported, mapping)
    bound = bind_mapping(mapping, originals)
    compared = partial(files.compare, partial(compare, limits=limits, mapping=bound, witness=witness))
    if receipt is None:
        if _is_table(ComparedFile(exported, mapping)):
            raise ImportRefused(f"{exported} is a table, which only its receipt verifies. Pass --receipt.")
        return compared()
    try:
        return _check(receipt, originals, exported, compared)
    except (KeyError, TypeError, IndexError) as error:
        raise InvalidReceipt(f"The receipt lacks something or has it in another shape: {error}") from error


def _is_table(exported: ComparedFile) -> bool:
    """Return whether a file is Parquet, or CSV with our columns."""
    with exported.path.open("rb") as file:
        is_parquet = file.read(len(_PARQUET)) == _PARQUET
    return is_parquet or next(exported.lines(), b"").startswith(b'"evaluation_id",')


def bind_mapping(mapping: FieldMapping | None, originals: list[Path]) -> FieldMapping | None:
    """Return the mapping with values from outside the records, as far as files have them.

    The time and the numbers of the imports are not known here. They are not part of an id.
    """
    if mapping is None:
        return None
    last = ComparedFile(originals[-1], mapping)
    return mapping.of_import(
        Outside(
            file=last.path.name,
            source_id=0,
            run="",
            received_at="2000-01-01T00:00:00Z",
            document=last.document() if mapping.uses_document else None,
        )
    )


class _Files:
    """The originals and the export, each as a document or as lines."""

    def __init__(self, originals: list[Path], exported: Path, mapping: FieldMapping | None) -> None:
        self._originals = [ComparedFile(path, mapping) for path in originals]
        self._exported = ComparedFile(exported, mapping)
        if self._exported.is_document:
            # A run of documents is exported as its newest document.
            self._originals = self._originals[-1:]
        else:
            for file in self._originals:
                file.as_jsonl = True

    def compare(self, compared: Callable[..., Comparison], **options: Any) -> Comparison:
        """Compare the lines, and the text of a document around them."""
        result = compared([file.lines for file in self._originals], self._exported.lines(), **options)
        if self._exported.is_document:
            [original] = self._originals
            is_whole = not result.left_out
            if original.surroundings != self._exported.surroundings:
                result.found("the text around the records differs")
            elif is_whole and original.layout != self._exported.layout:
                result.found("the space between the records differs")
        return result


def _check(
    receipt: dict[str, Any], originals: list[Path], exported: Path, compared: Callable[..., Comparison]
) -> Comparison:
    output, by_hash = receipt["output"], {source["sha256"]: source for source in receipt["inputs"]}
    hashes = [_sha256(original) for original in originals]
    expected = _Expected(receipt)
    result = Comparison(is_table=output["format"] not in formats.OF_LINES)
    if not result.is_table:
        may_go = _left_out(receipt, [by_hash.get(sha256) for sha256 in hashes])
        result = compared(may_go=may_go, changes=expected.meet)
        expected.end()
    for original, sha256 in zip(originals, hashes, strict=True):
        if sha256 not in by_hash:
            result.found(f"{original} (SHA-256 {sha256}) is not in the receipt")
    if (exported.stat().st_size, _sha256(exported)) != (output["size"], output["sha256"]):
        result.found("the export is not the file in the receipt: size or SHA-256 differ")
    for problem in expected.problems:
        result.found(problem)
    return result


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Expected:
    """Compare the changes listed in the receipt with the actual changes, in order."""

    def __init__(self, receipt: dict[str, Any]) -> None:
        # A line without keys is one that another of the run's files brought.
        self._listed = (entry for entry in receipt["changed"] if entry["keys"])
        self.problems: list[str] = []

    def meet(self, change: MatchedRecord) -> None:
        entry = next(self._listed, None)
        listed = entry and (entry["line"], entry["evaluation_id"], entry["keys"])
        if listed != (change.line, change.evaluation_id, change.keys) and not self.problems:
            expected = f"line {entry['line']} ({', '.join(entry['keys'])})" if entry else "no more changes"
            self.problems.append(
                f"line {change.line} of the export has changed in {', '.join(change.keys)},"
                f" but the receipt lists {expected}"
            )

    def end(self) -> None:
        left = sum(1 for _ in self._listed)
        if left and not self.problems:
            self.problems.append(f"the receipt lists {left:,} changes that the export does not have")


def _left_out(receipt: dict[str, Any], sources: list[dict[str, Any] | None]) -> Callable[[int], bool]:
    """Return a predicate: whether the export's filter may omit a line, numbered through the originals."""
    if receipt["filter"]["only"] == "all":
        return lambda _line: False
    gaps = _gaps(receipt["left_out"], sources)
    gap = next(gaps, None)

    def may_go(line: int) -> bool:
        nonlocal gap
        while gap and gap[1] < line:
            gap = next(gaps, None)
        return bool(gap and gap[0] <= line)

    return may_go


def _gaps(left_out: list[dict[str, Any]], sources: list[dict[str, Any] | None]) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of each omitted range, numbered through the originals."""
    before = 0
    for source in filter(None, sources):
        for entry in left_out:
            if entry["import_id"] == source["import_id"]:
                yield before + entry["first_line"], before + entry["last_line"]
        before += source["lines"]
