"""Files that are sent: JSONL, unless the caller says otherwise."""

import re
import tempfile
from collections.abc import Iterable, Iterator

import zstandard
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from reviews.database.held_transaction import close
from reviews.storage.source_files import BLOCK_SIZE

_MOST_IN_MEMORY = 4 * 1024**2


def download(blocks: Iterable[bytes], name: str, *, size: int | None = None) -> StreamingHttpResponse:
    """Send blocks as a file of that name. Where its size is not known, all of it is made before any is sent.

    The web server ends an answer that fails on its way as if it were whole, unless that is shorter than its
    Content-Length: then whoever asked is told that it broke off.

    The name may come from a person: whatever a file system or a shell could take amiss becomes `_`.
    """
    if size is None:
        blocks = _SpooledBlocks(blocks)
        size = blocks.size
    safe = re.sub(r"[^\w.-]+", "_", name).lstrip(".-")
    return StreamingHttpResponse(
        blocks,
        content_type="application/x-ndjson",
        headers={
            "Content-Disposition": content_disposition_header(True, safe),  # noqa: FBT003 (its only form)
            "Content-Length": str(size),
            "Cache-Control": "no-store",
        },
    )


class _SpooledBlocks:
    """Blocks that were made, compressed, the many of them in a file without a name."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self.size = 0
        self._file = tempfile.SpooledTemporaryFile(_MOST_IN_MEMORY)  # noqa: SIM115 closed with the answer
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
        # Not every answer is closed by whoever made it.
        self.close()
