"""Stream generated files as downloads."""

import base64
import re
import tempfile
from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

import zstandard
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from reviews.database.held_transaction import close
from reviews.storage.chunks import BLOCK_SIZE, MeteredStream, map_ahead
from reviews.storage.frames import pack

_MAX_IN_MEMORY = 4 * 1024**2


def download(
    blocks: Iterable[bytes], name: str, *, size: int | None = None, content_type: str = "application/x-ndjson"
) -> StreamingHttpResponse:
    """Return blocks as a download, by default of JSONL. Without `size` (bytes), spool the whole file first.

    The SHA-256 of a spooled file is sent as Repr-Digest.
    A response that fails midway looks complete to the client unless it is shorter than its Content-Length.

    The name may be user input: characters with a meaning in file systems or shells become `_`.
    """
    headers = {}
    if size is None:
        blocks = _SpooledBlocks(blocks)
        size = blocks.size
        headers["Repr-Digest"] = repr_digest(blocks.sha256)
    safe = re.sub(r"[^\w.-]+", "_", name).lstrip(".-")
    return StreamingHttpResponse(
        blocks,
        content_type=content_type,
        headers={
            "Content-Disposition": content_disposition_header(True, safe),  # noqa: FBT003 (its only form)
            "Content-Length": str(size),
            **headers,
        },
    )


def repr_digest(sha256: str) -> str:
    """Return the value of the header Repr-Digest (RFC 9530) of a file. `sha256` is hexadecimal."""
    return f"sha-256=:{base64.b64encode(bytes.fromhex(sha256)).decode()}:"


@runtime_checkable
class _Measured(Protocol):
    """Blocks whose size and SHA-256 are known once all of them were read."""

    @property
    def size(self) -> int: ...
    @property
    def sha256(self) -> str: ...
    def __iter__(self) -> Iterator[bytes]: ...


class _SpooledBlocks:
    """Generated blocks, spooled in compressed form; large ones in an unnamed temporary file."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        stream = blocks if isinstance(blocks, _Measured) else MeteredStream(blocks)
        self._file = tempfile.SpooledTemporaryFile(_MAX_IN_MEMORY)  # noqa: SIM115 closed with the answer
        self._frames: list[int] = []
        try:
            for part in pack(stream, BLOCK_SIZE):
                self._file.write(part.frame)
                self._frames.append(len(part.frame))
        except BaseException:
            self.close()
            raise
        finally:
            close(blocks)
        self.size, self.sha256 = stream.size, stream.sha256
        self._file.seek(0)

    def __iter__(self) -> Iterator[bytes]:
        return map_ahead(zstandard.decompress, map(self._file.read, self._frames))

    def close(self) -> None:
        self._file.close()

    def __del__(self) -> None:
        # Django does not close every response.
        self.close()
