"""Stream generated files as downloads."""

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

    A response that fails midway looks complete to the client unless it is shorter than its Content-Length.

    The name may be user input: characters with a meaning in file systems or shells become `_`.
    """
    if size is None:
        blocks = _SpooledBlocks(blocks)
        size = blocks.size
    safe = re.sub(r"[^\w.-]+", "_", name).lstrip(".-")
    return StreamingHttpResponse(
        blocks,
        content_type=content_type,
        headers={
            "Content-Disposition": content_disposition_header(True, safe),  # noqa: FBT003 (its only form)
            "Content-Length": str(size),
            "Cache-Control": "no-store",
        },
    )


class _SpooledBlocks:
    """Generated blocks, spooled in compressed form; large ones in an unnamed temporary file."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self.size = 0
        self._file = tempfile.SpooledTemporaryFile(_MAX_IN_MEMORY)  # noqa: SIM115 closed with the answer
        try:
            with zstandard.ZstdCompressor(level=1).stream_writer(self._file, closefd=False) as file:
                for block in blocks:
                    self.size += len(block)
                    file.write(block)
        except BaseException:
            self.close()
            raise
        finally:
            close(blocks)
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
