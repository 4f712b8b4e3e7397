"""Limits of the requests of each token, and of each address without a valid token.

The counts are in the memory of the web process, so that they cost no query: each process has its own.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from reviews.accounts.encryption import hash_token
from reviews.api.problems import PREFIX, problem_response
from reviews.audit.events import client_address

_WINDOW_SECONDS = 60
# The least recently used clients are forgotten. They start with a whole quota again.
_MAX_CLIENTS = 10_000


class Remaining(NamedTuple):
    """The requests that a client may send now."""

    is_allowed: bool
    requests: int
    #: Seconds until the quota is whole again.
    seconds: int
    #: Seconds until the next request is allowed.
    wait: int


class Limit:
    """A token bucket for each client: `quota` requests, which come back evenly within a minute."""

    def __init__(self, name: str, quota: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = name
        self.quota = quota
        self._clock = clock
        self._lock = Lock()
        # Client -> (level, time of the level).
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __contains__(self, client: str) -> bool:
        return client in self._levels

    def take(self, client: str) -> Remaining:
        """Take a request from the quota of a client, if it has one."""
        per_second = self.quota / _WINDOW_SECONDS
        with self._lock:
            now = self._clock()
            level, since = self._levels.pop(client, (float(self.quota), now))
            level = min(self.quota, level + (now - since) * per_second)
            is_allowed = level >= 1
            level -= is_allowed
            self._levels[client] = (level, now)
            if len(self._levels) > _MAX_CLIENTS:
                self._levels.popitem(last=False)
        missing = self.quota - level
        wait = max(0, math.ceil((1 - level) / per_second))
        return Remaining(is_allowed, int(level), math.ceil(missing / per_second), wait)


class RateLimitMiddleware:
    """Answer 429 to clients of the API that send too many requests, and send all of them their quota.

    A token has a quota of its own once it was valid. Until then, its requests count for the address, so that
    invalid tokens do not add to the quota. It stays in this package because it needs the problem format.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._tokens = Limit("token", settings.API_RATE)
        self._addresses = Limit("address", settings.API_RATE_PER_ADDRESS)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(PREFIX):
            return self.get_response(request)
        sent = request.headers.get("Authorization", "")
        token = hash_token(sent) if sent else ""
        is_known = token in self._tokens
        limit, client = (self._tokens, token) if is_known else (self._addresses, client_address() or "")
        remaining = limit.take(client)
        if remaining.is_allowed:
            response = self.get_response(request)
            if token and not is_known and response.status_code != 401:
                limit, remaining = self._tokens, self._tokens.take(token)
        else:
            sentence = f"Too many requests. Wait {remaining.wait} seconds."
            response = problem_response(429, sentence)
            response["Retry-After"] = str(remaining.wait)
        response["RateLimit-Policy"] = f'"{limit.name}";q={limit.quota};w={_WINDOW_SECONDS}'
        response["RateLimit"] = f'"{limit.name}";r={remaining.requests};t={remaining.seconds}'
        return response
