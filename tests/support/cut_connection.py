"""A TCP proxy that cuts its first connections, as a bad network does."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

_BLOCK = 65_536


@contextmanager
def cutting_proxy(url: str, *, cuts: int, after: int) -> Iterator[tuple[str, list[int]]]:
    """Yield an address that leads to the server, and a list with the bytes sent through each connection.

    The first connections, as many as `cuts`, are cut after so many bytes of the requests.
    """
    place = urlsplit(url)
    sent: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(
            target=_serve, args=(listening, (place.hostname, place.port), sent, cuts, after), daemon=True
        ).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", sent
        listening.shutdown(socket.SHUT_RDWR)


def _serve(
    listening: socket.socket, server: tuple[str | None, int | None], sent: list[int], cuts: int, after: int
) -> None:
    with suppress(OSError):
        while True:
            client, _ = listening.accept()
            number = len(sent)
            sent.append(0)
            limit = after if number < cuts else None
            threading.Thread(target=_pass_on, args=(client, server, sent, number, limit), daemon=True).start()


def _pass_on(
    client: socket.socket,
    server: tuple[str | None, int | None],
    sent: list[int],
    number: int,
    limit: int | None,
) -> None:
    with client, socket.create_connection(server) as upstream, suppress(OSError):
        threading.Thread(target=_answer, args=(upstream, client), daemon=True).start()
        while limit is None or sent[number] < limit:
            block = client.recv(_BLOCK)
            if not block:
                break
            upstream.sendall(block)
            sent[number] += len(block)
        # The other thread waits in `recv`: closing alone would not end the connection.
        upstream.shutdown(socket.SHUT_RDWR)


def _answer(upstream: socket.socket, client: socket.socket) -> None:
    with suppress(OSError):
        while block := upstream.recv(_BLOCK):
            client.sendall(block)
