"""`/metrics` requires a token, and has correct figures of the database and of this process."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client, override_settings
from django.urls import reverse
from prometheus_client.parser import text_string_to_metric_families

from cognireview.operations import outage
from reviews import metrics
from reviews.audit import log
from reviews.database.statements import execute
from reviews.models import Import, ImportProgress, User
from reviews.queue import claims
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import url
from tests.support.work import decide

TOKEN = "a token of the operator's own"
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(client: Client) -> Samples:
    """Return the samples of a scrape by name and labels."""
    response = client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    assert response.status_code == 200
    families = text_string_to_metric_families(response.content.decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def value(found: Samples, name: str, **labels: Any) -> float:
    return found.get((f"cognireview_{name}", tuple(sorted(labels.items()))), 0)


@pytest.fixture
def _open() -> Iterator[None]:
    with override_settings(METRICS_TOKEN=TOKEN, MIDDLEWARE=settings.EVERY_MIDDLEWARE):
        yield


class TestAccess:
    def test_metrics_without_configured_token_are_not_found(self, db: None, client: Client) -> None:
        for headers in ({}, {"authorization": "Bearer "}):
            assert client.get("/metrics", headers=headers).status_code == 404

    @pytest.mark.usefixtures("_open")
    @pytest.mark.parametrize(
        "given", [None, "", "Bearer", "Bearer wrong", TOKEN, f"bearer {TOKEN}", f"Bearer {TOKEN}é"]
    )
    def test_metrics_with_wrong_token_are_rejected(self, client: Client, given: str | None) -> None:
        response = client.get("/metrics", headers={} if given is None else {"authorization": given})
        assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer")
        assert b"cognireview_" not in response.content

    @pytest.mark.usefixtures("_open", "db")
    def test_metrics_accept_any_host_and_only_reading(self, client: Client) -> None:
        headers = {"authorization": f"Bearer {TOKEN}", "host": "10.0.0.7:8000"}
        with override_settings(SECURE_SSL_REDIRECT=True, ALLOWED_HOSTS=["review.example.org"]):
            response = client.get("/metrics", headers=headers)
        assert (response.status_code, response["Cache-Control"]) == (200, "no-store")
        assert not response.cookies
        assert client.post("/metrics", headers=headers).status_code == 405


@pytest.mark.usefixtures("_open")
class TestDatabaseMetrics:
    def test_metrics_count_records_by_state(self, client: Client, ana: User, bo: User) -> None:
        run = RunFactory.create(name="algebra")
        EvaluationFactory.create_batch(3, run=run)
        held = claims.claim_next(run=run, reviewer=ana)
        other = claims.claim_next(run=run, reviewer=bo)
        assert held
        assert other
        decide(other, bo)
        found = samples(client)
        states = {
            state: value(found, "records", run="algebra", state=state)
            for state in ("waiting", "claimed", "done")
        }
        assert states == {"waiting": 1, "claimed": 1, "done": 1}
        assert value(found, "database_up") == 1

    def test_metrics_merge_runs_without_work(
        self, client: Client, monkeypatch: pytest.MonkeyPatch, db: None
    ) -> None:
        monkeypatch.setattr(metrics, "MOST_RUNS", 1)
        RunFactory.create_batch(2)
        run = RunFactory.create(name="the one with work")
        EvaluationFactory.create(run=run)
        found = samples(client)
        names = {dict(labels)["run"] for name, labels in found if name == "cognireview_records"}
        assert names == {"the one with work", metrics.OTHER_RUNS}

    def test_metrics_count_waiting_jobs_and_live_workers(self, client: Client, db: None) -> None:
        execute(
            "INSERT INTO procrastinate_jobs (task_name, queue_name, status)"
            " VALUES ('a', 'import', 'todo'), ('b', 'import', 'failed'), ('c', 'other', 'doing')"
        )
        execute(
            "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now()), (now() - interval '1 hour')"
        )
        found = samples(client)
        assert value(found, "jobs", queue="import", status="todo") == 1
        assert value(found, "jobs", queue="import", status="failed") == 1
        assert value(found, "jobs", queue="other", status="doing") == 1
        assert ("cognireview_jobs", (("queue", "export"), ("status", "todo"))) in found
        assert value(found, "workers") == 1

    def test_metrics_measure_import_speed(self, client: Client, db: None) -> None:
        run = RunFactory.create()
        Import.objects.create(run=run, file_name="a", state=Import.State.DONE, lines=70)
        running = Import.objects.create(run=run, file_name="b", state=Import.State.RUNNING)
        progress = ImportProgress.objects.create(
            source=running, size=1000, bytes_done=10, counts={"lines": 500}
        )
        execute(
            "UPDATE import_progress SET started_at = now() - interval '2 s', reported_at = now()"
            " WHERE source_id = %s",
            [progress.pk],
        )
        found = samples(client)
        assert value(found, "import_lines_per_second") == 250
        assert value(found, "imports", state="running") == 1
        assert value(found, "imported_lines_total") >= 70

    def test_database_metrics_are_missing_during_outage(
        self, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(outage._watch, "is_active", True)
        found = samples(client)
        assert value(found, "database_up") == 0
        assert not any(name == "cognireview_workers" for name, _ in found)

    def test_slow_database_metrics_are_missing(
        self, client: Client, monkeypatch: pytest.MonkeyPatch, db: None
    ) -> None:
        monkeypatch.setattr(metrics, "_MILLISECONDS", 50)
        monkeypatch.setattr(metrics, "_JOBS", "SELECT '', '', 1 FROM pg_sleep(5)")
        assert value(samples(client), "database_up") == 0


@pytest.mark.usefixtures("_open")
class TestProcessMetrics:
    @pytest.mark.slow
    def test_requests_are_counted_by_route_not_path(self, client: Client, ana: User) -> None:
        client.force_login(ana)
        record = EvaluationFactory.create()
        labels = {"route": "/evaluations/<int:pk>/", "method": "GET"}
        before = samples(client)
        response = client.get(url("evaluation", record))
        labels["route"] = f"/{response.resolver_match.route}"
        client.get("/nowhere/")
        client.generic("BREW", reverse("login"))
        after = samples(client)
        for name in ("http_requests_total", "http_request_seconds_count"):
            more = {"status": "200"} if name == "http_requests_total" else {}
            assert value(after, name, **labels, **more) - value(before, name, **labels, **more) == 1
        assert value(after, "http_requests_total", route="none", method="GET", status="404") >= 1
        assert {dict(labels).get("method") for _, labels in after} <= {None, "GET", "POST", "other"}

    @pytest.mark.slow
    def test_claims_decisions_and_conflicts_are_counted(
        self, client: Client, ana: User, bo: User, django_capture_on_commit_callbacks: Any
    ) -> None:
        record = EvaluationFactory.create()
        client.force_login(bo)
        before = samples(client)
        with django_capture_on_commit_callbacks(execute=True):
            held = claims.claim(evaluation_id=record.pk, reviewer=ana)
            assert client.post(url("claim", record)).status_code == 409
            decide(held, ana, active_ms=42_000)
        after = samples(client)

        def more(name: str, **labels: Any) -> float:
            return value(after, name, **labels) - value(before, name, **labels)

        assert [more("events_total", action=action) for action in ("claim", "submit")] == [1, 1]
        [route] = {dict(labels)["route"] for name, labels in after if name == "cognireview_conflicts_total"}
        assert more("conflicts_total", route=route) == 1
        assert (more("review_seconds_count"), more("review_seconds_sum")) == (1, 42)
        assert (more("review_seconds_bucket", le="30.0"), more("review_seconds_bucket", le="60.0")) == (0, 1)

    def test_rolled_back_events_are_not_counted(
        self, client: Client, ana: User, django_capture_on_commit_callbacks: Any
    ) -> None:
        before = samples(client)
        with django_capture_on_commit_callbacks():
            claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        after = samples(client)
        assert value(after, "events_total", action="claim") == value(before, "events_total", action="claim")


@pytest.mark.usefixtures("_open")
def test_metrics_include_audit_chain_head(ana: User, client: Client) -> None:
    decide(EvaluationFactory.create(), ana)
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    found = samples(client)
    assert value(found, "audit_events") == 1
    assert value(found, "audit_head_info", head=str(log.chain_head())) == 1
