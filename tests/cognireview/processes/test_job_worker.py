"""Periodic jobs after the clock of the machine has jumped, and jobs that wait for a lock."""

from typing import Any

import anyio
import pytest
from procrastinate.app import App
from procrastinate.testing import InMemoryConnector

from cognireview.processes.job_worker import SteadyDeferrer, SteadyWorker

START, DAY = 1_800_000_000, 86_400


def do_nothing(timestamp: int) -> None:
    """Do the work of a job."""


@pytest.fixture
def deferrer() -> SteadyDeferrer:
    """Return a deferrer with a job every ten seconds and one at 3:40."""
    app: Any = App(connector=InMemoryConnector())
    for name, cron in (("often", "* * * * * */10"), ("daily", "40 3 * * *")):
        app.periodic(cron=cron)(app.task(name=name)(do_nothing))
    return SteadyDeferrer(registry=app.periodic_registry)


def due(deferrer: Any, at: float) -> list[tuple[str, int]]:
    return [(one.task.name, time) for one, time in deferrer.get_previous_tasks(at=at)]


def test_job_is_enqueued_once_for_each_of_its_times(deferrer: SteadyDeferrer) -> None:
    assert due(deferrer, START + 0.5) == [("often", START)]
    assert due(deferrer, START + 9.9) == []
    assert due(deferrer, START + 10.1) == [("often", START + 10)]


def test_jobs_go_on_after_the_clock_was_set_back(deferrer: SteadyDeferrer) -> None:
    due(deferrer, START + 0.5)
    assert due(deferrer, START - 30 * DAY + 0.5) == [("often", START - 30 * DAY)]
    assert due(deferrer, START - 30 * DAY + 10.5) == [("often", START - 30 * DAY + 10)]


def test_jobs_are_enqueued_once_after_a_suspension(deferrer: SteadyDeferrer) -> None:
    due(deferrer, START + 0.5)
    deferrer.last_defers = dict.fromkeys(deferrer.registry.periodic_tasks, START)
    enqueued = due(deferrer, START + 30 * DAY + 0.5)
    assert [name for name, _ in enqueued] == ["often", "daily"]
    assert enqueued[0][1] == START + 30 * DAY


def test_jobs_with_one_lock_follow_each_other_without_a_poll() -> None:
    app: Any = App(connector=InMemoryConnector())
    done: list[int] = []

    def note(number: int) -> None:
        done.append(number)
        if number == 3:
            worker.stop()

    task = app.task(note, name="import", lock="import")
    worker: Any = SteadyWorker(
        app, concurrency=4, fetch_job_polling_interval=3600, install_signal_handlers=False
    )

    async def work() -> None:
        async with app.open_async():
            for number in (1, 2, 3):
                await task.defer_async(number=number)
            with anyio.move_on_after(30):
                await worker.run()

    anyio.run(work)
    assert done == [1, 2, 3]
