"""Write files atomically: as a draft in the same folder, synced, then renamed."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class InvalidTarget(Exception):
    """The name is not one that a file may have; the message is a sentence."""


def is_special_file(name: str | Path) -> bool:
    """Return whether there is something that is neither a file nor a folder: a pipe, a device, a socket."""
    try:
        mode = Path(name).stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextmanager
def atomic_write(name: str | Path, *, is_private: bool = False) -> Iterator[Path]:
    """Yield a new, empty file; when the block ends well, it takes the place of `name`.

    A symbolic link stays one, and the file that it names is replaced. The new file belongs to the account
    that runs this. It keeps the permissions of the old one, or is the owner's alone if it `is_private`.
    Raises `InvalidTarget` and `OSError`, and then nothing has changed.
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
        # In a folder like /tmp anybody can leave a link that leads to a file of ours.
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
    """Make sure that a file, or the names in a folder, are on the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
