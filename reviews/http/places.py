"""The pages of the site as a tree, for the navigation and the breadcrumb, by the names of their URLs."""

from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from django.urls import reverse

from reviews.models import Evaluation, Export, GoldSet, Import, Run, Upload, User, Webhook


class Place(NamedTuple):
    """A page in the tree."""

    #: The title. Empty if it is the name of the subject.
    title: str = ""
    #: The URL name of the page above; empty at the top.
    parent: str = ""
    #: The context variable with the row that the page is about, whose key its URL takes.
    subject: str = ""


class Variables(Protocol):
    """The variables of a template: a dict or a context."""

    def get(self, name: str, /) -> Any:
        """Return the variable with this name, or None."""


class Crumb(NamedTuple):
    """A page in a breadcrumb."""

    title: str
    #: Empty for the current page, and for a title without a page.
    url: str


ADMIN = "admin"
# In the order of the admin's menu.
ADMIN_PAGES = (
    "import-file",
    "runs",
    "task-context",
    "mappings",
    "people",
    "tokens",
    "webhooks",
    "jobs",
    "system",
    "audit",
    "api",
)
PLACES = {
    "start": Place("Review"),
    "runs": Place("Runs"),
    "run": Place(parent="runs", subject="run"),
    "review": Place("Review", "run", "run"),
    "evaluation": Place(parent="run", subject="evaluation"),
    "record-history": Place("Record history", "evaluation", "evaluation"),
    "restore": Place("Record history", "evaluation", "evaluation"),
    "escalate": Place("Send to a lead", "evaluation", "evaluation"),
    "recent": Place("My reviews", "run", "run"),
    "my-reviews": Place("My reviews"),
    "bulk-change": Place("Bulk actions", "run", "run"),
    "conflicts": Place("Conflicts", "run", "run"),
    "export": Place("Exports", "run", "run"),
    "export-page": Place(parent="export", subject="export"),
    "import": Place(parent="run", subject="source"),
    "import-as-new-run": Place(parent="run", subject="source"),
    "upload-mapping": Place(parent="import-file", subject="upload"),
    "judge": Place("Judge accuracy", "run", "run"),
    "judge-errors": Place("Errors", "judge", "run"),
    "judge-flags": Place("Flags", "judge", "run"),
    "judge-models": Place("Models", "judge", "run"),
    "judge-reviewers": Place("Reviewers", "judge", "run"),
    "judge-plan": Place("Plan", "judge", "run"),
    "judge-compare": Place("Compare", "judge", "run"),
    "judge-pairs": Place("Records", "judge-compare", "run"),
    "judge-anchors": Place("Records", "judge-compare", "run"),
    "judge-gold": Place("Gold sets", "judge", "run"),
    "judge-gold-records": Place("Records", "judge-gold", "run"),
    "judge-orders": Place("Records", "judge-errors", "run"),
    "judge-history": Place("Over runs", "judge", "run"),
    "judge-report": Place("Report", "judge", "run"),
    "judge-data": Place("Judge data", "judge", "run"),
    "judge-blind-records": Place("Blind review", "judge", "run"),
    "judge-decisions": Place("Decisions", "judge", "run"),
    "run-settings": Place("Settings", "run", "run"),
    "run-guideline": Place("Guideline", "run-settings", "run"),
    "run-queue": Place("Queue", "run-settings", "run"),
    "run-sampling": Place("Sampling and blind review", "run-settings", "run"),
    "run-members": Place("Members", "run-settings", "run"),
    "run-name": Place("Name and archive", "run-settings", "run"),
    "delete-run": Place("Delete this run", "run-name", "run"),
    "run-mapping": Place("Mapping", "run-settings", "run"),
    "dashboard": Place("Dashboard"),
    "reviewer-activity": Place(parent="dashboard", subject="reviewer"),
    "workload": Place("Workload", "dashboard"),
    "decisions": Place("Decisions", "dashboard"),
    "spot-checks": Place("Spot checks", "dashboard"),
    "known-answers": Place("Known answers", "run", "run"),
    "known-answer-check": Place("Figures", "known-answers", "run"),
    "spot-check": Place(parent="spot-checks", subject="evaluation"),
    "audit": Place("Audit log", "dashboard"),
    "inbox": Place("Inbox"),
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
    "import-file": Place("Import", ADMIN),
    "people": Place("People", ADMIN),
    "person": Place(parent="people", subject="person"),
    "invite": Place("Invitations", "people"),
    "password-link": Place("Password link", "people"),
    "tokens": Place("Tokens", ADMIN),
    "add-token": Place("New API token", "account"),
    "webhooks": Place("Webhooks", ADMIN),
    "webhook": Place(parent="webhooks", subject="webhook"),
    "add-webhook": Place("Webhook secret", "webhooks"),
    "add-webhook-secret": Place("Webhook secret", "webhook"),
    "jobs": Place("Jobs", ADMIN),
    "system": Place("System", ADMIN),
    "gold-sets": Place("Gold sets", "dashboard"),
    "gold-set": Place(parent="gold-sets", subject="gold_set"),
    "task-context": Place("Task context", ADMIN),
    "mappings": Place("Mappings", ADMIN),
    "api": Place("API"),
    "api-problem": Place("Problem", "api"),
}
# Rows -> the attribute with their name.
_NAMES: dict[type, str] = {
    Run: "name",
    User: "name",
    Evaluation: "title",
    Import: "file_name",
    Upload: "file_name",
    Webhook: "url",
    GoldSet: "name",
}
_SUBJECTS = tuple(dict.fromkeys(place.subject for place in PLACES.values()))
# Pages on which somebody reviews records of a run.
_REVIEWING = {
    "review",
    "evaluation",
    "record-history",
    "restore",
    "escalate",
    "claim-next",
    "claim",
    "revise",
}


