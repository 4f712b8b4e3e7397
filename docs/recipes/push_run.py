"""Import a file of evaluations into a run, wait for the import, and print the outcomes of its lines.

Usage: python push_run.py FILE RUN [SECONDS]

COGNIREVIEW_URL and COGNIREVIEW_TOKEN (scope import) come from the environment. Exit status: 0 if all lines
were imported, 1 if some were rejected, 2 if the import failed or is not finished.
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


def send(path, headers=None, **request):
    """Send a request to the API, and return the body of the response."""
    url = f"{os.environ['COGNIREVIEW_URL'].rstrip('/')}/api/v1/{path}"
    token = {"Authorization": f"Bearer {os.environ['COGNIREVIEW_TOKEN']}"}
    with urlopen(Request(url, headers=token | (headers or {}), **request), timeout=300) as response:
        return response.read()


def push(file, run):
    """Stream a file, which may be compressed with gzip or zstd. Sending it again changes nothing."""
    path = f"runs/{quote(run, safe='')}/imports?file_name={quote(file.name)}"
    headers = {"Content-Type": "application/x-ndjson", "Content-Length": str(file.stat().st_size)}
    with file.open("rb") as data:
        try:
            return json.loads(send(path, headers, data=data, method="POST"))
        except URLError as error:
            if isinstance(error.reason, ConnectionError):  # the server refused a large file
                raise OSError(f"{error.reason}: check the token and its scope, then try again") from error
            raise


def wait(imported, seconds):
    """Poll with growing pauses until the import is finished or the time is over."""
    end, pause = time.monotonic() + seconds, 0.2
    while imported["state"] in ("queued", "running") and time.monotonic() < end:
        time.sleep(pause)
        pause = min(2 * pause, 10)
        imported = json.loads(send(f"imports/{imported['id']}"))
    return imported


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("run")
    parser.add_argument("seconds", type=float, nargs="?", default=600, help="longest wait (%(default)s)")
    options = parser.parse_args()
    imported = wait(push(options.file, options.run), options.seconds)
    if imported["state"] != "done":
        print(f"Import {imported['id']} is {imported['state']}. {imported['error']}", file=sys.stderr)
        return 2
    counts = {name: count for name, count in imported["counts"].items() if count}
    print(f"Import {imported['id']}:", ", ".join(f"{count} {name}" for name, count in counts.items()))
    for line in send(f"imports/{imported['id']}/rejects").splitlines()[:MOST_REJECTS_SHOWN]:
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
