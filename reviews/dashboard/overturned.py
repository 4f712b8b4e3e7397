"""Describe overturned decisions: who changed, reopened or replaced them, which scores, and why."""

from typing import NamedTuple

from reviews.dashboard.drilldown import list_overturned
from reviews.dashboard.selection import WorkSelection
from reviews.models import Evaluation, Overturn, Review
from reviews.records.scores import format_score, is_alike, score_of
from reviews.rubric.run_rubric import run_rubric


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
