"""The doors of `rendering`, as template filters. They take text and JSON values of records."""

import datetime as dt
from typing import Any

from django import template
from django.utils.safestring import SafeString

from reviews.evidence import rendering

register = template.Library()

register.filter("inline", rendering.inline)
register.filter("markdown", rendering.markdown)
register.filter("pieces", rendering.diff_html)
register.filter("plain", rendering.plain)
register.filter("with_spans", rendering.text_with_spans)


@register.filter
def json_html(value: Any) -> SafeString:
    """A field of a record as JSON; a timestamp as the text it is in the file."""
    return rendering.json_html(value.isoformat() if isinstance(value, dt.datetime) else value)
