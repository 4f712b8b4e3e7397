"""Shortcuts of views: load the rows of a URL, check permissions, and render pages, forms and refusals."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from http import HTTPStatus
from typing import Any, Concatenate, ParamSpec, TypeVar, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import QuerySet
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods, require_safe

from reviews.accounts.permissions import check
from reviews.database.compiled_queries import CompiledQuery, parameter
from reviews.database.replica import read_from_replica
from reviews.database.statements import prepared_statements
from reviews.http.errors import Gone
from reviews.http.request import Request
from reviews.models import (
    AuditEvent,
    BulkChange,
    Escalation,
    Evaluation,
    Export,
    Import,
    KnownAnswerCheck,
    Run,
    SavedView,
    SpotCheck,
)
from reviews.models.evaluations import with_draws_samples
from reviews.models.runs import sees_every_run
from reviews.search.filters import Filters

RUN = CompiledQuery(lambda: with_draws_samples(Run.objects.filter(pk=parameter("key"))))
P = ParamSpec("P")
View = Callable[Concatenate[Request, P], HttpResponse]
R = TypeVar("R", bound=HttpResponseBase)
Row = TypeVar(
    "Row", BulkChange, Escalation, Evaluation, Export, Import, KnownAnswerCheck, SavedView, SpotCheck
)


def load_run(
    request: Request,
    pk: int,
    permission: str = "review_evaluation",
    load: Callable[[int], Run | None] = lambda key: RUN.first(key=key),
) -> Run:
    """Return a run, for a person with the permission who may see it.

    Raises `Denied`, `Http404` and `Gone`. `load` loads it by its key, perhaps with more.
    """
    check(request.user, permission)
    with prepared_statements():
        run = load(pk)
    if run is None or not run.is_visible_to(request.user):
        check_not_deleted(AuditEvent.objects.filter(run=pk))
        raise Http404
    return run


def check_not_deleted(events: "QuerySet[AuditEvent]") -> None:
    """Raise `Gone` if a run that has these events was deleted. The message does not name the run."""
    if AuditEvent.objects.filter(action="delete run", run__in=events.values("run")[:1]).exists():
        raise Gone("The run was deleted with its records and decisions. The audit log has its events.")


def load_in_run(request: Request, rows: "QuerySet[Row]", pk: int, permission: str) -> Row:
    """Return the row with a key, for a person with the permission who may see its `run`.

    Raises `Denied` and `Http404`.
    """
    check(request.user, permission)
    row = get_object_or_404(rows.select_related("run"), pk=pk)
    # Without a query for open runs, unlike `in_visible_runs`.
    is_visible = row.run.is_visible_to(request.user) if row.run else sees_every_run(request.user)
    if not is_visible:
        raise Http404
    return row


def requires(permission: str) -> Callable[[View[P]], View[P]]:
    """Restrict a view to people with the permission."""

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def checked(request: Request, *args: P.args, **options: P.kwargs) -> HttpResponse:
            check(request.user, permission)
            return view(request, *args, **options)

        return cast("View[P]", checked)

    return decorate


def form_page(view: Callable[P, R]) -> Callable[P, R]:
    """Turn a view into a page with a form, for GET, HEAD and POST."""
    return require_http_methods(["GET", "HEAD", "POST"])(view)


def replica_view(view: Callable[P, R]) -> Callable[P, R]:
    """Turn a view into a page or download for GET and HEAD that reads from the replica."""
    return require_safe(read_from_replica(view))


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


def record_list(run: Run, *filters: tuple[str, str]) -> str:
    """Return the URL of a run's records with these filters. Raises `KeyError` for an unknown filter."""
    return "?".join(filter(None, (reverse("run", args=[run.pk]), Filters.of(filters).query_string)))


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
