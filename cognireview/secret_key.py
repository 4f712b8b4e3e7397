"""The signing key of an installation that was not given one, and the keys it had before."""

import secrets
from pathlib import Path

from pydantic import SecretStr

SHORTEST = 50


def split_old_keys(keys: SecretStr) -> list[str]:
    """Return the keys of a list with commas, spaces or line ends between."""
    return keys.get_secret_value().replace(",", " ").split()


def check_old_keys(keys: SecretStr) -> SecretStr:
    """Raise `ValueError` unless each key of the list is long enough."""
    if any(len(key) < SHORTEST for key in split_old_keys(keys)):
        raise ValueError(
            f"takes keys of {SHORTEST} characters or more, with a comma, a space or a line end between"
        )
    return keys


def read_or_create(path: Path) -> str:
    """Return the key kept at `path`, making it first where there is none.

    Processes that start at the same moment agree: the key is written beside and linked into
    place, and whoever comes second reads what the first one linked.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(64))
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()
