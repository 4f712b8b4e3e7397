"""Check that a web server can listen on an address."""

import socket


def check_free(host: str, port: int) -> None:
    """Raise `OSError` unless a server can listen on the IP address.

    granian shares a port that is in use, and the two servers would share its requests.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        # Connections of an earlier server may still close.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
