"""Typed settings from environment variables. One error lists all invalid values."""

import os
import re
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from cognireview import environment
from cognireview import settings as cognireview_settings
from cognireview.client import transport
from cognireview.environment import BASE_DIR, read
from cognireview.operations.secret_key import read_or_create


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith((environment.PREFIX, "DATABASE_")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(environment, "_ENV_FILE", Path("nowhere"))


class TestSingleSignOn:
    def test_single_sign_on_is_off_by_default(self) -> None:
        assert read().oidc_apps == []

    def test_single_sign_on_reads_provider_and_group_roles(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COGNIREVIEW_OIDC_ISSUER", "https://id.example.org/")
        monkeypatch.setenv("COGNIREVIEW_OIDC_CLIENT_ID", "cognireview")
        monkeypatch.setenv("COGNIREVIEW_OIDC_CLIENT_SECRET", "hush")
        monkeypatch.setenv("COGNIREVIEW_OIDC_ROLES", "judges = reviewer, heads=lead")
        [app] = read().oidc_apps
        assert app["settings"] == {"server_url": "https://id.example.org"}
        assert read().roles_of_groups == {"judges": "reviewer", "heads": "lead"}

    def test_single_sign_on_names_all_missing_settings(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COGNIREVIEW_OIDC_ISSUER", "https://id.example.org")
        with pytest.raises(ImproperlyConfigured) as raised:
            read()
        for name in ("CLIENT_ID", "CLIENT_SECRET", "ROLES"):
            assert f"COGNIREVIEW_OIDC_{name}: " in str(raised.value)
        assert "is required with COGNIREVIEW_OIDC_ISSUER" in str(raised.value)

    @pytest.mark.parametrize("roles", ["judges", "judges=owner", "=lead", "a=lead,"])
    def test_single_sign_on_rejects_unknown_role(self, monkeypatch: pytest.MonkeyPatch, roles: str) -> None:
        monkeypatch.setenv("COGNIREVIEW_OIDC_ROLES", roles)
        with pytest.raises(ImproperlyConfigured, match="takes group=role"):
            read()


class TestServers:
    """A pooler before the server in `DATABASE_URL`, and a replica of it."""

    URL = "postgresql://max:hush@db.example.org/cognireview"

    @pytest.mark.parametrize(
        ("variable", "value"), [("COGNIREVIEW_TRANSACTION_POOLER", "true"), ("DATABASE_REPLICA_URL", URL)]
    )
    def test_database_options_match_the_named_server(
        self, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(variable, value)
        with pytest.raises(ImproperlyConfigured, match=f"{variable}: .*needs DATABASE_URL") as raised:
            read()
        assert "hush" not in str(raised.value)
        monkeypatch.setenv("DATABASE_URL", self.URL)
        assert read().transaction_pooler or read().database_replica_url == self.URL

    def test_one_of_several_hosts_is_given_up_early(self) -> None:
        several = "postgresql://db1:5432,db2:5433/x?target_session_attrs=read-write&connect_timeout=9"
        given = cognireview_settings._server(several)
        assert (given["HOST"], given["PORT"]) == ("db1,db2", "5432,5433")
        assert given["OPTIONS"]["target_session_attrs"] == "read-write"
        assert (given["OPTIONS"]["connect_timeout"], given["OPTIONS"]["tcp_user_timeout"]) == ("9", "10000")
        assert cognireview_settings._server(self.URL)["OPTIONS"] == {}

    def test_password_may_be_apart_from_the_url(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "password").write_text("p@ss/word\n")
        monkeypatch.setenv("DATABASE_PASSWORD_FILE", str(tmp_path / "password"))
        with pytest.raises(ImproperlyConfigured, match=r"DATABASE_PASSWORD .*needs DATABASE_URL") as raised:
            read()
        assert "p@ss" not in str(raised.value)
        monkeypatch.setenv("DATABASE_URL", self.URL)
        with pytest.raises(ImproperlyConfigured, match="is in DATABASE_URL, too"):
            read()
        monkeypatch.setenv("DATABASE_URL", self.URL.replace(":hush", ""))
        monkeypatch.setattr(cognireview_settings, "ENVIRONMENT", read())
        assert cognireview_settings._server(read().database_url)["PASSWORD"] == "p@ss/word"
        assert cognireview_settings._server(self.URL)["PASSWORD"] == "hush"

    @pytest.mark.parametrize(
        ("url", "problem"),
        [
            ("postgresql://max:hu%sh@db/x", r"invalid percent-encoded token\. Escape signs like %"),
            (
                "postgresql://max:hush@[::1/x",
                "end of string reached .* matching. Escape",
            ),
            ("postgresql://max:hu/sh@db/x", "its port and connect_timeout are numbers"),
            ("postgresql://max:hush@db/x?connect_timeout=soon", "its port and connect_timeout are numbers"),
            ("postgresql://max:hush@db", "takes a URL with the name of a database, like postgresql://"),
        ],
    )
    def test_unreadable_url_is_reported_without_its_password(
        self, url: str, problem: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for variable in ("DATABASE_URL", "DATABASE_REPLICA_URL"):
            monkeypatch.setenv(variable, url)
        with pytest.raises(ImproperlyConfigured, match=rf"got \(hidden\); .*{problem}") as raised:
            read()
        assert not re.search("hush|hu%sh|hu/sh|: hu", str(raised.value))
        assert str(raised.value).count("\n") == 2

    def test_pooler_gets_no_connection_options(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DATABASE_URL", f"{self.URL}?options=-csearch_path%3Dother")
        assert not read().transaction_pooler
        monkeypatch.setenv("COGNIREVIEW_TRANSACTION_POOLER", "true")
        with pytest.raises(ImproperlyConfigured, match="ALTER ROLE") as raised:
            read()
        assert "hush" not in str(raised.value)


class TestMail:
    def test_mail_server_setting_hides_secrets(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COGNIREVIEW_MAIL_URL", "http://max:hush@mail.example.org")
        with pytest.raises(ImproperlyConfigured, match="takes a URL like smtp://") as raised:
            read()
        assert "hush" not in str(raised.value)
        monkeypatch.setenv("COGNIREVIEW_MAIL_URL", "smtp://max:hush@mail.example.org:587")
        assert "hush" not in repr(read())

    @pytest.mark.parametrize("port", ["0", "99999", "mail"])
    def test_mail_server_with_an_invalid_port_is_refused(
        self, port: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COGNIREVIEW_MAIL_URL", f"smtp://mail.example.org:{port}")
        with pytest.raises(ImproperlyConfigured, match="takes a URL like smtp://"):
            read()


class TestEnvironment:
    def test_environment_may_be_empty(self) -> None:
        assert read().data_dir == BASE_DIR / "var"
        assert not read().debug
        assert not read().https

    def test_environment_variables_are_typed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COGNIREVIEW_CLAIM_MINUTES", "30")
        monkeypatch.setenv("COGNIREVIEW_TRUST_PROXY", "true")
        monkeypatch.setenv("DATABASE_URL", "postgresql://cognireview@db.example.org/cognireview")
        assert (read().claim_minutes, read().trust_proxy) == (30, True)
        assert read().database_url.endswith("/cognireview")

    def test_environment_overrides_env_file(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        (tmp_path / ".env").write_text("COGNIREVIEW_WEB_WORKERS=2\nCOGNIREVIEW_WEB_THREADS=2\nOTHER=1\n")
        monkeypatch.setattr(environment, "_ENV_FILE", tmp_path / ".env")
        monkeypatch.setenv("COGNIREVIEW_WEB_THREADS", "3")
        assert (read().web_workers, read().web_threads) == (2, 3)

    def test_example_env_file_is_valid(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = read()
        monkeypatch.setattr(environment, "_ENV_FILE", BASE_DIR / ".env.example")
        assert read() == before

    def test_example_env_file_shows_defaults(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        example = (BASE_DIR / ".env.example").read_text()
        (tmp_path / ".env").write_text(example.replace("# COGNIREVIEW_", "COGNIREVIEW_"))
        before = read()
        monkeypatch.setattr(environment, "_ENV_FILE", tmp_path / ".env")
        assert read() == before

    @pytest.mark.parametrize(
        ("given", "path"), [("data", BASE_DIR / "data"), ("/srv/data", Path("/srv/data"))]
    )
    def test_relative_paths_start_at_the_project(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str, path: Path
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COGNIREVIEW_DATA_DIR", given)
        assert read().data_dir == path

    @pytest.mark.parametrize(
        ("url", "hosts"),
        [
            ("https://review.example.org/", ["review.example.org"]),
            ("http://localhost:9000", []),
        ],
    )
    def test_public_host_is_allowed_with_local_hosts(
        self, monkeypatch: pytest.MonkeyPatch, url: str, hosts: list[str]
    ) -> None:
        monkeypatch.setenv("COGNIREVIEW_PUBLIC_URL", url)
        assert read().allowed_hosts == ["127.0.0.1", "localhost", "[::1]", *hosts]
        assert not read().public_url.endswith("/")

    @pytest.mark.parametrize(
        "url",
        [
            "https://example.org/review",
            "https://example.org:99999",
            "https://example.org?x=1",
            "https://max@example.org",
            "https://exam ple.org",
        ],
    )
    def test_public_url_with_more_than_host_and_port_is_refused(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COGNIREVIEW_PUBLIC_URL", url)
        with pytest.raises(ImproperlyConfigured, match="takes a URL like https://review"):
            read()


class TestInvalidValue:
    def test_invalid_value_is_named_with_all_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COGNIREVIEW_WEB_WORKERS", "none")
        monkeypatch.setenv("COGNIREVIEW_PUBLIC_URL", "review.example.org")
        with pytest.raises(ImproperlyConfigured) as caught:
            read()
        heading, url, workers = str(caught.value).splitlines()
        assert heading == "Wrong settings:"
        assert url == (
            "  COGNIREVIEW_PUBLIC_URL: got 'review.example.org'; takes a URL like https://review.example.org"
        )
        assert workers.startswith("  COGNIREVIEW_WEB_WORKERS: got 'none'; takes a whole number from 1 to 64")

    @pytest.mark.parametrize(
        ("variable", "value", "accepted"),
        [
            ("COGNIREVIEW_WEB_WORKERS", "65", "a whole number from 1 to 64"),
            ("COGNIREVIEW_API_RATE", "0", "a whole number of at least 1"),
            ("COGNIREVIEW_BLIND_SHARE", "nan", "a number from 0 to 1"),
            ("COGNIREVIEW_DEBUG", "maybe", "true or false"),
            ("COGNIREVIEW_LOG_LEVEL", "info", "DEBUG, INFO, WARNING or ERROR"),
        ],
    )
    def test_invalid_value_is_reported_with_the_accepted_ones(
        self, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, accepted: str
    ) -> None:
        monkeypatch.setenv(variable, value)
        with pytest.raises(ImproperlyConfigured, match=f"{variable}: got '{value}'; takes {accepted}$"):
            read()

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("COGNIREVIEW_SECRET_KEY", "hunter2"),
            ("DATABASE_URL", "mysql://ana:hunter2@localhost/cognireview"),
            ("DATABASE_URL", "postgresql://ana:hunter2@localhost/cognireview?colour=blue"),
        ],
    )
    def test_invalid_secret_is_not_shown(
        self, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
    ) -> None:
        monkeypatch.setenv(variable, value)
        with pytest.raises(ImproperlyConfigured, match=variable) as caught:
            read()
        assert "hunter2" not in str(caught.value)


class TestSecretFile:
    """Any variable may name a file instead, by `_FILE` behind its name."""

    def test_secret_file_contains_the_value(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        (tmp_path / "key").write_text("k" * 64 + "\n")
        (tmp_path / "url").write_text("postgresql://ana@localhost/reviews\r\n")
        monkeypatch.setenv("COGNIREVIEW_SECRET_KEY_FILE", str(tmp_path / "key"))
        (tmp_path / ".env").write_text(f"DATABASE_URL_FILE={tmp_path / 'url'}\n")
        monkeypatch.setattr(environment, "_ENV_FILE", tmp_path / ".env")
        settings = read()
        assert settings.secret_key is not None
        assert settings.secret_key.value == "k" * 64
        assert settings.database_url == "postgresql://ana@localhost/reviews"
        assert environment.unknown_variables() == []

    def test_invalid_secret_file_is_named_without_its_content(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "threads").write_text("hunter2")
        (tmp_path / "empty").write_text("\n")
        (tmp_path / "picture").write_bytes(b"\x89PNG")
        monkeypatch.setenv("COGNIREVIEW_WEB_THREADS_FILE", str(tmp_path / "threads"))
        monkeypatch.setenv("COGNIREVIEW_SECRET_KEY_FILE", str(tmp_path / "nowhere"))
        monkeypatch.setenv("COGNIREVIEW_MAIL_URL_FILE", str(tmp_path / "empty"))
        monkeypatch.setenv("COGNIREVIEW_MAIL_FROM_FILE", str(tmp_path / "picture"))
        monkeypatch.setenv("COGNIREVIEW_PUBLIC_URL", "gopher://")
        with pytest.raises(ImproperlyConfigured) as caught:
            read()
        said = str(caught.value)
        assert f"COGNIREVIEW_WEB_THREADS (in {tmp_path / 'threads'}): got (hidden); takes a" in said
        assert f"SECRET_KEY_FILE: got '{tmp_path / 'nowhere'}'; the file cannot be read: No such file" in said
        assert "COGNIREVIEW_MAIL_URL_FILE" in said
        assert "the file is empty" in said
        assert "the file is not UTF-8 text" in said
        assert "COGNIREVIEW_PUBLIC_URL: got 'gopher://'" in said
        assert "hunter2" not in said

    def test_secret_file_with_its_variable_is_rejected(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "key").write_text("k" * 64)
        monkeypatch.setenv("COGNIREVIEW_SECRET_KEY_FILE", str(tmp_path / "key"))
        monkeypatch.setenv("COGNIREVIEW_SECRET_KEY", "s" * 64)
        with pytest.raises(ImproperlyConfigured, match="COGNIREVIEW_SECRET_KEY is set, too"):
            read()


def test_unknown_setting_is_reported_with_a_suggestion(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COGNIREVIEW_TRUST_PROXI", "true")
    monkeypatch.setenv("COGNIREVIEW_DATA_DIR", str(tmp_path))
    (tmp_path / ".env").write_text("COGNIREVIEW_SERVICE_HOST=10.0.0.1\nOTHER=1\n")
    monkeypatch.setattr(environment, "_ENV_FILE", tmp_path / ".env")
    assert environment.unknown_variables() == [
        "COGNIREVIEW_SERVICE_HOST is not a setting.",
        "COGNIREVIEW_TRUST_PROXI is not a setting. Did you mean COGNIREVIEW_TRUST_PROXY?",
    ]


def test_variables_of_the_client_are_no_unknown_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    before = environment.unknown_variables()
    for name in (transport.URL, transport.TOKEN):
        monkeypatch.setenv(name, "set")
    assert environment.unknown_variables() == before


class TestMetricsToken:
    def test_metrics_token_requires_minimum_length(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COGNIREVIEW_METRICS_TOKEN", "hunter2")
        with pytest.raises(ImproperlyConfigured, match="takes 20 characters or more") as caught:
            read()
        assert "hunter2" not in str(caught.value)


class TestSecretKey:
    def test_secret_key_is_created_once_and_private(self, tmp_path: Path) -> None:
        path = tmp_path / "var" / "secret_key"
        key = read_or_create(path)
        assert len(key) >= 50
        assert read_or_create(path) == key
        assert path.stat().st_mode & 0o777 == 0o600
        assert list(path.parent.iterdir()) == [path]
