"""Summarise disagreements for lists: who, on which criteria, with which scores and verdicts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from cognireview.types.leading import DifferingScores, Disagreement, Voice
from reviews.accounts.permissions import can
from reviews.models import Escalation, IndependentReview, Review, User
from reviews.records.rubric import Rubric
from reviews.records.scores import format_score, score_of
from reviews.review.adjudication import differs
from reviews.rubric.run_rubric import run_rubric

EXCLUDED = "excluded"


def describe_disagreement(found: Disagreement) -> str:
    """Return all scores that differ, as in "ana Yes, bo No on Rigor, Clarity; ana 4, bo 2 on Depth"."""
    criteria: defaultdict[str, list[str]] = defaultdict(list)
    for one in found.criteria:
        criteria[", ".join(f"{voice.reviewer} {voice.value}" for voice in one.scores)].append(one.criterion)
    return "; ".join(f"{scores} on {', '.join(names)}" for scores, names in criteria.items())


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
    verdicts = [Voice(one.reviewer.name, one.verdict or "no verdict") for one in reviews]
    return Disagreement(verdicts, [*_differing(reviews, run_rubric(reviews[0].run))])


def _differing(reviews: Sequence[Review], rubric: Rubric) -> Iterator[DifferingScores]:
    scored = {name: None for review in reviews for name in review.corrected_scores or {}}
    known = [name for name in rubric.names if name in scored]
    for name in dict.fromkeys([*known, *scored]):  # the database orders keys by their length
        if differs(name, reviews):
            yield DifferingScores(rubric.title(name), [_voice(name, one) for one in reviews])


def _voice(name: str, review: Review) -> Voice:
    entry = (review.corrected_scores or {}).get(name)
    return Voice(review.reviewer.name, EXCLUDED if entry is None else format_score(score_of(entry)))
