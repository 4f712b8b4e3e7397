"""Data frames of pandas and polars from rows of the client."""

import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from typing import Any

from cognireview.client.errors import CogniReviewError


def to_pandas(rows: Iterable[Any]) -> Any:
    """Return a `pandas.DataFrame` with a row for each dataclass or dict, and their values unchanged."""
    with _explained("pandas"):
        pandas = importlib.import_module("pandas")
    return pandas.DataFrame([_members(row) for row in rows], dtype=object)


def to_polars(rows: Iterable[Any]) -> Any:
    """Return a `polars.DataFrame`. A column with values of several types becomes text."""
    with _explained("polars"):
        polars = importlib.import_module("polars")
    return polars.DataFrame([_members(row) for row in rows], strict=False, infer_schema_length=None)


def _members(row: Any) -> dict[str, Any]:
    return asdict(row) if is_dataclass(row) and not isinstance(row, type) else dict(row)


@contextmanager
def _explained(library: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise CogniReviewError(f"{library} is not installed: python -m pip install {library}") from error
