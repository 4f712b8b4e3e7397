"""Upload files over the API and wait for their imports."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.load.client import SECONDS_TO_COME_BACK, Client, GaveUp, Unknown

ACCEPTED = 202
SECONDS_BETWEEN_LOOKS = 0.25
SECONDS_TO_IMPORT = 600
UNFINISHED = ("queued", "running")


class Bringing:
    """Uploads files into one run. `wrong` lists unexpected answers."""

    def __init__(self, client: Client, run: str) -> None:
        self._client = client
        self._run = run
        self.wrong: list[str] = []

    def bring(self, file: Path) -> dict[str, Any]:
        """Upload a file, again if no answer arrives, and return its finished import.

        Raises `GaveUp`.
        """
        return self.wait_for(self.send(file), file)

    def wait_for(self, begun: dict[str, Any], file: Path) -> dict[str, Any]:
        """Return the import of a file once it has finished. Raises `GaveUp`."""
        end = time.monotonic() + SECONDS_TO_IMPORT
        while time.monotonic() < end:
            progress = self._client.ask_until_answered("progress", "GET", f"imports/{begun['id']}").body
            if progress["state"] not in UNFINISHED:
                if progress["state"] != "done":
                    self.wrong.append(
                        f"the import of {file.name} is {progress['state']}: {progress['error']}"
                    )
                return dict(progress)
            time.sleep(SECONDS_BETWEEN_LOOKS)
        raise GaveUp(f"the import of {file.name} is {progress['state']} for {SECONDS_TO_IMPORT} seconds")

    def send(self, file: Path) -> dict[str, Any]:
        """Upload a file and return its import. A second upload of the same file adds nothing."""
        path = f"runs/{self._run}/imports?{urlencode({'file_name': file.name})}"
        headers = {"Content-Type": "application/x-ndjson", "Content-Length": str(file.stat().st_size)}
        end = time.monotonic() + SECONDS_TO_COME_BACK
        while time.monotonic() < end:
            with suppress(Unknown), file.open("rb") as body:
                answer = self._client.ask("bring", "POST", path, body, headers)
                if answer.status != ACCEPTED:
                    raise GaveUp(f"{file.name} was answered {answer.status}: {answer.body}")
                return dict(answer.body)
            time.sleep(SECONDS_BETWEEN_LOOKS)
        raise GaveUp(f"{file.name}: no answer for {SECONDS_TO_COME_BACK} seconds")
