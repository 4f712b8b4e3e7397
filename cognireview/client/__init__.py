"""The Python client of CogniReview (docs/client.md). It needs httpx2, and nothing of the server."""

from cognireview.client.aio.client import AsyncClient
from cognireview.client.errors import (
    CogniReviewError,
    Conflict,
    FieldError,
    Forbidden,
    ImportFailed,
    Invalid,
    InvalidSettings,
    NotFound,
    Problem,
    ServerError,
    TimedOut,
    TooManyRequests,
    Unauthenticated,
    UnexpectedResponse,
    Unreachable,
)
from cognireview.client.frames import to_pandas, to_polars
from cognireview.client.requests import Retries
from cognireview.client.sync.client import Client

__all__ = [
    "AsyncClient",
    "Client",
    "CogniReviewError",
    "Conflict",
    "FieldError",
    "Forbidden",
    "ImportFailed",
    "Invalid",
    "InvalidSettings",
    "NotFound",
    "Problem",
    "Retries",
    "ServerError",
    "TimedOut",
    "TooManyRequests",
    "Unauthenticated",
    "UnexpectedResponse",
    "Unreachable",
    "to_pandas",
    "to_polars",
]
