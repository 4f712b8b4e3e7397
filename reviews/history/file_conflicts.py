"""Compare decisions in imported files with decisions made here, criterion by criterion."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import QuerySet

from reviews.database.pagination import Page, page_by_key
from reviews.models import Evaluation, FileConflict, Run
from reviews.records.schema import HUMAN_FIELDS
from reviews.records.scores import criterion_title, format_score
from reviews.records.verdict import VerdictRule
from reviews.rubric.definition import run_rubric

PAGE_SIZE = 20
# What the page does not show. A row may hold megabytes of it.
_LARGE_COLUMNS = (
    "evaluation__raw_judge_output",
    "evaluation__extracted_scores",
    "evaluation__structured_model_response",
    "evaluation__structured_ideal_response",
    "evaluation__extra",
)


@dataclass(frozen=True, slots=True)
class ConflictSide:
    """One decision: who made it, when, and what it says. Empty where the file (or the record) has nothing."""

    status: str
    reviewer: str
    at: dt.datetime | None
    scores: Mapping[str, Any]
    comments: str
    verdict: str

    @classmethod
    def from_human(cls, human: Mapping[str, Any], rule: VerdictRule) -> "ConflictSide":
        status, reviewer, at, scores, comments = (human[name] for name in HUMAN_FIELDS)
        moment = dt.datetime.fromisoformat(at) if isinstance(at, str) else at
        return cls(status, reviewer or "", moment, scores or {}, comments or "", rule.verdict(scores) or "")


class ConflictCriterion(NamedTuple):
    """A criterion on both sides: the judge's word, and of each side its word and its justification."""

    title: str
    judge: str
    ours: str
    theirs: str
    our_text: str
    their_text: str

    @property
    def differs(self) -> bool:
        return (self.ours, self.our_text) != (self.theirs, self.their_text)


@dataclass(frozen=True, slots=True)
class ConflictComparison:
    """An open conflict and both its sides."""

    conflict: FileConflict
    evaluation: Evaluation
    ours: ConflictSide
    theirs: ConflictSide
    criteria: list[ConflictCriterion]


def count_open(run: Run) -> int:
    """How many conflicts of a run are open."""
    return _open(run).count()


def load_page(run: Run, *, after: str = "") -> Page[ConflictComparison]:
    """Load a page of the open conflicts of a run, oldest first. An invalid cursor gives the first page."""
    rows = _open(run).select_related("evaluation", "source").defer(*_LARGE_COLUMNS)
    page = page_by_key(rows, after=after, size=PAGE_SIZE)
    rule = run_rubric(run).rule
    return Page([_compare(conflict, rule) for conflict in page.rows], page.next_after)


def oldest_open(run: Run, *, limit: int) -> list[tuple[int, int]]:
    """The keys of that many open conflicts, each with the version of its record now."""
    rows = _open(run).order_by("pk").values_list("pk", "evaluation__version")
    return list(rows[:limit])


def _open(run: Run) -> QuerySet[FileConflict]:
    return FileConflict.objects.filter(run=run, outcome=FileConflict.Outcome.OPEN)


def _compare(conflict: FileConflict, rule: VerdictRule) -> ConflictComparison:
    evaluation = conflict.evaluation
    ours = ConflictSide.from_human({name: getattr(evaluation, name) for name in HUMAN_FIELDS}, rule)
    theirs = ConflictSide.from_human(conflict.human, rule)
    judged = evaluation.parsed_rubric_scores
    names = {**judged, **ours.scores, **theirs.scores}
    return ConflictComparison(
        conflict=conflict,
        evaluation=evaluation,
        ours=ours,
        theirs=theirs,
        criteria=[
            _criterion(name, judged.get(name), ours.scores.get(name), theirs.scores.get(name))
            for name in names
        ],
    )


def _criterion(name: str, judged: Any, ours: Any, theirs: Any) -> ConflictCriterion:
    words = [format_score(_part(entry, "score")) for entry in (judged, ours, theirs)]
    texts = [_part(entry, "justification") for entry in (ours, theirs)]
    return ConflictCriterion(
        criterion_title(name), *words, *(text if isinstance(text, str) else "" for text in texts)
    )


def _part(entry: Any, name: str) -> Any:
    return entry.get(name) if isinstance(entry, Mapping) else None
