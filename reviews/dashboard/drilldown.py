"""List the decisions behind a dashboard figure."""

from django.db.models import BigIntegerField, F, Q
from django.db.models.functions import Cast

from reviews.dashboard.reviewer_activity import NOT_WITHDRAWN, WorkSelection
from reviews.database.pagination import Page, parse_key, split_page
from reviews.evidence.reading_time import MS_PER_WORD
from reviews.models import IndependentReview, Overturn, Review, User
from reviews.models.evaluations import LARGE_COLUMNS

PAGE_SIZE = 50
LISTED = 200
SIGNALS = {
    "all": "All decisions",
    "changed": "Changed something",
    "unchanged": "No change",
    "verdict-changed": "Changed the verdict",
    "fast": "Faster than reading time",
}
_CONDITIONS = {
    "all": Q(),
    "changed": Q(changes__gt=0),
    "unchanged": Q(changes=0),
    "verdict-changed": Q(verdict__isnull=False, judged_verdict__isnull=False)
    & ~Q(verdict=F("judged_verdict")),
    "fast": Q(active_ms__lt=Cast("words", BigIntegerField()) * MS_PER_WORD),
}


def list_decisions(
    selection: WorkSelection, *, reader: User | None = None, signal: str = "all", after: str = ""
) -> Page[Review]:
    """Return a page of the decisions that a figure counts, newest first.

    Open independent reviews are left out unless they are the reader's own. An invalid cursor gives the first
    page. Raises `KeyError` for an unknown signal.
    """
    counted = Review.objects.by_reviewers().filter(_CONDITIONS[signal], selection.condition())
    counted = counted.filter(withdrawal=None).exclude(
        ~Q(reviewer=reader), pk__in=IndependentReview.objects.filter(is_open=True).values("review")
    )
    start = parse_key(after)
    if start is not None:
        counted = counted.filter(pk__lt=start)
    # Read the keys from a covering index first, then only the rows of the page.
    found = counted.order_by("-pk").values_list("pk", flat=True)[: PAGE_SIZE + 1]
    keys = split_page(found, PAGE_SIZE, str)
    rows = (
        Review.objects.filter(pk__in=keys.rows).order_by("-pk").select_related("reviewer", "evaluation__run")
    )
    rows = rows.defer(*(f"evaluation__{column}" for column in LARGE_COLUMNS))
    return Page(list(rows), keys.next_after)


def list_overturned(selection: WorkSelection) -> list[Overturn]:
    """Return the newest overturned decisions in the selection, by the day of the original decision."""
    found = Overturn.objects.filter(NOT_WITHDRAWN, selection.of_reviews()).order_by("-pk")
    found = found.select_related("review__reviewer", "review__evaluation__run", "actor", "by")
    return list(found.defer(*(f"review__evaluation__{column}" for column in LARGE_COLUMNS))[:LISTED])
