"""Create and read the secret key of an installation that has none in its settings."""

import os
import secrets
from pathlib import Path

_REMEDY = (
    "Restore the key that was stored with the backups, or set COGNIREVIEW_SECRET_KEY. To continue with a new "
    "one, which ends all sessions and makes second factors unreadable: openssl rand -hex 40 > '{path}'"
)


class UnusableKey(Exception):
    """The key is lost. The message says what to do, in one line."""


def read_or_create(path: Path, cluster: Path | None = None) -> str:
    """Return the key in the file `path`. Create the key if it does not exist.

    Processes that start at the same time agree on one key: it is written to a draft and hard-linked, and the
    second process reads the first one's file. If the `cluster` exists, a missing key is an error, because a
    new key could not decrypt stored secrets. Raises `UnusableKey` and `OSError`.
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
