"""Request and response bodies: JSON by orjson, and files as streams."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from tempfile import TemporaryFile
from typing import Any, BinaryIO, NamedTuple, cast

import orjson
from django.db import connection
from django.http import HttpRequest, UnreadablePostError
from ninja import Schema
from ninja.parser import Parser
from ninja.renderers import BaseRenderer
from pydantic import ConfigDict

from reviews.api.problems import Problem
from reviews.imports import uploads
from reviews.storage.chunks import BLOCK_SIZE
from reviews.storage.errors import ImportRefused

JSON = "application/json"
JSONL = "application/x-ndjson"
ZIP = "application/zip"
CSV = "text/csv"
PARQUET = "application/vnd.apache.parquet"
TOML = "application/toml"
TEXT = "text/plain"
BYTES = "application/octet-stream"
# TOML may be sent as any of these.
TOMLS = (TOML, TEXT, BYTES)
FILES = (JSONL, "application/jsonl", JSON, "application/gzip", "application/zstd", ZIP, BYTES, TEXT)
ENCODINGS = ("gzip", "zstd")
# Each part of a body is committed on its own, so larger parts take fewer statements.
_PART_SIZE = 4 * BLOCK_SIZE
# The statuses of problems of every operation with a JSON body.
JSON_PROBLEMS = (400, 411, 413, 415)
# The OpenAPI schema of a body that is a file. It has few of the accepted types, because generated clients
# offer each of them, and encode a file of the type JSON as JSON.
FILE_BODY = {
    "required": True,
    "description": "A file, plain or compressed by gzip or zstd. Its content decides, not its Content-Type.",
    "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in (JSONL, BYTES)},
}


class Body(Schema):
    """A JSON body. Unknown members are rejected, so that a misspelled name loses no data."""

    model_config = ConfigDict(extra="forbid")


class JsonRenderer(BaseRenderer):
    """Render responses as JSON."""

    media_type = JSON

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return orjson.dumps(data)


class JsonParser(Parser):
    """Parse bodies with the content type of JSON."""

    def parse_body(self, request: HttpRequest) -> Any:
        check_type(request, (JSON,))
        return parse_json(request.body)


def parse_json(body: bytes) -> Any:
    """Parse a body. Raises `Problem` with the place of the first error."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Problem(HTTPStatus.BAD_REQUEST, f"The body is not JSON: {error}.") from error


def check_type(request: HttpRequest, types: tuple[str, ...], *, encodings: tuple[str, ...] = ()) -> None:
    """Raise `Problem` unless Content-Type and Content-Encoding of the request are among these."""
    if request.content_type not in types:
        given = request.content_type or "none"
        sentence = f"The Content-Type is {given[:100]}; accepted: {', '.join(types)}."
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, sentence)
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in {"", "identity", *encodings}:
        sentence = f"The Content-Encoding is {encoding[:100]}; accepted: {', '.join(encodings) or 'none'}."
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, sentence)


class SentFile(NamedTuple):
    """A file in the body of a request."""

    #: The size in bytes, as sent.
    size: int
    #: Parts of 1 MiB, the last one smaller. Raises `ImportRefused` if the connection breaks off.
    parts: Iterator[bytes]


def read_file(request: HttpRequest) -> SentFile:
    """Return the body as a file. Its compression is detected from the content, not from Content-Encoding.

    Raises `Problem` for invalid headers.
    """
    check_type(request, FILES, encodings=ENCODINGS)
    size = content_length(request)
    if size is None:
        raise Problem(HTTPStatus.LENGTH_REQUIRED, "Send the size of the file as Content-Length.")
    return SentFile(size, read_parts(request, size))


def content_length(request: HttpRequest) -> int | None:
    """Return the size of the body; None without a valid Content-Length."""
    length = request.META.get("CONTENT_LENGTH") or ""
    return int(length[:20]) if length.isascii() and length.isdecimal() else None


@contextmanager
def receive_file(request: HttpRequest) -> Iterator[BinaryIO]:
    """Receive a whole file before its import begins, which must not wait for a slow sender."""
    sent = read_file(request)
    uploads.check_size(sent.size)
    with TemporaryFile() as file:
        for part in sent.parts:
            file.write(part)
        file.seek(0)
        yield cast("BinaryIO", file)


def read_parts(request: HttpRequest, size: int) -> Iterator[bytes]:
    """Read a body of `size` bytes in parts of 4 MiB. Raises `ImportRefused` if the connection breaks off."""
    pending = bytearray()
    while size:
        # A slow sender must not occupy a database connection.
        if not connection.in_atomic_block:
            connection.close()
        try:
            block = request.read(min(_PART_SIZE - len(pending), size))
        except UnreadablePostError:
            block = b""
        if not block:
            raise ImportRefused("The upload was interrupted. Send the file again.")
        size -= len(block)
        pending += block
        if len(pending) == _PART_SIZE or not size:
            yield bytes(pending)
            pending.clear()
