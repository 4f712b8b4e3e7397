"""Run commands that arrive as lines of JSON, one after the other: a started program for many commands.

A line is a list of arguments. The answer is a list of exit status, output and error output.
"""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout

from django.db import connections

from cognireview import command_line


def _run(arguments: list[str]) -> tuple[int, str, str]:
    """Run `manage.py` with these arguments, as its process does."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    sys.argv = ["manage.py", *arguments]
    with redirect_stdout(out), redirect_stderr(err):
        try:
            command_line.main()
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            connections.close_all()
    return status, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    for text in sys.stdin:
        print(json.dumps(_run(json.loads(text))), flush=True)  # noqa: T201 the answer
