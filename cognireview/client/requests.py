"""Requests as plain objects: addresses, query parameters, bodies, and when to send them again."""

import datetime as dt
import json
import random
import string
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast
from urllib.parse import quote, urlencode

from cognireview.client.errors import PROBLEM, CogniReviewError, Problem
from cognireview.types.operations import Operation

T = TypeVar("T")
#: Called with the bytes sent or received so far, and with all bytes if their number is known.
Progress = Callable[[int, int | None], None]
#: A file by its path, or its bytes.
Source = str | Path | bytes
#: A value of a filter of records. A list means any of its values.
Filter = str | list[str] | dt.date
BLOCK_BYTES = 256 * 1024
JSON = "application/json"
JSONL = "application/x-ndjson"
_FILE = "application/octet-stream"


@dataclass(frozen=True)
class Body:
    """The body of a request."""

    content: bytes
    kind: str = JSON


@dataclass(frozen=True)
class Upload:
    """A file to send. It is read again for each attempt."""

    file: BinaryIO
    size: int
    progress: Progress | None = None
    kind: str = _FILE
    #: The offset of the first byte to send.
    start: int = 0

    def rewind(self) -> int:
        """Move to the first byte to send, and return its offset."""
        return self.file.seek(self.start)

    def report(self, position: int) -> int:
        """Report the bytes sent so far, and return them."""
        if self.progress:
            self.progress(position, self.size)
        return position


def json_body(value: Any) -> Body:
    """Return JSON as a body. Raises `CogniReviewError` for NaN and other values that JSON does not have."""
    try:
        return Body(json.dumps(value, ensure_ascii=False, allow_nan=False, default=_members).encode())
    except (TypeError, ValueError) as error:
        raise CogniReviewError(f"This cannot be sent as JSON: {error}") from error


def _members(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    raise TypeError(f"JSON has no {type(value).__name__}")


def definition(given: str | Path | Mapping[str, Any]) -> Body:
    """Return TOML as text or from a file, or the same members as JSON, as a body."""
    if isinstance(given, Mapping):
        return json_body(given)
    text = given.read_bytes() if isinstance(given, Path) else given.encode()
    return Body(text, "application/toml")


def address_of(operation: Operation[T], path: Mapping[str, object], query: Mapping[str, Any]) -> str:
    """Return the path with its query, percent-encoded. Parameters that are None or empty are left out."""
    names = {name for _, name, _, _ in string.Formatter().parse(operation.path) if name}
    if names != set(path):
        raise ValueError(f"{operation.path} needs {sorted(names)}, and not {sorted(path)}.")
    encoded = {name: _segment(str(value)) for name, value in path.items()}
    pairs = [
        (name, _text(one))
        for name, value in query.items()
        for one in (value if isinstance(value, list | tuple | set) else [value])
        if one is not None and one != ""
    ]
    return operation.path.format(**encoded) + (f"?{urlencode(pairs)}" if pairs else "")


def _segment(value: str) -> str:
    if value in {"", ".", ".."}:
        raise CogniReviewError(f"{value!r} cannot be part of an address.")
    return quote(value, safe="")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def filters_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return filters of records by their names in the API, which have hyphens: `claimed-by`."""
    return {name.replace("_", "-"): value for name, value in given.items()}


def scores_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `corrected_scores` of a decision.

    A value is a score, an object with `score` and `justification`, or None to exclude the criterion.
    """
    return {
        name: value if value is None or isinstance(value, Mapping) else {"score": value}
        for name, value in given.items()
    }


def decision_of(
    scores: Mapping[str, Any],
    comments: str | None = None,
    causes: Mapping[str, str] | None = None,
    version: int | None = None,
) -> dict[str, Any]:
    """Return the body of a decision. Without comments, the previous ones stay."""
    found = {"corrected_scores": scores_of(scores), "causes": dict(causes or {}), "version": version}
    return found if comments is None else found | {"comments": comments}


@contextmanager
def opened(source: Source, progress: Progress | None) -> Iterator[Upload]:
    """Open a file, or bytes, to send them."""
    if isinstance(source, bytes):
        with tempfile.SpooledTemporaryFile() as file:
            file.write(source)
            yield Upload(cast("BinaryIO", file), len(source), progress)
    else:
        path = Path(source)
        with path.open("rb") as opened_file:
            yield Upload(opened_file, path.stat().st_size, progress)


def file_name_of(source: Source, file_name: str | None) -> str | None:
    """Return the name of a file on the server: the given one, or else that of the path."""
    return file_name or (None if isinstance(source, bytes) else Path(source).name)


def as_lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    """Return records as JSONL. Raises `CogniReviewError` with the number of a record that is not JSON."""
    lines = bytearray()
    for number, record in enumerate(records, start=1):
        try:
            lines += json_body(record).content + b"\n"
        except CogniReviewError as error:
            raise CogniReviewError(f"Record {number} of those to import: {error}") from error.__cause__
    return bytes(lines)


@dataclass(frozen=True)
class Retries:
    """How often, and after which pauses, a request is sent again."""

    times: int = 4
    first_pause: float = 0.5
    longest_pause: float = 30

    def pause(self, attempt: int, retry_after: float | None = None) -> float:
        """Return the seconds before the next attempt; `attempt` is 0 after the first.

        The pauses double, and vary so that many clients do not retry at once. Retry-After is a lower bound.
        """
        longest = min(self.longest_pause, self.first_pause * 2**attempt)
        drawn = random.uniform(longest / 2, longest)  # noqa: S311 (not a secret)
        return max(drawn, min(retry_after or 0, self.longest_pause * 4))


def seconds_to_wait(header: str | None, now: dt.datetime) -> float | None:
    """Return the seconds that a Retry-After header asks to wait; None if it is missing or invalid."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return max((moment - now).total_seconds(), 0)


def is_temporary(operation: Operation[T], problem: Problem, headers: Mapping[str, str]) -> bool:
    """Return whether the same request may succeed later.

    CogniReview sends Retry-After if it saved nothing and will be back. Without it, a problem stays, such as a
    damaged file. Responses that are no problems come from proxies.
    """
    status, is_of_proxy = problem.status, PROBLEM not in headers.get("content-type", "")
    if status == 429 or (status == 503 and "retry-after" in headers):
        return True
    if problem.kind == "idempotency-key-in-use":  # An earlier attempt is still running.
        return True
    return status in {502, 503, 504} and is_of_proxy and operation.may_repeat


class Lines:
    """Split blocks of bytes into lines. Only a line feed ends a line."""

    def __init__(self) -> None:
        self._pending = b""

    def split(self, block: bytes) -> list[Any]:
        """Return the values of the lines that end in the block."""
        *lines, self._pending = (self._pending + block).split(b"\n")
        return [json.loads(line) for line in lines if line.strip()]

    def rest(self) -> list[Any]:
        """Return the value of a last line without a line feed."""
        return [json.loads(self._pending)] if self._pending.strip() else []
