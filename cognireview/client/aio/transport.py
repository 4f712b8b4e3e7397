"""Send requests with retries, and receive responses, files and lines."""

import datetime as dt
import json
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from cognireview.client.aio.waiting import HttpClient, read_block, sleep
from cognireview.client.decoding import decode
from cognireview.client.errors import UnexpectedResponse, Unreachable, problem_of
from cognireview.client.operations import Operation
from cognireview.client.received_file import Download, ReceivedFile
from cognireview.client.requests import (
    BLOCK_BYTES,
    JSONL,
    Body,
    Lines,
    Progress,
    Retries,
    Upload,
    address_of,
    is_temporary,
    seconds_to_wait,
)
from cognireview.client.settings import Settings

T = TypeVar("T")


class AsyncTransport:
    """Requests to one server with one token."""

    def __init__(self, http: HttpClient, settings: Settings, retries: Retries) -> None:
        self._http = http
        self._settings = settings
        self.retries = retries

    async def send(
        self,
        operation: Operation[T],
        *,
        query: Mapping[str, Any] | None = None,
        body: Body | Upload | None = None,
        key: str | None = None,
        **path: str,
    ) -> T:
        """Carry out an operation, and return its response. Raises `Problem` and `Unreachable`.

        Unless `key` is given, each call has an Idempotency-Key of its own, which its retries share.
        """
        address = address_of(operation, path, query or {})
        async with self._answered(operation, address, body, key, is_streamed=False) as response:
            content = response.content
        if operation.returns is None or response.status_code == 204:
            return None  # type: ignore[return-value]
        try:
            value = json.loads(content)
        except ValueError as error:
            sentence = f"The response of {operation.method} {operation.path} is not JSON: {content[:100]!r}"
            raise UnexpectedResponse(sentence) from error
        found: T = decode(operation.returns, value)
        return found

    async def headers(
        self,
        operation: Operation[None],
        *,
        body: Body | Upload | None = None,
        headers: Mapping[str, str],
        **path: str,
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
        **path: str,
    ) -> Download:
        """Download a file. It gets its name when it is complete. A broken download starts again."""
        address = address_of(operation, path, query or {})
        for attempt in range(self.retries.times + 1):
            try:
                with ReceivedFile(target, progress) as file:
                    async with self._answered(operation, address) as response:
                        total = _size(response)
                        async for block in response.aiter_bytes(BLOCK_BYTES):
                            file.write(block, total)
                    return file.finish(response.headers)
            except (httpx2.TransportError, httpx2.DecodingError) as error:
                if attempt == self.retries.times:
                    raise _broken(operation, error) from error
                await sleep(self.retries.pause(attempt))
        raise AssertionError

    async def lines(
        self, operation: Operation[None], *, query: Mapping[str, Any] | None = None, **path: str
    ) -> AsyncIterator[Any]:
        """Yield the values of the lines of a JSONL file.

        Raises `Unreachable` if it breaks off, and `UnexpectedResponse` for another format.
        """
        lines = Lines()
        try:
            async with self._answered(operation, address_of(operation, path, query or {})) as response:
                kind = response.headers.get("content-type", "of an unknown type")
                if kind.partition(";")[0] != JSONL:
                    raise UnexpectedResponse(
                        f"The file has no JSON lines, but is {kind}. Download it instead."
                    )
                async for block in response.aiter_bytes(BLOCK_BYTES):
                    for value in lines.split(block):
                        yield value
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise _broken(operation, error) from error
        for value in lines.rest():
            yield value

    async def close(self) -> None:
        await self._http.aclose()

    @asynccontextmanager
    async def _answered(
        self,
        operation: Operation[T],
        address: str,
        body: Body | Upload | None = None,
        key: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        is_streamed: bool = True,
    ) -> AsyncIterator[httpx2.Response]:
        """Send a request until it has an answer, and yield the response. If streamed, read its body."""
        sent = {**(headers or {}), "Authorization": f"Bearer {self._settings.token}"}
        if operation.method not in {"GET", "HEAD"}:
            sent["Idempotency-Key"] = key or str(uuid.uuid4())
        for attempt in range(self.retries.times + 1):
            is_last = attempt == self.retries.times
            waits = None
            try:
                response = await self._http.send(self._request(operation, address, body, sent), stream=True)
                if not (is_streamed and response.is_success):
                    await response.aread()
            except (httpx2.TransportError, httpx2.DecodingError) as error:
                # Nothing was sent if there was no connection.
                is_unsent = isinstance(
                    error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout
                )
                if is_last or not (is_unsent or operation.may_repeat):
                    raise _broken(operation, error) from error
            else:
                status, found = response.status_code, response.headers
                if response.is_success or (attempt and _is_gone(operation, response)):
                    try:
                        yield response
                    finally:
                        await response.aclose()
                    return
                if response.has_redirect_location:
                    raise UnexpectedResponse(
                        f"The server redirects to {found['location']}. Set that address."
                    )
                if is_last or not is_temporary(operation, status, found):
                    raise problem_of(status, found.get("content-type", ""), response.content)
                waits = seconds_to_wait(found.get("retry-after"), dt.datetime.now(dt.UTC))
            await sleep(self.retries.pause(attempt, waits))

    def _request(
        self,
        operation: Operation[T],
        address: str,
        body: Body | Upload | None,
        headers: Mapping[str, str],
    ) -> httpx2.Request:
        url = httpx2.URL(self._settings.address + address)
        if isinstance(body, Upload):
            sized = {"Content-Type": body.kind, "Content-Length": str(body.size - body.start)}
            return self._http.build_request(
                operation.method, url, content=_blocks(body), headers={**headers, **sized}
            )
        if body:
            return self._http.build_request(
                operation.method, url, content=body.content, headers={**headers, "Content-Type": body.kind}
            )
        return self._http.build_request(operation.method, url, headers=headers)


async def _blocks(upload: Upload) -> AsyncIterator[bytes]:
    """Yield the file from its first byte to send, and report the progress."""
    upload.file.seek(upload.start)
    sent = upload.start
    while block := await read_block(upload.file, BLOCK_BYTES):
        yield block
        sent += len(block)
        if upload.progress:
            upload.progress(sent, upload.size)


def _is_gone(operation: Operation[T], response: httpx2.Response) -> bool:
    """Return whether an earlier attempt has deleted what a repeated one does not find."""
    return operation.method == "DELETE" and response.status_code == 404


def _size(response: httpx2.Response) -> int | None:
    """Return the size of a file, unless it is compressed on its way."""
    is_sized = "content-encoding" not in response.headers and "content-length" in response.headers
    return int(response.headers["content-length"]) if is_sized else None


def _broken(operation: Operation[T], error: Exception) -> Unreachable:
    name = type(error).__name__
    return Unreachable(
        f"{operation.method} {operation.path} had no complete response: {name}. {error}".strip()
    )
