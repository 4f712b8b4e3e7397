"""Read archives in which each file of some names is a record, such as the logs of Inspect.

The standard library reads the directory of an archive, but not files that are compressed with zstd, as these
logs are. An archive is stored as the lines of its records and a skeleton: a ZIP archive with the same files,
in which those of the records are empty.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from tempfile import SpooledTemporaryFile
from typing import IO
from zipfile import ZipFile, ZipInfo

from reviews.storage import decompression
from reviews.storage.chunks import BLOCK_SIZE
from reviews.storage.errors import ImportRefused
from reviews.storage.json_document import encoded

SIGNATURE = b"PK\x03\x04"
_IN_MEMORY = 16 * 1024**2
# The directory of an archive is read into memory: this is enough for about 500,000 files.
_LARGEST_DIRECTORY = 64 * 1024**2
_LARGEST_FILE = 1024**3
_END_BYTES = 64 * 1024 + 22
_DIRECTORY_SIZES = ((b"PK\x05\x06", "<I", 12), (b"PK\x06\x06", "<Q", 40))
_ENCRYPTED = 0x1
_DEFLATED, _STORED, _ZSTD = zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, 93
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_SHOWN_FILES = 3
# The standard library raises these errors for damaged directories.
_DAMAGE = (zipfile.BadZipFile, struct.error, ValueError, IndexError, EOFError, NotImplementedError)


class ZipArchive:
    """The files of an archive. All of them may decompress to `most` bytes together.

    The archive is copied to a temporary file. Reading raises `ImportRefused`.
    """

    def __init__(self, blocks: Iterable[bytes], *, most: int) -> None:
        self._most = self._left = most
        self._file: IO[bytes] = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (closed by `close`)
        try:
            for block in blocks:
                self._file.write(block)
            #: The files in their order, by name. A later file of a name replaces an earlier one.
            self.files = self._read_directory()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._file.close()

    def _read_directory(self) -> dict[str, ZipInfo]:
        try:
            self._file.seek(0, io.SEEK_END)
            self._file.seek(max(self._file.tell() - _END_BYTES, 0))
            _check_directory_size(self._file.read())
            with ZipFile(self._file) as archive:
                found = {info.filename: info for info in archive.infolist() if not info.is_dir()}
        except _DAMAGE as error:
            raise ImportRefused(f"The file is a ZIP archive that is damaged or cut off: {error}.") from error
        for name, info in found.items():
            if info.header_offset < 0:
                raise _damaged(info)
            if info.flag_bits & _ENCRYPTED:
                raise ImportRefused(f"The ZIP archive is encrypted: {name!r}.")
            if info.compress_type not in {_STORED, _DEFLATED, _ZSTD}:
                raise ImportRefused(
                    f"The file {name!r} of the ZIP archive has a compression that is not known here. "
                    "Deflate and zstd are."
                )
            if info.file_size > _LARGEST_FILE:
                raise ImportRefused(f"The file {name!r} of the ZIP archive has more than 1 GiB.")
        return found

    def content(self, info: ZipInfo) -> Iterator[bytes]:
        """Yield the decompressed content of a file in blocks."""
        checksum, size = 0, 0
        try:
            for block in _decompressed(info.compress_type, self._raw(info)):
                size += len(block)
                self._left -= len(block)
                if self._left < 0:
                    raise ImportRefused(
                        f"The file decompresses to more than {self._most:,} bytes "
                        "(COGNIREVIEW_MAX_UNPACKED_BYTES)."
                    )
                checksum = zlib.crc32(block, checksum)
                yield block
        except zlib.error as error:
            raise _damaged(info) from error
        if (size, checksum) != (info.file_size, info.CRC):
            raise _damaged(info)

    def _raw(self, info: ZipInfo) -> Iterator[bytes]:
        """Yield the bytes of a file as they are in the archive."""
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size or not header.startswith(SIGNATURE):
            raise _damaged(info)
        _, name_size, extra_size = _LOCAL_HEADER.unpack(header)
        at, left = self._file.tell() + name_size + extra_size, info.compress_size
        while left > 0:
            self._file.seek(at)
            # The consumer may read another file between two blocks.
            block = self._file.read(min(left, BLOCK_SIZE))
            if not block:
                raise _damaged(info)
            at, left = at + len(block), left - len(block)
            yield block

    def matching(self, pattern: str) -> list[ZipInfo]:
        return [info for name, info in self.files.items() if fnmatchcase(name, pattern)]

    def lines(self, infos: Iterable[ZipInfo]) -> Iterator[bytes]:
        """Yield files as lines, one a file, as the members of a document."""
        for number, info in enumerate(infos):
            if number:
                yield b"\n"
            yield from map(encoded, self.content(info))

    def single_file(self, wanted: Iterable[str] = ()) -> Iterator[bytes]:
        """Yield the content of the only file. Raises `ImportRefused` if there are several.

        Its message says that none of them has a `wanted` name.
        """
        if len(self.files) != 1:
            names = " or ".join(f"`{pattern}`" for pattern in wanted)
            raise ImportRefused(
                f"The file is a ZIP archive of {len(self.files):,} files: {self.describe()}. "
                f"{f'None is named like {names}. ' if names else ''}"
                "Import each file alone, or name the files with records in a mapping ([archive])."
            )
        [info] = self.files.values()
        return self.content(info)

    def skeleton(self, records: str, *, most: int) -> bytes:
        """Return the archive with empty files for the records, whose names match the pattern.

        The other files may have `most` bytes.
        """
        out, others = io.BytesIO(), {name for name in self.files if not fnmatchcase(name, records)}
        if sum(self.files[name].file_size for name in others) > most:
            raise ImportRefused(f"The ZIP archive has more than {most:,} bytes besides its records.")
        with ZipFile(out, "w") as archive:
            for name, info in self.files.items():
                content = b"".join(self.content(info)) if name in others else b""
                archive.writestr(copied_info(info), content)
        return out.getvalue()

    def describe(self) -> str:
        """Name the first files for a message."""
        names = [repr(name) for name in list(self.files)[:_SHOWN_FILES]]
        more = len(self.files) - len(names)
        return ", ".join(names) + (f" and {more:,} more" if more > 0 else "")


def copied_info(info: ZipInfo) -> ZipInfo:
    """Return the entry of a file for another archive, with its name, time and attributes."""
    copied = ZipInfo(info.filename, info.date_time)
    copied.external_attr, copied.compress_type = info.external_attr, _DEFLATED
    return copied


def _check_directory_size(end: bytes) -> None:
    for signature, form, offset in _DIRECTORY_SIZES:
        at = end.rfind(signature)
        if at >= 0:
            [size] = struct.unpack_from(form, end, at + offset)
            # The largest number of 32 bits says that the size is in the other entry.
            if _LARGEST_DIRECTORY < size != 0xFFFFFFFF:
                raise ImportRefused("The ZIP archive has too many files: its directory has more than 64 MiB.")


def _decompressed(method: int, raw: Iterator[bytes]) -> Iterator[bytes]:
    if method == _STORED:
        yield from raw
    elif method == _ZSTD:
        yield from decompression.decompress_zstd(raw)
    else:
        inflater = zlib.decompressobj(-15)
        for block in raw:
            yield inflater.decompress(block, BLOCK_SIZE)
            while inflater.unconsumed_tail:
                yield inflater.decompress(inflater.unconsumed_tail, BLOCK_SIZE)
        yield inflater.flush()


def _damaged(info: ZipInfo) -> ImportRefused:
    return ImportRefused(f"The file {info.filename!r} of the ZIP archive is damaged.")


def read_file(skeleton: bytes, name: str) -> bytes | None:
    """Return the content of a file of a skeleton, or None if there is no such file."""
    with ZipFile(io.BytesIO(skeleton)) as archive:
        return archive.read(name) if name in archive.namelist() else None
