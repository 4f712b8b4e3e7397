"""Run procrastinate's worker: periodic jobs survive jumps of the clock, and jobs do not wait for polls."""

from collections.abc import Iterable
from typing import Any

from procrastinate import App, JobContext
from procrastinate.periodic import PeriodicDeferrer, PeriodicTask
from procrastinate.worker import Worker


class SteadyDeferrer(PeriodicDeferrer):
    """Enqueues periodic jobs. procrastinate's own enqueues none until a clock that was set back catches up.

    After a suspension of the machine, it would also enqueue each job for each of its times in between.
    """

    def get_timestamps(
        self, periodic_task: PeriodicTask[Any, Any, Any], since: int | None, until: float
    ) -> Iterable[int]:
        """Yield the newest time of a task since its last one, if there is one."""
        if since is None or since > until:
            yield from super().get_timestamps(periodic_task, None, until)
            return
        periodic_task.croniter.set_current(start_time=until)
        newest = round(periodic_task.croniter.get_prev(ret_type=float))
        if newest > since:
            yield newest


class SteadyWorker(Worker):
    """A worker of procrastinate with this deferrer, which fetches a job as soon as its lock is free."""

    async def _periodic_deferrer(self) -> None:
        deferrer = SteadyDeferrer(registry=self.app.periodic_registry, **self.app.periodic_defaults)
        await deferrer.worker()

    async def _process_job(self, context: JobContext) -> None:
        """Process a job, and fetch the next one with its lock without waiting for the next poll."""
        try:
            await super()._process_job(context)
        finally:
            if context.job.lock:
                self._new_job_event.set()


async def run_worker(app: App, **options: Any) -> None:
    """Run a worker of an app, as `App.run_worker_async`."""
    app.perform_import_paths()  # type: ignore[no-untyped-call]
    chosen: dict[str, Any] = {**app.worker_defaults, **options}
    await SteadyWorker(app, **chosen).run()  # type: ignore[no-untyped-call]
