"""Cache rendered parts of pages."""

from collections.abc import Hashable
from functools import lru_cache

from django import template
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from cognireview.web.markup import format_html, join_html, split_html

register = template.Library()

# Stands for the CSRF token of the reader's forms. No value can contain it, because "<" is escaped in values.
_TOKEN = format_html("<token>")


@register.simple_tag(takes_context=True)
def include_cached(context: Context, name: str, **values: Hashable) -> SafeString:
    """Include a template that depends on these values alone, and render it once for equal values.

    The values are hashable and contain no HTML: a text that is HTML equals the same text that has to be
    escaped. The template must not use the request, the person or the time, except for `{% csrf_token %}`.
    """
    parts = _render(name, tuple(values.items()))
    return join_html(parts, context["csrf_token"]) if len(parts) > 1 else parts[0]


@lru_cache(maxsize=512)
def _render(name: str, values: tuple[tuple[str, Hashable], ...]) -> tuple[SafeString, ...]:
    """Return the parts of a template before, between and after the CSRF tokens of its forms."""
    return split_html(render_to_string(name, {**dict(values), "csrf_token": _TOKEN}), _TOKEN)
