"""The measured figures: one function per group, which alternates each measurement with its limit."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard
from django.conf import settings
from django.db import transaction

from reviews.exports import jsonl
from reviews.models import Import, Run
from tests.benchmarks import (
    analysing,
    auditing,
    database,
    dataset,
    journey,
    judging,
    painting,
    reviewing,
    scaling,
)
from tests.benchmarks.measuring import Figure, alternating, into_pipe, peak_memory

RECORDS = 100_000
RECORDS_OF_A_GIGABYTE = 290_000
LARGE = "benchmark_large"
COMMANDS = ("import_run", "export_run")


class Bench:
    """The scratch folder and its files. `scale` shrinks all of them."""

    def __init__(self, folder: Path, scale: float) -> None:
        self.folder, self.scale = folder, scale

    def file(self, records: int, *, seed: int = 0, least: int = 10) -> Path:
        """Return a file of so many records, scaled, but of at least `least`."""
        count = max(int(records * self.scale), least)
        path = self.folder / f"records-{seed}-{count}.jsonl"
        return path if path.exists() else dataset.write(path, count, seed=seed)


def import_against_copy(bench: Bench) -> Iterator[Figure]:
    """Compare an import, after which all searches are complete, with COPY of its preformatted rows alone."""
    file, rows = bench.file(RECORDS), bench.folder / "rows"
    database.empty()
    done = database.import_path(file)
    database.save_rows(rows)

    def importing() -> None:
        database.import_path(file)

    def copying() -> None:
        with transaction.atomic():
            # The parent rows that the saved rows refer to.
            run = Run.objects.create(pk=done.run_id, name=database.RUN)
            Import.objects.create(pk=done.pk, run=run, file_name=file.name)
            database.copy_rows(rows)

    taken, limit = alternating(importing, copying, before=database.empty)
    yield _speed("import until ready, against COPY alone", taken, limit, least=0.5)


def import_into_large_table(bench: Bench) -> Iterator[Figure]:
    """Compare an import into a table ten times as large as the file with an import into an empty table."""
    others, file = bench.file(RECORDS), bench.file(RECORDS, seed=1)
    small = settings.DATABASES["default"]["NAME"]
    database.empty()
    database.import_path(others, run="others")
    database.multiply(9)
    database.copy_database(LARGE)
    database.empty()

    def into(name: str) -> Callable[[], None]:
        def importing() -> None:
            with database.using(name):
                database.import_path(file)

        return importing

    def remove() -> None:
        for name in (small, LARGE):
            with database.using(name):
                database.remove_records()

    taken, limit = alternating(into(LARGE), into(small), before=remove)
    database.drop_database(LARGE)
    yield _speed("import into a table 10 times as long, against an empty one", taken, limit, least=0.8)


def export_against_zstd(bench: Bench) -> Iterator[Figure]:
    """Compare the exporter with zstd alone on the same frames, both into a pipe."""
    database.empty()
    done = database.import_path(bench.file(RECORDS))
    frames = [bytes(frame) for frame in done.chunks.order_by("number").values_list("frame", flat=True)]

    def exporting() -> None:
        into_pipe(jsonl.export_lines(done.target_run))

    def decompressing() -> None:
        decompressor = zstandard.ZstdDecompressor()
        into_pipe(decompressor.decompress(frame) for frame in frames)

    taken, limit = alternating(exporting, decompressing)
    yield _speed("export, nothing reviewed, against zstd alone", taken, limit, least=0.5)
    database.review_every_third()
    taken, limit = alternating(exporting, decompressing)
    yield _speed("export, a third reviewed, against zstd alone", taken, limit, least=0.2)


def memory(bench: Bench) -> Iterator[Figure]:
    """Compare the commands' peak resident memory with that of the same commands on a file of ten lines."""
    files = [
        bench.file(0),
        bench.file(RECORDS_OF_A_GIGABYTE // 10),
        bench.file(RECORDS_OF_A_GIGABYTE),
    ]
    peaks: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for file in files:
        database.empty()
        for name, command in _commands(file).items():
            peaks[name].append(peak_memory(command))
    for name, (idle, tenth, whole) in peaks.items():
        over, over_tenth = whole - idle, tenth - idle
        yield Figure(f"{name}: MB over idle, 1 GB", f"{over:.0f} MB", "300 MB", over, most=300)
        yield Figure(
            f"{name}: MB more for 1 GB than for 100 MB",
            f"{over:.0f} MB",
            f"{over_tenth:.0f} MB",
            over - over_tenth,
            most=30,
        )


FIGURES: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "import": import_against_copy,
    "large": import_into_large_table,
    "export": export_against_zstd,
    "memory": memory,
    "reviewing": lambda bench: reviewing.submit_and_next(bench.scale),
    "painting": lambda bench: painting.submit_to_painted(bench.folder, bench.scale),
    "analysing": lambda bench: analysing.reports(bench.scale),
    "judging": lambda bench: judging.figures(bench.scale),
    "scaling": lambda bench: scaling.pages(
        *(bench.file(records, least=scaling.LEAST) for records in (scaling.SMALL, scaling.LARGE))
    ),
    "journey": lambda bench: journey.steps(
        *(bench.file(records, least=journey.LEAST) for records in (journey.SMALL, journey.LARGE))
    ),
    "auditing": lambda bench: auditing.verification(bench.scale),
}


def _speed(name: str, taken: float, limit: float, *, least: float) -> Figure:
    return Figure(name, f"{taken:.2f} s", f"{limit:.2f} s", limit / taken, least=least)


def _commands(file: Path) -> dict[str, list[str]]:
    manage = [sys.executable, str(settings.BASE_DIR / "manage.py")]
    return {
        "import_run": [*manage, "import_run", str(file), "--run", database.RUN],
        "export_run": [*manage, "export_run", database.RUN, "--output", str(file.with_suffix(".out"))],
    }
