"""Write a command's output to standard output, a pipe or device, or atomically to a file."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

from django.core.management.base import CommandError

from cognireview.operations.atomic_files import InvalidTarget, atomic_write, is_special_file
from reviews.database.held_transaction import close
from reviews.database.replica import ReplicaLost, retry_if_lost
from reviews.storage.corruption import CorruptData

# Names of open descriptors. They may lead to a file that other processes write, so it must not be replaced.
_OPEN = re.compile(r"/dev/stdout|/dev/stderr|/(?:dev|proc/self)/fd/(?P<number>[0-9]{1,9})", re.ASCII)
_NUMBERS = {"/dev/stdout": 1, "/dev/stderr": 2}
_INCOMPLETE = "The output is incomplete"

_Blocks = TypeVar("_Blocks", bound=Iterable[bytes])


def write(name: str | None, blocks: Iterable[bytes]) -> None:
    """Write the blocks to the named file, or to standard output. Raises `CommandError`.

    A thread writes each block while the next one is produced.
    """
    try:
        with _target(name) as file, ThreadPoolExecutor(1, "write") as pool:
            written = pool.submit(file.write, b"")
            for block in blocks:
                written.result()
                written = pool.submit(file.write, block)
            written.result()
    except InvalidTarget as error:
        raise CommandError(str(error), returncode=2) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CommandError(f"{name or 'Standard output'}: {error.strerror}.", returncode=2) from error
    finally:
        close(blocks)


def write_with_retry(name: str | None, begin: Callable[[], _Blocks]) -> _Blocks:
    """Write the blocks that `begin` returns, and return them. Raises `CommandError`.

    If the replica is lost, a file is written again from the start. Output to a pipe cannot be repeated.
    """

    def attempt() -> _Blocks:
        blocks = begin()
        write(name, blocks)
        return blocks

    is_repeatable = name is not None and is_file(name)
    try:
        return retry_if_lost(attempt) if is_repeatable else attempt()
    except ReplicaLost as lost:
        raise CommandError(f"{lost}. {_INCOMPLETE}: export again.", returncode=2) from lost
    except CorruptData as damaged:
        message = str(damaged) if is_repeatable else f"{damaged} {_INCOMPLETE}."
        raise CommandError(message, returncode=2) from damaged


def is_file(name: str) -> bool:
    """Return whether the name is that of a regular file, or of one that does not exist yet."""
    return _OPEN.fullmatch(name) is None and not is_special_file(name)


@contextmanager
def _target(name: str | None) -> Iterator[BinaryIO]:
    """Open standard output, an open descriptor, a pipe or device, or a file."""
    if name is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif already_open := _OPEN.fullmatch(name):
        number = _NUMBERS.get(name) or int(already_open["number"])
        with os.fdopen(os.dup(number), "wb") as file:
            yield file
    elif is_special_file(name):
        if Path(name).is_block_device():
            raise InvalidTarget(f"{name} is a disk: name a file.")
        with Path(name).open("wb") as file:
            yield file
    else:
        with atomic_write(name) as draft, draft.open("wb") as file:
            yield file
