"""Error pages, and the middlewares that show them."""

import sys
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.contrib.messages.storage.base import Message
from django.core.exceptions import BadRequest, RequestDataTooBig
from django.db import OperationalError
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import Resolver404
from django_htmx.middleware import HtmxDetails

from cognireview.operations import disk_full, outage
from reviews.accounts.permissions import Denied
from reviews.database.locks import DEADLOCK, is_deadlock
from reviews.http.redirects import SeeOther, page_above, sending_page
from reviews.models import Evaluation
from reviews.records.conflicts import Conflict
from reviews.storage import corruption
from reviews.storage.corruption import CorruptData


def error_page(request: HttpRequest, status: int, heading: str, sentence: str) -> HttpResponse:
    """Return an error page. The sentence says what went wrong, then what to do."""
    context = {"status": status, "heading": heading, "sentence": sentence}
    return render(request, "site/errors/page.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the page for an unreadable request. The usual page would read its parameters again."""
    if isinstance(exception, RequestDataTooBig):
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024**2
        sentence = f"The form is larger than {limit} MB. Nothing was saved: go back and shorten the texts."
        return _service_error(request, 413, "Form too large", sentence)
    return standalone_error_page(
        400,
        "Bad request",
        "The browser sent a request that this site cannot read. Go back, reload the page and try again.",
    )


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    heading = exception.heading if isinstance(exception, Denied) else "Not allowed"
    return error_page(request, 403, heading, str(exception) or "Your role does not allow this.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the page for an unknown address. An address above pages leads to the page above it."""
    is_read = request.method in {"GET", "HEAD"}
    if is_read and isinstance(exception, Resolver404) and (above := page_above(request.path_info)):
        return HttpResponseRedirect(above)
    return error_page(request, 404, "Page not found", "Check the address, or go back to the runs.")


def server_error(request: HttpRequest) -> HttpResponse:
    """Return the page for an internal error, a full disk, or a database that became unreachable."""
    error = sys.exception()
    if disk_full.is_disk_full(error):
        return _service_error(request, 507, "The server's disk is full", disk_full.MESSAGE)
    if outage.is_outage(error):
        outage.start_watch()
        return unavailable(request)
    sentence = "The error was logged, and everything saved before is safe. Try again in a moment."
    return standalone_error_page(500, "Something went wrong", sentence)


def unavailable(request: HttpRequest) -> HttpResponse:
    """Return the page for an unreachable database."""
    response = _service_error(request, 503, "Database unavailable", outage.MESSAGE)
    response["Retry-After"] = str(outage.RETRY_AFTER)
    return response


def damaged_file(request: HttpRequest, fault: CorruptData) -> HttpResponse:
    """Return 503 for a damaged source file. Only the operator can repair this, by restoring the file."""
    corruption.log_corruption(fault)
    return _service_error(request, 503, "Damaged source file", str(fault))


def _service_error(request: HttpRequest, status: int, heading: str, sentence: str) -> HttpResponse:
    """Return an error page made without the database; for htmx, a message for the current page."""
    if HtmxDetails(request):
        message = render_to_string("includes/toast.html", {"message": Message(messages.ERROR, sentence)})
        # Override the target of the element that sent the request.
        place = {"HX-Retarget": "#messages", "HX-Reswap": "beforeend", "HX-Reselect": ".toast"}
        response = HttpResponse(message, status=status, headers=place)
    else:
        response = standalone_error_page(status, heading, sentence)
    return response


def standalone_error_page(status: int, heading: str, sentence: str) -> HttpResponse:
    """Return an error page made without the database, which may be the part that failed."""
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
    """Return the page for a form without a valid token: an old page, or cookies are turned off."""
    return error_page(
        request,
        403,
        "This form is out of date",
        "You signed in or out after opening the page, or cookies are turned off. "
        "Nothing was changed: go back, reload the page and send the form again.",
    )


def not_allowed(request: HttpRequest, allowed: str) -> HttpResponse:
    """Return the page for a method that the address does not support; `allowed` lists the supported ones."""
    response = error_page(
        request,
        405,
        "Method not allowed",
        f"The browser sent {request.method}, but this address supports only {allowed}. Nothing was changed.",
    )
    response["Allow"] = allowed
    return response


def conflict(request: HttpRequest, exception: Conflict) -> HttpResponse:
    """Show why nothing was saved: a notice for htmx (409), otherwise a message on the page of the form."""
    if not HtmxDetails(request):
        messages.error(request, exception.reason)
        return SeeOther(sending_page(request))
    return _strip(exception.reason, 409)


def deadlock(request: HttpRequest, error: OperationalError) -> HttpResponse | None:
    """Show why nothing was saved after a deadlock, which ended the transaction. None for other errors."""
    return conflict(request, Conflict(DEADLOCK)) if is_deadlock(error) else None


class Gone(Exception):
    """The requested data was deleted. The message is a sentence."""


def gone(request: HttpRequest, exception: Gone) -> HttpResponse:
    """Return the page for deleted data (410), or for htmx a notice."""
    if not HtmxDetails(request):
        return error_page(request, 410, "Deleted", str(exception))
    return _strip(str(exception), 410)


def _strip(sentence: str, status: int) -> HttpResponse:
    """Return a strip for the review page."""
    context = {"sentence": sentence, "tone": "warn", "state": "notice"}
    strip = render_to_string("review/notices/notice.html", context)
    return HttpResponse(strip, status=status, headers={"HX-Retarget": "#strip", "HX-Reswap": "innerHTML"})


_RESPONSES: dict[type[Exception], Callable[[HttpRequest, Any], HttpResponse | None]] = {
    Denied: permission_denied,
    # The person lost access to the run, or the run was deleted, after the view looked.
    Evaluation.DoesNotExist: not_found,
    OperationalError: deadlock,
    CorruptData: damaged_file,
    Conflict: conflict,
    Gone: gone,
}


class ErrorPageMiddleware:
    """Turn the exceptions of `_RESPONSES` and unsupported methods into responses."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if isinstance(response, HttpResponseNotAllowed):
            return not_allowed(request, response["Allow"])
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        found = (respond for kind, respond in _RESPONSES.items() if isinstance(exception, kind))
        respond = next(found, None)
        return respond(request, exception) if respond else None


class OutageMiddleware:
    """Return an error page at once while the database is known to be unreachable.

    Comes after static files and health probes, which need no database.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return unavailable(request) if outage.is_active() else self.get_response(request)


class Utf8Middleware:
    """Reject forms in other encodings than UTF-8: some can encode characters that PostgreSQL rejects."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.encoding and request.encoding.lower() not in {"utf-8", "utf8"}:
            return bad_request(request, BadRequest())
        return self.get_response(request)
