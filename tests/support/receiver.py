"""A real local HTTP server that receives webhooks and answers with chosen statuses."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Received(NamedTuple):
    """A received request, with header names in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """The received requests and the statuses to answer with; the last status repeats."""

    port: int = 0
    statuses: list[int] = field(default_factory=lambda: [204])
    headers: dict[str, str] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None

    @property
    def host(self) -> str:
        """Return the host as an entry of the allow-list."""
        return f"localhost:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/hook?to=team"

    def status(self) -> int:
        return self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]


@contextmanager
def running() -> Iterator[Receiver]:
    """Run the receiver for the length of the block."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received.append(Received(self.path, headers, body))
            receiver.meanwhile()
            self.send_response(receiver.status())
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"what a server has to say")

        def log_message(self, *_: object) -> None:
            """Suppress the request log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
