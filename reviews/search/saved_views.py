"""Saved views: named filters and sort orders of a run's list, private or, if saved by a lead, shared."""

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.expressions import Combinable

from reviews.accounts.permissions import check
from reviews.audit import events
from reviews.database.compiled_queries import CompiledQuery, parameter
from reviews.database.statements import prepared_statements
from reviews.models import Run, SavedView, User

MAX_NAME_LENGTH = 100
MAX_VIEWS = 50


class SavedViewError(Exception):
    """The view cannot be saved; the message is a sentence."""


def visible_to(run: Run | Combinable, user: User | Combinable) -> QuerySet[SavedView]:
    """Return the views that a person can use: their own and the shared ones."""
    views = SavedView.objects.filter(Q(owner=user) | Q(is_shared=True), run=run)
    return views.select_related("owner").order_by("name", "pk")


def load_visible(run: Run, user: User) -> list[SavedView]:
    """Load the views that `visible_to` returns, for a page that is shown often."""
    with prepared_statements():
        return _VISIBLE.rows(run=run.pk, user=user.pk)


_VISIBLE = CompiledQuery(lambda: visible_to(parameter("run"), parameter("user")))


@transaction.atomic
def save(*, run: Run, owner: User, name: str, query: str, is_shared: bool) -> SavedView:
    """Save a list under a name, replacing the owner's view of that name. Raises `SavedViewError`.

    `query` is the canonical query string.
    """
    check(owner, "review_evaluation")
    if is_shared:
        check(owner, "lead_review")
    name = name.strip()
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise SavedViewError(f"Enter a name of at most {MAX_NAME_LENGTH} printable characters.")
    own = SavedView.objects.filter(run=run, owner=owner)
    if own.count() >= MAX_VIEWS and not own.filter(name=name).exists():
        raise SavedViewError(f"You already have {MAX_VIEWS} views of this run. Delete one first.")
    values = {"query": query, "is_shared": is_shared}
    view, _ = SavedView.objects.update_or_create(run=run, owner=owner, name=name, defaults=values)
    events.record("view saved", actor=owner, run=run, name=name, query=query, is_shared=is_shared)
    return view


@transaction.atomic
def remove(*, view: SavedView, actor: User) -> None:
    """Remove a view of one's own or, as a lead, a shared view."""
    check(actor, "review_evaluation" if view.owner_id == actor.pk else "lead_review")
    events.record("view removed", actor=actor, run=view.run, name=view.name, owner=view.owner.username)
    view.delete()
