"""The settings: what stands in the environment, typed, and every wrong value named at once."""

import os
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from cognireview import environment
from cognireview.environment import BASE_DIR, Environment, read
from cognireview.secret_key import read_or_create


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith((environment.PREFIX, "DATABASE_")):
            monkeypatch.delenv(name)
    monkeypatch.setitem(Environment.model_config, "env_file", None)


class TestSingleSignOn:
    def test_is_off(self) -> None:
        assert read().oidc_apps == []

    def test_takes_the_provider_and_the_role_of_each_group(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COGNIREVIEW_OIDC_ISSUER", "https://id.example.org/")
        monkeypatch.setenv("COGNIREVIEW_OIDC_CLIENT_ID", "cognireview")
        monkeypatch.setenv("COGNIREVIEW_OIDC_CLIENT_SECRET", "hush")
        monkeypatch.setenv("COGNIREVIEW_OIDC_ROLES", "judges = reviewer, heads=lead")
        [app] = read().oidc_apps
        assert app["settings"] == {"server_url": "https://id.example.org"}
        assert read().roles_of_groups == {"judges": "reviewer", "heads": "lead"}

    def test_says_all_that_is_missing_beside_the_provider(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COGNIREVIEW_OIDC_ISSUER", "https://id.example.org")
        with pytest.raises(ImproperlyConfigured) as raised:
            read()
        for name in ("CLIENT_ID", "CLIENT_SECRET", "ROLES"):
            assert f"COGNIREVIEW_OIDC_{name}: " in str(raised.value)
        assert "is needed beside COGNIREVIEW_OIDC_ISSUER" in str(raised.value)

    @pytest.mark.parametrize("roles", ["judges", "judges=owner", "=lead", "a=lead,"])
    def test_takes_no_role_that_there_is_not(self, monkeypatch: pytest.MonkeyPatch, roles: str) -> None:
        monkeypatch.setenv("COGNIREVIEW_OIDC_ROLES", roles)
        with pytest.raises(ImproperlyConfigured, match="takes group=role"):
            read()


class TestServers:
    """A pooler before the server in `DATABASE_URL`, and a replica of it."""

    URL = "postgresql://max:hush@db.example.org/cognireview"

    @pytest.mark.parametrize(
        ("variable", "value"), [("COGNIREVIEW_TRANSACTION_POOLER", "true"), ("DATABASE_REPLICA_URL", URL)]
    )
    def test_are_of_a_server_that_is_named(
        self, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(variable, value)
        with pytest.raises(ImproperlyConfigured, match=f"{variable}: .*set DATABASE_URL too") as raised:
            read()
        assert "hush" not in str(raised.value)
        monkeypatch.setenv("DATABASE_URL", self.URL)
        assert read().transaction_pooler or read().database_replica_url == self.URL

    def test_a_pooler_takes_no_options(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DATABASE_URL", f"{self.URL}?options=-csearch_path%3Dother")
        assert not read().transaction_pooler
        monkeypatch.setenv("COGNIREVIEW_TRANSACTION_POOLER", "true")
        with pytest.raises(ImproperlyConfigured, match="ALTER ROLE") as raised:
            read()
        assert "hush" not in str(raised.value)


class TestMail:
    def test_is_sent_by_a_server_with_its_secrets_hidden(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COGNIREVIEW_MAIL_URL", "http://max:hush@mail.example.org")
        with pytest.raises(ImproperlyConfigured, match="takes a URL like smtp://") as raised:
            read()
        assert "hush" not in str(raised.value)
        monkeypatch.setenv("COGNIREVIEW_MAIL_URL", "smtp://max:hush@mail.example.org:587")
        assert "hush" not in repr(read())


class TestReading:
    def test_needs_nothing_to_be_set(self) -> None:
        assert read().data_dir == BASE_DIR / "var"
        assert not read().debug
        assert not read().https

    def test_takes_variables_and_types_them(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COGNIREVIEW_CLAIM_MINUTES", "30")
        monkeypatch.setenv("COGNIREVIEW_TRUST_PROXY", "true")
        monkeypatch.setenv("DATABASE_URL", "postgresql://cognireview@db.example.org/cognireview")
        assert (read().claim_minutes, read().trust_proxy) == (30, True)
        assert read().database_url.endswith("/cognireview")

    def test_takes_a_file_and_the_environment_before_it(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / ".env").write_text("COGNIREVIEW_WEB_WORKERS=2\nCOGNIREVIEW_WEB_THREADS=2\nOTHER=1\n")
        monkeypatch.setitem(Environment.model_config, "env_file", tmp_path / ".env")
        monkeypatch.setenv("COGNIREVIEW_WEB_THREADS", "3")
        assert (read().web_workers, read().web_threads) == (2, 3)

    def test_takes_the_example_file_as_it_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = read()
        monkeypatch.setitem(Environment.model_config, "env_file", BASE_DIR / ".env.example")
        assert read() == before

    def test_takes_what_the_example_file_shows_as_the_defaults(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        example = (BASE_DIR / ".env.example").read_text()
        (tmp_path / ".env").write_text(example.replace("# COGNIREVIEW_", "COGNIREVIEW_"))
        before = read()
        monkeypatch.setitem(Environment.model_config, "env_file", tmp_path / ".env")
        assert read() == before

    @pytest.mark.parametrize(
        ("given", "path"), [("data", BASE_DIR / "data"), ("/srv/data", Path("/srv/data"))]
    )
    def test_starts_relative_paths_at_the_project(
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
    def test_allows_the_public_host_beside_this_machine(
        self, monkeypatch: pytest.MonkeyPatch, url: str, hosts: list[str]
    ) -> None:
        monkeypatch.setenv("COGNIREVIEW_PUBLIC_URL", url)
        assert read().allowed_hosts == ["127.0.0.1", "localhost", "[::1]", *hosts]
        assert not read().public_url.endswith("/")


class TestAWrongValue:
    def test_is_named_with_what_it_got_and_takes_beside_every_other_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COGNIREVIEW_WEB_WORKERS", "none")
        monkeypatch.setenv("COGNIREVIEW_PUBLIC_URL", "review.example.org")
        with pytest.raises(ImproperlyConfigured) as caught:
            read()
        heading, url, workers = str(caught.value).splitlines()
        assert heading == "Wrong settings:"
        assert url == (
            "  COGNIREVIEW_PUBLIC_URL: got 'review.example.org'; takes a URL like https://review.example.org"
        )
        assert workers.startswith("  COGNIREVIEW_WEB_WORKERS: got 'none'; Input should be a valid integer")

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("COGNIREVIEW_SECRET_KEY", "hunter2"),
            ("DATABASE_URL", "mysql://ana:hunter2@localhost/cognireview"),
            ("DATABASE_URL", "postgresql://ana:hunter2@localhost/cognireview?colour=blue"),
        ],
    )
    def test_that_is_a_secret_is_not_shown(
        self, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
    ) -> None:
        monkeypatch.setenv(variable, value)
        with pytest.raises(ImproperlyConfigured, match=variable) as caught:
            read()
        assert "hunter2" not in str(caught.value)


class TestTheSecretKey:
    def test_is_made_once_for_its_owner_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "var" / "secret_key"
        key = read_or_create(path)
        assert len(key) >= 50
        assert read_or_create(path) == key
        assert path.stat().st_mode & 0o777 == 0o600
        assert list(path.parent.iterdir()) == [path]
