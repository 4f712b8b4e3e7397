"""Bodies: JSON in and out by orjson, and files as they come."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, NamedTuple

import orjson
from django.db import connection
from django.http import HttpRequest
from ninja import Schema
from ninja.parser import Parser
from ninja.renderers import BaseRenderer
from pydantic import ConfigDict

from reviews.api.problems import Problem
from reviews.storage.chunks import BLOCK_SIZE
from reviews.storage.errors import ImportRefused

JSON = "application/json"
JSONL = "application/x-ndjson"
FILES = (
    JSONL,
    "application/jsonl",
    JSON,
    "application/gzip",
    "application/zstd",
    "application/octet-stream",
    "text/plain",
)
PACKINGS = ("gzip", "zstd")


class Body(Schema):
    """A body of JSON. What it does not take is refused: a name that is spelled wrong loses nothing."""

    model_config = ConfigDict(extra="forbid")


class JsonRenderer(BaseRenderer):
    """Answers in JSON."""

    media_type = JSON

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return orjson.dumps(data)


class JsonParser(Parser):
    """Reads bodies that say they are JSON."""

    def parse_body(self, request: HttpRequest) -> Any:
        check_type(request, (JSON,))
        return orjson.loads(request.body)


def check_type(request: HttpRequest, taken: tuple[str, ...], *, encodings: tuple[str, ...] = ()) -> None:
    """Raise `Problem` unless the body is said to be one of these, packed by one of these or not."""
    if request.content_type not in taken:
        given = request.content_type or "none"
        sentence = f"The Content-Type is {given[:100]}; this takes {', '.join(taken)}."
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, sentence)
    packing = request.headers.get("Content-Encoding", "").strip().lower()
    if packing not in {"", "identity", *encodings}:
        sentence = f"The Content-Encoding is {packing[:100]}; this takes {', '.join(encodings) or 'none'}."
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, sentence)


class SentFile(NamedTuple):
    """A file in the body of a request: its size as it comes, and its parts of 1 MiB, the last one smaller.

    They raise `ImportRefused` for one that breaks off.
    """

    size: int
    parts: Iterator[bytes]


def file_of(request: HttpRequest) -> SentFile:
    """The body as a file. Its content tells how it is packed, with a Content-Encoding or without.

    Raises `Problem` for what its headers say.
    """
    check_type(request, FILES, encodings=PACKINGS)
    length = request.META.get("CONTENT_LENGTH") or ""
    if not length.isascii() or not length.isdecimal():
        raise Problem(HTTPStatus.LENGTH_REQUIRED, "Send the length of the file as Content-Length.")
    size = int(length[:20])
    return SentFile(size, _parts(request, size))


def _parts(request: HttpRequest, size: int) -> Iterator[bytes]:
    pending = bytearray()
    while size:
        # Whoever sends slowly keeps no connection to the database from others.
        if not connection.in_atomic_block:
            connection.close()
        block = request.read(min(BLOCK_SIZE - len(pending), size))
        if not block:
            raise ImportRefused("The file broke off on its way. Send it again.")
        size -= len(block)
        pending += block
        if len(pending) == BLOCK_SIZE or not size:
            yield bytes(pending)
            pending.clear()
