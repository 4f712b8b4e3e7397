"""Cache rendered parts of pages."""

from collections.abc import Hashable
from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def include_cached(name: str, **values: Hashable) -> SafeString:
    """Include a template that depends on these values alone, and render it once for equal values.

    The values are hashable and contain no HTML: a text that is HTML equals the same text that has to be
    escaped. The template must not use the request, the person or the time.
    """
    return _render(name, tuple(values.items()))


@lru_cache(maxsize=512)
def _render(name: str, values: tuple[tuple[str, Hashable], ...]) -> SafeString:
    return render_to_string(name, dict(values))
