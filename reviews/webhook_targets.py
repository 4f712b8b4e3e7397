"""Where webhooks may go: hosts of `COGNIREVIEW_WEBHOOK_HOSTS`, and of their addresses those that are public.

A URL is an admin's to choose, the list the operator's. The name of a host is looked up once for each attempt,
all its addresses are checked, and the connection goes to one of these: what the name means a moment later
changes nothing. An address that is not public, as those of this machine and its network, is only reached if
it stands in the list itself or in a network of the list.
"""

import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings

SETTING = "COGNIREVIEW_WEBHOOK_HOSTS"
_PORTS = {"https": 443, "http": 80}

Address = IPv4Address | IPv6Address


class NotAllowed(Exception):
    """Nothing is sent there; the message is a sentence."""


class Target(NamedTuple):
    """Where a URL leads. The host has no brackets; the path has the query."""

    is_secure: bool
    host: str
    port: int
    path: str


def are_on() -> bool:
    return bool(settings.WEBHOOK_HOSTS)


def parse(url: str) -> Target:
    """Read a URL. Raises `NotAllowed` unless the list has its host and port."""
    # urlsplit drops line ends and tabs without a word.
    if not url.isascii() or not url.isprintable() or " " in url:
        raise NotAllowed("The URL takes visible ASCII characters; write the rest percent-encoded.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise NotAllowed("This is no URL.") from error
    host = parts.hostname or ""
    if parts.scheme not in _PORTS or not host:
        raise NotAllowed("The URL begins with https:// and the name of a host.")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise NotAllowed("The URL takes no name, no password and no #fragment.")
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    target = Target(parts.scheme == "https", host, port or _PORTS[parts.scheme], path)
    _check(target)
    return target


def _check(target: Target) -> None:
    if not are_on():
        raise NotAllowed(f"Webhooks are off: {SETTING} names no host.")
    if not target.is_secure and not _is_local(target.host):
        raise NotAllowed("The URL begins with https://, unless it leads to this machine.")
    usual = _PORTS["https" if target.is_secure else "http"]
    if (target.host, target.port) not in {(host, port or usual) for host, port in _hosts()}:
        raise NotAllowed(f"{target.host} with port {target.port} is not in {SETTING}.")


def addresses(target: Target) -> list[str]:
    """The addresses of a target. Raises `NotAllowed` if one of them must not be reached."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotAllowed(f"The name {target.host} is not known.") from error
    texts = list(dict.fromkeys(str(place[4][0]) for place in found))
    for text in texts:
        address = _plain(text)
        if not (_is_public(address) or _is_listed(address, target)):
            raise NotAllowed(
                f"{target.host} leads to {address}, which is not public and not in {SETTING} itself."
            )
    return texts


def _is_public(address: Address) -> bool:
    return address.is_global and not address.is_multicast


def _is_listed(address: Address, target: Target) -> bool:
    if target.host == "localhost" and address.is_loopback:
        return True
    return any(port in {None, target.port} and _is_in(address, host) for host, port in _hosts())


def _is_in(address: Address, network: str) -> bool:
    try:
        return address in ip_network(network)
    except ValueError:
        return False


def _is_local(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _plain(text: str) -> Address:
    """An address without its zone; one of IPv4 that is written as IPv6 is that of IPv4."""
    address = ip_address(text.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


def _hosts() -> Iterable[tuple[str, int | None]]:
    """The entries of the list: host, address or network, and its port."""
    for entry in settings.WEBHOOK_HOSTS:
        host, colon, port = entry.rpartition(":")
        # Of an IPv6 address without brackets, nothing is the port.
        has_port = bool(colon) and port.isdecimal() and (":" not in host or host.endswith("]"))
        yield (host if has_port else entry).strip("[]"), int(port) if has_port else None
