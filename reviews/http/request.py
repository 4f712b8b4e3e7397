"""The type of requests in views behind the login."""

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from reviews.models import User


class Request(HttpRequest):
    """A request by a logged-in person. Views marked `login_not_required` take a plain `HttpRequest`."""

    user: User
    htmx: HtmxDetails
