"""Run programs that use the site, while a worker runs the jobs that they enqueue."""

import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from reviews.models import Export, Import
from tests.support.jobs import work
from tests.support.waiting import PATIENCE


def finish(
    arguments: Iterable[object], variables: dict[str, str], cwd: Path | None = None, *, is_worked: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a process, and a worker for its jobs, for at most a minute."""
    end = time.monotonic() + PATIENCE
    command = list(map(str, arguments))
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while process.poll() is None and time.monotonic() < end:
            if is_worked and _is_work_waiting():
                work()
            time.sleep(0.02)
    finally:
        process.kill()
        out, err = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _is_work_waiting() -> bool:
    queued = Import.objects.filter(state=Import.State.QUEUED)
    return queued.exists() or Export.objects.filter(state=Export.State.UNFINISHED).exists()
