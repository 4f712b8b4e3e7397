"""The signing key of an installation that was not given one."""

import os
import secrets
from pathlib import Path

_REMEDY = (
    "Put the key back that was kept beside the backups, or set COGNIREVIEW_SECRET_KEY. To go on with a new "
    "one, which ends all sessions and makes second factors unreadable: openssl rand -hex 40 > '{path}'"
)


class UnusableKey(Exception):
    """The key is lost; the message says what to do, in one line."""


def read_or_create(path: Path, cluster: Path | None = None) -> str:
    """Return the key kept at `path`, making it first where there is none.

    Processes that start at the same moment agree: the key is written beside and linked into
    place, and whoever comes second reads what the first one linked. Where the `cluster` exists, the key was
    made before: then a new one would make what it encrypted unreadable. Raises `UnusableKey` and `OSError`.
    """
    if not path.exists():
        if cluster and cluster.exists():
            raise UnusableKey(f"{path} is missing, and the database exists. {_REMEDY.format(path=path)}")
        _create(path)
    key = path.read_bytes().decode(errors="replace").strip()
    if not key:
        raise UnusableKey(f"{path} is empty. {_REMEDY.format(path=path)}")
    return key


def _create(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        draft.touch(mode=0o600, exist_ok=False)
        with draft.open("w") as file:
            file.write(secrets.token_urlsafe(64))
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)
