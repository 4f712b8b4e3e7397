"""Typed settings, read from environment variables, from `.env` and from files.

All wrong values are reported at once, each with its variable, the value and the accepted values.
A test compares the table in docs/settings.md with this class. Pydantic would add 0.1 s to the start of each
command.
"""

import dataclasses
import difflib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from dotenv import dotenv_values
from psycopg.conninfo import conninfo_to_dict

from cognireview import setting_values as values
from cognireview.setting_values import SHORTEST_KEY, Secret

_PACKAGE = Path(__file__).resolve().parent
# A wheel contains templates, static files and package.json in the package. A checkout has them next to it.
IS_INSTALLED = (_PACKAGE / "templates").is_dir()
FILES_DIR = _PACKAGE if IS_INSTALLED else _PACKAGE.parent
# Folder of `.env` and of relative paths: that of manage.py, or the current folder of an installed program.
BASE_DIR = Path.cwd() if IS_INSTALLED else _PACKAGE.parent
_ENV_FILE = BASE_DIR / ".env"
PROGRAM = "cognireview" if IS_INSTALLED else "manage.py"
PREFIX = "COGNIREVIEW_"
# `NAME_FILE` is the path of a file with the value of `NAME`, such as a container secret.
FILE_SUFFIX = "_FILE"
# Settings that contain a password, apart from those of the type `Secret`.
_CONFIDENTIAL = {"database_url", "database_replica_url"}
LOCAL_HOSTS = ["127.0.0.1", "localhost", "[::1]"]


def _setting(
    default: Any, convert: Callable[[str], object], description: str, *, variable: str | None = None
) -> Any:
    """Declare a setting.

    `convert` returns the value of a text, or raises `ValueError` with the accepted values. The
    variable is that of the name with the prefix, unless it is given.
    """
    metadata = {"convert": convert, "description": description, "variable": variable}
    return dataclasses.field(default=default, metadata=metadata)


def _switch(description: str) -> Any:
    """Declare a setting that is off by default."""
    return _setting(False, values.boolean, description)  # noqa: FBT003 the value of the setting


