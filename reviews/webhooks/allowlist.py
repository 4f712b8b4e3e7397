"""Where webhooks may go: hosts of `COGNIREVIEW_WEBHOOK_HOSTS`, and of their addresses those that are public.

A URL is an admin's to choose, the list the operator's. The name of a host is looked up once for each attempt,
all its addresses are checked, and the connection goes to one of these: what the name means a moment later
changes nothing. An address that is not public, as those of this machine and its network, is only reached if
it stands in the list itself or in a network of the list. So is an IPv6 address that stands for one of IPv4,
and the IPv4 address in it has to be allowed too.
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

_UNICAST = ip_network("2000::/3")
# By the registries of IANA; not all of them are in each version of `ipaddress`.
_NOT_PUBLIC = [
    ip_network(network)
    for network in (
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # relays of 6to4
        "2001::/23",  # protocol assignments: Teredo, ORCHID and others
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
]
# Networks of IPv6 addresses that stand for one of IPv4 -> by how many bits that one is shifted.
_EMBEDDING = {
    ip_network("::/96"): 0,  # IPv4-compatible
    ip_network("::ffff:0:0:0/96"): 0,  # IPv4-translated
    ip_network("64:ff9b::/96"): 0,  # NAT64
    ip_network("64:ff9b:1::/48"): 0,  # NAT64 of a local network
    ip_network("2002::/16"): 80,  # 6to4
}
_TEREDO = ip_network("2001::/32")
# The second half of an ISATAP address begins with this, or with the same and its bit for "global" set.
_ISATAP = {0x00005EFE, 0x02005EFE}


class TargetNotAllowed(Exception):
    """Nothing is sent there; the message is a sentence."""


class WebhookTarget(NamedTuple):
    """Where a URL leads. The host has no brackets; the path has the query."""

    is_secure: bool
    host: str
    port: int
    path: str


def is_enabled() -> bool:
    return bool(settings.WEBHOOK_HOSTS)


def parse_target(url: str) -> WebhookTarget:
    """Read a URL. Raises `NotAllowed` unless the list has its host and port."""
    # urlsplit drops line ends and tabs without a word.
    if not url.isascii() or not url.isprintable() or " " in url:
        raise TargetNotAllowed("The URL takes visible ASCII characters; write the rest percent-encoded.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise TargetNotAllowed("This is no URL.") from error
    host = parts.hostname or ""
    if parts.scheme not in _PORTS or not host:
        raise TargetNotAllowed("The URL begins with https:// and the name of a host.")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise TargetNotAllowed("The URL takes no name, no password and no #fragment.")
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    target = WebhookTarget(parts.scheme == "https", host, port or _PORTS[parts.scheme], path)
    _check(target)
    return target


def _check(target: WebhookTarget) -> None:
    if not is_enabled():
        raise TargetNotAllowed(f"Webhooks are off: {SETTING} names no host.")
    if not target.is_secure and not _is_local(target.host):
        raise TargetNotAllowed("The URL begins with https://, unless it leads to this machine.")
    usual = _PORTS["https" if target.is_secure else "http"]
    if (target.host, target.port) not in {(host, port or usual) for host, port in _hosts()}:
        raise TargetNotAllowed(f"{target.host} with port {target.port} is not in {SETTING}.")


def resolve_target(target: WebhookTarget) -> list[str]:
    """The addresses of a target. Raises `NotAllowed` if one of them must not be reached."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise TargetNotAllowed(f"The name {target.host} is not known.") from error
    texts = list(dict.fromkeys(str(place[4][0]) for place in found))
    for text in texts:
        address = _plain(text)
        if not all(_is_public(each) or _is_listed(each, target) for each in [address, *_embedded(address)]):
            raise TargetNotAllowed(
                f"{target.host} leads to {address}, which is not public and not in {SETTING} itself."
            )
    return texts


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address) and (address not in _UNICAST or _embedded(address)):
        return False
    is_special = any(address in network for network in _NOT_PUBLIC)
    return address.is_global and not address.is_multicast and not is_special


def _embedded(address: Address) -> list[IPv4Address]:
    """Return the IPv4 addresses that an IPv6 address stands for, where packets to it may end."""
    if isinstance(address, IPv4Address) or address.is_loopback or address.is_unspecified:
        return []
    number = int(address)
    shifts = [shift for network, shift in _EMBEDDING.items() if address in network]
    found = [IPv4Address(number >> shift & 0xFFFFFFFF) for shift in shifts]
    if address in _TEREDO:
        # The server, and the client with all its bits turned.
        found += [IPv4Address(number >> 64 & 0xFFFFFFFF), IPv4Address(~number & 0xFFFFFFFF)]
    if number >> 32 & 0xFFFFFFFF in _ISATAP:
        found.append(IPv4Address(number & 0xFFFFFFFF))
    return found


def _is_listed(address: Address, target: WebhookTarget) -> bool:
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
