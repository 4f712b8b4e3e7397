"""The job worker: procrastinate's, which ends when its database goes away, begun anew when that is back."""

import asyncio
import logging
import signal

from procrastinate.contrib.django import app
from procrastinate.contrib.django.utils import connector_params
from procrastinate.psycopg_connector import PsycopgConnector

from cognireview.operations import outage

_POLL_SECONDS = 0.5
_OPEN_TIMEOUT_SECONDS = 4
log = logging.getLogger(__name__)


def work(finish_seconds: int) -> None:
    """Do jobs until SIGTERM or SIGINT. What runs then is asked to stop after `finish_seconds`."""
    asyncio.run(_work(finish_seconds))


async def _work(finish_seconds: int) -> None:
    stop_requested = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop_requested.set)
    stop = asyncio.create_task(stop_requested.wait())
    while not stop.done():
        worker = asyncio.create_task(_run_worker(finish_seconds))
        await asyncio.wait({worker, stop}, return_when=asyncio.FIRST_COMPLETED)
        # Cancelled, it ends as it would by a signal; it has ended already where its database went away.
        worker.cancel()
        await asyncio.wait({worker})
        _raise_unexpected(worker)
        await asyncio.wait({stop}, timeout=_POLL_SECONDS)
        while not stop.done() and not await asyncio.to_thread(outage.database_answers):
            await asyncio.wait({stop}, timeout=_POLL_SECONDS)


async def _run_worker(finish_seconds: int) -> None:
    # Its pool gives up soon: by itself it would try again after longer and longer pauses.
    connector = PsycopgConnector(kwargs=connector_params(), timeout=5, reconnect_timeout=1)
    with app.replace_connector(connector) as ours:
        try:
            # Its pool would wait on for connections that it gave up.
            async with asyncio.timeout(_OPEN_TIMEOUT_SECONDS):
                await ours.open_async()
            await ours.run_worker_async(
                install_signal_handlers=False, shutdown_graceful_timeout=finish_seconds
            )
        finally:
            await ours.close_async()


def _raise_unexpected(worker: "asyncio.Task[None]") -> None:
    """Raise what ended the worker, unless it was told to or its database went away."""
    error = None if worker.cancelled() else worker.exception()
    if error is None:
        return
    if not isinstance(error, TimeoutError) and not outage.is_outage(error):
        raise error
    log.warning("The database does not answer: the worker goes on when it does.")