@dataclass
class Environment:
    """The settings. Relative paths start at `BASE_DIR`."""

    data_dir: Path = _setting(
        Path("var"),
        Path,
        "Folder of the embedded PostgreSQL, the secret key, the logs and the collected static files.",
    )
    database_url: str = _setting(
        "",
        values.postgresql_url,
        "PostgreSQL server (15 or later) to use instead of the embedded one.",
        variable="DATABASE_URL",
    )
    database_password: Secret = _setting(
        Secret(""),
        Secret,
        "Password for `DATABASE_URL` and `DATABASE_REPLICA_URL`, without escapes.",
        variable="DATABASE_PASSWORD",
    )
    transaction_pooler: bool = _switch(
        "`DATABASE_URL` leads to a pooler in transaction mode, such as PgBouncer."
    )
    database_replica_url: str = _setting(
        "",
        values.postgresql_url,
        "Streaming replica of that server, used to read exports and reports.",
        variable="DATABASE_REPLICA_URL",
    )
    web_role: str = _setting(
        "",
        str,
        "PostgreSQL role of web servers and workers. `migrate`, run as the owner of the tables, grants it "
        "the rights it needs.",
    )
    database_pool_size: int = _setting(
        8, values.integer(1, 200), "Maximum number of database connections per web process."
    )
    secret_key: Secret | None = _setting(
        None,
        values.secret(SHORTEST_KEY),
        "Signs sessions and links, and encrypts stored secrets. If unset, one is created in the data folder.",
    )
    old_secret_keys: Secret = _setting(
        Secret(""),
        values.old_keys,
        "Previous secret keys, the latest first. They are accepted until you have run `manage.py "
        "rotate_keys` and removed them.",
    )
    public_url: str = _setting(
        "http://localhost:8000",
        values.site_url,
        "Address of the site. With https, cookies are secure and HSTS is sent.",
    )
    session_idle_minutes: int = _setting(
        480,
        values.integer(1, 60 * 24 * 365),
        "Minutes without an action after which a session ends. An open page is not an action.",
    )
    session_max_hours: int = _setting(
        336, values.integer(1, 24 * 365), "Hours after which a session ends in any case."
    )
    trust_proxy: bool = _switch(
        "Trust X-Forwarded-Proto and X-Forwarded-For. Only behind a proxy that sets both."
    )
    web_workers: int | None = _setting(
        None,
        values.integer(1, 64),
        "Web server processes. If unset, one per core, with `up` one per two cores: at most 4, and one per "
        "512 MiB of memory.",
    )
    web_threads: int = _setting(
        8, values.integer(1, 64), "Number of requests that one web process handles at a time."
    )
    drain_seconds: int = _setting(
        5,
        values.integer(0, 300),
        "Seconds for which `serve` keeps accepting requests during shutdown, while `/readyz` answers 503.",
    )
    claim_minutes: int = _setting(
        15, values.integer(1, 1440), "Minutes until a claim expires without activity."
    )
    blind_share: float = _setting(
        0.15, values.number(0, 1), "Share of a new run's records that is scored blind, from 0 to 1."
    )
    restrict_new_runs: bool = _switch("Only admins can see a new run, until one of them chooses its members.")
    max_line_bytes: int = _setting(
        16 * 1024**2, values.integer(1024, 256 * 1024**2), "Maximum length of an imported line, in bytes."
    )
    max_id_bytes: int = _setting(
        512, values.integer(36, 800), "Maximum length of an id or name in a record, in bytes of UTF-8."
    )
    max_nesting: int = _setting(
        200, values.integer(8, 250), "Maximum nesting of objects and arrays in a line."
    )
    max_upload_bytes: int = _setting(
        16 * 1024**3, values.integer(1024**2), "Maximum size of a file uploaded in the browser, in bytes."
    )
    max_unpacked_bytes: int = _setting(
        64 * 1024**3, values.integer(1024**2), "Maximum size of a decompressed file, in bytes."
    )
    max_rejected_lines: int = _setting(
        10_000,
        values.integer(100, 1_000_000),
        "Rejected lines after which an import stops, unless more than one in a hundred lines was valid.",
    )
    max_open_uploads: int = _setting(
        10, values.integer(1), "Maximum number of unfinished uploads per person."
    )
    max_open_uploads_overall: int = _setting(
        100, values.integer(1), "Maximum number of unfinished uploads in total."
    )
    max_open_upload_bytes: int = _setting(
        32 * 1024**3, values.integer(1024**2), "Maximum size of one person's unfinished uploads, in bytes."
    )
    max_open_upload_bytes_overall: int = _setting(
        128 * 1024**3, values.integer(1024**2), "Maximum size of all unfinished uploads, in bytes."
    )
    api_rate: int = _setting(
        6000, values.integer(1), "Requests of a token to the API per minute and web process."
    )
    api_rate_per_address: int = _setting(
        600, values.integer(1), "The same for an address, without a valid token."
    )
    stalled_worker_seconds: int = _setting(
        30, values.integer(2, 3600), "Seconds without a heartbeat after which a job worker counts as dead."
    )
    keep_exports_hours: int = _setting(24, values.integer(1, 8760), "Hours for which an export file is kept.")
    keep_uploads_hours: int = _setting(
        24, values.integer(1, 8760), "Hours for which an unfinished upload is kept after its last part."
    )
    keep_messages_days: int = _setting(
        90, values.integer(1, 3650), "Days for which a delivered or failed webhook message is kept."
    )
    keep_jobs_days: int = _setting(
        30, values.integer(1, 3650), "Days for which a failed job is kept. Audit events are kept forever."
    )
    keep_sessions_days: int = _setting(
        7, values.integer(1, 3650), "Days for which an expired session is kept."
    )
    keep_links_days: int = _setting(
        365, values.integer(1, 3650), "Days for which a used or expired invitation or password link is kept."
    )
    mail_url: Secret = _setting(
        Secret(""),
        values.mail_url,
        "Mail server for invitations and notifications: `smtp://name:password@host:587`, or `smtps://` for "
        "port 465. If unset, no mail is sent.",
    )
    mail_from: str = _setting("cognireview@localhost", str, "Sender address of mail.")
    second_factor_roles: str = _setting(
        "",
        values.roles,
        "Roles that must have a second factor: `lead, admin`. People without one are sent to set it up. "
        "Those of a login provider are exempt.",
    )
    oidc_issuer: str = _setting(
        "",
        values.web_url,
        "Issuer URL of an OpenID Connect provider for single sign-on. Unset: no single sign-on.",
    )
    oidc_client_id: str = _setting("", str, "Client id of this site at the provider.")
    oidc_client_secret: Secret = _setting(Secret(""), Secret, "Client secret of this site at the provider.")
    oidc_name: str = _setting("single sign-on", str, "Name of the provider on the login page.")
    oidc_scopes: str = _setting("openid profile email", str, "Scopes requested from the provider.")
    oidc_group_claim: str = _setting("groups", str, "Claim that lists a person's groups.")
    oidc_roles: str = _setting(
        "",
        values.group_roles,
        "Role of each group: `judges=reviewer, heads=lead`. The highest role applies; without one, there is"
        " no access.",
    )
    webhook_hosts: str = _setting(
        "",
        values.hosts,
        "Hosts that webhooks may reach, with the port if it is not 443, and internal networks: "
        "`hooks.example.org, ci.lan:8443, 10.1.0.0/16`. If empty, webhooks are off.",
    )
    log_level: str = _setting(
        "INFO",
        values.choice("DEBUG", "INFO", "WARNING", "ERROR"),
        "Least severe level that is logged: DEBUG, INFO, WARNING or ERROR.",
    )
    log_format: str = _setting(
        "text",
        values.choice("text", "json"),
        "Format of log lines: text, or json with the ids of request and user.",
    )
    metrics_token: Secret = _setting(
        Secret(""), values.secret(20), "Bearer token for `/metrics`. If unset, the page does not exist."
    )
    debug: bool = _switch("Django's debug pages. Never use this on a reachable server.")
    #: Names of the settings that are not defaults.
    given: frozenset[str] = dataclasses.field(default=frozenset(), compare=False)

    def __post_init__(self) -> None:
        self.data_dir = (BASE_DIR / self.data_dir.expanduser()).resolve()

    @property
    def roles_of_groups(self) -> dict[str, str]:
        """Role by group of the OpenID Connect provider."""
        pairs = [pair.partition("=") for pair in self.oidc_roles.split(",")] if self.oidc_roles else []
        return {group.strip(): role.strip() for group, _, role in pairs}

    @property
    def oidc_apps(self) -> list[dict[str, Any]]:
        """Allauth's configuration of the provider; empty without a provider."""
        app = {
            "provider_id": "sso",
            "name": self.oidc_name,
            "client_id": self.oidc_client_id,
            "secret": self.oidc_client_secret.value,
            "settings": {"server_url": self.oidc_issuer},
        }
        return [app] if self.oidc_issuer else []

    @property
    def https(self) -> bool:
        return self.public_url.startswith("https://")

    @property
    def allowed_hosts(self) -> list[str]:
        host = urlsplit(self.public_url).hostname or ""
        return [*LOCAL_HOSTS, *([] if host in LOCAL_HOSTS else [host])]


