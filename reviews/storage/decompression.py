"""Detect compression by the content of a file (gzip or zstd), and decompress it."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import PurePath
from typing import Any, NamedTuple

import zstandard

from reviews.storage import chunks
from reviews.storage.errors import ImportRefused
from reviews.storage.file_formats import office_format

# 1 KiB of zstd decompresses to at most 32 MiB, and of gzip to 1 MiB. This bounds the memory of a bomb.
_SIP = 1024
# The largest window that `zstd` writes without --ultra or --long=28.
_WINDOW = 128 * 1024**2
_ENDINGS = {".gz", ".zst", ".zip", ".jsonl", ".ndjson", ".json", ".eval"}


class _Codec(NamedTuple):
    name: str
    #: Creates an object that decompresses one frame.
    new_frame: Callable[[], Any]
    error: type[Exception]


_GZIP = _Codec("gzip", lambda: zlib.decompressobj(wbits=31), zlib.error)
_ZSTD = _Codec(
    "zstd",
    lambda: zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj(),
    zstandard.ZstdError,
)
_CODECS = {b"\x1f\x8b": _GZIP, b"\x28\xb5\x2f\xfd": _ZSTD}
_OTHERS = {
    b"PK\x03\x04": "a ZIP archive",
    b"PK\x05\x06": "an empty ZIP archive",
    b"\xfd7zXZ\0": "compressed with xz",
    b"BZh": "compressed with bzip2",
}


def base_name(file_name: str) -> str:
    """Return the name of a file without its folder, the endings of its format, and spaces around it."""
    name = PurePath(file_name)
    while name.suffix.lower() in _ENDINGS:
        name = name.with_suffix("")
    return name.name.strip()


def decompress(raw: Iterable[bytes], *, most: int) -> Iterator[bytes]:
    """Yield the text of a file in blocks of about 1 MiB.

    `raw` are the blocks of the file. It may decompress to `most` bytes. Memory stays within a block and
    `_SIP` decompressed bytes. Raises `ImportRefused`.
    """
    start, whole = peek(gathered(raw))
    _refuse_other_archives(start)
    codec = next((known for magic, known in _CODECS.items() if start.startswith(magic)), None)
    return gathered(_limited(_decompressed(codec, whole), most) if codec else whole)


def _refuse_other_archives(start: bytes) -> None:
    name = next((name for magic, name in _OTHERS.items() if start.startswith(magic)), "")
    if not name:
        return
    if office := office_format(start):
        raise ImportRefused(f"The file is {office}. Save its contents as JSONL and import that file.")
    raise ImportRefused(
        f"The file is {name}. Decompress it, or compress it with gzip or zstd, and import it again."
    )


def decompress_zstd(compressed: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress zstd frames in small blocks. Raises `ImportRefused`."""
    return _decompressed(_ZSTD, compressed)


def _decompressed(codec: _Codec, compressed: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress one frame after the other. Zeros between them are padding."""
    frame, taken = codec.new_frame(), 0
    for sip in _sips(compressed):
        rest = sip
        try:
            while rest := rest.lstrip(b"\0") if frame.eof else rest:
                if frame.eof:
                    frame = codec.new_frame()
                yield frame.decompress(rest)
                rest = frame.unused_data
        except codec.error as error:
            place = taken + len(sip) - len(rest)
            reason = f"The file is damaged: its {codec.name} data cannot be read from byte {place:,} on."
            raise ImportRefused(reason) from error
        taken += len(sip)
    if not frame.eof:
        raise ImportRefused(f"The file is cut off: its {codec.name} data has no end after {taken:,} bytes.")


def _sips(compressed: Iterable[bytes]) -> Iterator[bytes]:
    for block in compressed:
        for start in range(0, len(block), _SIP):
            yield block[start : start + _SIP]


def _limited(decompressed: Iterable[bytes], most: int) -> Iterator[bytes]:
    size = 0
    for block in decompressed:
        size += len(block)
        if size > most:
            raise ImportRefused(
                f"The file decompresses to more than {most:,} bytes (COGNIREVIEW_MAX_UNPACKED_BYTES)."
            )
        yield block


def gathered(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Join parts to blocks of 1 MiB or a little more."""
    waiting: list[bytes] = []
    size = 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size >= chunks.BLOCK_SIZE:
            yield b"".join(waiting)
            waiting, size = [], 0
    if size:
        yield b"".join(waiting)


def peek(text: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first block, and an iterator over all blocks."""
    first = next(text, b"")
    return first, chain([first], text)
