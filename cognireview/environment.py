"""What can be set from outside: one typed class, read from the environment, from `.env` and from files.

Every wrong value is reported at once, each with its variable, what it got and what it takes.
A test compares the table in docs/settings.md with this class.
"""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict
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
# A wheel has in the package what lies beside it in a checkout: templates, static files, package.json.
IS_INSTALLED = (_PACKAGE / "templates").is_dir()
FILES_DIR = _PACKAGE if IS_INSTALLED else _PACKAGE.parent
# Where `.env` is, and where relative paths start: at manage.py, or where an installed program is called.
BASE_DIR = Path.cwd() if IS_INSTALLED else _PACKAGE.parent
_ENV_FILE = BASE_DIR / ".env"
PROGRAM = "cognireview" if IS_INSTALLED else "manage.py"
PREFIX = "COGNIREVIEW_"
# Behind the name of any variable: the value is in the file of that path, as secrets of containers are.
FILE_SUFFIX = "_FILE"
# As pydantic names them: by alias where there is one.
_CONFIDENTIAL = {
    "secret_key",
    "old_secret_keys",
    "DATABASE_URL",
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
        description="Folder of the embedded PostgreSQL, the secret key and the collected static files.",
        validate_default=True,
    )
    database_url: Annotated[str, AfterValidator(setting_values.postgresql_url)] = Field(
        "",
        validation_alias=AliasChoices("DATABASE_URL"),
        description="PostgreSQL server (15 or later) to use instead of the embedded one.",
    )
    transaction_pooler: bool = Field(
        default=False,
        description="The `DATABASE_URL` is that of a pooler which lends a connection for one transaction "
        "(PgBouncer's transaction mode).",
        validate_default=True,
    )
    database_replica_url: Annotated[str, AfterValidator(setting_values.postgresql_url)] = Field(
        "",
        validation_alias=AliasChoices("DATABASE_REPLICA_URL"),
        description="Streaming replica of that server, by which exports and reports are read.",
    )
    web_role: str = Field(
        "",
        description="PostgreSQL role in the `DATABASE_URL` of web servers and workers. `migrate`, run as the"
        " owner of the tables, lets it do what they need and no more.",
    )
    database_pool_size: int = Field(
        8, ge=1, le=200, description="Most database connections one web process opens."
    )
    secret_key: SecretStr | None = Field(
        None,
        min_length=SHORTEST_KEY,
        description="Signs sessions and links. When unset, one is made in the data folder at first use.",
    )
    old_secret_keys: Annotated[SecretStr, AfterValidator(setting_values.check_old_keys)] = Field(
        SecretStr(""),
        description="The secret keys before that one, the latest first. What they signed and encrypted is "
        "accepted until `manage.py rotate_keys` has run and they are taken out.",
    )
    public_url: Annotated[str, AfterValidator(setting_values.web_url)] = Field(
        "http://localhost:8000",
        description="Where people reach the site. With https, cookies are secure and HSTS is sent.",
    )
    session_idle_minutes: int = Field(
        480,
        ge=1,
        le=60 * 24 * 365,
        description="After how many minutes without an action of the person a login ends. An open page alone "
        "is no action.",
    )
    session_max_hours: int = Field(
        336, ge=1, le=24 * 365, description="After how many hours a login ends in any case."
    )
    trust_proxy: bool = Field(
        default=False,
        description="Believe X-Forwarded-Proto and -For: only behind a proxy of yours that sets both.",
    )
    web_workers: int = Field(1, ge=1, le=64, description="Web server processes that `up` starts.")
    web_threads: int = Field(8, ge=1, le=64, description="Requests one web process handles at a time.")
    drain_seconds: int = Field(
        5,
        ge=0,
        le=300,
        description="How long `serve`, told to stop, still takes requests while `/readyz` says 503.",
    )
    claim_minutes: int = Field(15, ge=1, le=1440, description="How long a record is held for a reviewer.")
    blind_share: float = Field(
        0.15,
        ge=0,
        le=1,
        description="Of the records of a new run, the share shown without the judge's scores, from 0 to 1.",
    )
    max_line_bytes: int = Field(
        16 * 1024**2, ge=1024, le=256 * 1024**2, description="Longest line that is imported, in bytes."
    )
    max_id_bytes: int = Field(
        512, ge=36, le=800, description="Longest id or name in a record, in bytes of UTF-8."
    )
    max_nesting: int = Field(
        200, ge=8, le=250, description="Deepest nesting of objects and arrays in a line."
    )
    max_upload_bytes: int = Field(
        16 * 1024**3, ge=1024**2, description="Largest file the browser may send, in bytes."
    )
    max_unpacked_bytes: int = Field(
        64 * 1024**3, ge=1024**2, description="Most bytes that a packed file may unpack to."
    )
    max_rejected_lines: int = Field(
        10_000,
        ge=100,
        le=1_000_000,
        description="An import stops after so many rejected lines if fewer than one in a hundred came in.",
    )
    max_open_uploads: int = Field(
        10, ge=1, description="Uploads that one person may have begun and not finished."
    )
    max_open_uploads_overall: int = Field(
        100, ge=1, description="Uploads that all people together may have begun and not finished."
    )
    max_open_upload_bytes: int = Field(
        32 * 1024**3, ge=1024**2, description="Most bytes that have arrived of one person's open uploads."
    )
    max_open_upload_bytes_overall: int = Field(
        128 * 1024**3, ge=1024**2, description="Most bytes that have arrived of all open uploads."
    )
    stalled_worker_seconds: int = Field(
        30, ge=2, le=3600, description="After how long without a sign of life a job worker counts as dead."
    )
    keep_exports_hours: int = Field(24, ge=1, le=8760, description="How long the file of an export is kept.")
    keep_uploads_hours: int = Field(
        24, ge=1, le=8760, description="How long an upload that is not finished is kept after its last part."
    )
    keep_messages_days: int = Field(
        90, ge=1, le=3650, description="How long a delivered or failed webhook message is kept."
    )
    keep_jobs_days: int = Field(
        30, ge=1, le=3650, description="How long a failed job is kept. The audit events are kept for good."
    )
    keep_sessions_days: int = Field(7, ge=1, le=3650, description="How long an expired session is kept.")
    keep_links_days: int = Field(
        365,
        ge=1,
        le=3650,
        description="How long a used or expired invitation or password link is kept.",
    )
    mail_url: Annotated[SecretStr, AfterValidator(setting_values.mail_url)] = Field(
        SecretStr(""),
        description="Mail server for invitations: `smtp://name:password@host:587`, or `smtps://` for port "
        "465. Unset, no mail is sent.",
    )
    mail_from: str = Field("cognireview@localhost", description="Sender of that mail.")
    oidc_issuer: str = Field(
        "", description="Issuer URL of an OpenID Connect provider people may log in with. Unset, none."
    )
    oidc_client_id: str = Field("", description="What the provider calls this site.", validate_default=True)
    oidc_client_secret: SecretStr = Field(
        SecretStr(""), description="What this site proves that with.", validate_default=True
    )
    oidc_name: str = Field("single sign-on", description="What people call the provider.")
    oidc_scopes: str = Field("openid profile email", description="What the provider is asked for.")
    oidc_group_claim: str = Field("groups", description="The claim that lists the groups of a person.")
    oidc_roles: Annotated[str, AfterValidator(setting_values.group_roles)] = Field(
        "",
        description="The role of each group: `judges=reviewer, heads=lead`. Of several, the highest; "
        "without one, no access.",
        validate_default=True,
    )
    webhook_hosts: Annotated[str, AfterValidator(setting_values.hosts)] = Field(
        "",
        description="Hosts that webhooks may go to, each with a port if it is not 443, and networks that are "
        "not public: `hooks.example.org, ci.lan:8443, 10.1.0.0/16`. Empty: webhooks are off.",
    )
    log_level: str = Field(
        "INFO",
        pattern="^(DEBUG|INFO|WARNING|ERROR)$",
        description="Least severe log line written: DEBUG, INFO, WARNING or ERROR.",
    )
    log_format: str = Field(
        "text",
        pattern="^(text|json)$",
        description="How log lines are written: text, or json with the ids of request and user.",
    )
    metrics_token: Annotated[SecretStr, AfterValidator(setting_values.long_enough)] = Field(
        SecretStr(""),
        description="What Prometheus sends as bearer token to read `/metrics`. Unset, there is no such page.",
    )
    debug: bool = Field(
        default=False, description="Django's debug pages. Never on a server others can reach."
    )

    @field_validator("transaction_pooler", "database_replica_url")
    @classmethod
    def _check_server(cls, value: bool | str, others: ValidationInfo) -> bool | str:  # noqa: FBT001 (pydantic's)
        url = others.data.get("database_url")
        if value and url == "":
            raise ValueError("is for a server of yours: set DATABASE_URL too")
        if value is True and url and "options" in conninfo_to_dict(url):
            raise ValueError("goes with no `options` in DATABASE_URL: set them for the role, by ALTER ROLE")
        return value

    @field_validator("oidc_issuer")
    @classmethod
    def _check_issuer(cls, issuer: str) -> str:
        return setting_values.web_url(issuer) if issuer else issuer

    @field_validator("oidc_client_id", "oidc_client_secret", "oidc_roles")
    @classmethod
    def _check_complete(cls, value: str | SecretStr, others: ValidationInfo) -> str | SecretStr:
        given = value.get_secret_value() if isinstance(value, SecretStr) else value
        if others.data.get("oidc_issuer") and not given:
            raise ValueError(f"is needed beside {variable_name('oidc_issuer')}")
        return value

    @property
    def webhook_targets(self) -> list[str]:
        """The entries of `webhook_hosts`."""
        return setting_values.entries(self.webhook_hosts)

    @property
    def roles_of_groups(self) -> dict[str, str]:
        """Group of the OpenID Connect provider -> role."""
        pairs = [pair.partition("=") for pair in self.oidc_roles.split(",")] if self.oidc_roles else []
        return {group.strip(): role.strip() for group, _, role in pairs}

    @property
    def oidc_apps(self) -> list[dict[str, Any]]:
        """The provider as allauth wants it; nothing where there is none."""
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
    """The environment variable of a field: its alias, or the prefix and its name in capitals."""
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
        raise ImproperlyConfigured(f"{_ENV_FILE} is not text in UTF-8: write it anew.") from error
    values: dict[str, Any] = {}
    lines = []
    for field, path in files.items():
        try:
            values[_key(field)] = _read_file(field, path)
        except ValueError as error:
            lines.append(f"  {variable_name(field)}{FILE_SUFFIX}: got {path!r}; {error}")
    try:
        # What is given here comes before the environment.
        settings = Environment(**values)
    except ValidationError as error:
        lines += [_explain(problem, files) for problem in error.errors()]
    if lines:
        raise ImproperlyConfigured("Wrong settings:\n" + "\n".join(lines))
    return settings


