"""Continuous requests, sent in turn to the web servers that are ready: a small proxy and its clients."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException

from tests.operations.site import ask

SECONDS_BETWEEN_PROBES = 0.25


class Refused(Exception):
    """The connection was refused, so no request was sent."""


@dataclass
class Proxy:
    """Chooses ports in turn, skipping servers that are not ready or do not listen."""

    ports: list[int]
    ready: set[int] = field(default_factory=set)
    _turn: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next_port(self) -> int:
        with self._lock:
            self._turn += 1
            usable = [port for port in self.ports if port in self.ready]
            return usable[self._turn % len(usable)] if usable else 0

    def watch(self, until: threading.Event) -> None:
        while not until.is_set():
            for port in list(self.ports):
                is_ready = ask(port, "/readyz", timeout=5).status == 200
                (self.ready.add if is_ready else self.ready.discard)(port)
            until.wait(SECONDS_BETWEEN_PROBES)


class Client(threading.Thread):
    """Sends requests one after another over persistent connections, one for each web server."""

    def __init__(self, proxy: Proxy, until: threading.Event, token: str) -> None:
        super().__init__(daemon=True)
        self.proxy, self.until, self.token = proxy, until, token
        self.answers: Counter[str] = Counter()
        self.longest = 0.0
        self._kept: dict[int, HTTPConnection] = {}

    def run(self) -> None:
        while not self.until.is_set():
            port = self.proxy.next_port()
            if not port:
                time.sleep(0.02)
                continue
            begin = time.monotonic()
            try:
                self.answers[str(self._send(port))] += 1
            except Refused:
                # A proxy tries the next server: this one has not seen the request.
                self.proxy.ready.discard(port)
                self.answers["refused"] += 1
            except (OSError, HTTPException) as error:
                self.answers[type(error).__name__] += 1
                self._kept.pop(port).close()
            self.longest = max(self.longest, time.monotonic() - begin)

    def _send(self, port: int) -> int:
        if port not in self._kept:
            connection = HTTPConnection("127.0.0.1", port, timeout=30)
            try:
                connection.connect()
            except ConnectionRefusedError:
                raise Refused from None
            self._kept[port] = connection
        connection = self._kept[port]
        if random.random() < 0.1:
            self._send_slowly(connection)
        else:
            connection.request("GET", "/api/v1/runs", headers={"Authorization": f"Bearer {self.token}"})
        response = connection.getresponse()
        response.read()
        if response.will_close:
            self._kept.pop(port).close()
        return response.status

    def _send_slowly(self, connection: HTTPConnection) -> None:
        """Send a body in pieces over one second. No run has that name, so nothing changes."""
        body = b'{"filters": {"q": "' + b"no such word " * 8 + b'"}}'
        connection.putrequest("POST", "/api/v1/runs/none/claims")
        for name, value in {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
        }.items():
            connection.putheader(name, value)
        connection.endheaders()
        for begin in range(0, len(body), 20):
            connection.send(body[begin : begin + 20])
            time.sleep(0.2)


@dataclass
class Traffic:
    """The answers to all clients so far."""

    proxy: Proxy
    clients: list[Client]

    @property
    def answers(self) -> "Counter[str]":
        return sum((client.answers for client in self.clients), Counter())

    @property
    def sent(self) -> int:
        return self.answers.total() - self.answers["refused"]

    @property
    def failed(self) -> dict[str, int]:
        """Count requests with an unexpected answer. Claims in a run that does not exist expect 404."""
        return {name: count for name, count in self.answers.items() if name not in {"200", "404", "refused"}}


@contextmanager
def flowing(proxy: Proxy, token: str, *, clients: int = 12) -> Iterator[Traffic]:
    """Generate traffic for the length of the block."""
    until = threading.Event()
    watch = threading.Thread(target=proxy.watch, args=[until], daemon=True)
    senders = [Client(proxy, until, token) for _ in range(clients)]
    for thread in (watch, *senders):
        thread.start()
    try:
        yield Traffic(proxy, senders)
    finally:
        until.set()
        for thread in (watch, *senders):
            thread.join(60)
