"""Render a page, only a part of it for htmx, or a page with a form."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from reviews.http.request import Request


def render_form(request: HttpRequest, template: str, form: BaseForm, **context: Any) -> HttpResponse:
    """Render a page with a form, with status 422 for a form that was sent: it has errors."""
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, template, {"form": form, **context}, status=status)


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
