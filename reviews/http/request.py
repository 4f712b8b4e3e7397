"""The request as views get it, for type checkers: somebody is logged in, and the middlewares were there."""

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from reviews.models import User


class Request(HttpRequest):
    """What `LoginMiddleware` lets through. Views marked `login_not_required` take a plain `HttpRequest`."""

    user: User
    htmx: HtmxDetails
