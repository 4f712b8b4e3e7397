"""Wait, read and connect without blocking, for the asynchronous client."""

from typing import BinaryIO

import anyio
import anyio.to_thread
from httpx2 import AsyncClient

HttpClient = AsyncClient
sleep = anyio.sleep


async def read_block(file: BinaryIO, size: int) -> bytes:
    """Read at most this many bytes, without blocking other tasks."""
    return await anyio.to_thread.run_sync(file.read, size)
