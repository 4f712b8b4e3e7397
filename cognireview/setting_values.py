"""Validate settings. Each function returns the value of a text, or raises `ValueError` with valid values."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import ProgrammingError

SHORTEST_KEY = 50
# Variables of the client and of scripts, which are no settings of the server.
CLIENT_VARIABLES = ("COGNIREVIEW_URL", "COGNIREVIEW_TOKEN")
# A name or address, or an IPv6 address in brackets, with an optional port.
_HOST = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", re.IGNORECASE)
_ESCAPES = "Escape signs like %, @, / and : in its password (%25, %40, %2F, %3A), or set DATABASE_PASSWORD"
_ROLES = ("reviewer", "lead", "admin")
_BOOLEANS = dict.fromkeys(("true", "1", "yes", "on"), True) | dict.fromkeys(
    ("false", "0", "no", "off"), False
)


@dataclass(frozen=True)
class Secret:
    """A confidential text, which its representation hides."""

    value: str = field(repr=False)


def boolean(text: str) -> bool:
    try:
        return _BOOLEANS[text.lower()]
    except KeyError:
        raise ValueError("takes true or false") from None


def integer(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a function that reads an integer within limits."""
    return _number(int, "a whole number", least, most)


def number(least: float, most: float) -> Callable[[str], float]:
    """Return a function that reads a number within limits."""
    return _number(float, "a number", least, most)


def _number(kind: Callable[[str], Any], noun: str, least: float, most: float | None) -> Callable[[str], Any]:
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not (least <= value and (most is None or value <= most)):
            raise ValueError(f"takes {noun} {limits}")
        return value

    return read


def choice(*choices: str) -> Callable[[str], str]:
    """Return a function that reads one of several words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"takes {', '.join(choices[:-1])} or {choices[-1]}")
        return text

    return read


def secret(least: int) -> Callable[[str], Secret]:
    """Return a function that reads a confidential text with a minimum length."""

    def read(text: str) -> Secret:
        if len(text) < least:
            raise ValueError(f"takes {least} characters or more")
        return Secret(text)

    return read


def postgresql_url(url: str) -> str:
    if not url:
        return url
    if not url.startswith(("postgresql://", "postgres://")):
        raise ValueError("takes a URL that starts with postgresql://")
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError as error:
        # libpq quotes the text that it cannot parse, which may be a part of the password.
        reason, *_ = re.split(r"[:\s]*\"", str(error).strip(), maxsplit=1)
        raise ValueError(f"takes a PostgreSQL URL: {reason}. {_ESCAPES}") from error
    numbers = [*str(parts.get("port", "")).split(","), str(parts.get("connect_timeout", ""))]
    if any(number and not number.isdecimal() for number in numbers):
        raise ValueError(f"takes a PostgreSQL URL: its port and connect_timeout are numbers. {_ESCAPES}")
    if not (parts.get("dbname") or parts.get("service")):
        raise ValueError("takes a URL with the name of a database, like postgresql://user@host/cognireview")
    return url


def web_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not _has_valid_port(parts):
        raise ValueError("takes a URL like https://review.example.org")
    return url.rstrip("/")


def site_url(url: str) -> str:
    """Read the address of the site, which has no path."""
    address = web_url(url)
    if not _HOST.fullmatch(address.partition("://")[2]):
        raise ValueError("takes a URL like https://review.example.org, without a path")
    return address


def _has_valid_port(parts: SplitResult) -> bool:
    try:
        return parts.port != 0
    except ValueError:
        return False


def mail_url(url: str) -> Secret:
    parts = urlsplit(url)
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname or not _has_valid_port(parts):
        raise ValueError("takes a URL like smtp://name:password@mail.example.org:587")
    return Secret(url)


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


def split_old_keys(keys: Secret) -> list[str]:
    """Split a list of keys at commas, spaces and line ends."""
    return keys.value.replace(",", " ").split()


def old_keys(text: str) -> Secret:
    """Check that each key of a list is long enough."""
    keys = Secret(text)
    if any(len(key) < SHORTEST_KEY for key in split_old_keys(keys)):
        raise ValueError(
            f"takes keys of {SHORTEST_KEY} characters or more, with a comma, a space or a line end between"
        )
    return keys


def read_file(path: Path, *, unless: str) -> str:
    """Return the value of a setting in a file, without its final line end.

    `unless` is the variable of the same setting, if it is set.
    """
    if unless:
        raise ValueError(f"{unless} is set, too: remove one of them")
    try:
        content = path.read_text()
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError("the file is not UTF-8 text") from error
    if not content.strip():
        raise ValueError("the file is empty")
    return content.rstrip("\r\n")
