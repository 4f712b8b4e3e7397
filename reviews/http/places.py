"""The pages of the site as a tree, for the navigation and the breadcrumb, by the names of their URLs."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.urls import reverse

from reviews.models import Evaluation, Export, Import, Run, Upload, User, Webhook


class Place(NamedTuple):
    """A page in the tree."""

    #: The title. Empty if it is the name of the subject.
    title: str = ""
    #: The URL name of the page above; empty at the top.
    parent: str = ""
    #: The context variable with the row that the page is about, whose key its URL takes.
    subject: str = ""


class Crumb(NamedTuple):
    """A page in a breadcrumb."""

    title: str
    #: Empty for the current page, and for a title without a page.
    url: str


ADMIN = "admin"
PLACES = {
    "start": Place("Review"),
    "runs": Place("Runs"),
    "run": Place(parent="runs", subject="run"),
    "review": Place("Review", "run", "run"),
    "evaluation": Place(parent="run", subject="evaluation"),
    "record-history": Place("Record history", "evaluation", "evaluation"),
    "escalate": Place("Send to a lead", "evaluation", "evaluation"),
    "recent": Place("My reviews", "run", "run"),
    "bulk-change": Place("Bulk actions", "run", "run"),
    "conflicts": Place("Conflicts", "run", "run"),
    "export": Place("Exports", "run", "run"),
    "export-page": Place(parent="export", subject="export"),
    "import": Place(parent="run", subject="source"),
    "upload-mapping": Place(parent="runs", subject="upload"),
    "judge": Place("Judge accuracy", "run", "run"),
    "judge-flag-precision": Place("Flag precision", "judge", "run"),
    "judge-missed-errors": Place("Missed errors", "judge", "run"),
    "judge-leaderboard": Place("Leaderboard", "judge", "run"),
    "judge-error-analysis": Place("Error analysis", "judge", "run"),
    "judge-report": Place("Report", "judge", "run"),
    "judge-decisions": Place("Decisions", "judge", "run"),
    "run-settings": Place("Settings", "run", "run"),
    "run-guideline": Place("Guideline", "run-settings", "run"),
    "run-claim-length": Place("Claim length", "run-settings", "run"),
    "run-measurement": Place("Sampling and blind review", "run-settings", "run"),
    "run-members": Place("Members", "run-settings", "run"),
    "run-name": Place("Name and archive", "run-settings", "run"),
    "delete-run": Place("Delete this run", "run-name", "run"),
    "run-mapping": Place("Mapping", "run-settings", "run"),
    "dashboard": Place("Dashboard"),
    "reviewer-activity": Place(parent="dashboard", subject="reviewer"),
    "decisions": Place("Decisions", "dashboard"),
    "spot-checks": Place("Spot checks", "dashboard"),
    "spot-check": Place(parent="spot-checks", subject="evaluation"),
    "inbox": Place("Inbox"),
    "open-escalations": Place(parent="inbox", subject="run"),
    "palette": Place("Search"),
    "styleguide": Place("Style guide"),
    "my-activity": Place("My activity"),
    "preferences": Place("Preferences"),
    "account": Place("Account"),
    "password": Place("Password", "account"),
    "add-app": Place("Authenticator app", "account"),
    "new-codes": Place("Recovery codes", "account"),
    "add-passkey": Place("Passkey", "account"),
    ADMIN: Place("Admin"),
    "people": Place("People", ADMIN),
    "person": Place(parent="people", subject="person"),
    "invite": Place("Invitation link", "people"),
    "password-link": Place("Password link", "people"),
    "webhooks": Place("Webhooks", ADMIN),
    "webhook": Place(parent="webhooks", subject="webhook"),
    "add-webhook": Place("Webhook secret", "webhooks"),
    "task-context": Place("Task context", ADMIN),
    "mappings": Place("Other formats", ADMIN),
    "api": Place("API"),
}
# Rows -> the attribute with their name.
_NAMES: dict[type, str] = {
    Run: "name",
    User: "name",
    Evaluation: "title",
    Import: "file_name",
    Upload: "file_name",
    Webhook: "url",
}
# Pages on which somebody reviews records of a run.
_REVIEWING = {"review", "evaluation", "record-history", "escalate", "claim-next", "claim", "revise"}


def area_of(name: str) -> str:
    """Return the entry of the navigation that a page belongs to; empty for pages outside the tree."""
    if name in _REVIEWING:
        return "start"
    while PLACES.get(name, Place()).parent:
        name = PLACES[name].parent
    return name if name in PLACES else ""


def run_in(context: Mapping[str, Any]) -> Run | None:
    """Return the run that a page is about, from its context variables."""
    for place in PLACES.values():
        subject = context.get(place.subject)
        run = subject if isinstance(subject, Run) else getattr(subject, "run", None)
        if isinstance(run, Run):
            return run
    return None


def breadcrumb(name: str, context: Mapping[str, Any], *, above: str = "", link: str = "") -> list[Crumb]:
    """Return the pages from the top to the page with a name; empty if nothing is above it.

    Pages whose subject is missing are left out. `above` replaces the page above, and `link` its URL.
    """
    place = PLACES.get(name)
    if place is None:
        return []
    crumbs = [Crumb(_title(place, _subject(place, context)), "")]
    parent = above or place.parent
    while parent:
        place = PLACES[parent]
        subject = _subject(place, context)
        if subject or not place.subject:
            crumbs.insert(0, Crumb(_title(place, subject), link or _url(parent, subject)))
        parent, link = place.parent, ""
    return crumbs if len(crumbs) > 1 else []


def _subject(place: Place, context: Mapping[str, Any]) -> Any:
    return run_in(context) if place.subject == "run" else context.get(place.subject)


def _url(name: str, subject: Any) -> str:
    if name == ADMIN:
        return ""
    return reverse(name, args=[subject.pk] if subject else [])


def _title(place: Place, subject: Any) -> str:
    if isinstance(subject, Export):
        return f"Export {subject.pk}"
    return place.title or str(getattr(subject, _NAMES.get(type(subject), ""), ""))
