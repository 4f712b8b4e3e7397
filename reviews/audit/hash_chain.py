"""The hash chain of the audit events: each seal includes the hash of the previous seal. No database.

hash = SHA-256(previous + SHA-256(text)), where `text` is the event as serialised in the audit log, and
`previous` is the hash of the previous seal (32 zero bytes for the first). Altering, removing, inserting or
moving an event therefore changes every later hash. A head stored outside the database reveals even a chain
that was completely recomputed.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

GENESIS = bytes(32)
_HEAD = re.compile(r"([0-9]{1,18}):([0-9a-fA-F]{64})")
_HEAD_IN_TEXT = re.compile(rf"(?<![0-9A-Za-z]){_HEAD.pattern}(?![0-9A-Za-z])")


class Head(NamedTuple):
    """The end of a chain."""

    #: The position of the last seal, counted from 1; 0 for an empty chain.
    position: int
    #: The hash of the last seal.
    hash: bytes

    def __str__(self) -> str:
        return f"{self.position}:{self.hash.hex()}"

    @classmethod
    def parse(cls, text: str) -> "Head":
        """Parse a printed head. Raises ValueError."""
        found = _HEAD.fullmatch(text.strip())
        if not found:
            raise ValueError(
                f"{text!r} is not a chain head: expected a position, a colon and 64 hexadecimal digits"
            )
        return cls(int(found[1]), bytes.fromhex(found[2]))

    @classmethod
    def find_all(cls, text: str) -> "list[Head]":
        """Return every head in a text, such as the lines of a log."""
        return [cls(int(found[1]), bytes.fromhex(found[2])) for found in _HEAD_IN_TEXT.finditer(text)]


EMPTY = Head(0, GENESIS)


@dataclass(frozen=True, slots=True)
class SealedEvent:
    """A seal with the current digest of its event."""

    position: int
    #: The primary key of the event; None if only its digest is known.
    event: int | None
    previous: bytes
    hash: bytes
    #: SHA-256 of the event's current text; None if the event is missing.
    digest: bytes | None

    @property
    def name(self) -> str:
        place = f"position {self.position}"
        return place if self.event is None else f"event {self.event} ({place})"

    @property
    def fits(self) -> bool:
        """Whether the event is unchanged since it was sealed."""
        return self.digest is not None and seal_hash(self.previous, self.digest) == self.hash


def event_digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()


def seal_hash(previous: bytes, digest: bytes) -> bytes:
    return hashlib.sha256(previous + digest).digest()


class ChainVerifier:
    """Verify seals in the order of their positions.

    `kept` are heads from outside the database, which the chain must contain. Without one, a truncated or
    completely recomputed chain is not recognised.
    """

    def __init__(self, *kept: Head) -> None:
        self.head = EMPTY
        self._kept: dict[int, set[bytes]] = {}
        for head in kept:
            self._kept.setdefault(head.position, set()).add(head.hash)
        # The last event, if it does not match its seal. The next seal shows whether that seal was altered.
        self._doubtful: SealedEvent | None = None

    def verify_next(self, sealed: SealedEvent) -> Iterator[str]:
        """Verify the next seal. Yield a sentence for each fault."""
        expected = self.head.position + 1
        follows = sealed.position == expected
        yield from self._verdict(sealed.previous if follows else None)
        if sealed.position < expected:
            yield f"{sealed.name} comes after position {self.head.position}"
        elif not follows:
            yield _missing(expected, sealed.position - 1)
        elif sealed.previous != self.head.hash and not self._doubtful:
            yield f"{sealed.name} does not continue the previous seal: one of the two seals was altered"
        self._doubtful = None if sealed.fits else sealed
        self.head = Head(sealed.position, sealed.hash)
        if self._kept.get(sealed.position, set()) - {sealed.hash}:
            yield f"{sealed.name} differs from the stored head: the chain was rewritten"

    def verify_end(self) -> Iterator[str]:
        """Verify the end of the chain, after the last seal. Yield a sentence for each fault."""
        yield from self._verdict(None)
        last = max(self._kept, default=0)
        if last > self.head.position:
            gone = _missing(self.head.position + 1, last)
            yield f"{gone}: the chain ends before the stored head"

    def _verdict(self, known_hash: bytes | None) -> Iterator[str]:
        """Yield the fault of the doubtful event. `known_hash` is its hash according to the next seal."""
        doubtful = self._doubtful
        if doubtful is None:
            return
        if doubtful.digest is None:
            yield f"{doubtful.name} is missing, but its seal exists"
        elif known_hash is None:
            yield f"{doubtful.name} does not match its seal: the event or the seal was altered"
        elif known_hash == doubtful.hash:
            yield f"{doubtful.name} does not match its seal: the event was altered or replaced"
        else:
            yield f"{doubtful.name} does not match its seal: the seal was altered"


def _missing(first: int, last: int) -> str:
    places = f"position {first} is" if first == last else f"positions {first} to {last} are"
    return f"{places} missing"
