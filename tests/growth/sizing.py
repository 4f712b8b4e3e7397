"""`python -m tests.growth.sizing FILE.jsonl`: measure the size of records and the throughput of processes.

Imports and exports the file by commands on an embedded PostgreSQL with full durability. Then programs review
its records through real web servers.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import django
import psutil
from django.core.management import call_command
from django.db import connection

from cognireview.postgres import embedded
from reviews.database.statements import execute, fetch_all

RUN = "sizing"
SECONDS_OF_REVIEWING = 10.0
# Numbers of web servers and of concurrent reviewers.
CROWDS = ((1, 1), (1, 4), (1, 8), (2, 8), (2, 16))

_WEIGHT = """
    SELECT relname, pg_relation_size(oid), pg_table_size(oid) - pg_relation_size(oid), pg_indexes_size(oid)
    FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_total_relation_size(oid) > 1000000
    ORDER BY pg_total_relation_size(oid) DESC
"""
_DECISIONS = """
    SELECT (SELECT count(*) FROM review),
           (SELECT sum(pg_total_relation_size(name::regclass))
            FROM unnest(ARRAY['review', 'audit_event', 'audit_seal', 'cause_mention']) AS name)
"""
_CONNECTIONS = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.growth.sizing")
    parser.add_argument("file", type=Path, metavar="FILE.jsonl", help="records that need a review")
    file: Path = parser.parse_args().file.resolve()
    with tempfile.TemporaryDirectory(prefix="cognireview-sizing-") as name:
        folder = Path(name)
        os.environ.pop("DATABASE_URL", None)
        os.environ |= {
            "COGNIREVIEW_DATA_DIR": name,
            "COGNIREVIEW_BLIND_SHARE": "0",  # to decide at once
            "DJANGO_SETTINGS_MODULE": "cognireview.settings",
        }
        django.setup()
        with embedded.running(folder):
            call_command("migrate", verbosity=0)
            records = _commands(file, folder)
            _weights(records)
            _reviewing(folder)
            connection.close()


def say(name: str, figure: str) -> None:
    print(f"{name:58} {figure:>24}", flush=True)  # noqa: T201


def _commands(file: Path, folder: Path) -> int:
    """Import and export the file, and return the number of its records."""
    measuring = import_module("tests.benchmarks.measuring")
    manage = [sys.executable, "manage.py"]
    size = file.stat().st_size
    imported = measuring.seconds(lambda: measuring.call([*manage, "import_run", str(file), "--run", RUN]))
    out = str(folder / "out.jsonl")
    exported = measuring.seconds(lambda: measuring.call([*manage, "export_run", RUN, "-o", out]))
    [(records,)] = fetch_all("SELECT count(*) FROM evaluation")
    say("records, bytes of a line", f"{records:,}, {size / records:,.0f}")
    for name, taken in (("import_run", imported), ("export_run", exported)):
        say(name, f"{taken:.1f} s, {records / taken:,.0f} records/s, {size / taken / 1e6:.0f} MB/s")
    return int(records)


def _weights(records: int) -> None:
    """Print the bytes of a record in each table, after the jobs of the import."""
    indexing = import_module("reviews.search.indexing")
    while indexing.index_next_chunk():
        pass
    execute("VACUUM ANALYZE")
    total = 0.0
    for table, *sizes in fetch_all(_WEIGHT):
        parts = [size / records for size in sizes]
        total += sum(parts)
        say(f"{table}: rows, long values, indexes", ", ".join(f"{part:,.0f}" for part in parts) + " B")
    say("all tables, for each record", f"{total:,.0f} B")


def _reviewing(folder: Path) -> None:
    """Measure programs that claim and decide one record after the other."""
    servers, programs = (import_module(name) for name in ("tests.support.servers", "tests.growth.programs"))
    database = servers.Place.from_settings(connection.settings_dict).url
    with ExitStack() as running:
        worker = running.enter_context(servers.worker(database, folder))
        sites = [running.enter_context(servers.web(database, folder, f"web{n}")) for n in range(2)]
        say("a web server, a worker, at rest", ", ".join(_memory([one]) for one in (sites[0], worker)))
        people = [programs.Program(f"reviewer{n}", "reviewer", "review") for n in range(max(CROWDS)[1])]
        for webs, crowd in CROWDS:
            with ThreadPoolExecutor(crowd) as pool:
                before = [_seconds(measured) for measured in (sites, folder)]
                end = time.monotonic() + SECONDS_OF_REVIEWING
                working = [
                    pool.submit(_review, person, sites[number % webs], end)
                    for number, person in enumerate(people[:crowd])
                ]
                time.sleep(SECONDS_OF_REVIEWING / 2)
                [(connections,)] = fetch_all(_CONNECTIONS)
                decided = sum(future.result() for future in working)
            each = [
                (_seconds(measured) - seconds) / decided * 1000
                for measured, seconds in zip((sites, folder), before, strict=True)
            ]
            name = f"{webs} web server(s), {crowd} reviewer(s) without a pause"
            say(name, f"{decided / SECONDS_OF_REVIEWING:.1f}/s, {connections} connections")
            say(
                "  a claim and its decision: web server, PostgreSQL",
                "{:.1f}, {:.1f} ms of a core".format(*each),
            )
        [(reviews, size)] = fetch_all(_DECISIONS)
        say("a decision with its audit events", f"{size / reviews:,.0f} B")
        say("a web server, after that", _memory(sites[:1]))
        say("PostgreSQL, all its processes", _memory(folder))


def _review(person: Any, site: Any, end: float) -> int:
    return sum(1 for _ in _decisions(person, site, end))


def _decisions(person: Any, site: Any, end: float) -> Iterator[str]:
    while time.monotonic() < end and (decided := person.review_next(RUN, site, site)):
        yield decided


def _processes(measured: Any) -> list[psutil.Process]:
    """Return the processes of some servers, or of the PostgreSQL in a folder."""
    if isinstance(measured, Path):
        first = [int((measured / "postgres" / "postmaster.pid").read_text().split()[0])]
    else:
        first = [server.process.pid for server in measured]
    tops = [psutil.Process(pid) for pid in first]
    return [process for top in tops for process in (top, *top.children(recursive=True))]


def _seconds(measured: Any) -> float:
    """Return the CPU time of the processes in seconds."""
    times = [process.cpu_times() for process in _processes(measured)]
    return sum(spent.user + spent.system for spent in times)


def _memory(measured: Any) -> str:
    """Return the memory of the processes. Shared memory counts once."""
    return f"{sum(process.memory_full_info().pss for process in _processes(measured)) / 1e6:.0f} MB"


main()
