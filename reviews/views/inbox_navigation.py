"""Lead from a settled item of the inbox to the next one."""

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django_htmx.http import HttpResponseClientRedirect

from reviews.http.redirects import SeeOther
from reviews.http.request import Request
from reviews.inbox.items import Inbox, Item
from reviews.inbox.place import Place
from reviews.models import Run
from reviews.models.runs import RunQuerySet

CAUGHT_UP = "You're all caught up."
_PAGES = {
    "conflict": "conflicts",
    "check": "spot-check",
    "import": "import",
    "export": "export-page",
    "mail": "person",
    "webhook": "webhook",
    "plan": "judge-plan",
    "rubric": "run-settings",
}


def place_query(place: Place) -> str:
    """Return a place as the review screen passes it on."""
    return urlencode({"inbox": str(place)})


def item_url(item: Item) -> str:
    """Return the URL of the page that settles an item."""
    if item.kind.name in _PAGES:
        return reverse(_PAGES[item.kind.name], args=[item.row.pk], query={"inbox": str(item.place)})
    query = {"queue": place_query(item.place)}
    return reverse("evaluation", args=[item.row.evaluation_id], query=query)


def go_on(request: Request, place: Place | None) -> HttpResponse:
    """Respond to a POST: redirect to the item after a place, or to the empty inbox."""
    url = next_url(request, place)
    return HttpResponseClientRedirect(url) if request.htmx else SeeOther(url)


def next_url(request: Request, place: Place | None) -> str:
    """Return the URL of the item after a place, or of the empty inbox.

    An item that was settled beside the list (`pane`) leads to the next one beside the list.
    """
    inbox = Inbox(request.user, filtered_run(request, place))
    item = inbox.next_item(place)
    if not item and inbox.run:
        messages.info(request, CAUGHT_UP)
    if item and not request.POST.get("pane"):
        return item_url(item)
    return inbox_url(inbox.run, item)


def inbox_url(run: Run | None, item: Item | None = None) -> str:
    """Return the URL of the inbox, optionally filtered to a run and with an item beside the list."""
    query: dict[str, str | int] = {"run": run.pk} if run else {}
    return reverse("inbox", query=query | ({"item": str(item.place)} if item else {}))


def filtered_run(request: Request, place: Place | None) -> Run | None:
    """Return the run to which the inbox is filtered, if the person may see it."""
    runs: RunQuerySet = Run.objects.visible_to(request.user)
    return runs.filter(pk=place.run).first() if place and place.run else None
