"""Where commands write: standard output or a file, which appears when it is whole."""

import secrets
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

from django.core.management.base import CommandError

from reviews.held_transaction import close
from reviews.replica import Lost, again_if_lost

_Blocks = TypeVar("_Blocks", bound=Iterable[bytes])


def write(name: str | None, blocks: Iterable[bytes]) -> None:
    """Write to the file of that name, or to standard output. Raises `CommandError`.

    A block is written in a thread while the next one is made.
    """
    try:
        with _target(name) as file, ThreadPoolExecutor(1, "write") as pool:
            written = pool.submit(file.write, b"")
            for block in blocks:
                written.result()
                written = pool.submit(file.write, block)
            written.result()
    except OSError as error:
        raise CommandError(f"{name or 'standard output'}: {error.strerror}", returncode=2) from error
    finally:
        close(blocks)


def write_anew_if_lost(name: str | None, begin: Callable[[], _Blocks]) -> _Blocks:
    """`write` what `begin` gives, and return that. A file is begun anew if the replica was lost.

    Raises `CommandError`.
    """

    def written() -> _Blocks:
        blocks = begin()
        write(name, blocks)
        return blocks

    try:
        return again_if_lost(written) if name and is_file(name) else written()
    except Lost as lost:
        raise CommandError(f"{lost}. What was written is not whole: export again.", returncode=2) from lost


def is_file(name: str) -> bool:
    """Whether it is a file or will be one: no pipe and no device."""
    return Path(name).is_file() or not Path(name).exists()


@contextmanager
def _target(name: str | None) -> Iterator[BinaryIO]:
    """The file to write. A named one appears when it is whole, so that a broken export leaves none."""
    if name is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(name)
    if not is_file(name):
        with target.open("wb") as file:  # a pipe or a device, which a file must not replace
            yield file
        return
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with draft.open("xb") as file:
            yield file
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
