"""The page of task context: uploads and imported files."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from reviews.models import TaskContext
from tests.support.contexts import bring, task
from tests.support.factories import RunFactory
from tests.support.pages import text

pytestmark = pytest.mark.django_db


def send(client: Client, data: bytes, **fields: Any) -> Any:
    file = SimpleUploadedFile("tasks.json", data)
    return client.post(reverse("task-context"), {"file": file} | fields, follow=True)


def test_context_upload_imports_tasks_and_lists_invalid_ones(as_max: Client) -> None:
    page = text(send(as_max, json.dumps([task(), {"task_id": "<8>"}]).encode()))
    assert "Imported 1 task with 0 answers." in page
    assert "tasks.json" in page
    assert "<code>prompt</code> is missing" in page
    assert TaskContext.objects.get().run is None


def test_context_upload_may_be_for_one_run(as_max: Client) -> None:
    run = RunFactory.create()
    send(as_max, json.dumps([task()]).encode(), run=run.pk)
    assert TaskContext.objects.get().run == run


@pytest.mark.parametrize(
    ("data", "reason"), [(b"PK\x03\x04", "is a ZIP archive"), (b"", "The submitted file is empty.")]
)
def test_refused_context_upload_shows_the_reason(as_max: Client, data: bytes, reason: str) -> None:
    answer = send(as_max, data)
    assert answer.status_code == 422
    assert reason in text(answer)


@pytest.mark.parametrize("count", [1, 3])
def test_context_page_has_a_constant_number_of_queries(
    as_max: Client, count: int, django_assert_num_queries: Any
) -> None:
    for _ in range(count):
        bring(task(), b"{}")
    with django_assert_num_queries(4):
        as_max.get(reverse("task-context"))