def area_of(name: str) -> str:
    """Return the entry of the navigation that a page belongs to; empty for pages outside the tree."""
    if name in _REVIEWING:
        return "start"
    while PLACES.get(name, Place()).parent:
        name = PLACES[name].parent
    return name if name in PLACES else ""


def is_below(name: str, above: str) -> bool:
    """Return whether a page is anywhere below another one."""
    while place := PLACES.get(name):
        name = place.parent
        if name == above:
            return True
    return False


def run_in(context: Variables) -> Run | None:
    """Return the run that a page is about, from its context variables."""
    for name in _SUBJECTS:
        subject = context.get(name)
        run = subject if isinstance(subject, Run) else getattr(subject, "run", None)
        if isinstance(run, Run):
            return run
    return None


def breadcrumb(name: str, context: Variables, *, above: str = "", link: str = "") -> list[Crumb]:
    """Return the pages from the top to the page with a name; empty if it has no title, or nothing above it.

    Pages above whose subject is missing are left out. `above` replaces the page above, and `link` its URL.
    """
    place = PLACES.get(name)
    if place is None:
        return []
    title = _title(place, _subject(place, context))
    if not title:
        return []  # the page of an unknown subject
    crumbs = [Crumb(title, "")]
    parent = above or place.parent
    while parent:
        place = PLACES[parent]
        subject = _subject(place, context)
        if subject or not place.subject:
            crumbs.insert(
                0, Crumb(_title(place, subject), link or _url(parent, subject.pk if subject else None))
            )
        parent, link = place.parent, ""
    return crumbs if len(crumbs) > 1 else []


def _subject(place: Place, context: Variables) -> Any:
    return run_in(context) if place.subject == "run" else context.get(place.subject)


@lru_cache(maxsize=4096)
def _url(name: str, key: Any) -> str:
    return "" if name == ADMIN else reverse(name, args=[key] if key else [])


def _title(place: Place, subject: Any) -> str:
    if isinstance(subject, Export):
        return f"Export {subject.pk}"
    return place.title or str(getattr(subject, _NAMES.get(type(subject), ""), ""))
