"""Enqueue the import of a file, and run a worker until all jobs are done."""

from collections.abc import Iterable, Iterator
from io import BytesIO

from django.core.management import call_command

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


def work() -> None:
    """Run a worker in this process until all jobs are done."""
    call_command("procrastinate", "worker", wait=False, listen_notify=False, concurrency=1)
