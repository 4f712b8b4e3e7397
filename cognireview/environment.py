"""Typed settings, read from environment variables, from `.env` and from files.

All wrong values are reported at once, each with its variable, the value and the accepted values.
A test compares the table in docs/settings.md with this class.
"""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from pydantic import (
    AfterValidator,
    AliasChoices,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, DotEnvSettingsSource, EnvSettingsSource, SettingsConfigDict

from cognireview import setting_values
from cognireview.setting_values import SHORTEST_KEY

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
# By alias if a field has one, as pydantic names them.
_CONFIDENTIAL = {
    "secret_key",
    "old_secret_keys",
    "DATABASE_URL",
    "DATABASE_PASSWORD",
    "DATABASE_REPLICA_URL",
    "mail_url",
    "oidc_client_secret",
    "metrics_token",
}
LOCAL_HOSTS = ["127.0.0.1", "localhost", "[::1]"]


def _from_base_dir(path: Path) -> Path:
    return (BASE_DIR / path.expanduser()).resolve()


class Environment(BaseSettings):
    """The settings. Relative paths start at `BASE_DIR`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_file=_ENV_FILE, extra="ignore", env_ignore_empty=True
    )

    data_dir: Annotated[Path, AfterValidator(_from_base_dir)] = Field(
        Path("var"),
        description="Folder of the embedded PostgreSQL, the secret key, the logs and the collected static "
        "files.",
        validate_default=True,
    )
    database_url: Annotated[str, AfterValidator(setting_values.postgresql_url)] = Field(
        "",
        validation_alias=AliasChoices("DATABASE_URL"),
        description="PostgreSQL server (15 or later) to use instead of the embedded one.",
    )
    database_password: SecretStr = Field(
        SecretStr(""),
        validation_alias=AliasChoices("DATABASE_PASSWORD"),
        description="Password for `DATABASE_URL` and `DATABASE_REPLICA_URL`, without escapes.",
    )
    transaction_pooler: bool = Field(
        default=False,
        description="`DATABASE_URL` leads to a pooler in transaction mode, such as PgBouncer.",
        validate_default=True,
    )
    database_replica_url: Annotated[str, AfterValidator(setting_values.postgresql_url)] = Field(
        "",
        validation_alias=AliasChoices("DATABASE_REPLICA_URL"),
        description="Streaming replica of that server, used to read exports and reports.",
    )
    web_role: str = Field(
        "",
        description="PostgreSQL role of web servers and workers. `migrate`, run as the owner of the tables, "
        "grants it the rights it needs.",
    )
    database_pool_size: int = Field(
        8, ge=1, le=200, description="Maximum number of database connections per web process."
    )
    secret_key: SecretStr | None = Field(
        None,
        min_length=SHORTEST_KEY,
        description="Signs sessions and links, and encrypts stored secrets. If unset, one is created in the "
        "data folder.",
    )
    old_secret_keys: Annotated[SecretStr, AfterValidator(setting_values.check_old_keys)] = Field(
        SecretStr(""),
        description="Previous secret keys, the latest first. They are accepted until you have run "
        "`manage.py rotate_keys` and removed them.",
    )
    public_url: Annotated[str, AfterValidator(setting_values.web_url)] = Field(
        "http://localhost:8000",
        description="Address of the site. With https, cookies are secure and HSTS is sent.",
    )
    session_idle_minutes: int = Field(
        480,
        ge=1,
        le=60 * 24 * 365,
        description="Minutes without an action after which a session ends. An open page is not an action.",
    )
    session_max_hours: int = Field(
        336, ge=1, le=24 * 365, description="Hours after which a session ends in any case."
    )
    trust_proxy: bool = Field(
        default=False,
        description="Trust X-Forwarded-Proto and X-Forwarded-For. Only behind a proxy that sets both.",
    )
    web_workers: int | None = Field(
        None,
        ge=1,
        le=64,
        description="Web server processes. If unset, one per core: at most 4, and one per 512 MiB of memory.",
    )
    web_threads: int = Field(
        8, ge=1, le=64, description="Number of requests that one web process handles at a time."
    )
    drain_seconds: int = Field(
        5,
        ge=0,
        le=300,
        description="Seconds for which `serve` keeps accepting requests during shutdown, while `/readyz` "
        "answers 503.",
    )
    claim_minutes: int = Field(
        15, ge=1, le=1440, description="Minutes until a claim expires without activity."
    )
    blind_share: float = Field(
        0.15, ge=0, le=1, description="Share of a new run's records that is scored blind, from 0 to 1."
    )
    restrict_new_runs: bool = Field(
        default=False, description="Only admins can see a new run, until one of them chooses its members."
    )
    max_line_bytes: int = Field(
        16 * 1024**2, ge=1024, le=256 * 1024**2, description="Maximum length of an imported line, in bytes."
    )
    max_id_bytes: int = Field(
        512, ge=36, le=800, description="Maximum length of an id or name in a record, in bytes of UTF-8."
    )
    max_nesting: int = Field(
        200, ge=8, le=250, description="Maximum nesting of objects and arrays in a line."
    )
    max_upload_bytes: int = Field(
        16 * 1024**3, ge=1024**2, description="Maximum size of a file uploaded in the browser, in bytes."
    )
    max_unpacked_bytes: int = Field(
        64 * 1024**3, ge=1024**2, description="Maximum size of a decompressed file, in bytes."
    )
    max_rejected_lines: int = Field(
        10_000,
        ge=100,
        le=1_000_000,
        description="Rejected lines after which an import stops, unless more than one in a hundred lines "
        "was valid.",
    )
    max_open_uploads: int = Field(10, ge=1, description="Maximum number of unfinished uploads per person.")
    max_open_uploads_overall: int = Field(
        100, ge=1, description="Maximum number of unfinished uploads in total."
    )
    max_open_upload_bytes: int = Field(
        32 * 1024**3, ge=1024**2, description="Maximum size of one person's unfinished uploads, in bytes."
    )
    max_open_upload_bytes_overall: int = Field(
        128 * 1024**3, ge=1024**2, description="Maximum size of all unfinished uploads, in bytes."
    )
    api_rate: int = Field(
        6000, ge=1, description="Requests of a token to the API per minute and web process."
    )
    api_rate_per_address: int = Field(
        600, ge=1, description="The same for an address, without a valid token."
    )
    stalled_worker_seconds: int = Field(
        30, ge=2, le=3600, description="Seconds without a heartbeat after which a job worker counts as dead."
    )
    keep_exports_hours: int = Field(24, ge=1, le=8760, description="Hours for which an export file is kept.")
    keep_uploads_hours: int = Field(
        24, ge=1, le=8760, description="Hours for which an unfinished upload is kept after its last part."
    )
    keep_messages_days: int = Field(
        90, ge=1, le=3650, description="Days for which a delivered or failed webhook message is kept."
    )
    keep_jobs_days: int = Field(
        30, ge=1, le=3650, description="Days for which a failed job is kept. Audit events are kept forever."
    )
    keep_sessions_days: int = Field(
        7, ge=1, le=3650, description="Days for which an expired session is kept."
    )
    keep_links_days: int = Field(
        365,
        ge=1,
        le=3650,
        description="Days for which a used or expired invitation or password link is kept.",
    )
    mail_url: Annotated[SecretStr, AfterValidator(setting_values.mail_url)] = Field(
        SecretStr(""),
        description="Mail server for invitations and notifications: `smtp://name:password@host:587`, or "
        "`smtps://` for port 465. If unset, no mail is sent.",
    )
    mail_from: str = Field("cognireview@localhost", description="Sender address of mail.")
    second_factor_roles: Annotated[str, AfterValidator(setting_values.roles)] = Field(
        "",
        description="Roles that must have a second factor: `lead, admin`. People without one are sent to set "
        "it up. Those of a login provider are exempt.",
    )
    oidc_issuer: str = Field(
        "",
        description="Issuer URL of an OpenID Connect provider for single sign-on. Unset: no single sign-on.",
    )
    oidc_client_id: str = Field(
        "", description="Client id of this site at the provider.", validate_default=True
    )
    oidc_client_secret: SecretStr = Field(
        SecretStr(""), description="Client secret of this site at the provider.", validate_default=True
    )
    oidc_name: str = Field("single sign-on", description="Name of the provider on the login page.")
    oidc_scopes: str = Field("openid profile email", description="Scopes requested from the provider.")
    oidc_group_claim: str = Field("groups", description="Claim that lists a person's groups.")
    oidc_roles: Annotated[str, AfterValidator(setting_values.group_roles)] = Field(
        "",
        description="Role of each group: `judges=reviewer, heads=lead`. The highest role applies; without "
        "one, there is no access.",
        validate_default=True,
    )
    webhook_hosts: Annotated[str, AfterValidator(setting_values.hosts)] = Field(
        "",
        description="Hosts that webhooks may reach, with the port if it is not 443, and internal networks: "
        "`hooks.example.org, ci.lan:8443, 10.1.0.0/16`. If empty, webhooks are off.",
    )
    log_level: str = Field(
        "INFO",
        pattern="^(DEBUG|INFO|WARNING|ERROR)$",
        description="Least severe level that is logged: DEBUG, INFO, WARNING or ERROR.",
    )
    log_format: str = Field(
        "text",
        pattern="^(text|json)$",
        description="Format of log lines: text, or json with the ids of request and user.",
    )
    metrics_token: Annotated[SecretStr, AfterValidator(setting_values.long_enough)] = Field(
        SecretStr(""),
        description="Bearer token for `/metrics`. If unset, the page does not exist.",
    )
    debug: bool = Field(
        default=False, description="Django's debug pages. Never use this on a reachable server."
    )

    @field_validator("database_password", "transaction_pooler", "database_replica_url")
    @classmethod
    def _check_server(cls, value: Any, others: ValidationInfo) -> Any:
        return setting_values.check_server(value, others.data.get("database_url"))

    @field_validator("oidc_issuer")
    @classmethod
    def _check_issuer(cls, issuer: str) -> str:
        return setting_values.web_url(issuer) if issuer else issuer

    @field_validator("oidc_client_id", "oidc_client_secret", "oidc_roles")
    @classmethod
    def _check_complete(cls, value: str | SecretStr, others: ValidationInfo) -> str | SecretStr:
        given = value.get_secret_value() if isinstance(value, SecretStr) else value
        if others.data.get("oidc_issuer") and not given:
            raise ValueError(f"is required with {variable_name('oidc_issuer')}")
        return value

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
            "secret": self.oidc_client_secret.get_secret_value(),
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


def variable_name(field: str) -> str:
    """Return the environment variable of a field: its alias, or the prefix and its name in capitals."""
    alias = Environment.model_fields[field].validation_alias
    if isinstance(alias, AliasChoices):
        return str(alias.choices[0])
    return PREFIX + field.upper()


def read() -> Environment:
    """Read the environment, and the files that variables ending in `_FILE` name.

    Raises `ImproperlyConfigured` with one line for each wrong variable.
    """
    try:
        files = _files()
    except OSError as error:
        raise ImproperlyConfigured(f"{_ENV_FILE} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ImproperlyConfigured(f"{_ENV_FILE} is not UTF-8 text.") from error
    values: dict[str, Any] = {}
    lines = []
    for field, path in files.items():
        try:
            values[_key(field)] = _read_file(field, path)
        except ValueError as error:
            lines.append(f"  {variable_name(field)}{FILE_SUFFIX}: got {path!r}; {error}")
    try:
        # Arguments override the environment.
        settings = Environment(**values)
    except ValidationError as error:
        lines += [_explain(problem, files) for problem in error.errors()]
    if lines:
        raise ImproperlyConfigured("Wrong settings:\n" + "\n".join(lines))
    return settings


def unknown_variables() -> list[str]:
    """Return a sentence about each variable that looks like a setting but is unknown, such as a typo."""
    names = [variable_name(field) for field in Environment.model_fields]
    ours = [*names, *(name + FILE_SUFFIX for name in names), *setting_values.CLIENT_VARIABLES]
    known = {name.lower() for name in ours}
    strange = sorted(name.upper() for name in set(_given()) - known if name.startswith(PREFIX.lower()))
    near = {name: difflib.get_close_matches(name, names, n=1, cutoff=0.8) for name in strange}
    return [
        f"{name} is not a setting." + (f" Did you mean {near[name][0]}?" if near[name] else "")
        for name in strange
    ]


def _given() -> dict[str, str | None]:
    """Return all non-empty variables of the environment and `.env`, by lower-case name."""
    return {**DotEnvSettingsSource(Environment).env_vars, **EnvSettingsSource(Environment).env_vars}


def _files() -> dict[str, str]:
    """Return the path for each field that is read from a file."""
    given = _given()
    paths = {
        field: given.get((variable_name(field) + FILE_SUFFIX).lower()) for field in Environment.model_fields
    }
    return {field: path for field, path in paths.items() if path}


def _read_file(field: str, path: str) -> str:
    """Return the content without its final line end. Raises `ValueError` with the reason."""
    if variable_name(field).lower() in _given():
        raise ValueError(f"{variable_name(field)} is set, too: remove one of them")
    return setting_values.read_file(BASE_DIR / path)


def _key(field: str) -> str:
    """Return the name that pydantic uses: the alias, if there is one."""
    return variable_name(field) if Environment.model_fields[field].validation_alias else field


def _explain(problem: Any, files: Mapping[str, str]) -> str:
    location = str(problem["loc"][0])
    name = variable_name(location) if location in Environment.model_fields else location
    from_file = next((path for field, path in files.items() if variable_name(field) == name), None)
    # A value that is kept in a file should not appear in a log either.
    got = "(hidden)" if location in _CONFIDENTIAL or from_file else repr(problem["input"])
    where = f" (in {from_file})" if from_file else ""
    return f"  {name}{where}: got {got}; {problem['msg'].removeprefix('Value error, ')}"
