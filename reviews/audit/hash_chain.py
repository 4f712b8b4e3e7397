"""The chain of the audit events: each seal holds the hash of the one before. No database.

hash = SHA-256(previous + SHA-256(text)), where `text` is the event as the audit log spells it, and `previous`
is the hash of the seal before, in the first one 32 zero bytes. So no event can be altered, removed, slipped
in or put elsewhere without every later hash being another. Somebody who can write all of those anew is found
out by a hash that was kept outside of the database: the head.
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
    """How far a chain goes: the place of its last seal, and that one's hash."""

    position: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.position}:{self.hash.hex()}"

    @classmethod
    def parse(cls, text: str) -> "Head":
        """A head as it is printed. Raises ValueError."""
        found = _HEAD.fullmatch(text.strip())
        if not found:
            raise ValueError(f"{text!r} is no head, which is a position, a colon and 64 hexadecimal digits")
        return cls(int(found[1]), bytes.fromhex(found[2]))

    @classmethod
    def find_all(cls, text: str) -> "list[Head]":
        """Every head in a text, such as the lines of a log."""
        return [cls(int(found[1]), bytes.fromhex(found[2])) for found in _HEAD_IN_TEXT.finditer(text)]


EMPTY = Head(0, GENESIS)


@dataclass(frozen=True, slots=True)
class SealedEvent:
    """A seal, and the digest (SHA-256) of the text of its event as it is now; None if that is gone.

    `event` is the event's key, None where only its digest is known.
    """

    position: int
    event: int | None
    previous: bytes
    hash: bytes
    digest: bytes | None

    @property
    def name(self) -> str:
        place = f"position {self.position}"
        return place if self.event is None else f"event {self.event} ({place})"

    @property
    def fits(self) -> bool:
        """Whether the event is the one that was sealed here."""
        return self.digest is not None and seal_hash(self.previous, self.digest) == self.hash


def event_digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()


def seal_hash(previous: bytes, digest: bytes) -> bytes:
    return hashlib.sha256(previous + digest).digest()


class ChainVerifier:
    """Takes seals in the order of their positions, and says what is wrong with them.

    `kept` are heads known from elsewhere: the chain has to lead to each of them or past it. Without one,
    nothing shows that the chain was not cut off at its end or written again from the start.
    """

    def __init__(self, *kept: Head) -> None:
        self.head = EMPTY
        self._kept: dict[int, set[bytes]] = {}
        for head in kept:
            self._kept.setdefault(head.position, set()).add(head.hash)
        # The last one, if it does not fit: the next tells whether the seal is as the chain knows it.
        self._doubtful: SealedEvent | None = None

    def verify_next(self, sealed: SealedEvent) -> Iterator[str]:
        """The next seal; gives sentences about what is found by it."""
        expected = self.head.position + 1
        follows = sealed.position == expected
        yield from self._verdict(sealed.previous if follows else None)
        if sealed.position < expected:
            yield f"{sealed.name} stands behind position {self.head.position}"
        elif not follows:
            yield _missing(expected, sealed.position - 1)
        elif sealed.previous != self.head.hash and not self._doubtful:
            yield f"{sealed.name} does not follow on the seal before it: one of the two seals was altered"
        self._doubtful = None if sealed.fits else sealed
        self.head = Head(sealed.position, sealed.hash)
        if self._kept.get(sealed.position, set()) - {sealed.hash}:
            yield f"{sealed.name} has another hash than the head that was kept: the chain was written anew"

    def verify_end(self) -> Iterator[str]:
        """Once all were taken."""
        yield from self._verdict(None)
        last = max(self._kept, default=0)
        if last > self.head.position:
            gone = _missing(self.head.position + 1, last)
            yield f"{gone}: the chain ends before the head that was kept"

    def _verdict(self, known_hash: bytes | None) -> Iterator[str]:
        """About the doubtful one, by the hash that the seal behind it knows it by."""
        doubtful = self._doubtful
        if doubtful is None:
            return
        if doubtful.digest is None:
            yield f"{doubtful.name} is missing: its seal is there, it is not"
        elif known_hash is None:
            yield f"{doubtful.name} is not what was sealed: the event or its seal was altered"
        elif known_hash == doubtful.hash:
            yield f"{doubtful.name} is not what was sealed: it was altered, or another stands in its place"
        else:
            yield f"{doubtful.name} is not what was sealed: its seal was altered"


def _missing(first: int, last: int) -> str:
    places = f"position {first} is" if first == last else f"positions {first} to {last} are"
    return f"{places} missing"