FIELDS: Mapping[str, Any] = {field.name: field for field in dataclasses.fields(Environment) if field.metadata}


def variable_name(name: str) -> str:
    return FIELDS[name].metadata["variable"] or PREFIX + name.upper()


def read() -> Environment:
    """Read the environment, and the files that variables ending in `_FILE` name.

    Raises `ImproperlyConfigured` with one line for each wrong variable.
    """
    try:
        reading = _Reading(_given())
    except OSError as error:
        raise ImproperlyConfigured(f"{_ENV_FILE} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ImproperlyConfigured(f"{_ENV_FILE} is not UTF-8 text.") from error
    for name in FIELDS:
        reading.read(name)
    for name, problem in _contradictions(reading):
        if name not in reading.problems:
            reading.reject(name, problem)
    if reading.problems:
        raise ImproperlyConfigured("Wrong settings:\n" + "\n".join(reading.problems.values()))
    return Environment(**reading.values, given=frozenset(reading.values))


class _Reading:
    """The values that have been read, and a line for each setting that is wrong."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self._texts: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self.values: dict[str, Any] = {}
        self.problems: dict[str, str] = {}

    def value(self, name: str) -> Any:
        """Return a value, or the default of a setting that is not given or wrong."""
        return self.values.get(name, FIELDS[name].default)

    def read(self, name: str) -> None:
        """Read a setting, if it is given."""
        variable = variable_name(name)
        text = self._given.get(variable.lower())
        if path := self._given.get((variable + FILE_SUFFIX).lower()):
            try:
                text = values.read_file(BASE_DIR / path, unless=variable if text else "")
            except ValueError as error:
                self.problems[name] = f"  {variable}{FILE_SUFFIX}: got {path!r}; {error}"
                return
            self._files[name] = path
        if text is None:
            return
        self._texts[name] = text
        try:
            self.values[name] = FIELDS[name].metadata["convert"](text)
        except ValueError as error:
            self.reject(name, str(error))

    def reject(self, name: str, problem: str) -> None:
        """Add the line of a wrong setting, without its value if that is confidential."""
        path = self._files.get(name)
        where = f" (in {path})" if path else ""
        # A value that is kept in a file should not appear in a log either.
        is_confidential = name in _CONFIDENTIAL or "Secret" in str(FIELDS[name].type)
        got = "(hidden)" if path or is_confidential else repr(self._texts.get(name, ""))
        self.problems[name] = f"  {variable_name(name)}{where}: got {got}; {problem}"


def _contradictions(reading: _Reading) -> Iterator[tuple[str, str]]:
    """Yield settings that do not fit the database server or the login provider, with the reason."""
    if "database_url" not in reading.problems:
        url = reading.value("database_url")
        names = ("database_password", "transaction_pooler", "database_replica_url")
        given = {name for name in names if reading.value(name) != FIELDS[name].default}
        parts = conninfo_to_dict(url)
        if not url:
            yield from ((name, "needs DATABASE_URL") for name in given)
        if "transaction_pooler" in given and "options" in parts:
            yield "transaction_pooler", "does not allow `options` in DATABASE_URL: set them with ALTER ROLE"
        if "database_password" in given and "password" in parts:
            yield "database_password", "is in DATABASE_URL, too: remove one of them"
    if reading.value("oidc_issuer"):
        reason = f"is required with {variable_name('oidc_issuer')}"
        needed = ("oidc_client_id", "oidc_client_secret", "oidc_roles")
        yield from ((name, reason) for name in needed if name not in reading.values)


def unknown_variables() -> list[str]:
    """Return a sentence about each variable that looks like a setting but is unknown, such as a typo."""
    names = [variable_name(name) for name in FIELDS]
    ours = [*names, *(name + FILE_SUFFIX for name in names), *values.CLIENT_VARIABLES]
    known = {name.lower() for name in ours}
    strange = sorted(name.upper() for name in set(_given()) - known if name.startswith(PREFIX.lower()))
    near = {name: difflib.get_close_matches(name, names, n=1, cutoff=0.8) for name in strange}
    return [
        f"{name} is not a setting." + (f" Did you mean {near[name][0]}?" if near[name] else "")
        for name in strange
    ]


def _given() -> dict[str, str]:
    """Return all non-empty variables of the environment and `.env`, by lower-case name."""
    file = dotenv_values(_ENV_FILE) if _ENV_FILE.is_file() else {}
    return {name.lower(): text for name, text in {**file, **os.environ}.items() if text}
