"""Bodies: JSON in and out by orjson, and files as they come."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import orjson
from django.http import HttpRequest
from ninja.parser import Parser
from ninja.renderers import BaseRenderer

from reviews import uploads
from reviews.api.problems import Problem
from reviews.source import BLOCK_SIZE, Refused

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


def check_type(request: HttpRequest, taken: tuple[str, ...]) -> None:
    """Raise `Problem` unless the request says that its body is one of these."""
    if request.content_type not in taken:
        given = request.content_type or "none"
        sentence = f"The Content-Type is {given[:100]}; this takes {', '.join(taken)}."
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, sentence)


def file_of(request: HttpRequest) -> Iterator[bytes]:
    """The body as a file, in blocks as they come.

    Raises `Problem` and `TooLarge` at once for what its headers say; on the way `Refused` for one that
    breaks off.
    """
    check_type(request, FILES)
    length = request.META.get("CONTENT_LENGTH") or ""
    if not length.isascii() or not length.isdecimal():
        raise Problem(HTTPStatus.LENGTH_REQUIRED, "Send the length of the file as Content-Length.")
    size = int(length[:20])
    if not size:
        raise Refused("The file is empty.")
    uploads.check_size(size)
    return _blocks(request, size)


def _blocks(request: HttpRequest, size: int) -> Iterator[bytes]:
    while block := request.read(min(BLOCK_SIZE, size)):
        size -= len(block)
        yield block
        if not size:
            return
    raise Refused("The file broke off on its way. Send it again.")
