"""Cut texts for narrow places."""

from django.template.defaultfilters import truncatechars


def shorten(text: str, length: int) -> str:
    """Return a text of at most `length` characters, the last of which is "…" if it was cut."""
    # Django's filter is slow, also with a text that it leaves as it is.
    if len(text) <= length and text.isascii():
        return text
    return str(truncatechars(text, length))
