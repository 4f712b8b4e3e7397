"""Compare the values before and after an audit event."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from reviews.models import AuditEvent
from reviews.records.json_text import sorted_json

# Deeper values are compared as JSON.
_DEPTH = 3
_MISSING = object()


class Difference(NamedTuple):
    name: str
    #: Empty for a missing value.
    before: str
    #: Empty for a missing value.
    after: str
    is_changed: bool


class Detail(NamedTuple):
    """Another value in the detail of an event."""

    name: str
    text: str


def list_differences(event: AuditEvent) -> list[Difference]:
    """List the values before and after an event: the `human_*` values of a record, or those of a setting."""
    found = event.detail.get("human") or event.detail
    if not isinstance(found, Mapping) or not {"before", "after"} & found.keys():
        return []
    return list(_compare("", found.get("before", _MISSING), found.get("after", _MISSING), 0))


def list_details(event: AuditEvent) -> list[Detail]:
    """List the detail of an event without the values before and after."""
    detail = {**event.detail, **(event.detail.get("human") or {})}
    return [
        Detail(name, _text(value))
        for name, value in detail.items()
        if name not in {"human", "before", "after"}
    ]


def _compare(name: str, before: Any, after: Any, depth: int) -> Iterator[Difference]:
    if depth < _DEPTH and any(isinstance(one, dict) and one for one in (before, after)):
        old, new = (one if isinstance(one, dict) else {} for one in (before, after))
        for key in [*old, *(key for key in new if key not in old)]:
            title = f"{name}.{key}" if name else str(key)
            yield from _compare(title, old.get(key, _MISSING), new.get(key, _MISSING), depth + 1)
    else:
        # Compared as text, as in the log: 1 and 1.0 differ.
        old_text, new_text = _text(before), _text(after)
        yield Difference(name or "value", old_text, new_text, old_text != new_text)


def _text(value: Any) -> str:
    if value is _MISSING:
        return ""
    if isinstance(value, str):
        return value
    if value is None:
        return "none"
    return sorted_json(value).decode()
