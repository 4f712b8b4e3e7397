"""Measure the time from the key that submits to the first frame with the next record, in Chromium.

A reviewer decides one record a second on a site that `manage.py up` runs: on an idle machine, and while each
core has a busy process.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks import dataset
from tests.benchmarks.measuring import Figure
from tests.browser.conftest import CHROMIUM, SWITCHES
from tests.load import site
from tests.support.processes import environment, running

DECISIONS = 100
INTERVAL, SHORTEST_PAUSE = 1.0, 0.5  # seconds; the screen drops keys that come sooner after a change
LIMIT = 100.0  # milliseconds
RUN, USER, PASSWORD = "painting", "painter", "a long password for painting"
_BUSY = [sys.executable, "-c", "while True: pass"]

# Resolves to the milliseconds from the next key to the end of the first frame with another record.
_WATCH = """() => {
    window.painted = new Promise((resolve, reject) => {
        let pressed = 0;
        setTimeout(() => {
            const said = ["#strip", "#ignored"].map((id) => document.querySelector(id)?.textContent);
            reject(new Error(`no other record within 30 s: busy ${before.ariaBusy}, ${said}`));
        }, 30000);
        addEventListener("keydown", (event) => { pressed = event.timeStamp; }, { capture: true, once: true });
        const watch = new MutationObserver(() => {
            if (document.querySelector("#screen") === before) return;
            watch.disconnect();
            requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - pressed)));
        });
        const before = document.querySelector("#screen");
        watch.observe(document.querySelector("main"), { childList: true, subtree: true });
    });
}"""


def submit_to_painted(folder: Path, scale: float) -> Iterator[Figure]:
    """Measure on an idle machine, then with one busy process for each core."""
    decisions = max(int(DECISIONS * scale), 10)
    place = folder / "site"
    place.mkdir()
    file = dataset.write(place / "records.jsonl", 3 * (2 * decisions + 10), seed=1)
    with site.running(place / "var") as up, _browser_page() as page:
        _manage(place, "import_run", str(file), "--run", RUN)
        _manage(place, "add_user", USER, "--role", "reviewer", "--password-stdin", text=PASSWORD)
        _open_queue(page, f"http://127.0.0.1:{up.port}")
        for name, processes in (("idle", 0), ("all cores busy", os.cpu_count() or 1)):
            with ExitStack() as busy:
                for number in range(processes):
                    busy.enter_context(running(_BUSY, place / f"busy-{number}.log"))
                taken = [_decide(page) for _ in range(decisions)]
            yield _figure(name, taken)


def _manage(place: Path, *arguments: str, text: str = "") -> None:
    # A blind record takes more keys than one.
    settings = environment(COGNIREVIEW_DATA_DIR=str(place / "var"), COGNIREVIEW_BLIND_SHARE="0")
    command = [sys.executable, "manage.py", *arguments]
    subprocess.run(command, env=settings, input=text, text=True, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def _browser_page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield browser.new_page(viewport={"width": 1280, "height": 800})
        browser.close()


def _open_queue(page: Page, url: str) -> None:
    page.goto(f"{url}/login/")
    page.get_by_label("Name").fill(USER)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Start reviewing").first.click()
    page.wait_for_selector("#submit")
    page.wait_for_function("() => document.querySelector('#prefetched').content.childElementCount === 2")


def _decide(page: Page) -> float:
    """Press the key that submits, and return the milliseconds until the next record is painted."""
    start = time.monotonic()
    page.evaluate(_WATCH)
    page.keyboard.press("a")
    taken = float(page.evaluate("window.painted"))
    time.sleep(max(SHORTEST_PAUSE, start + INTERVAL - time.monotonic()))
    return taken


def _figure(name: str, taken: list[float]) -> Figure:
    p95 = quantiles(taken, n=20)[-1]
    return Figure(
        f"submit to next record painted: {name} (p95 {p95:.0f} ms)",
        f"{median(taken):.1f} ms",
        f"{LIMIT:.0f} ms",
        median(taken) / LIMIT,
        most=1,
    )
