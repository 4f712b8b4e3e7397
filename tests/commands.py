"""Commands as an operator runs them: arguments in, exit status and output out."""

from typing import NamedTuple

import pytest
from django.core.management import CommandError, call_command


class Finished(NamedTuple):
    """How a command ended. A command that gave up says why in `err`, as `manage.py` prints it."""

    status: int
    out: bytes
    err: str


def manage(capture: pytest.CaptureFixture[bytes], *arguments: str) -> Finished:
    """Run `manage.py` with these arguments in this process."""
    status, said = 0, ""
    try:
        call_command(*arguments)
    except CommandError as error:
        status, said = error.returncode, str(error)
    except SystemExit as end:
        status = int(end.code or 0)
    captured = capture.readouterr()
    return Finished(status, captured.out, captured.err.decode() + said)
