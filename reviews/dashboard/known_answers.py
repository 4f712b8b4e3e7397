"""Compare reviewers with the known answers of a check: see `review.known_answers`."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q, QuerySet

from cognireview.types import leading
from cognireview.types.encoding import members
from cognireview.types.estimates import Estimate
from reviews.models import Evaluation, IndependentReview, KnownAnswerCheck, Review, User
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.models.runs import in_visible_runs
from reviews.review.versions import comparable_scores
from reviews.statistics.intervals import undefined, wilson

#: Fewer answers than this give no share: its interval would cover almost everything.
FEWEST_ANSWERS = 5
DEFINITION = (
    "Records on which the reviewer and the lead gave the same verdict, without seeing each other's scores. "
    f"With the 95% Wilson interval, from {FEWEST_ANSWERS} answers on."
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A reviewer's independent review beside the known answer."""

    known: Review
    given: Review

    @property
    def evaluation(self) -> Evaluation:
        """The record, without its large columns."""
        return self.given.evaluation

    @property
    def is_same_verdict(self) -> bool | None:
        """Whether the verdicts are the same. None if one of them has none."""
        if self.known.verdict is None or self.given.verdict is None:
            return None
        return self.known.verdict == self.given.verdict

    @property
    def criteria(self) -> dict[str, bool]:
        """Criterion -> whether the scores are the same. A criterion that only one of them scored differs."""
        known, given = (comparable_scores(review) for review in (self.known, self.given))
        return {name: known.get(name) == given.get(name) for name in sorted({**known, **given})}


@dataclass(slots=True)
class AnswerAgreement:
    """Answers, and how many of them are the same as the known ones."""

    same: int = 0
    answers: int = 0

    def add(self, *, is_same: bool) -> None:
        self.same += is_same
        self.answers += 1

    @property
    def estimate(self) -> Estimate:
        """The share that is the same; undefined for fewer than `FEWEST_ANSWERS`."""
        if self.answers < FEWEST_ANSWERS:
            why = f"{self.same} of {self.answers}: too few answers for a share."
            return undefined(why, self.answers)
        return wilson(self.same, self.answers, "answers")


@dataclass(slots=True)
class ReviewerAccuracy:
    """How one reviewer's answers compare with the known ones."""

    reviewer: User
    records: int = 0
    verdict: AnswerAgreement = field(default_factory=AnswerAgreement)
    criteria: dict[str, AnswerAgreement] = field(default_factory=lambda: defaultdict(AnswerAgreement))


def visible_checks(reader: User) -> QuerySet[KnownAnswerCheck]:
    """Return the checks whose figures a lead may see, the newest first.

    While a check runs, only its lead may: other leads may still be given its records.
    """
    found = KnownAnswerCheck.objects.filter(Q(ended_at__isnull=False) | Q(started_by=reader))
    return (
        found.filter(in_visible_runs(reader)).select_related("run", "started_by", "ended_by").order_by("-pk")
    )


def compare(check: KnownAnswerCheck) -> list[Comparison]:
    """Return the latest review of each reviewer and record with a known answer to the same line of a file.

    Withdrawn reviews, those given with the decision in view, and those after the check are left out.
    """
    rows = IndependentReview.objects.filter(
        evaluation__known_answers__known_answer_check=check,
        review__withdrawal=None,
        review__before__review=None,
        review__before__escalation=None,
    )
    if check.ended_at:
        rows = rows.filter(review__submitted_at__lt=check.ended_at)
    rows = rows.select_related("review__reviewer", "review__evaluation__run")
    rows = rows.defer(*(f"review__evaluation__{column}" for column in LARGE_COLUMNS))
    reviews = [row.review for row in rows.order_by("review")]
    known = {_place(one): one for one in reviews if one.reviewer_id == check.started_by_id}
    given = {(one.evaluation_id, one.reviewer_id): one for one in reviews if _place(one) in known}
    return [
        Comparison(known[_place(one)], one)
        for one in given.values()
        if one.reviewer_id != check.started_by_id
    ]


def accuracies(comparisons: Iterable[Comparison]) -> list[ReviewerAccuracy]:
    """Add up comparisons by reviewer, in the order of the usernames."""
    found: dict[str, ReviewerAccuracy] = {}
    for one in comparisons:
        reviewer = one.given.reviewer
        accuracy = found.setdefault(reviewer.username, ReviewerAccuracy(reviewer))
        accuracy.records += 1
        if one.is_same_verdict is not None:
            accuracy.verdict.add(is_same=one.is_same_verdict)
        for criterion, is_same in one.criteria.items():
            accuracy.criteria[criterion].add(is_same=is_same)
    return [found[name] for name in sorted(found)]


def as_json(check: KnownAnswerCheck) -> dict[str, Any]:
    """Return a check with its figures, for the API and the command."""
    reviewers = [_reviewer_as_json(one) for one in accuracies(compare(check))]
    return members(leading.KnownAnswerCheck, check, records=check.answers.count(), reviewers=reviewers)


def _reviewer_as_json(accuracy: ReviewerAccuracy) -> dict[str, Any]:
    return {
        "reviewer": accuracy.reviewer.username,
        "answers": accuracy.records,
        "verdicts": accuracy.verdict.answers,
        "same_verdict": accuracy.verdict.same,
        "criteria": [
            {"criterion": name, "answers": one.answers, "same": one.same}
            for name, one in accuracy.criteria.items()
        ],
    }


def _place(review: Review) -> tuple[int, int | None, int | None]:
    """The line that a review is about."""
    return review.evaluation_id, review.source_import_id, review.source_line
