"""Enqueue the import of a file, and run a worker until all jobs are done."""

from collections.abc import Iterable, Iterator
from io import BytesIO

import pytest
from django.core.management import call_command
from procrastinate.worker import Worker

from reviews.imports.jobs import enqueue_import
from reviews.models import Import, User
from reviews.storage.chunks import read_blocks
from tests.support.lines import line


def upload(admin: User, blocks: Iterable[bytes], *, strict: bool = False) -> Import:
    return enqueue_import(run_name="run", file_name="run.jsonl", blocks=blocks, strict=strict, actor=admin)


def receive(data: bytes, admin: User) -> Import:
    return upload(admin, read_blocks(BytesIO(data)))


def blocks(lines: int) -> Iterator[bytes]:
    """Return a file of so many records, with more than a chunk per thousand."""
    for number in range(lines):
        yield line(f"eval_{number}") + b"\n"


def work(*, has_periodic_jobs: bool = False) -> None:
    """Run a worker in this process until all jobs are done.

    Periodic jobs run only on request, as each opens a connection, which takes longer than most jobs.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not has_periodic_jobs:
            patch.setattr(Worker, "_periodic_deferrer", _enqueue_nothing)
        call_command("procrastinate", "worker", wait=False, listen_notify=False, concurrency=1)


async def _enqueue_nothing(_worker: Worker) -> None:
    """Take the place of the task of a worker that enqueues periodic jobs."""
