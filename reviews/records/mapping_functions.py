"""Functions of mapping expressions besides those of JMESPath."""

import hashlib
import re
from collections.abc import Callable
from typing import Any

from jmespath.functions import Functions, signature

from reviews.records.json_text import sorted_json

_BETWEEN_WORDS = re.compile(r"[\W_]+")


class MappingFunctions(Functions):
    """The functions of JMESPath, and `sha256`, `default`, `slug`, `lookup` and `between`.

    `spend_on` is called with values that a function reads as a whole.
    """

    def __init__(self, spend_on: Callable[[Any], None]) -> None:
        super().__init__()
        self._spend_on = spend_on

    @signature({"types": []})
    def _func_sha256(self, value: Any) -> str:
        """Return the SHA-256 of a text, or of another value as JSON with sorted keys, in hexadecimal."""
        self._spend_on(value)
        return content_sha256(value)

    @signature({"types": []}, {"types": []})
    def _func_default(self, value: Any, fallback: Any) -> Any:
        """Return the value, or the fallback if the value is null. Unlike `||`, keep 0, false and ''."""
        return fallback if value is None else value

    @signature({"types": ["string", "number", "null"]})
    def _func_slug(self, value: Any) -> str | None:
        """Return a text in lower case, with a hyphen between its words. Null stays null."""
        if value is None:
            return None
        return _BETWEEN_WORDS.sub("-", str(value).casefold()).strip("-")

    @signature({"types": ["object", "array", "null"]}, {"types": ["string", "number", "null"]})
    def _func_lookup(self, container: Any, key: Any) -> Any:
        """Return the value of a key of an object, or the element of a list at an index. Null if missing."""
        if isinstance(container, dict):
            return container.get(key if isinstance(key, str) else str(key))
        is_index = isinstance(container, list) and isinstance(key, int)
        return container[key] if is_index and -len(container) <= key < len(container) else None

    @signature({"types": ["string", "null"]}, {"types": ["string"]}, {"types": ["string"]})
    def _func_between(self, text: str | None, start: str, end: str) -> str | None:
        """Return the text after the first `start` and before the next `end`.

        An empty `start` is the beginning, and an empty `end` the end of the text. Null without one of them.
        """
        if text is None or (begin := text.find(start)) < 0:
            return None
        begin += len(start)
        stop = text.find(end, begin) if end else len(text)
        return text[begin:stop] if stop >= 0 else None


def content_sha256(value: Any) -> str:
    """Return the SHA-256 of a text in UTF-8, or of another JSON value with sorted keys.

    Raises `TypeError` for a value that is nested too deep.
    """
    text = value.encode() if isinstance(value, str) else sorted_json(value)
    return hashlib.sha256(text).hexdigest()


def call_problem(name: str, arguments: int) -> str:
    """Return why a function cannot be called with so many arguments, or an empty string."""
    known = MappingFunctions.FUNCTION_TABLE.get(name)
    if known is None:
        return f"there is no function {name}()"
    parameters = known["signature"]
    is_variadic = bool(parameters and parameters[-1].get("variadic"))
    takes = len(parameters)
    if arguments == takes or (is_variadic and arguments > takes):
        return ""
    plural = "" if takes == 1 else "s"
    return f"{name}() takes {'at least ' * is_variadic}{takes} argument{plural}, not {arguments}"
