"""An API client that opens a connection for each request, times it and reports broken connections."""

import http.client
import json
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import quantiles
from typing import Any

HOST = "127.0.0.1"
SECONDS_TO_ANSWER = 60
# How long a client repeats a request that gets no answer.
SECONDS_TO_COME_BACK = 120
JSON = "application/json"
_BROKEN = (OSError, http.client.HTTPException)


class Unknown(Exception):
    """No answer arrived, so the effect of the request is unknown. The message says what happened."""


class GaveUp(Exception):
    """The site did not answer for `SECONDS_TO_COME_BACK`, or its answer was not allowed."""


@dataclass(frozen=True)
class Answer:
    """Status and JSON body, if any, and whether the request repeats one without an answer."""

    status: int
    body: Any = None
    is_repeated: bool = False


@dataclass
class Times:
    """Milliseconds and statuses by kind of request, and each request without an answer or with a 5xx."""

    taken: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    # The time (`time.monotonic`) and the reason of each interruption.
    interrupted: list[tuple[float, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, status: int, milliseconds: float) -> None:
        with self.lock:
            self.taken[kind].append(milliseconds)
            self.statuses[kind, status] += 1

    def note_interruption(self, kind: str, why: str) -> None:
        with self.lock:
            self.interrupted.append((time.monotonic(), f"{kind}: {why}"))

    def table(self) -> Iterator[str]:
        """Yield a row for each kind of request with its count and percentiles of its duration."""
        yield f"{'':10} {'requests':>9} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8}"
        for kind, taken in sorted(self.taken.items()):
            cuts = quantiles(taken, n=100, method="inclusive") if len(taken) > 1 else taken * 99
            yield f"{kind:10} {len(taken):9,} {cuts[49]:8.0f} {cuts[94]:8.0f} {cuts[98]:8.0f}"


class Client:
    """Sends requests with one token."""

    def __init__(self, port: int, token: str, times: Times, chance: random.Random) -> None:
        self._port = port
        self._headers = {"Authorization": f"Bearer {token}"}
        self._times = times
        self._chance = chance

    def ask(
        self, kind: str, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request once. Raises `Unknown`."""
        begin = time.monotonic()
        connection = http.client.HTTPConnection(HOST, self._port, timeout=SECONDS_TO_ANSWER)
        try:
            self._send(connection, method, path, body, headers)
            response = connection.getresponse()
            text = response.read()
        except _BROKEN as error:
            self._times.note_interruption(kind, f"{type(error).__name__}: {error}")
            raise Unknown(str(error)) from error
        finally:
            connection.close()
        self._times.note(kind, response.status, (time.monotonic() - begin) * 1000)
        answer = Answer(response.status, json.loads(text) if text else None)
        if answer.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            self._times.note_interruption(kind, f"{answer.status}: {text.decode(errors='replace')[:200]}")
            raise Unknown(f"{answer.status}")
        if "Retry-After" in response.headers:
            # The first request with this Idempotency-Key is still at work.
            raise Unknown(f"{answer.status}, to be sent again")
        return answer

    def ask_until_answered(
        self, kind: str, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Repeat an idempotent request until it is answered. Raises `GaveUp`."""
        end = time.monotonic() + SECONDS_TO_COME_BACK
        is_repeated = False
        while time.monotonic() < end:
            with suppress(Unknown):
                return replace(self.ask(kind, method, path, body, headers), is_repeated=is_repeated)
            is_repeated = True
            time.sleep(self._chance.uniform(0.05, 0.5))
        raise GaveUp(f"{method} {path}: no answer for {SECONDS_TO_COME_BACK} seconds")

    def hang_up(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> None:
        """Send a request, or half of one, and close the connection without waiting for an answer."""
        connection = http.client.HTTPConnection(HOST, self._port, timeout=SECONDS_TO_ANSWER)
        with suppress(*_BROKEN):
            self._send(connection, method, path, body, headers)
            if connection.sock and self._chance.random() < 0.5:
                # The connection may close during the work or during the answer.
                time.sleep(self._chance.uniform(0, 0.05))
        connection.close()

    def download(self, kind: str, path: str) -> Iterator[bytes]:
        """Yield the blocks of a file as they arrive. Raises `Unknown`, also for an incomplete file."""
        connection = http.client.HTTPConnection(HOST, self._port, timeout=SECONDS_TO_ANSWER)
        begin = time.monotonic()
        try:
            self._send(connection, "GET", path, None, None)
            response = connection.getresponse()
            if response.status != http.HTTPStatus.OK:
                raise Unknown(f"{response.status}")
            left = int(response.headers["Content-Length"])
            while block := response.read(1024**2):
                left -= len(block)
                yield block
            if left:
                raise Unknown(f"the file broke off, {left:,} bytes before its end")
        except _BROKEN as error:
            raise Unknown(f"{type(error).__name__}: {error}") from error
        finally:
            connection.close()
        self._times.note(kind, response.status, (time.monotonic() - begin) * 1000)

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: Any,
        headers: Mapping[str, str] | None,
    ) -> None:
        sent = {**self._headers, **(headers or {})}
        if body is not None and not hasattr(body, "read"):
            body = json.dumps(body).encode()
            sent["Content-Type"] = JSON
        connection.request(method, f"/api/v1/{path}", body=body, headers=sent)
