"""Stream generated files as downloads."""

import base64
import hashlib
import re
import tempfile
from collections.abc import Iterable, Iterator

import zstandard
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from reviews.database.held_transaction import close
from reviews.storage.chunks import BLOCK_SIZE

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
            "Cache-Control": "no-store",
            **headers,
        },
    )


def repr_digest(sha256: bytes) -> str:
    """Return the value of the header Repr-Digest (RFC 9530) of a file."""
    return f"sha-256=:{base64.b64encode(sha256).decode()}:"


class _SpooledBlocks:
    """Generated blocks, spooled in compressed form; large ones in an unnamed temporary file."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self.size = 0
        digest = hashlib.sha256()
        self._file = tempfile.SpooledTemporaryFile(_MAX_IN_MEMORY)  # noqa: SIM115 closed with the answer
        try:
            with zstandard.ZstdCompressor(level=1).stream_writer(self._file, closefd=False) as file:
                for block in blocks:
                    self.size += len(block)
                    digest.update(block)
                    file.write(block)
        except BaseException:
            self.close()
            raise
        finally:
            close(blocks)
        self.sha256 = digest.digest()
        self._file.seek(0)

    def __iter__(self) -> Iterator[bytes]:
        with zstandard.ZstdDecompressor().stream_reader(self._file, closefd=False) as file:
            while block := file.read(BLOCK_SIZE):
                yield block

    def close(self) -> None:
        self._file.close()

    def __del__(self) -> None:
        # Django does not close every response.
        self.close()
