"""Compute the numbers that records of one response have in common, as the functions of `response_key.sql` do.

The functions raise `ValueError` if PostgreSQL may compute another number.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from json.encoder import encode_basestring
from typing import Any

import msgspec

from reviews.records.criteria_order import stored_order
from reviews.records.responses import has_answer


class _Decimal(str):
    """A number with a fraction, as it is spelled."""

    __slots__ = ()


def _decimal(spelled: str) -> _Decimal:
    """Refuse numbers that PostgreSQL spells in another way."""
    if "e" in spelled.lower() or (spelled.startswith("-") and not spelled.strip("-0.")):
        raise ValueError(spelled)
    return _Decimal(spelled)


_decode = msgspec.json.Decoder(float_hook=_decimal).decode


def response_key(
    task: str | None, record: str, model: str | None, structured: bytes | None, task_context: bytes | None
) -> int | None:
    """Return the key of the answer that a record includes, or None without one.

    `structured` and `task_context` are JSON.
    """
    answer = None if structured is None else _decode(structured)
    if type(answer) is _Decimal:
        raise ValueError(answer)
    if not has_answer(answer):
        answer = _own_responses(task_context)
        if not any(has_answer(_response(one)) for one in answer[:2]):
            return None
    return _key(task, None if task is not None else record, model, answer)


def pair_key(task: str | None, record: str, task_context: bytes | None) -> int | None:
    """Return the key of the two responses in a task context. None without two different ones."""
    texts = [_text(_response(one)) for one in _own_responses(task_context)[:2]]
    if len(texts) < 2 or None in texts or texts[0] == texts[1]:
        return None
    one, other = map(str, texts)
    # PostgreSQL compares by code point here, as Python does.
    key = _key(task, None if task is not None else record, min(one, other), max(one, other))
    return key & ~1 | (one > other)


def _own_responses(task_context: bytes | None) -> Sequence[Any]:
    context = None if task_context is None else _decode(task_context)
    found = context.get("responses") if isinstance(context, Mapping) else None
    return found if isinstance(found, list) else []


def _response(entry: Any) -> Any:
    return entry.get("response") if isinstance(entry, Mapping) else None


def _text(value: Any) -> str | None:
    """Return a value as the operator `#>>` does."""
    return value if value is None or type(value) is str else _stored(value)


def _key(*values: Any) -> int:
    text = _stored([*values])
    return int.from_bytes(sha256(text.encode()).digest()[:8], signed=True)


def _stored(value: Any) -> str:
    """Return a JSON value as PostgreSQL writes its jsonb."""
    kind = type(value)
    if kind is str:
        return encode_basestring(value)
    if kind is list:
        parts = [encode_basestring(one) if type(one) is str else _stored(one) for one in value]
        return f"[{', '.join(parts)}]"
    if kind is dict:
        names = stored_order(value) if len(value) > 1 else value
        return f"{{{', '.join([f'{encode_basestring(name)}: {_stored(value[name])}' for name in names])}}}"
    if value is None:
        return "null"
    return str(value).lower() if kind is bool else str(value)
