"""Wait, read and connect, for the synchronous client."""

from time import sleep
from typing import BinaryIO

from httpx2 import Client

HttpClient = Client
__all__ = ["HttpClient", "read_block", "sleep"]


def read_block(file: BinaryIO, size: int) -> bytes:
    """Read at most this many bytes."""
    return file.read(size)
