"""Send requests with retries, and receive responses, pages, files and lines, with an address and a token."""

import datetime as dt
import json
import os
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx2

from cognireview.client.backends import Backend
from cognireview.client.decoding import decode
from cognireview.client.errors import InvalidSettings, UnexpectedResponse, Unreachable, problem_of
from cognireview.client.received_file import Download, ReceivedFile
from cognireview.client.requests import (
    JSONL,
    Body,
    Lines,
    Progress,
    Retries,
    Upload,
    address_of,
    is_temporary,
    json_body,
    seconds_to_wait,
)
from cognireview.types.operations import Operation

URL = "COGNIREVIEW_URL"
TOKEN = "COGNIREVIEW_TOKEN"  # noqa: S105 (the name of a variable)


@dataclass(frozen=True)
class Settings:
    """Where requests go, and with which token."""

    #: With the prefix of the API, and without a slash at the end.
    address: str
    token: str = field(repr=False)


def read_settings(url: str | None, token: str | None) -> Settings:
    """Return the settings. The environment replaces None. Raises `InvalidSettings`."""
    url, token = (
        (os.environ.get(name, "") if given is None else given).strip()
        for name, given in ((URL, url), (TOKEN, token))
    )
    missing = [name for name, given in ((URL, url), (TOKEN, token)) if not given]
    if missing:
        raise InvalidSettings(f"Set {' and '.join(missing)}, or pass url and token.")
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise InvalidSettings(f"{TOKEN} is not a token: it has spaces or characters that no token has.")
    return Settings(_address(url), token)


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or parts.query or parts.fragment or parts.username is not None:
        raise InvalidSettings(f"{URL} is not an address such as https://review.example.org: {url!r}.")
    return url.rstrip("/").removesuffix("/api/v1") + "/api/v1"


B = TypeVar("B", bound=Backend)
T = TypeVar("T")
#: A mapping is sent as JSON.
Content = Body | Upload | Mapping[str, Any]
#: The rows of a page of a list whose pages may have this many.
PAGE_SIZE = 200


