"""Pass the address of the client to the audit events of its request."""

from collections.abc import Callable
from functools import cache

from allauth.account.adapter import get_adapter
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import HttpRequest, HttpResponseBase

from reviews.audit.events import request_from

# Without a request, it has no state.
_adapter = cache(get_adapter)


class ClientAddressMiddleware:
    """Note the client's address, as allauth determines it for its limits of logins."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with request_from(_address_of(request)):
            return self.get_response(request)


def _address_of(request: HttpRequest) -> str | None:
    """Return the client's address; None without a valid one, as on a Unix socket."""
    try:
        address: str = _adapter().get_client_ip(request)
    except (PermissionDenied, ImproperlyConfigured):
        return None
    # The database has no zones: fe80::1%eth0 becomes fe80::1.
    return address.partition("%")[0]
