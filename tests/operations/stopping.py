"""Stop processes under load: no request fails, and another worker finishes an interrupted job."""

import os
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import psutil
import requests

from reviews.demo.run import demo_lines
from tests.operations.checking import expect, print_figures
from tests.operations.site import Answer, Site, ask
from tests.operations.traffic import Proxy, flowing
from tests.support.processes import Process
from tests.support.waiting import eventually, free_port

METRICS = "a token for the figures"


def check_rolling_restart(site: Site, token: str, *, workers: int) -> None:
    """Restart two web servers one after the other under load."""
    site.settings |= {
        "COGNIREVIEW_DRAIN_SECONDS": "2",
        "COGNIREVIEW_WEB_WORKERS": str(workers),
        "COGNIREVIEW_METRICS_TOKEN": METRICS,
    }
    took = []
    with ExitStack() as stack:
        webs = [stack.enter_context(site.web()) for _ in range(2)]
        proxy = Proxy([port for port, _ in webs])
        with flowing(proxy, token) as traffic:
            time.sleep(1)
            for _ in range(2):
                _, process = webs.pop(0)
                took.append(_stop(process))
                webs.append(stack.enter_context(site.web()))
                proxy.ports[:] = [port for port, _ in webs]
                time.sleep(1)
    print_figures(
        f"Two web servers of {workers} processes, restarted in turn",
        [
            ("requests sent", traffic.sent),
            ("failed", traffic.failed or 0),
            ("longest request", f"{max(client.longest for client in traffic.clients):.1f} s"),
            ("stopped within", f"{max(took):.1f} s"),
        ],
    )
    expect(traffic.sent > 50, "There were requests.")
    expect(not traffic.failed, "No request failed.")


def check_up(site: Site, token: str) -> None:
    """Stop `up` under load: open requests are answered, and new ones are refused."""
    port = free_port()
    with site.process("up", f"--port={port}") as process:
        expect(eventually(lambda: ask(port, "/readyz").status == 200), "It gets ready.")
        with flowing(Proxy([port]), token) as traffic:
            time.sleep(4)
            took = _stop(process)
    print_figures(
        "`up` stopped under load",
        [
            ("requests sent", traffic.sent),
            ("failed", traffic.failed or 0),
            ("refused", traffic.answers["refused"]),
            ("stopped within", f"{took:.1f} s"),
        ],
    )
    expect(traffic.sent > 10, "There were requests.")
    expect(not traffic.failed, "No request failed.")


def _stop(process: Process) -> float:
    """Send SIGTERM and return the seconds until the process exits without an error."""
    begin = time.monotonic()
    expect(process.stop(seconds=30) == 0, "A stopped process ends with status 0.")
    return time.monotonic() - begin


def check_counting_together(site: Site) -> None:
    """Check that all processes of a web server share their counters, even after one of them exits."""
    site.settings |= {"COGNIREVIEW_WEB_WORKERS": "2", "COGNIREVIEW_METRICS_TOKEN": METRICS}
    with site.web() as (port, process):
        for _ in range(20):
            expect(ask(port, "/login/").status == 200, "The page is there.")
        expect(_counted(_scrape(port)) == 20, "Each process reports the counts of both.")
        children = psutil.Process(process.pid).children()
        victim = children[0]
        os.kill(victim.pid, signal.SIGKILL)
        expect(eventually(lambda: len(psutil.Process(process.pid).children()) == 2), "It is started again.")
        for _ in range(10):
            eventually(lambda: ask(port, "/login/").status == 200)
        counted = _counted(_scrape(port))
    print_figures(
        "Metrics of a web server of two processes, one of them killed", [("requests counted", counted)]
    )
    expect(counted >= 30, "What a process counted that is no more still counts.")


def _scrape(port: int) -> Answer:
    return ask(port, "/metrics", Authorization=f"Bearer {METRICS}")


def _counted(scrape: Answer) -> float:
    expect(scrape.status == 200, "The figures are there.")
    series = 'cognireview_http_requests_total{method="GET",route="/login/",status="200"} '
    lines = scrape.body.decode().splitlines()
    return sum(float(line.removeprefix(series)) for line in lines if line.startswith(series))


def check_worker(site: Site, token: str, folder: Path) -> None:
    """Stop a worker during an import; the next worker finishes the import."""
    run = f"stopped-{time.time_ns()}"
    records = b"".join(demo_lines())
    # Enough unique records for an import of a few seconds.
    body = b"".join(
        records.replace(b'"evaluation_id": "', b'"evaluation_id": "%d-' % copy) for copy in range(60)
    )
    (folder / "many.jsonl").write_bytes(body)
    with site.web() as (port, _):
        with site.process("work", "--finish=0") as worker:
            job = _send(port, token, run, folder / "many.jsonl")
            doing = "SELECT count(*) FROM procrastinate_jobs WHERE status = 'doing' AND queue_name = 'import'"
            expect(eventually(lambda: site.query(doing) == 1), "The import begins.")
            took = _stop(worker)
        state = "SELECT state FROM import WHERE id = %s"
        between = site.query(state, job)
        with site.process("work"):
            done = eventually(lambda: site.query(state, job) == "done", within=120)
    lines = site.query("SELECT lines FROM import WHERE id = %s", job)
    print_figures(
        "A worker stopped within an import, and another started",
        [("stopped within", f"{took:.1f} s"), ("the import then", between), ("in the end", f"{lines} lines")],
    )
    expect(between in {"queued", "running"}, "An import that was cut off is not over.")
    expect(done, "The next worker takes the import up.")
    expect(lines == body.count(b"\n"), "Every line is there.")


def _send(port: int, token: str, run: str, path: Path) -> int:
    """Upload a file and return the primary key of its import."""
    with path.open("rb") as file:
        answer = requests.post(
            f"http://127.0.0.1:{port}/api/v1/runs/{run}/imports",
            data=file,
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/x-ndjson"},
            timeout=60,
        )
    expect(answer.status_code == 202, f"The file is taken: {answer.text}")
    return int(answer.json()["id"])
