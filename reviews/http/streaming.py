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
    blocks: Iterable[bytes],
    name: str,
    *,
    size: int | None = None,
    content_type: str = "application/x-ndjson",
    accept_encoding: str = "",
) -> StreamingHttpResponse:
    """Return blocks as a download, by default of JSONL. Without `size` (bytes), spool the whole file first.

    A spooled file is sent with its SHA-256, and compressed if the `accept_encoding` of the request is zstd.
    A response that fails midway looks complete to the client unless it is shorter than its Content-Length.

    The name may be user input: characters with a meaning in file systems or shells become `_`.
    """
    headers = {}
    if size is None:
        # Many clients list zstd among others but stop after the first frame of a file.
        is_encoded = accept_encoding.strip().lower() == "zstd"
        blocks = _SpooledBlocks(blocks, is_encoded=is_encoded)
        size = blocks.size
        headers["Vary"] = "Accept-Encoding"
        if is_encoded:
            headers |= {"Content-Encoding": "zstd", "Unencoded-Digest": sha256_field(blocks.sha256)}
        else:
            headers["Repr-Digest"] = sha256_field(blocks.sha256)
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


def sha256_field(sha256: str) -> str:
    """Return the value of a digest header (RFC 9530) of a file. `sha256` is hexadecimal."""
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
    """Generated blocks, spooled as zstd frames; large ones in an unnamed temporary file.

    They are read as they were, or with `is_encoded` as the frames.
    """

    def __init__(self, blocks: Iterable[bytes], *, is_encoded: bool) -> None:
        stream = blocks if isinstance(blocks, _Measured) else MeteredStream(blocks)
        self._file = tempfile.SpooledTemporaryFile(_MAX_IN_MEMORY)  # noqa: SIM115 closed with the answer
        self._frames: list[int] = []
        self._is_encoded = is_encoded
        try:
            for part in pack(stream, BLOCK_SIZE):
                self._file.write(part.frame)
                self._frames.append(len(part.frame))
        except BaseException:
            self.close()
            raise
        finally:
            close(blocks)
        #: In bytes, as they are read.
        self.size = sum(self._frames) if is_encoded else stream.size
        #: Of the blocks.
        self.sha256 = stream.sha256
        self._file.seek(0)

    def __iter__(self) -> Iterator[bytes]:
        frames = map(self._file.read, self._frames)
        return frames if self._is_encoded else map_ahead(zstandard.decompress, frames)

    def close(self) -> None:
        self._file.close()

    def __del__(self) -> None:
        # Django does not close every response.
        self.close()
