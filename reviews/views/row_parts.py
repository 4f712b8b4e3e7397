"""Parts of rows that are formatted in Python, because a template looks up each value by name."""

import unicodedata
from functools import cache

from django.template.defaultfilters import truncatechars
from django.urls import reverse

from cognireview.web.markup import format_html

# Unlike a text, it need not be escaped.
NOTHING = format_html("{}", "")


def record_address(key: int) -> str:
    """Return the URL of a record by its primary key, without a lookup for each of them."""
    return f"{_before_key()}{key}/"


@cache
def _before_key() -> str:
    return reverse("evaluation", args=[0]).removesuffix("0/")


def shorten(text: str, length: int) -> str:
    """Return a text of at most `length` characters, the last of which is "…" if it was cut."""
    # Django's filter is slow, also with a text that it leaves as it is.
    if len(text) <= length and unicodedata.is_normalized("NFC", text):
        return text
    return str(truncatechars(text, length))
