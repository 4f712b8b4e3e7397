"""Render a page, or only a part of it for htmx."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from reviews.http.request import Request


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
