"""Headers and bodies of tus 1.0 (https://tus.io), the protocol of resumable uploads."""

import base64
import binascii
from collections.abc import Iterator
from typing import NamedTuple

from django.http import HttpRequest, UnreadablePostError

from reviews.storage.chunks import BLOCK_SIZE
from reviews.storage.decompression import base_name

VERSION = "1.0.0"
CONTENT_TYPE = "application/offset+octet-stream"
# An interruption costs fewer than this many of the bytes that have arrived.
_LOST_AT_MOST = 64 * 1024


class TusError(Exception):
    """A request that violates the protocol: a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def check_version(request: HttpRequest) -> None:
    """Raise `TusError` for another version of the protocol."""
    if request.method not in {"GET", "OPTIONS"} and request.headers.get("Tus-Resumable") != VERSION:
        raise TusError(412, f"This server supports version {VERSION} of tus.")


def read_parts(request: HttpRequest) -> Iterator[bytes]:
    """Yield the body in parts of 1 MiB. It ends where the connection was interrupted."""
    pending = bytearray()
    try:
        while block := request.read(min(_LOST_AT_MOST, BLOCK_SIZE - len(pending))):
            pending += block
            if len(pending) == BLOCK_SIZE:
                yield bytes(pending)
                pending.clear()
    except UnreadablePostError:
        pass
    if pending:
        yield bytes(pending)


def read_number(request: HttpRequest, name: str) -> int:
    """Return the number of a header. Raises `TusError`."""
    text = request.headers.get(name, "")
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise TusError(400, f"The header {name} must be a number.")
    return int(text)


class NewUpload(NamedTuple):
    """The file that a request announces."""

    file_name: str
    #: The run for the file, by default named after it.
    run_name: str
    #: Whether nothing is imported if a line is invalid.
    strict: bool
    #: In bytes.
    size: int


def read_upload(request: HttpRequest) -> NewUpload:
    """Return the upload to begin. Raises `TusError`."""
    size = read_number(request, "Upload-Length")
    sent = _read_metadata(request.headers.get("Upload-Metadata", ""))
    name, strict = sent.get("filename", ""), sent.get("strict", "false")
    if strict not in {"true", "false"}:
        raise TusError(400, "`strict` in the header Upload-Metadata must be true or false.")
    return NewUpload(name, sent.get("run") or base_name(name), strict == "true", size)


def _read_metadata(header: str) -> dict[str, str]:
    """Decode `key base64,key base64`. Raises `TusError`."""
    try:
        pairs = [pair.split(" ") for pair in header.split(",") if pair]
        values = {key: base64.b64decode("".join(value), validate=True).decode() for key, *value in pairs}
    except (binascii.Error, UnicodeDecodeError) as error:
        raise TusError(
            400, "The header Upload-Metadata must have pairs of a key and base64-encoded UTF-8."
        ) from error
    if any("\0" in value for value in values.values()):
        raise TusError(400, "The header Upload-Metadata must not contain null characters.")
    return values
