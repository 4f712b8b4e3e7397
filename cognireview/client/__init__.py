"""The Python client of CogniReview (docs/client.md). It needs httpx2, and nothing of the server."""

from typing import TypeAlias

from cognireview.client.areas import jobs, run
from cognireview.client.backends import Asynchronous, Blocking
from cognireview.client.client import AsyncClient, Client
from cognireview.client.errors import (
    BlindScoresMissing,
    CogniReviewError,
    Conflict,
    ExportFailed,
    FieldError,
    FileRefused,
    Forbidden,
    ImportFailed,
    Invalid,
    InvalidSettings,
    NotFound,
    Problem,
    ServerError,
    TimedOut,
    TooLarge,
    TooManyRequests,
    TooManyUploads,
    Unauthenticated,
    UnexpectedResponse,
    Unreachable,
)
from cognireview.client.frames import to_pandas, to_polars
from cognireview.client.requests import Retries

# For annotations.
Run: TypeAlias = run.Run[Blocking]
AsyncRun: TypeAlias = run.Run[Asynchronous]
Import: TypeAlias = jobs.Import[Blocking]
AsyncImport: TypeAlias = jobs.Import[Asynchronous]
Export: TypeAlias = jobs.Export[Blocking]
AsyncExport: TypeAlias = jobs.Export[Asynchronous]

__all__ = [
    "AsyncClient",
    "AsyncExport",
    "AsyncImport",
    "AsyncRun",
    "BlindScoresMissing",
    "Client",
    "CogniReviewError",
    "Conflict",
    "Export",
    "ExportFailed",
    "FieldError",
    "FileRefused",
    "Forbidden",
    "Import",
    "ImportFailed",
    "Invalid",
    "InvalidSettings",
    "NotFound",
    "Problem",
    "Retries",
    "Run",
    "ServerError",
    "TimedOut",
    "TooLarge",
    "TooManyRequests",
    "TooManyUploads",
    "Unauthenticated",
    "UnexpectedResponse",
    "Unreachable",
    "to_pandas",
    "to_polars",
]
