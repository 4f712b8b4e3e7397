"""Times on pages: UTC in the markup; `times.js` shows them in the reader's time zone."""

import datetime as dt

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def moment(at: dt.datetime | None) -> SafeString | str:
    """Show date and time: "2026-03-01 14:05 UTC"."""
    return _time(at, "%Y-%m-%d %H:%M", "") if at else ""


@register.filter
def clock(at: dt.datetime | None) -> SafeString | str:
    """Show the time of day: "14:05 UTC"."""
    return _time(at, "%H:%M", " data-clock") if at else ""


def _time(at: dt.datetime, pattern: str, attribute: str) -> SafeString:
    utc = at.astimezone(dt.UTC)
    return format_html(
        '<time datetime="{}"{}>{} UTC</time>', f"{utc:%Y-%m-%dT%H:%M:%SZ}", attribute, f"{utc:{pattern}}"
    )
