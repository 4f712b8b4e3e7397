"""List the decisions behind a dashboard figure."""

from typing import NamedTuple

from django.db.models import BigIntegerField, Exists, F, OuterRef, Q
from django.db.models.functions import Cast

from reviews.dashboard.reviewer_activity import NOT_WITHDRAWN
from reviews.dashboard.selection import WorkSelection
from reviews.database.pagination import Page, parse_key, split_page
from reviews.evidence.reading_time import MS_PER_WORD
from reviews.models import BlindScores, Evaluation, IndependentReview, Overturn, Review, SpotCheck, User
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.records.scores import format_score, is_alike, score_of
from reviews.rubric.run_rubric import run_rubric

PAGE_SIZE = 50
LISTED = 200
SIGNALS = {
    "all": "All decisions",
    "changed": "Changed something",
    "unchanged": "No change",
    "verdict-changed": "Changed the verdict",
    "fast": "Faster than reading time",
    "blind": "Blind reviews",
    "checked": "Spot-checked",
}
_CONDITIONS = {
    "all": Q(),
    "changed": Q(changes__gt=0),
    "unchanged": Q(changes=0),
    "verdict-changed": Q(verdict__isnull=False, judged_verdict__isnull=False)
    & ~Q(verdict=F("judged_verdict")),
    "fast": Q(active_ms__lt=Cast("words", BigIntegerField()) * MS_PER_WORD),
    "blind": Q(blind_scores__isnull=False),
    "checked": Q(spot_check__is_selected=False) & ~Q(spot_check__outcome=SpotCheck.Outcome.OPEN),
}


class Narrowed(NamedTuple):
    """Further conditions of decisions. An empty field does not filter."""

    #: A criterion whose score differs from the judge's.
    criterion: str = ""
    #: A second person who scored the record before seeing the judge's scores, like the reviewer.
    other: User | None = None

    def condition(self) -> Q:
        condition = Q()
        if self.criterion:
            condition &= Q(changes__gt=0, overridden__contains=[self.criterion])
        if self.other:
            scored = BlindScores.objects.filter(evaluation=OuterRef("evaluation"), reviewer=self.other)
            condition &= Q(Exists(scored), blind_scores__isnull=False)
        return condition


_EVERYTHING = Narrowed()


def list_decisions(
    selection: WorkSelection,
    *,
    reader: User | None = None,
    signal: str = "all",
    narrowed: Narrowed = _EVERYTHING,
    after: str = "",
) -> Page[Review]:
    """Return a page of the decisions that a figure counts, newest first.

    Open independent reviews are left out unless they are the reader's own. An invalid cursor gives the first
    page. Raises `KeyError` for an unknown signal.
    """
    counted = Review.objects.by_reviewers().filter(
        _CONDITIONS[signal], narrowed.condition(), selection.condition()
    )
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


def list_overturned(selection: WorkSelection, most: int = LISTED) -> list[Overturn]:
    """Return the newest overturned decisions in the selection, by the day of the original decision."""
    found = Overturn.objects.filter(NOT_WITHDRAWN, selection.of_reviews()).order_by("-pk")
    found = found.select_related("review__reviewer", "review__evaluation__run", "actor", "by")
    return list(found.defer(*(f"review__evaluation__{column}" for column in LARGE_COLUMNS))[:most])


class ScoreChange(NamedTuple):
    """A criterion with another score in the later decision. A score is empty if the criterion has none."""

    title: str
    before: str
    after: str


class OverturnedDecision(NamedTuple):
    """A decision that somebody else changed, reopened or replaced."""

    overturn: Overturn
    #: The scores that differ; empty for a reopened decision.
    changes: list[ScoreChange]

    @property
    def record(self) -> Evaluation:
        return self.overturn.review.evaluation

    @property
    def verdict_change(self) -> tuple[str, str] | None:
        """The verdicts of both decisions, if they differ."""
        later = self.overturn.by
        if later is None or later.verdict == self.overturn.review.verdict:
            return None
        return self.overturn.review.verdict or "none", later.verdict or "none"


def describe_overturned(selection: WorkSelection) -> list[OverturnedDecision]:
    """Return the newest overturned decisions of a selection."""
    return [OverturnedDecision(one, _changes(one.review, one.by)) for one in list_overturned(selection)]


def _changes(before: Review, after: Review | None) -> list[ScoreChange]:
    if after is None:
        return []
    rubric = run_rubric(before.evaluation.run)
    old, new = before.corrected_scores or {}, after.corrected_scores or {}
    scores = {name: (score_of(old.get(name)), score_of(new.get(name))) for name in {**old, **new}}
    return [
        ScoreChange(rubric.title(name), format_score(one), format_score(other))
        for name, (one, other) in scores.items()
        if not is_alike(one, other)
    ]
