"""Summarise disagreements for lists: who, on which criteria, with which scores and verdicts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reviews.accounts.permissions import can
from reviews.models import Escalation, IndependentReview, Review, User
from reviews.records.rubric import Rubric
from reviews.records.scores import format_score, score_of
from reviews.review.adjudication import differs
from reviews.rubric.run_rubric import run_rubric

EXCLUDED = "excluded"


@dataclass(frozen=True, slots=True)
class Voice:
    """One reviewer's score or verdict on a point."""

    reviewer: str
    #: The score or the verdict; "excluded" if the reviewer excluded the criterion.
    said: str
    #: The level of the score by the run's rule: yes, partial or no; empty without a level.
    counts: str = ""


@dataclass(frozen=True, slots=True)
class PointAtIssue:
    """A criterion on which the reviewers differ."""

    title: str
    voices: tuple[Voice, ...]

    @property
    def sentence(self) -> str:
        """The scores by reviewer, as in "ana Yes, bo No on Rigor"."""
        return f"{', '.join(f'{voice.reviewer} {voice.said}' for voice in self.voices)} on {self.title}"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The open independent reviews of one record that differ."""

    #: Each reviewer with their verdict, the oldest review first; "no verdict" without one.
    verdicts: tuple[Voice, ...]
    points: tuple[PointAtIssue, ...]

    @property
    def reviewers(self) -> tuple[str, ...]:
        """The names of the reviewers, the oldest review first."""
        return tuple(voice.reviewer for voice in self.verdicts)

    @property
    def sentence(self) -> str:
        """All points at issue, as in "ana Yes, bo No on Rigor; ana 4, bo 2 on Depth"."""
        return "; ".join(point.sentence for point in self.points)


def find_disagreements(evaluations: Iterable[int], reader: User) -> dict[int, Disagreement]:
    """Return the disagreements that wait for a lead, by the key of the record, in one query.

    `evaluations` are the keys of the records of a list. Only a lead learns anything about them: a lead who
    returns such a record to the queue cannot review it independently.
    """
    if not can(reader, "lead_review"):
        return {}
    rows = IndependentReview.objects.filter(
        evaluation__in=[*evaluations],
        evaluation__escalations__kind=Escalation.Kind.DISAGREEMENT,
        evaluation__escalations__outcome=Escalation.Outcome.OPEN,
        is_open=True,
    ).select_related("review__reviewer", "review__run")
    by_record: defaultdict[int, list[Review]] = defaultdict(list)
    for row in rows.order_by("evaluation", "review__version"):
        by_record[row.evaluation_id].append(row.review)
    return {key: _disagreement(reviews) for key, reviews in by_record.items()}


def _disagreement(reviews: Sequence[Review]) -> Disagreement:
    verdicts = (Voice(one.reviewer.name, one.verdict or "no verdict") for one in reviews)
    return Disagreement(tuple(verdicts), tuple(_points(reviews, run_rubric(reviews[0].run))))


def _points(reviews: Sequence[Review], rubric: Rubric) -> Iterator[PointAtIssue]:
    names = {name: None for review in reviews for name in review.corrected_scores or {}}
    for name in names:
        if differs(name, reviews):
            yield PointAtIssue(rubric.title(name), tuple(_voice(name, one, rubric) for one in reviews))


def _voice(name: str, review: Review, rubric: Rubric) -> Voice:
    entry = (review.corrected_scores or {}).get(name)
    if entry is None:
        return Voice(review.reviewer.name, EXCLUDED)
    score = score_of(entry)
    return Voice(review.reviewer.name, format_score(score), rubric.level(name, score) or "")
