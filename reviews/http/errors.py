"""What a person sees when something does not work: one look, what happened, and a way on."""

import sys
from collections.abc import Callable

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.html import format_html
from django_htmx.middleware import HtmxDetails

from cognireview.operations import disk_full, outage
from reviews.accounts.permissions import Denied
from reviews.storage import corruption
from reviews.storage.corruption import CorruptData


def error_page(request: HttpRequest, status: int, heading: str, sentence: str) -> HttpResponse:
    """An error page. The sentence says what happened and what to do, in the reader's words."""
    context = {"status": status, "heading": heading, "sentence": sentence}
    return render(request, "site/errors/page.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 (Django names it)
    return error_page(
        request,
        400,
        "This request cannot be read",
        "The browser sent something that this site does not take. Go back, reload the page and try again.",
    )


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, 403, "Not allowed", str(exception) or "Your role does not allow this.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 (Django names it)
    return error_page(request, 404, "Not found", "There is nothing at this address.")


def server_error(request: HttpRequest) -> HttpResponse:
    """The page for an error of ours, a full disk, or a database that went away under a request."""
    error = sys.exception()
    if disk_full.is_disk_full(error):
        return _service_error(request, 507, "The server's disk is full", disk_full.MESSAGE)
    if outage.is_outage(error):
        outage.start_watch()
        return unavailable(request)
    sentence = "The error has been logged. What was saved before is safe; try again in a moment."
    return standalone_error_page(500, "Something went wrong here", sentence)


def unavailable(request: HttpRequest) -> HttpResponse:
    """The page while the database is away."""
    response = _service_error(request, 503, "The database does not answer", outage.MESSAGE)
    response["Retry-After"] = str(outage.RETRY_AFTER)
    return response


def damaged_file(request: HttpRequest, fault: CorruptData) -> HttpResponse:
    """Answer 503 for a damaged kept file: trying again does not help, the operator has to restore it."""
    corruption.log_corruption(fault)
    return _service_error(request, 503, "The kept file is damaged", str(fault))


def _service_error(request: HttpRequest, status: int, heading: str, sentence: str) -> HttpResponse:
    """A page without the database; for htmx a message, which it puts above the page that is there."""
    if HtmxDetails(request):
        message = format_html('<p class="banner error">{}</p>', sentence)
        # Whatever the element that asked would have done with the answer.
        place = {"HX-Retarget": "#messages", "HX-Reswap": "innerHTML", "HX-Reselect": "p"}
        response = HttpResponse(message, status=status, headers=place)
    else:
        response = standalone_error_page(status, heading, sentence)
    response["Cache-Control"] = "no-store"
    return response


def standalone_error_page(status: int, heading: str, sentence: str) -> HttpResponse:
    """An error page that asks nothing of the database, which may be what failed."""
    context = {
        "status": status,
        "heading": heading,
        "sentence": sentence,
        "user": AnonymousUser(),
        "messages": [],
        "csrf_token": "",
    }
    return HttpResponse(render_to_string("site/errors/page.html", context), status=status)


def csrf_failure(request: HttpRequest, **_: str) -> HttpResponse:
    """A form without a valid token: mostly a page from before the last login, or cookies turned off."""
    return error_page(
        request,
        403,
        "This form is out of date",
        "You logged in or out since the page was opened, or cookies are turned off. "
        "Go back, reload the page and send the form again. Nothing was changed.",
    )


def not_allowed(request: HttpRequest, allowed: str) -> HttpResponse:
    """The page for a method that an address does not take; `allowed` are those that it does."""
    response = error_page(
        request,
        405,
        "This cannot be done here",
        f"The browser sent {request.method} to an address that takes {allowed} only. Nothing was changed.",
    )
    response["Allow"] = allowed
    return response


class ErrorPageMiddleware:
    """Turns `Denied` and `CorruptData`, wherever they are raised, and refused methods into pages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if isinstance(response, HttpResponseNotAllowed):
            return not_allowed(request, response["Allow"])
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, CorruptData):
            return damaged_file(request, exception)
        return permission_denied(request, exception) if isinstance(exception, Denied) else None


class OutageMiddleware:
    """Answers for the database while it is known to be away. Static files and probes come before this."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return unavailable(request) if outage.is_active() else self.get_response(request)


class Utf8Middleware:
    """Refuses forms in another encoding than UTF-8: some bring characters that cannot be stored."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.encoding and request.encoding.lower() not in {"utf-8", "utf8"}:
            return bad_request(request, BadRequest())
        return self.get_response(request)
