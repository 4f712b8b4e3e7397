"""Health probes: accessible without login or session, on any host and scheme."""

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client, override_settings

PROBES = ["/healthz", "/readyz"]


@pytest.mark.django_db
class TestProbe:
    @pytest.mark.parametrize("path", PROBES)
    @pytest.mark.parametrize("method", ["get", "head"])
    def test_probe_needs_no_login_and_creates_no_session(
        self, client: Client, path: str, method: str
    ) -> None:
        response = getattr(client, method)(path)
        assert response.status_code == 200
        assert response.headers["Cache-Control"] == "no-store"
        assert not response.cookies

    @pytest.mark.parametrize("path", PROBES)
    @override_settings(SECURE_SSL_REDIRECT=True, ALLOWED_HOSTS=["review.example.org"])
    def test_probe_accepts_any_host_and_plain_http(self, client: Client, path: str) -> None:
        assert client.get(path, headers={"host": "10.0.0.7:8000"}).status_code == 200

    @pytest.mark.parametrize("path", PROBES)
    def test_probe_rejects_post(self, client: Client, path: str) -> None:
        assert client.post(path).status_code == 405


class TestHealth:
    def test_health_makes_no_query(self, client: Client) -> None:
        assert client.get("/healthz").content == b"ok"


@pytest.mark.django_db
class TestReadiness:
    def test_readiness_waits_for_migrations(self, client: Client) -> None:
        MigrationRecorder(connection).migration_qs.filter(app="reviews").latest("name").delete()
        response = client.get("/readyz")
        assert response.status_code == 503
        assert b"not applied" in response.content

    def test_readiness_reports_a_database_of_another_version(self, client: Client) -> None:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE draft RENAME COLUMN revision TO edition")
        response = client.get("/readyz")
        assert response.status_code == 503
        assert response.content == b"The database does not fit this version: it lacks draft.revision."

    def test_readiness_waits_for_database_and_names_no_host(
        self, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        connection.close()
        monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")
        response = client.get("/readyz")
        assert (response.status_code, response.content) == (503, b"The database cannot be reached.")
