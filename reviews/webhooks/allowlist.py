"""Allow webhooks to public addresses of the hosts in `COGNIREVIEW_WEBHOOK_HOSTS` only.

Admins choose URLs; the operator sets the list of hosts. A host name is resolved once per attempt, all its
addresses are checked, and the connection goes to one of the checked addresses. A later change of the name
therefore has no effect (DNS rebinding). An address that is not public, such as one of this machine or its
network, must be in the list itself or in a listed network. The same applies to an IPv6 address that embeds an
IPv4 address, and the IPv4 address must be allowed, too.
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
# From the IANA registries. Some versions of `ipaddress` lack a few of them.
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
# IPv6 networks whose addresses end with an IPv4 address.
_EMBEDDING = [
    ip_network("::/96"),  # IPv4-compatible
    ip_network("::ffff:0:0:0/96"),  # IPv4-translated
    ip_network("64:ff9b::/96"),  # NAT64
    ip_network("64:ff9b:1::/48"),  # NAT64 of a local network
]
# The second half of an ISATAP address begins with one of these: without or with the "global" bit.
_ISATAP = {0x00005EFE, 0x02005EFE}


class TargetNotAllowed(Exception):
    """The target of a webhook is not allowed. The message is a sentence."""


class WebhookTarget(NamedTuple):
    """The target of a URL. The host has no brackets; the path includes the query."""

    is_secure: bool
    host: str
    port: int
    path: str


def is_enabled() -> bool:
    return bool(settings.WEBHOOK_HOSTS)


def parse_target(url: str) -> WebhookTarget:
    """Parse a URL. Raises `TargetNotAllowed` unless the list has its host and port."""
    # urlsplit silently drops line ends and tabs.
    if not url.isascii() or not url.isprintable() or " " in url:
        raise TargetNotAllowed(
            "The URL may contain visible ASCII characters only. Percent-encode all others."
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise TargetNotAllowed("This is not a URL.") from error
    host = parts.hostname or ""
    if parts.scheme not in _PORTS or not host:
        raise TargetNotAllowed("The URL must begin with https:// and a host name.")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise TargetNotAllowed("The URL must not contain a user name, a password or a #fragment.")
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    target = WebhookTarget(parts.scheme == "https", host, port or _PORTS[parts.scheme], path)
    _check(target)
    return target


def _check(target: WebhookTarget) -> None:
    if not is_enabled():
        raise TargetNotAllowed(f"Webhooks are off: {SETTING} is empty.")
    if not target.is_secure and not _is_local(target.host):
        raise TargetNotAllowed("The URL must begin with https://, except for this machine.")
    usual = _PORTS["https" if target.is_secure else "http"]
    if (target.host, target.port) not in {(host, port or usual) for host, port in _hosts()}:
        raise TargetNotAllowed(f"{target.host} with port {target.port} is not in {SETTING}.")


def resolve_target(target: WebhookTarget) -> list[str]:
    """Return the addresses of a target. Raises `TargetNotAllowed` if one of them must not be reached."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise TargetNotAllowed(f"The host name {target.host} could not be resolved.") from error
    texts = list(dict.fromkeys(str(place[4][0]) for place in found))
    for text in texts:
        address = _plain(text)
        if not all(_is_public(each) or _is_listed(each, target) for each in [address, *_embedded(address)]):
            raise TargetNotAllowed(
                f"{target.host} resolves to {address}, which is not public and not in {SETTING}."
            )
    return texts


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address) and (address not in _UNICAST or _embedded(address)):
        return False
    is_special = any(address in network for network in _NOT_PUBLIC)
    return address.is_global and not address.is_multicast and not is_special


def _embedded(address: Address) -> list[IPv4Address]:
    """Return the IPv4 addresses embedded in an IPv6 address, to which packets may be forwarded."""
    if isinstance(address, IPv4Address) or address.is_loopback or address.is_unspecified:
        return []
    number = int(address)
    found = [address.sixtofour] if address.sixtofour else []
    found += address.teredo or ()
    if any(address in network for network in _EMBEDDING) or number >> 32 & 0xFFFFFFFF in _ISATAP:
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
    """Parse an address without its zone. An IPv4 address written as IPv6 becomes IPv4."""
    address = ip_address(text.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


def _hosts() -> Iterable[tuple[str, int | None]]:
    """Yield the entries of the list: a host, address or network, and its port."""
    for entry in settings.WEBHOOK_HOSTS:
        host, colon, port = entry.rpartition(":")
        # An IPv6 address without brackets has no port.
        has_port = bool(colon) and port.isdecimal() and (":" not in host or host.endswith("]"))
        yield (host if has_port else entry).strip("[]"), int(port) if has_port else None
