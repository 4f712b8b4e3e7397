"""Blocking and asynchronous connections with the same coroutines: those of `Blocking` never suspend."""

import time
from collections.abc import AsyncIterator, Iterator
from typing import ClassVar, Protocol

import anyio
import anyio.to_thread
import httpx2

from cognireview.client.requests import BLOCK_BYTES, Upload


class Backend(Protocol):
    """The part of a transport that waits."""

    is_blocking: ClassVar[bool]

    @property
    def http(self) -> httpx2.Client | httpx2.AsyncClient: ...

    async def send(
        self, method: str, url: str, headers: dict[str, str], content: bytes | Upload | None
    ) -> httpx2.Response:
        """Send a request, and return the response without its body."""

    async def read(self, response: httpx2.Response) -> None:
        """Read the body of a response."""

    def blocks(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        """Yield the body of a response."""

    async def close_response(self, response: httpx2.Response) -> None: ...

    async def sleep(self, seconds: float) -> None: ...


class Blocking:
    """A connection that blocks."""

    is_blocking: ClassVar[bool] = True

    def __init__(self, http: httpx2.Client) -> None:
        self.http = http

    async def send(
        self, method: str, url: str, headers: dict[str, str], content: bytes | Upload | None
    ) -> httpx2.Response:
        body = _blocks(content) if isinstance(content, Upload) else content
        request = self.http.build_request(method, url, headers=headers, content=body)
        return self.http.send(request, stream=True)

    async def read(self, response: httpx2.Response) -> None:
        response.read()

    async def blocks(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        for block in response.iter_bytes():
            yield block

    async def close_response(self, response: httpx2.Response) -> None:
        response.close()

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251 (the coroutine runs without an event loop)


class Asynchronous:
    """A connection for an event loop."""

    is_blocking: ClassVar[bool] = False

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def send(
        self, method: str, url: str, headers: dict[str, str], content: bytes | Upload | None
    ) -> httpx2.Response:
        body = _async_blocks(content) if isinstance(content, Upload) else content
        request = self.http.build_request(method, url, headers=headers, content=body)
        return await self.http.send(request, stream=True)

    async def read(self, response: httpx2.Response) -> None:
        await response.aread()

    async def blocks(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        async for block in response.aiter_bytes():
            yield block

    async def close_response(self, response: httpx2.Response) -> None:
        await response.aclose()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


def _blocks(upload: Upload) -> Iterator[bytes]:
    position = upload.rewind()
    while block := upload.file.read(BLOCK_BYTES):
        yield block
        position = upload.report(position + len(block))


async def _async_blocks(upload: Upload) -> AsyncIterator[bytes]:
    position = upload.rewind()
    while block := await anyio.to_thread.run_sync(upload.file.read, BLOCK_BYTES):
        yield block
        position = upload.report(position + len(block))
