"""Load the run of a URL, and check permissions."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from reviews.accounts.permissions import check
from reviews.database.replica import read_from_replica
from reviews.http.request import Request
from reviews.models import Run

P = ParamSpec("P")
View = Callable[Concatenate[Request, P], HttpResponse]


def load_run(request: Request, pk: int, permission: str = "review_evaluation") -> Run:
    """Return a run, for a person with the permission. Raises `Denied` and `Http404`."""
    check(request.user, permission)
    return get_object_or_404(Run, pk=pk)


def requires(permission: str) -> Callable[[View[P]], View[P]]:
    """Restrict a view to people with the permission. Browsers do not cache its responses."""

    def decorate(view: View[P]) -> View[P]:
        @never_cache
        @wraps(view)
        def checked(request: Request, *args: P.args, **options: P.kwargs) -> HttpResponse:
            check(request.user, permission)
            return view(request, *args, **options)

        return cast("View[P]", checked)

    return decorate


def replica_page(view: View[P]) -> View[P]:
    """Turn a view into a page for GET and HEAD that reads from the replica and is not cached."""
    return require_safe(never_cache(read_from_replica(view)))
