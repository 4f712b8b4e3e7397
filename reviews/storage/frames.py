"""Compress and decompress the zstd frames of stored files, uploads and downloads."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import zstandard

# A third faster on real records than level 3. The frames are 4% larger.
LEVEL = 1


class FramedText(bytes):
    """A text with the frame that it was decompressed from."""

    frame: bytes


class Frame(NamedTuple):
    """A compressed part of a stream."""

    #: Bytes before compression.
    size: int
    frame: bytes


def compress(text: bytes) -> bytes:
    """Compress a text of some MiB at most."""
    return zstandard.compress(text, level=LEVEL)


def keep_frame(text: bytes, frame: bytes) -> FramedText:
    """Return the text with its frame, so that `pack` need not compress it again."""
    framed = FramedText(text)
    framed.frame = frame
    return framed


def pack(blocks: Iterable[bytes], size: int) -> Iterator[Frame]:
    """Pack a stream into frames of about `size` bytes of text: smaller ones at its end and before a kept one.

    A `FramedText` of half that size keeps its frame.
    """
    pending = bytearray()
    for block in blocks:
        kept = block if isinstance(block, FramedText) and len(block) >= size // 2 else None
        if kept is None:
            pending += block
        if pending and (kept is not None or len(pending) >= size):
            yield Frame(len(pending), compress(bytes(pending)))
            pending.clear()
        if kept is not None:
            yield Frame(len(kept), kept.frame)
    if pending:
        yield Frame(len(pending), compress(bytes(pending)))