def unwritable(error: OSError) -> str:
    """Return a sentence about a data folder in which something cannot be written."""
    return (
        f"The data folder cannot be written ({error.filename}: {error.strerror}). It needs space and the "
        f"right to write there; {variable_name('data_dir')} names another one."
    )


def unknown_variables() -> list[str]:
    """A sentence about each variable that looks like a setting and is none: mostly a slip of the pen."""
    names = [variable_name(field) for field in Environment.model_fields]
    known = {name.lower() for name in [*names, *(name + FILE_SUFFIX for name in names)]}
    strange = sorted(name.upper() for name in set(_given()) - known if name.startswith(PREFIX.lower()))
    near = {name: difflib.get_close_matches(name, names, n=1, cutoff=0.8) for name in strange}
    return [
        f"{name} is not a setting." + (f" Do you mean {near[name][0]}?" if near[name] else "")
        for name in strange
    ]


def _given() -> dict[str, str | None]:
    """All that stands in the environment and in `.env`, by names in lower case; nothing that is empty."""
    return {**DotEnvSettingsSource(Environment).env_vars, **EnvSettingsSource(Environment).env_vars}


def _files() -> dict[str, str]:
    """Field -> path, of those that are to be read from a file."""
    given = _given()
    paths = {
        field: given.get((variable_name(field) + FILE_SUFFIX).lower()) for field in Environment.model_fields
    }
    return {field: path for field, path in paths.items() if path}


def _read_file(field: str, path: str) -> str:
    """The content without the line end behind it. Raises `ValueError` that says what is wrong with it."""
    if variable_name(field).lower() in _given():
        raise ValueError(f"{variable_name(field)} is set too: one of them is to go")
    try:
        content = (BASE_DIR / path).read_text()
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError("the file is no text in UTF-8") from error
    if not content.strip():
        raise ValueError("the file is empty")
    return content.rstrip("\r\n")


def _key(field: str) -> str:
    """What pydantic calls a field: its alias, if it has one."""
    return variable_name(field) if Environment.model_fields[field].validation_alias else field


def _explain(problem: Any, files: Mapping[str, str]) -> str:
    location = str(problem["loc"][0])
    name = variable_name(location) if location in Environment.model_fields else location
    from_file = next((path for field, path in files.items() if variable_name(field) == name), None)
    # Who keeps a value in a file does not want it in a log either.
    got = "(hidden)" if location in _CONFIDENTIAL or from_file else repr(problem["input"])
    where = f" (in {from_file})" if from_file else ""
    return f"  {name}{where}: got {got}; {problem['msg'].removeprefix('Value error, ')}"
