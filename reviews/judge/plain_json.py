"""Turn figures into plain JSON values."""

from typing import Any


def members(source: object, *names: str) -> dict[str, Any]:
    """Return attributes by name as JSON values: see `plain`."""
    return {name: plain(getattr(source, name)) for name in names}


def plain(value: Any) -> Any:
    """Convert a value with its own `as_json`, and a sequence member by member. Other values stay as is."""
    if hasattr(value, "as_json"):
        return value.as_json()
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value