class Transport(Generic[B]):
    """Requests to one server with one token."""

    def __init__(self, backend: B, settings: Settings, retries: Retries) -> None:
        self.backend = backend
        self._settings = settings
        self.retries = retries

    async def send(
        self,
        operation: Operation[T],
        *,
        query: Mapping[str, Any] | None = None,
        body: Content | None = None,
        key: str | None = None,
        **path: object,
    ) -> T:
        """Carry out an operation, and return its response. Raises `Problem` and `Unreachable`.

        Unless `key` is given, each call has an Idempotency-Key of its own, which its retries share.
        """
        address = address_of(operation, path, query or {})
        async with self._answered(operation, address, body, key, is_streamed=False) as response:
            return _value(operation, response)

    async def pages(
        self, operation: Operation[T], query: Mapping[str, Any] | None = None, **path: object
    ) -> AsyncIterator[T]:
        """Yield the pages of a list. The `Link` header of each has the query of the next one."""
        sent: dict[str, Any] = {
            **({"limit": PAGE_SIZE} if "limit" in operation.query else {}),
            **(query or {}),
        }
        while True:
            address = address_of(operation, path, sent)
            async with self._answered(operation, address, is_streamed=False) as response:
                page = _value(operation, response)
                link = response.links.get("next", {}).get("url")
            yield page
            if link is None:
                return
            sent = parse_qs(urlsplit(link).query)

    async def headers(
        self,
        operation: Operation[None],
        *,
        body: Content | None = None,
        headers: Mapping[str, str],
        **path: object,
    ) -> Mapping[str, str]:
        """Carry out an operation with these headers, and return those of its response. Raises as `send`."""
        address = address_of(operation, path, {})
        async with self._answered(operation, address, body, headers=headers, is_streamed=False) as response:
            return response.headers

    async def download(
        self,
        operation: Operation[None],
        target: str | Path,
        *,
        query: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        **path: object,
    ) -> Download:
        """Download a file. It gets its name when it is complete.

        A broken download continues if the server can send the rest of the same file, or else starts again.
        """
        address = address_of(operation, path, query or {})
        failures = 0
        with ReceivedFile(target, progress) as file:
            while True:
                reached = file.size
                try:
                    async with self._answered(
                        operation, address, headers=file.rest() | self._accepted()
                    ) as response:
                        file.begin(response.status_code, response.headers)
                        async for block in self.backend.blocks(response):
                            file.write(block)
                    return file.finish()
                except (httpx2.TransportError, httpx2.DecodingError) as error:
                    failures = 0 if file.can_continue and file.size > reached else failures + 1
                    if failures > self.retries.times:
                        raise _broken(operation, error) from error
                    await self.backend.sleep(self.retries.pause(max(failures - 1, 0)))

    async def lines(
        self, operation: Operation[None], *, query: Mapping[str, Any] | None = None, **path: object
    ) -> AsyncIterator[Any]:
        """Yield the values of the lines of a JSONL file.

        Raises `Unreachable` if it breaks off, and `UnexpectedResponse` for another format.
        """
        lines = Lines()
        try:
            address = address_of(operation, path, query or {})
            async with self._answered(operation, address, headers=self._accepted()) as response:
                kind = response.headers.get("content-type", "of an unknown type")
                if kind.partition(";")[0] != JSONL:
                    raise UnexpectedResponse(
                        f"The file has no JSON lines, but is {kind}. Download it instead."
                    )
                async for block in self.backend.blocks(response):
                    for value in lines.split(block):
                        yield value
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise _broken(operation, error) from error
        for value in lines.rest():
            yield value

    def _accepted(self) -> dict[str, str]:
        """Return the header with which the server compresses a file: it names no other coding."""
        is_known = "zstd" in self.backend.http.headers.get("Accept-Encoding", "")
        return {"Accept-Encoding": "zstd"} if is_known else {}

    @asynccontextmanager
    async def _answered(
        self,
        operation: Operation[T],
        address: str,
        body: Content | None = None,
        key: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        is_streamed: bool = True,
    ) -> AsyncIterator[httpx2.Response]:
        """Send a request until it has an answer, and yield the response. If streamed, read its body."""
        sent = {**(headers or {}), "Authorization": f"Bearer {self._settings.token}"}
        if operation.may_repeat and operation.method not in {"GET", "HEAD"}:
            sent["Idempotency-Key"] = key or str(uuid.uuid4())
        for attempt in range(self.retries.times + 1):
            is_last = attempt == self.retries.times
            waits = None
            try:
                response = await self._send(operation, address, body, sent)
                if not (is_streamed and response.is_success):
                    await self.backend.read(response)
            except (httpx2.TransportError, httpx2.DecodingError) as error:
                if is_last or not operation.may_repeat:
                    raise _broken(operation, error) from error
            else:
                found = response.headers
                if response.is_success:
                    try:
                        yield response
                    finally:
                        await self.backend.close_response(response)
                    return
                if response.has_redirect_location:
                    raise UnexpectedResponse(
                        f"The server redirects to {found['location']}. Set that address."
                    )
                problem = problem_of(response.status_code, found.get("content-type", ""), response.content)
                if is_last or not is_temporary(operation, problem, found):
                    raise problem
                waits = seconds_to_wait(found.get("retry-after"), dt.datetime.now(dt.UTC))
            await self.backend.sleep(self.retries.pause(attempt, waits))

    async def _send(
        self, operation: Operation[T], address: str, body: Content | None, headers: dict[str, str]
    ) -> httpx2.Response:
        found = json_body(body) if isinstance(body, Mapping) else body
        content: bytes | Upload | None = None
        if isinstance(found, Upload):
            content = found
            headers = {**headers, "Content-Length": str(found.size - found.start)}
        elif found:
            content = found.content
        if found:
            headers = {**headers, "Content-Type": found.kind}
        return await self.backend.send(operation.method, self._settings.address + address, headers, content)


def _value(operation: Operation[T], response: httpx2.Response) -> T:
    """Return the body of a response as the type of the operation."""
    if operation.returns is None or response.status_code == 204:
        return None  # type: ignore[return-value]
    try:
        value = json.loads(response.content)
    except ValueError as error:
        sentence = f"The response of {operation.method} {operation.path} is not JSON"
        raise UnexpectedResponse(f"{sentence}: {response.content[:100]!r}") from error
    found: T = decode(operation.returns, value)
    return found


def _broken(operation: Operation[T], error: Exception) -> Unreachable:
    name = type(error).__name__
    return Unreachable(
        f"{operation.method} {operation.path} had no complete response: {name}. {error}".strip()
    )
