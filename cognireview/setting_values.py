"""Validate settings. Each function returns the value, or raises `ValueError` with the accepted values."""

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import ProgrammingError
from pydantic import SecretStr

SHORTEST_KEY = 50
# Variables of the client and of scripts, which are no settings of the server.
CLIENT_VARIABLES = ("COGNIREVIEW_URL", "COGNIREVIEW_TOKEN")
_SHORTEST_TOKEN = 20
# A name or address, or an IPv6 address in brackets, with an optional port.
_HOST = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", re.IGNORECASE)
_ROLES = ("reviewer", "lead", "admin")


def postgresql_url(url: str) -> str:
    if url and not url.startswith(("postgresql://", "postgres://")):
        raise ValueError("takes a URL that starts with postgresql://")
    try:
        conninfo_to_dict(url)
    except ProgrammingError as error:
        raise ValueError(f"takes a PostgreSQL URL: {error}") from error
    return url


def check_server(value: Any, url: str | None) -> Any:
    """Check a setting that applies to the server in `DATABASE_URL`, which is `None` if it is wrong itself."""
    if value and url == "":
        raise ValueError("needs DATABASE_URL")
    parts = conninfo_to_dict(url or "")
    if value is True and "options" in parts:
        raise ValueError("does not allow `options` in DATABASE_URL: set them with ALTER ROLE")
    if value and isinstance(value, SecretStr) and "password" in parts:
        raise ValueError("is in DATABASE_URL, too: remove one of them")
    return value


def web_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("takes a URL like https://review.example.org")
    return url.rstrip("/")


def mail_url(url: SecretStr) -> SecretStr:
    parts = urlsplit(url.get_secret_value())
    if url.get_secret_value() and (parts.scheme not in {"smtp", "smtps"} or not parts.hostname):
        raise ValueError("takes a URL like smtp://name:password@mail.example.org:587")
    return url


def long_enough(token: SecretStr) -> SecretStr:
    if token.get_secret_value() and len(token.get_secret_value()) < _SHORTEST_TOKEN:
        raise ValueError(f"takes {_SHORTEST_TOKEN} characters or more")
    return token


def group_roles(text: str) -> str:
    pairs = [pair.partition("=") for pair in text.split(",")] if text else []
    if any(not group.strip() or role.strip() not in _ROLES for group, _, role in pairs):
        raise ValueError(f"takes group=role, group=role, ... where a role is one of {', '.join(_ROLES)}")
    return text


def roles(text: str) -> str:
    if set(entries(text)) - set(_ROLES):
        raise ValueError(f"takes roles with commas between: {', '.join(_ROLES)}")
    return text


def hosts(text: str) -> str:
    for entry in entries(text):
        if not (_HOST.fullmatch(entry) or _is_network(entry)):
            raise ValueError(f"takes host, host:port, address or network, with commas between: not {entry!r}")
    return text


def entries(text: str) -> list[str]:
    return [entry.strip().lower() for entry in text.split(",")] if text else []


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


def split_old_keys(keys: SecretStr) -> list[str]:
    """Split a list of keys at commas, spaces and line ends."""
    return keys.get_secret_value().replace(",", " ").split()


def check_old_keys(keys: SecretStr) -> SecretStr:
    """Raise `ValueError` unless each key of the list is long enough."""
    if any(len(key) < SHORTEST_KEY for key in split_old_keys(keys)):
        raise ValueError(
            f"takes keys of {SHORTEST_KEY} characters or more, with a comma, a space or a line end between"
        )
    return keys


def read_file(path: Path) -> str:
    """Return the value of a setting in a file, without its final line end."""
    try:
        content = path.read_text()
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError("the file is not UTF-8 text") from error
    if not content.strip():
        raise ValueError("the file is empty")
    return content.rstrip("\r\n")
