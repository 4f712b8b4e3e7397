"""Times on pages: UTC in the markup; `times.js` shows them in the reader's time zone."""

import datetime as dt
import re
from collections.abc import Iterator

from django import template
from django.utils.safestring import SafeString

from cognireview.web.markup import format_html, format_html_join
from reviews.days import midnight, today

register = template.Library()

# The parts of a moment in ISO 8601 that are shown.
_MOMENT, _CLOCK = slice(16), slice(11, 16)
# As `queue.claims.format_time` writes them: without the date if it is today.
_IN_SENTENCE = re.compile(r"(?:(\d{4}-\d\d-\d\d) )?([01]\d|2[0-3]):([0-5]\d) UTC", re.ASCII)


@register.filter
def moment(at: dt.datetime | None) -> SafeString | str:
    """Show date and time: "2026-03-01 14:05 UTC"."""
    return _time(at, _MOMENT, "") if at else ""


@register.filter
def clock(at: dt.datetime | None) -> SafeString | str:
    """Show the time of day: "14:05 UTC"."""
    return _time(at, _CLOCK, " data-clock") if at else ""


@register.filter
def due(day: dt.date | None) -> str:
    """Say when something is due, in UTC: "due tomorrow", "due Fri 2026-11-27", "overdue since 2026-11-20"."""
    if not day:
        return ""
    left = (day - today()).days
    if left < 0:
        return f"overdue since {day}"
    words = {0: "due today", 1: "due tomorrow"}
    return words.get(left) or f"due {day:%a} {day}"


@register.filter
def with_times(sentence: str) -> SafeString:
    """Mark up the times in a sentence, as in "Claimed since 14:05 UTC"."""
    return format_html_join("", "{}", ((part,) for part in _parts(sentence)))


def _parts(sentence: str) -> Iterator[str | SafeString]:
    end = 0
    for found in _IN_SENTENCE.finditer(sentence):
        yield sentence[end : found.start()]
        yield _marked(found)
        end = found.end()
    yield sentence[end:]


def _marked(found: re.Match[str]) -> str | SafeString:
    date, hours, minutes = found.groups()
    try:
        day = dt.date.fromisoformat(date) if date else today()
    except ValueError:  # no date, though it looks like one
        return found[0]
    at = midnight(day) + dt.timedelta(hours=int(hours), minutes=int(minutes))
    return moment(at) if date else clock(at)


def _time(at: dt.datetime, shown: slice, attribute: str) -> SafeString:
    utc = at.astimezone(dt.UTC).isoformat(" ")
    return format_html('<time datetime="{}T{}Z"{}>{} UTC</time>', utc[:10], utc[11:19], attribute, utc[shown])
