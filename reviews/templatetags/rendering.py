"""The functions of `rendering` that make HTML from record texts, as template filters."""

import datetime as dt
from typing import Any

from django import template
from django.utils.safestring import SafeString

from reviews.evidence import rendering

register = template.Library()

register.filter("answer", rendering.answer)
register.filter("inline", rendering.inline)
register.filter("markdown", rendering.markdown)
register.filter("pieces", rendering.diff_html)
register.filter("plain", rendering.plain)
register.filter("result", rendering.result)
register.filter("with_spans", rendering.text_with_spans)


@register.filter
def json_html(value: Any) -> SafeString:
    """Render a record field as JSON, and a timestamp as the text in the file."""
    return rendering.json_html(value.isoformat() if isinstance(value, dt.datetime) else value)
