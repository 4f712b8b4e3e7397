"""Word the errors of pydantic as sentences that name the field."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from reviews.records.wording import quoted

_OBJECT, _DATE, _TIME = "an object", "a date such as 2026-01-31", "a date and time in ISO 8601"
# The beginning of a type of errors about types, and the right type.
_TYPES = {
    "string_": "a text",
    "int_": "a whole number",
    "float_": "a number",
    "finite_number": "a finite number",
    "bool_": "true or false",
    "dict_": _OBJECT,
    "model_": _OBJECT,
    "mapping_": _OBJECT,
    "list_": "a list",
    "date_": _DATE,
    "datetime_": _TIME,
    "timezone_": f"{_TIME} with a time zone",
    "uuid_": "a UUID",
    "none_required": "null",
}
_REQUIREMENTS = {
    "missing": "is missing",
    "extra_forbidden": "is not a known field",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "string_too_short": "needs at least {min_length} characters",
    "string_too_long": "has more than {max_length} characters",
    "string_pattern_mismatch": "does not match the pattern {pattern}",
    "too_short": "needs at least {min_length} entries",
    "too_long": "has more than {max_length} entries",
}


def sentence_of(field: str, error: Mapping[str, Any]) -> str:
    """Return the sentence about one of pydantic's errors. Own sentences stay as they are."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    shown = {name: _shown(value) for name, value in context.items()}
    known = _REQUIREMENTS.get(kind)
    right = next((right for beginning, right in _TYPES.items() if kind.startswith(beginning)), None)
    if known is None and right is None:
        return str(error["msg"])
    problem = known.format(**shown) if known else f"must be {right}"
    if problem.endswith(("at least 1 characters", "at least 1 entries")):
        problem = "is empty"
    return f"{quoted(field)} {problem}."


def _shown(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{Decimal(repr(value)):,f}".removesuffix(".0") if is_number else str(value)
