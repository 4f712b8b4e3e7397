"""What a file is, told by its content: JSONL or a JSON array, as it is or packed by gzip or zstd."""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import PurePath
from typing import Any, NamedTuple

import zstandard

from reviews.storage import chunks, json_array
from reviews.storage.errors import ImportRefused

# 1 KiB of zstd unpacks to 32 MiB at most, and of gzip to 1 MiB: what a bomb can take of memory.
_SIP = 1024
# What `zstd` writes without --ultra --long=28 and more.
_WINDOW = 128 * 1024**2
_ENDINGS = {".gz", ".zst", ".jsonl", ".ndjson", ".json"}
_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*+\[(?=[ \t\r\n]*+[{\]])")


class _Packing(NamedTuple):
    """A way to pack a file: its name, and what makes an object that unpacks one frame of it."""

    name: str
    new_frame: Callable[[], Any]
    error: type[Exception]


_GZIP = _Packing("gzip", lambda: zlib.decompressobj(wbits=31), zlib.error)
_ZSTD = _Packing(
    "zstd",
    lambda: zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj(),
    zstandard.ZstdError,
)
_PACKINGS = {b"\x1f\x8b": _GZIP, b"\x28\xb5\x2f\xfd": _ZSTD}
_OTHERS = {b"PK\x03\x04": "a ZIP archive", b"\xfd7zXZ\0": "packed by xz", b"BZh": "packed by bzip2"}


def base_name(file_name: str) -> str:
    """The name of a file without its folder and without the endings that say how it is written."""
    name = PurePath(file_name)
    while name.suffix.lower() in _ENDINGS:
        name = name.with_suffix("")
    return name.name


def decompress(raw: Iterable[bytes], *, most: int) -> Iterator[bytes]:
    """The lines of a file, in blocks of about 1 MiB; of an array, one element a line.

    `raw` are the blocks of the file as it came, `most` is how many bytes it may unpack to. Memory
    stays within a block and what one sip of packed bytes unpacks to. Raises `ImportRefused`.
    """
    start, whole = _peek(_gathered(raw))
    for magic, name in _OTHERS.items():
        if start.startswith(magic):
            raise ImportRefused(
                f"The file is {name}. Unpack it, or pack it by gzip or zstd, and import it again."
            )
    packing = next((known for magic, known in _PACKINGS.items() if start.startswith(magic)), None)
    return _lines(_limited(_unpacked(packing, whole), most) if packing else whole)


def _lines(text: Iterable[bytes]) -> Iterator[bytes]:
    start, whole = _peek(_gathered(text))
    array = _ARRAY.match(start)
    if not array:
        yield from whole
        return
    next(whole)
    try:
        yield from _gathered(json_array.array_lines(chain([start[array.end() :]], whole)))
    except json_array.ArrayError as error:
        raise ImportRefused(str(error)) from error


def _unpacked(packing: _Packing, packed: Iterable[bytes]) -> Iterator[bytes]:
    """Unpack one frame after the other; zeros between them are padding."""
    frame, taken = packing.new_frame(), 0
    for sip in _sips(packed):
        rest = sip
        try:
            while rest := rest.lstrip(b"\0") if frame.eof else rest:
                if frame.eof:
                    frame = packing.new_frame()
                yield frame.decompress(rest)
                rest = frame.unused_data
        except packing.error as error:
            reason = f"The file is damaged: its {packing.name} data cannot be read from byte {taken:,} on."
            raise ImportRefused(reason) from error
        taken += len(sip)
    if not frame.eof:
        raise ImportRefused(f"The file is cut off: its {packing.name} data has no end after {taken:,} bytes.")


def _sips(packed: Iterable[bytes]) -> Iterator[bytes]:
    for block in packed:
        for start in range(0, len(block), _SIP):
            yield block[start : start + _SIP]


def _limited(unpacked: Iterable[bytes], most: int) -> Iterator[bytes]:
    size = 0
    for block in unpacked:
        size += len(block)
        if size > most:
            raise ImportRefused(
                f"The file unpacks to more than {most:,} bytes (COGNIREVIEW_MAX_UNPACKED_BYTES)."
            )
        yield block


def _gathered(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Join parts to blocks of 1 MiB or a little more, so that nobody behind has to join small ones."""
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


def _peek(text: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first block, and all of them."""
    first = next(text, b"")
    return first, chain([first], text)
