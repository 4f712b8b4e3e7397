"""Clients whose connections share the certificates of authorities, which no test needs."""

from collections.abc import Iterator
from functools import cache

import httpcore2
import pytest


@pytest.fixture(scope="session", autouse=True)
def _certificates_are_read_once() -> Iterator[None]:
    """Read certificates once. Each new client reads them, which takes longer than many of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", cache(httpcore2.default_ssl_context))
        yield
