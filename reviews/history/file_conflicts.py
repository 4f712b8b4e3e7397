"""Compare decisions in imported files with those made here, criterion by criterion, and resolve conflicts."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import QuerySet

from cognireview.types.files import ConflictingDecision
from reviews.database.pagination import Page, page_by_key
from reviews.database.statements import fetch_value, prepared_statements
from reviews.models import Evaluation, FileConflict, Run, User
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.records.conflicts import Conflict
from reviews.records.rubric import Rubric
from reviews.records.schema import HUMAN_FIELDS
from reviews.records.scores import criterion_title, format_score, justification_of, score_of
from reviews.review import decisions
from reviews.rubric.run_rubric import run_rubric
from reviews.search.facets import judged_criteria
from reviews.search.verdicts import judge_verdict

PAGE_SIZE = 20
# Not a parameter: the index is that of open conflicts alone.
_COUNT_OPEN = "SELECT count(*) FROM file_conflict WHERE run_id = %s AND outcome = 'open'"
_SCORES = ("parsed_rubric_scores", "extracted_scores")
_NOT_SHOWN = [f"evaluation__{name}" for name in LARGE_COLUMNS if name not in _SCORES]


def _decision(human: Mapping[str, Any], rubric: Rubric) -> ConflictingDecision:
    """Read the five human_* values, the timestamp as a datetime or in ISO 8601. Missing ones are empty."""
    status, reviewer, at, scores, comments = (human[name] for name in HUMAN_FIELDS)
    moment = dt.datetime.fromisoformat(at) if isinstance(at, str) else at
    verdict = rubric.verdict(scores) or ""
    return ConflictingDecision(status, reviewer or "", moment, scores or {}, comments or "", verdict)


class ConflictCriterion(NamedTuple):
    """The scores and justifications of a criterion in both decisions."""

    title: str
    #: The judge's score.
    judge: str
    #: The score of the decision made here.
    ours: str
    #: The score of the imported decision.
    theirs: str
    our_text: str
    their_text: str

    @property
    def differs(self) -> bool:
        return (self.ours, self.our_text) != (self.theirs, self.their_text)


@dataclass(frozen=True, slots=True)
class ConflictComparison:
    """An open conflict with both decisions."""

    conflict: FileConflict
    evaluation: Evaluation
    ours: ConflictingDecision
    theirs: ConflictingDecision
    criteria: list[ConflictCriterion]
    #: As lists and the page of the record show it; empty without one.
    judge_verdict: str


@prepared_statements()
def count_open(run: Run) -> int:
    return int(fetch_value(_COUNT_OPEN, [run.pk]))


def load_page(run: Run, *, after: str = "", size: int | None = None) -> Page[ConflictComparison]:
    """Load a page of the open conflicts of a run, oldest first. An invalid cursor gives the first page."""
    rows = _open(run).select_related("evaluation", "source").defer(*_NOT_SHOWN)
    page = page_by_key(rows, after=after, size=size or PAGE_SIZE)
    rubric = run_rubric(run)
    return Page([_compare(conflict, rubric) for conflict in page.rows], page.next_after)


def oldest_open(run: Run, *, limit: int) -> list[tuple[int, int]]:
    """Return the keys of the oldest open conflicts, each with the current version of its record."""
    return list(_open(run).order_by("pk").values_list("pk", "evaluation__version")[:limit])


def resolve_all(
    *, run: Run, conflicts: Iterable[tuple[int, int]], theirs: bool, actor: User
) -> list[tuple[int, str]]:
    """Resolve conflicts of a run as `decisions.resolve_conflict` does. Return the refused ones with reasons.

    Each conflict has its key and the version of its record that the actor saw.
    """
    refused = []
    for key, version in conflicts:
        try:
            decisions.resolve_conflict(run=run, conflict_id=key, version=version, theirs=theirs, actor=actor)
        except Conflict as conflict:
            refused.append((key, conflict.reason))
        except FileConflict.DoesNotExist:
            refused.append((key, "The conflict does not exist."))
    return refused


def _open(run: Run) -> QuerySet[FileConflict]:
    return FileConflict.objects.filter(run=run, outcome=FileConflict.Outcome.OPEN)


def _compare(conflict: FileConflict, rubric: Rubric) -> ConflictComparison:
    evaluation = conflict.evaluation
    ours = _decision({name: getattr(evaluation, name) for name in HUMAN_FIELDS}, rubric)
    theirs = _decision(conflict.human, rubric)
    judged = {one.criterion: {"score": one.score} for one in judged_criteria(evaluation)}
    names = {**judged, **ours.corrected_scores, **theirs.corrected_scores}
    criteria = [_criterion(name, judged, ours.corrected_scores, theirs.corrected_scores) for name in names]
    verdict = judge_verdict(evaluation, rubric) or ""
    return ConflictComparison(conflict, evaluation, ours, theirs, criteria, verdict)


def _criterion(name: str, *sides: Mapping[str, Any]) -> ConflictCriterion:
    entries = [side.get(name) for side in sides]
    scores = [format_score(score_of(entry)) for entry in entries]
    return ConflictCriterion(criterion_title(name), *scores, *map(justification_of, entries[1:]))
