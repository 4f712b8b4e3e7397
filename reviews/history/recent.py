"""List a reviewer's recent decisions, skips and escalations, which they can undo."""

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from django.db.models import QuerySet

from reviews.database.pagination import page_by_key
from reviews.history.versions import ReviewState, review_state
from reviews.models import Escalation, Evaluation, Review, Run, Skip, User
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.records.rubric import Rubric, Verdict
from reviews.rubric.run_rubric import run_rubric

PAGE_SIZE = 50
# The newest skips and escalations to list.
LISTED = 100
_Row = TypeVar("_Row", Review, Skip, Escalation)


@dataclass(frozen=True, slots=True)
class RecentDecision:
    """A review with the verdicts before and after it."""

    review: Review
    #: The verdict of the decision before, or else the judge's; empty without either.
    before: str
    after: Verdict | None

    @property
    def evaluation(self) -> Evaluation:
        return self.review.evaluation

    @property
    def state(self) -> ReviewState:
        return review_state(self.evaluation, self.review)


class RecentPage(NamedTuple):
    """A page of a reviewer's recent work, newest first."""

    decisions: list[RecentDecision]
    #: The cursor of the next page of decisions; empty on the last page.
    next_after: str
    #: Skipped records that are still in the queue.
    skips: list[Skip]
    #: The reviewer's escalations, without withdrawn ones.
    escalations: list[Escalation]


def load_page(*, reviewer: User, run: Run, after: str = "") -> RecentPage:
    """Load a page of the reviewer's work in a run.

    An invalid cursor in `after` gives the first page.
    """
    made = Review.objects.by_reviewers().filter(evaluation__run=run, reviewer=reviewer)
    reviews = _without_large(made.select_related("withdrawal", "independent_review", "evaluation__run"))
    page = page_by_key(reviews, after=after, size=PAGE_SIZE, newest_first=True)
    rubrics = {one.run_id: run_rubric(one.run) for one in (review.evaluation for review in page.rows)}
    return RecentPage(
        [_decision(review, rubrics[review.evaluation.run_id]) for review in page.rows],
        page.next_after,
        _skips(reviewer, run),
        _escalations(reviewer, run),
    )


def _decision(review: Review, rubric: Rubric) -> RecentDecision:
    decided_before = rubric.verdict((review.before or {})["human_corrected_scores"])
    before = decided_before or review.judged_verdict or review.evaluation.aggregated_score or ""
    return RecentDecision(review, before, rubric.verdict(review.corrected_scores))


def _skips(reviewer: User, run: Run) -> list[Skip]:
    skips = Skip.objects.filter(evaluation__in=run.evaluations.in_queue(), reviewer=reviewer)
    return list(_without_large(skips.select_related("evaluation__run").order_by("-pk"))[:LISTED])


def _escalations(reviewer: User, run: Run) -> list[Escalation]:
    raised = Escalation.objects.filter(evaluation__run=run, raised_by=reviewer)
    raised = raised.exclude(outcome=Escalation.Outcome.WITHDRAWN).order_by("-pk")
    raised = raised.exclude(kind=Escalation.Kind.DISAGREEMENT)
    return list(_without_large(raised.select_related("evaluation__run", "resolved_by"))[:LISTED])


def _without_large(rows: QuerySet[_Row]) -> QuerySet[_Row]:
    return rows.defer(*(f"evaluation__{column}" for column in LARGE_COLUMNS))
