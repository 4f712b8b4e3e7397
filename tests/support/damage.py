"""A run with two imports, and damage to its stored files."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from reviews.database.statements import execute
from reviews.models import Evaluation, Import, SourceChunk
from tests.support.lines import file_of, line

FIRST = file_of(
    *(line(f"eval_{number}") for number in range(30)), b"no record", b"", *map(line, ["eval_30", "eval_31"])
)
# Repeats the first five lines, changes two records, and adds two.
SECOND = file_of(
    *(line(f"eval_{number}") for number in range(5)),
    line("eval_7", task_id="1"),
    line("eval_9", task_id="2"),
    line("eval_40"),
    b"also no record",
    line("eval_41"),
)


def first() -> Import:
    return Import.objects.order_by("pk")[0]


@contextmanager
def undone() -> Iterator[None]:
    """Roll back all changes of the block."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def flip(chunk: SourceChunk, seed: random.Random) -> None:
    execute(
        "UPDATE source_chunk SET frame = set_bit(frame, %s, 1 - get_bit(frame, %s)) WHERE id = %s",
        [*[seed.randrange(8 * len(chunk.frame))] * 2, chunk.pk],
    )


def remove_frames(number: int | None = None) -> None:
    chunks = first().chunks.order_by("number")
    (chunks if number is None else chunks.filter(number=list(chunks)[number].number)).delete()


def record(number: int) -> Evaluation:
    return Evaluation.objects.get(run__name="evaluations", evaluation_id=f"eval_{number}")
