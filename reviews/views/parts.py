"""Render a page, a part of it for htmx, or a page with a form; link pages of lists, and show refusals."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from reviews.http.request import Request


def render_form(request: HttpRequest, template: str, form: BaseForm, **context: Any) -> HttpResponse:
    """Render a page with a form, with status 422 for a form that was sent: it has errors."""
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, template, {"form": form, **context}, status=status)


@contextmanager
def refusal_shown(request: HttpRequest, kind: type[Exception]) -> Iterator[None]:
    """Show an error that ends this block as a message."""
    try:
        yield
    except kind as error:
        messages.error(request, str(error))


def render_part(
    request: Request,
    template: str,
    part: str,
    context: Mapping[str, Any],
    status: HTTPStatus = HTTPStatus.OK,
) -> HttpResponse:
    """Render a page; for a request by htmx only the template's partial `part`."""
    name = f"{template}#{part}" if request.htmx else template
    response = render(request, name, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def page_links(address: str, after: str, next_after: str) -> dict[str, str]:
    """Return the URLs of the first and of the next page; empty texts where the list has no such page.

    `address` is that of the first page, with its filters. `after` and `next_after` are cursors.
    """
    joint = "&" if "?" in address else "?"
    return {
        "first": address if after else "",
        "previous": "",
        "next": f"{address}{joint}{urlencode({'after': next_after})}" if next_after else "",
    }
