"""Format JSON values: for people, or to compare them."""

import json
from collections.abc import Callable
from typing import Any

import orjson

# Deep nesting makes indentation grow faster than the value: 200 levels put 400 spaces before each element.
MOST_INDENTED = 1_000_000


def indented(
    value: Any, indent: int, *, sort_keys: bool = False, default: Callable[[Any], Any] | None = None
) -> str:
    """Format a value as indented JSON, or on one line if indentation would make it very long.

    Raises `RecursionError`, `TypeError` and `ValueError` for values that JSON cannot represent.
    """
    options: dict[str, Any] = {"ensure_ascii": False, "sort_keys": sort_keys, "default": default}
    encoder = json.JSONEncoder(indent=indent, **options)
    size, chunks = 0, []
    for chunk in encoder.iterencode(value):
        size += len(chunk)
        if size > MOST_INDENTED:
            return json.dumps(value, **options)
        chunks.append(chunk)
    return "".join(chunks)


def sorted_json(value: Any) -> bytes:
    """Return a value as JSON with sorted keys, where 1, 1.0 and true differ. Raises `TypeError`."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def as_text(value: Any) -> str:
    """Return a text as it is, None as an empty text, and any other value as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
