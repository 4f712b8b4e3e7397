"""Write files atomically: as a draft in the same folder, synced, then renamed."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class InvalidTarget(Exception):
    """No file can be written there. The message is a sentence."""


def is_special_file(name: str | Path) -> bool:
    """Return whether the path is a pipe, a device or a socket."""
    try:
        mode = Path(name).stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextmanager
def atomic_write(name: str | Path, *, is_private: bool = False) -> Iterator[Path]:
    """Yield an empty draft file, which replaces `name` if the block succeeds.

    A symbolic link stays, and its target is replaced. The new file has the permissions of the old one, or is
    private to its owner if `is_private`. After `InvalidTarget` or `OSError`, nothing has changed.
    """
    target = _resolve_target(Path(name))
    draft = target.with_name(f".cognireview-{secrets.token_hex(8)}")
    try:
        draft.touch(mode=0o600 if is_private else 0o666, exist_ok=False)
        if not is_private and target.exists():
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        yield draft
        _sync(draft)
        draft.replace(target)
        _sync(target.parent)
    finally:
        draft.unlink(missing_ok=True)


def _resolve_target(path: Path) -> Path:
    """Return the path of the file to write. Raises `InvalidTarget`."""
    if is_special_file(path):
        raise InvalidTarget(f"{path} is a device or a pipe, not a file: name a file.")
    if path.is_symlink():
        # In a folder like /tmp, anybody can place a link to one of our files.
        if path.lstat().st_uid not in {0, os.geteuid()}:
            raise InvalidTarget(f"{path} is a link of another user: remove it, or name another file.")
        path = Path(os.path.realpath(path))
    if path.is_dir() or not path.name:
        raise InvalidTarget(f"{path} is a folder: name a file in it.")
    if path.is_symlink():
        raise InvalidTarget(f"{path} is a link to itself: remove it, or name another file.")
    if path.exists() and not os.access(path, os.W_OK):
        raise InvalidTarget(f"{path} exists and may not be written: name another file.")
    return path


def _sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
