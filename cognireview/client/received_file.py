"""Receive a file under a temporary name, check its digest, and rename it when it is complete."""

import base64
import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cognireview.client.errors import UnexpectedResponse
from cognireview.client.requests import Progress

_DIGEST = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]+):")


@dataclass(frozen=True)
class Download:
    """A downloaded file."""

    path: Path
    #: In bytes.
    size: int
    sha256: str


class ReceivedFile:
    """A file that replaces `path` once it is complete. An exception in the block leaves nothing behind."""

    def __init__(self, path: str | Path, progress: Progress | None) -> None:
        self._path = Path(path)
        self._progress = progress
        self._digest = hashlib.sha256()
        self._headers: Mapping[str, str] = {}
        self._total: int | None = None
        self.size = 0

    def __enter__(self) -> Self:
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.", suffix=".part")
        self._file, self._temporary = os.fdopen(handle, "wb"), Path(name)
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()
        self._temporary.unlink(missing_ok=True)

    @property
    def can_continue(self) -> bool:
        """Whether the server can send the rest of the same file."""
        is_incomplete = self._total is not None and 0 < self.size < self._total
        has_strong_tag = self._headers.get("etag", "").startswith('"')
        return is_incomplete and has_strong_tag and self._headers.get("accept-ranges") == "bytes"

    def rest(self) -> dict[str, str]:
        """Return the headers of a request for the rest of the file, or for all of it."""
        if not self.can_continue:
            return {}
        return {"Range": f"bytes={self.size}-", "If-Range": self._headers["etag"]}

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Continue with the rest of the file if a response has it, or else begin again."""
        self._headers = headers
        if status != 206:
            self._file.seek(0)
            self._file.truncate()
            self._digest = hashlib.sha256()
            self.size = 0
        is_sized = "content-length" in headers and "content-encoding" not in headers
        self._total = self.size + int(headers["content-length"]) if is_sized else None

    def write(self, block: bytes) -> None:
        """Write a block."""
        self._file.write(block)
        self._digest.update(block)
        self.size += len(block)
        if self._progress:
            self._progress(self.size, self._total)

    def finish(self) -> Download:
        """Check the digest of the last response, if it has one, and give the file its name.

        Raises `UnexpectedResponse` for another digest.
        """
        is_encoded = "content-encoding" in self._headers
        found = _DIGEST.search(self._headers.get("unencoded-digest" if is_encoded else "repr-digest", ""))
        if found and found[1] != base64.b64encode(self._digest.digest()).decode():
            raise UnexpectedResponse(f"{self._path.name} is damaged: its SHA-256 is not that of the server.")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._temporary.chmod(0o666 & ~_umask())
        self._temporary.replace(self._path)
        return Download(self._path, self.size, self._digest.hexdigest())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
