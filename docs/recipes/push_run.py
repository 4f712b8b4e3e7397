"""Bring a file of evaluations into a run, wait for it, and say what became of its lines.

Usage: python push_run.py FILE RUN [SECONDS]

COGNIREVIEW_URL and COGNIREVIEW_TOKEN (scope import) come from the environment. Exit status: 0 every line is
in, 1 some were rejected, 2 the file is not in, or not yet.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

MOST_REJECTS_SHOWN = 20


def ask(path, headers=None, **request):
    """The body of an answer of the API."""
    url = f"{os.environ['COGNIREVIEW_URL'].rstrip('/')}/api/v1/{path}"
    token = {"Authorization": f"Bearer {os.environ['COGNIREVIEW_TOKEN']}"}
    with urlopen(Request(url, headers=token | (headers or {}), **request), timeout=300) as answer:
        return answer.read()


def push(file, run):
    """Send a file as it is read; it may be packed by gzip or zstd. Sending it again changes nothing."""
    path = f"runs/{quote(run, safe='')}/imports?file_name={quote(file.name)}"
    headers = {"Content-Type": "application/x-ndjson", "Content-Length": str(file.stat().st_size)}
    with file.open("rb") as data:
        try:
            return json.loads(ask(path, headers, data=data, method="POST"))
        except URLError as error:
            if isinstance(error.reason, ConnectionError):  # so ends a large file that nobody wants to read
                raise OSError(f"{error.reason}: check the token and its scope, then try again") from error
            raise


def wait(told, seconds):
    """Ask until the import is over, ever more rarely, and no longer than that."""
    end, pause = time.monotonic() + seconds, 0.2
    while told["state"] in ("queued", "running") and time.monotonic() < end:
        time.sleep(pause)
        pause = min(2 * pause, 10)
        told = json.loads(ask(f"imports/{told['id']}"))
    return told


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("run")
    parser.add_argument("seconds", type=float, nargs="?", default=600, help="to wait for it (%(default)s)")
    options = parser.parse_args()
    told = wait(push(options.file, options.run), options.seconds)
    if told["state"] != "done":
        print(f"Import {told['id']} is {told['state']}. {told['error']}", file=sys.stderr)
        return 2
    counts = {name: count for name, count in told["counts"].items() if count}
    print(f"Import {told['id']}:", ", ".join(f"{count} {name}" for name, count in counts.items()))
    for line in ask(f"imports/{told['id']}/rejects").splitlines()[:MOST_REJECTS_SHOWN]:
        rejected = json.loads(line)
        print(f"line {rejected['line']}: {rejected['field']} {rejected['reason']}")
    return 1 if "rejected" in counts else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except HTTPError as error:
        print(error.code, error.read().decode(errors="replace"), file=sys.stderr)
    except (OSError, ValueError, KeyError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(2)
