"""The address of the server and the token, as arguments or from the environment."""

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from cognireview.client.errors import InvalidSettings

URL = "COGNIREVIEW_URL"
TOKEN = "COGNIREVIEW_TOKEN"  # noqa: S105 (the name of a variable)


@dataclass(frozen=True)
class Settings:
    """Where requests go, and with which token."""

    #: With the prefix of the API, and without a slash at the end.
    address: str
    token: str = field(repr=False)


def read_settings(url: str | None, token: str | None) -> Settings:
    """Return the settings. The environment replaces None. Raises `InvalidSettings`."""
    url, token = (
        (os.environ.get(name, "") if given is None else given).strip()
        for name, given in ((URL, url), (TOKEN, token))
    )
    missing = [name for name, given in ((URL, url), (TOKEN, token)) if not given]
    if missing:
        raise InvalidSettings(f"Set {' and '.join(missing)}, or pass url and token.")
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise InvalidSettings(f"{TOKEN} is not a token: it has spaces or characters that no token has.")
    return Settings(_address(url), token)


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or parts.query or parts.fragment or parts.username is not None:
        raise InvalidSettings(f"{URL} is not an address such as https://review.example.org: {url!r}.")
    return url.rstrip("/").removesuffix("/api/v1") + "/api/v1"
