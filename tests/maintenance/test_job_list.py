"""The list of jobs, and their retry and cancellation."""

from typing import Any

import pytest
from django.db import OperationalError, transaction
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob
from pytest_django import DjangoAssertNumQueries

from reviews import tasks
from reviews.maintenance import job_list, retention
from reviews.models import AuditEvent, Export, Import, JobError, User, Webhook, WebhookDelivery
from reviews.webhooks import deliveries
from tests.support.factories import ExportFactory, ImportFactory

pytestmark = pytest.mark.django_db


def listed(**filters: Any) -> list[job_list.Job]:
    return job_list.list_jobs(limit=100, **filters)


def background(status: str = "failed", task: str = "reviews.tasks.draw_sample") -> int:
    """Create a job of procrastinate, and return its key."""
    pk = app.configure_task(task, allow_unknown=True).defer(run_id=1)
    with transaction.get_connection().cursor() as cursor:
        cursor.execute("UPDATE procrastinate_jobs SET status = %s WHERE id = %s", [status, pk])
    return int(pk)


@pytest.fixture
def delivery(max: User) -> WebhookDelivery:
    webhook = Webhook.objects.create(url="https://hooks.example.org/", created_by=max)
    return WebhookDelivery.objects.create(webhook=webhook, message_id="m", event="test", body="{}")


def test_failed_jobs_come_first_then_running_and_queued(max: User) -> None:
    ImportFactory.create(created_by=max, file_name="done")
    ImportFactory.create(file_name="failed", state=Import.State.FAILED, error="The disk is full.")
    ImportFactory.create(file_name="queued", state=Import.State.QUEUED)
    ImportFactory.create(file_name="running", state=Import.State.RUNNING)
    found = listed(kind="import")
    assert [job.title for job in found] == ["failed", "running", "queued", "done"]
    assert (found[0].error, found[3].owner) == ("The disk is full.", max.pk)
    assert [(job.can_retry, job.can_cancel) for job in found[:2]] == [(True, False), (False, True)]


def test_dismissed_failure_is_among_the_finished_jobs() -> None:
    old = ImportFactory.create(file_name="old", state=Import.State.FAILED)
    ImportFactory.create(file_name="running", state=Import.State.RUNNING)
    assert job_list.new_failures() == 1
    Import.objects.filter(pk=old.pk).update(dismissed_at=old.created_at)
    assert [job.title for job in listed(kind="import")] == ["running", "old"]
    assert job_list.new_failures() == 0


def test_every_kind_of_job_is_listed_and_filtered(delivery: WebhookDelivery) -> None:
    ExportFactory.create()
    background()
    assert {job.kind for job in listed()} >= {"export", "import", "delivery", "background"} - {"import"}
    assert [job.kind for job in listed(state="failed")] == ["background"]
    assert [job.pk for job in listed(kind="delivery")] == [delivery.pk]
    assert job_list.list_jobs(limit=1, offset=1)[0] == listed()[1]


def test_jobs_of_imports_and_exports_are_listed_once() -> None:
    for task in (tasks.import_upload.name, tasks.build_export.name):
        background(task=task)
    assert listed() == []


def test_failed_export_is_built_again(max: User) -> None:
    export = ExportFactory.create(state=Export.State.FAILED, error="The disk is full.")
    assert job_list.retry(kind="export", pk=export.pk, actor=max)
    export.refresh_from_db()
    assert (export.state, export.error) == (Export.State.UNFINISHED, "")
    assert ProcrastinateJob.objects.get().args == {"export_id": export.pk}
    assert AuditEvent.objects.get().action == "export retried"
    assert not job_list.retry(kind="export", pk=export.pk, actor=max)


def test_message_given_up_is_attempted_again(delivery: WebhookDelivery, max: User) -> None:
    assert job_list.cancel(kind="delivery", pk=delivery.pk, actor=max)
    assert listed(kind="delivery")[0].state == "failed"
    assert job_list.retry(kind="delivery", pk=delivery.pk, actor=max)
    assert ProcrastinateJob.objects.get(task_name=deliveries.JOB).args["attempt"] == 1
    assert not job_list.retry(kind="delivery", pk=delivery.pk, actor=max)


def test_background_job_is_retried_and_cancelled(max: User) -> None:
    pk = background()
    assert job_list.retry(kind="background", pk=pk, actor=max)
    assert ProcrastinateJob.objects.get(pk=pk).status == "todo"
    assert job_list.cancel(kind="background", pk=pk, actor=max)
    assert ProcrastinateJob.objects.get(pk=pk).status == "cancelled"
    actions = AuditEvent.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["job retried", "job cancelled"]


@pytest.mark.parametrize("kind", job_list.KINDS)
def test_missing_job_is_neither_retried_nor_cancelled(kind: str, max: User) -> None:
    assert not job_list.retry(kind=kind, pk=0, actor=max)
    assert not job_list.cancel(kind=kind, pk=0, actor=max)


def test_job_that_lost_its_database_keeps_its_error_to_be_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    context: Any = type(
        "Context", (), {"job": ProcrastinateJob.objects.get(pk=background()).procrastinate_job}
    )
    away = OperationalError("connection refused")

    def fail() -> None:
        raise ValueError("to be restarted") from away

    def refuse(**_: Any) -> None:
        raise away

    monkeypatch.setattr(JobError.objects, "update_or_create", refuse)
    with pytest.raises(ValueError, match="to be restarted"):
        job_list.keep_error(fail, context, None)
    with pytest.raises(KeyError):  # another error, while its table is out of reach
        job_list.keep_error({}.popitem, context, None)


def test_error_of_a_job_is_kept_until_the_job_is_removed() -> None:
    pk = background()
    context: Any = type("Context", (), {"job": ProcrastinateJob.objects.get(pk=pk).procrastinate_job})

    def fail() -> None:
        raise ValueError("no such sample")

    with pytest.raises(ValueError, match="no such sample"):
        job_list.keep_error(fail, context, None)
    assert "no such sample" in listed()[0].error
    retention.remove_jobs()
    assert JobError.objects.exists()
    with transaction.get_connection().cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")
    retention.remove_jobs()
    assert not JobError.objects.exists()


def test_every_task_keeps_its_error() -> None:
    app.perform_import_paths()  # type: ignore[no-untyped-call]
    ours = {name: task for name, task in app.tasks.items() if name.startswith("reviews.")}
    assert {name for name, task in ours.items() if job_list.keep_error not in task.task_middleware} == {
        tasks.retry_stalled_jobs.name
    }


def test_periodic_jobs_have_a_name_and_a_meaning() -> None:
    found = {job.name: job for job in job_list.periodic_jobs()}
    assert found["Remove expired rows"].meaning == "Remove expired exports, sessions and other rows."
    assert all(job.meaning for job in found.values())


def test_list_is_one_query(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    for _ in range(3):
        ImportFactory.create()
    with django_assert_num_queries(1):
        assert len(listed()) == 3
