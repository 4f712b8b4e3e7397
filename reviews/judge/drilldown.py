"""List the ratings behind a count of the judge's figures, and the decisions that name a cause."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, Self

from django.db.models import Exists, OuterRef, Q

from cognireview.types.estimates import Basis, Part
from reviews.database.pagination import Page, parse_key, split_page
from reviews.judge.ratings import read_verdict
from reviews.judge.scope import JudgeScope
from reviews.models import CauseMention, Escalation, Evaluation, Rating, RatingCell, Review, User
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.records.scores import is_alike, is_score, likeness, read_score, score_of
from reviews.records.status import QUEUE_STATUSES

PAGE_SIZE = 50
# No score (a removed criterion or no verdict), any score, and a human score that differs from the judge's.
NO_SCORE, ANY_SCORE, OTHER_SCORE = "-", "*", "!"

# Blind ratings of unflagged records that were not sampled are in no figure about the run.
_PARTS = {
    "": Q(),
    "run": Q(is_blind=False) | Q(stratum__is_flagged=True) | Q(is_sampled=True),
    "flagged": Q(stratum__is_flagged=True),
    "unflagged": Q(stratum__is_flagged=False) & (Q(is_blind=False) | Q(is_sampled=True)),
}
_BASES = {"": Q(), "blind": Q(is_blind=True), "assisted": Q(is_blind=False)}
# The changed ratings of each kind, by the judge's score, the locked-in one and the submitted one.
_CHANGES: dict[str, Callable[[Any, Any, Any], bool]] = {
    "": lambda _judge, _human, _final: True,
    "any": lambda _judge, _human, _final: True,
    "to judge": lambda judge, _human, final: is_alike(final, judge),
    "from judge": lambda judge, human, _final: is_alike(human, judge),
}
_NEWEST = 2**63 - 1


@dataclass(frozen=True)
class RatingFilter:
    """The ratings to list, as query parameters. An empty field does not filter."""

    #: Empty for the verdict.
    criterion: str = ""
    #: A score as JSON text, a verdict, or one of `NO_SCORE` and `ANY_SCORE`.
    judge_said: str = ""
    #: The same, or `OTHER_SCORE`.
    human_said: str = ""
    #: Whether the reviewer saw the judge's scores.
    basis: Basis | Literal[""] = ""
    #: The part of the run.
    part: Part | Literal[""] = ""
    #: Blind ratings that their reviewer changed after the reveal: all, or those that now equal the judge's
    #: score, or those that used to.
    changed: Literal["any", "to judge", "from judge", ""] = ""
    #: Ratings of records that several reviewers scored blind.
    shared: Literal["yes", ""] = ""
    #: Ratings of records that were sent to a lead.
    escalated: Literal["yes", ""] = ""
    #: A family of flag reasons: ratings of the verdict whose record had one of its reasons.
    reason: str = ""
    #: A cause of the run's rubric: decisions of decided records that name it are listed.
    cause: str = ""

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Self:
        """Read the filter from query parameters. Raises `KeyError` for an impossible value."""
        said: dict[str, Any] = {field.name: query.get(field.name, "") for field in fields(cls)}
        if said["basis"] not in _BASES or said["part"] not in _PARTS or "\0" in "".join(said.values()):
            raise KeyError
        if said["judge_said"] == OTHER_SCORE or (said["reason"] and said["criterion"]):
            raise KeyError
        if said["changed"] not in _CHANGES or not {said["shared"], said["escalated"]} <= {"", "yes"}:
            raise KeyError
        return cls(**said)

    @property
    def parts(self) -> dict[str, str]:
        """The filter as query parameters."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name))}


@dataclass(frozen=True)
class RatedRecord:
    """A rating, or a decision, with its record. Scores are JSON values, verdicts words; None for none."""

    evaluation: Evaluation
    reviewer: User
    at: datetime
    basis: Basis
    judge: Any
    #: In a blind rating, the score before the judge's scores were shown.
    human: Any
    #: The submitted score; None also if a blind rating has no decision by its reviewer yet.
    final: Any
    #: Criterion -> cause that the decision names.
    causes: Mapping[str, str]


def list_ratings(scope: JudgeScope, asked: RatingFilter, *, after: str = "") -> Page[RatedRecord]:
    """Return a page of ratings, newest first. An invalid cursor gives the first page.

    Ratings of records in the queue are not listed: the reader may still have to score such a record blind.
    """
    key = parse_key(after)
    start = _NEWEST if key is None else key
    if asked.cause:
        keys = split_page(_mentioning(scope, asked, start), PAGE_SIZE, str)
        return Page(list(_decisions(keys.rows, asked.criterion)), keys.next_after)
    keys = split_page(_counted(scope, asked, start), PAGE_SIZE, str)
    return Page(list(_ratings(keys.rows)), keys.next_after)


def _mentioning(scope: JudgeScope, asked: RatingFilter, start: int) -> list[int]:
    """Find the decisions that name a cause. Only decisions of decided records have mentions."""
    mentions = CauseMention.objects.filter(
        scope.condition(), scope.decision_filters(), cause=asked.cause, review__lt=start
    )
    if asked.criterion:
        mentions = mentions.filter(criterion=asked.criterion)
    keys = mentions.order_by("-review").values_list("review", flat=True).distinct()
    return list(keys[: PAGE_SIZE + 1])


def _decisions(keys: list[int], criterion: str) -> Iterator[RatedRecord]:
    rows = Review.objects.filter(pk__in=keys).order_by("-pk").select_related("reviewer", "evaluation")
    for review in rows.defer(*(f"evaluation__{column}" for column in LARGE_COLUMNS)):
        is_blind = review.blind_scores is not None
        if criterion:
            judge = (review.judged or {}).get(criterion)
            final = score_of((review.corrected_scores or {}).get(criterion))
            human = (review.blind_scores or {}).get(criterion)
        else:
            judge, final, human = review.judged_verdict, review.verdict, review.blind_verdict
        yield RatedRecord(
            review.evaluation,
            review.reviewer,
            review.submitted_at,
            "blind" if is_blind else "assisted",
            judge,
            human if is_blind else final,
            final,
            review.causes,
        )


def _counted(scope: JudgeScope, asked: RatingFilter, start: int) -> list[int]:
    """Find the ratings that a count includes, except those of records that somebody may still score blind."""
    cells = _cells(scope, asked)
    found = Rating.objects.filter(scope.rating_filters(), cell__in=[cell.pk for cell in cells], pk__lt=start)
    if asked.changed:
        found = found.filter(_changed(cells, asked))
    if asked.shared:
        found = found.filter(raters__gt=1)
    if asked.escalated:
        sent = Escalation.objects.exclude(outcome=Escalation.Outcome.WITHDRAWN)
        found = found.filter(Exists(sent.filter(evaluation=OuterRef("evaluation"))))
    if asked.reason:
        found = found.filter(families__contains=[asked.reason])
    found = found.exclude(evaluation__human_review_status__in=QUEUE_STATUSES)
    return list(found.order_by("-pk").values_list("pk", flat=True)[: PAGE_SIZE + 1])


def _changed(cells: Sequence[RatingCell], asked: RatingFilter) -> Q:
    """Return the condition on ratings that their reviewer changed after the reveal."""
    found = Q(pk=None)
    cell_of = {cell.pk: cell for cell in cells if cell.is_blind}
    submitted = Rating.objects.filter(cell__in=[*cell_of], final__isnull=False)
    read = read_score if asked.criterion else read_verdict
    for key, final in submitted.order_by().values_list("cell", "final").distinct():
        judge, human, last = map(read, (cell_of[key].judge, cell_of[key].human, final))
        is_changed = is_score(human) and not is_alike(human, last)
        if is_changed and _CHANGES[asked.changed](judge, human, last):
            found |= Q(cell=key, final=final)
    return found


def _cells(scope: JudgeScope, asked: RatingFilter) -> list[RatingCell]:
    """Return the cells whose ratings are asked for."""
    cells = RatingCell.objects.filter(
        _PARTS[asked.part],
        _BASES[asked.basis],
        stratum__in=[stratum.pk for stratum in scope.strata()],
        criterion=asked.criterion or None,
    )
    return [
        cell
        for cell in cells
        if is_said(cell.judge, asked.judge_said)
        and (
            _likeness(cell.judge) != _likeness(cell.human)
            if asked.human_said == OTHER_SCORE
            else is_said(cell.human, asked.human_said)
        )
    ]


def is_said(counted: str | None, asked: str) -> bool:
    """Return whether a counted score is the requested one. 4 and 4.0 are, and Yes and YES."""
    if not asked:
        return True
    is_none = counted in {None, "null"}
    if asked in {NO_SCORE, ANY_SCORE}:
        return is_none == (asked == NO_SCORE)
    return not is_none and (counted == asked or _likeness(counted) == _likeness(asked))


def _likeness(text: str | None) -> object:
    """Return the likeness of a score, a verdict or a cut-off score; otherwise the text."""
    value = read_score(text)
    return likeness(value) if is_score(value) else text


def _ratings(keys: list[int]) -> Iterator[RatedRecord]:
    rows = Rating.objects.filter(pk__in=keys).order_by("-pk")
    rows = rows.select_related("cell", "reviewer", "evaluation__review")
    for one in rows.defer(*(f"evaluation__{column}" for column in LARGE_COLUMNS)):
        read = read_verdict if one.cell.criterion is None else read_score
        human = read(one.cell.human)
        yield RatedRecord(
            one.evaluation,
            one.reviewer,
            one.at,
            "blind" if one.cell.is_blind else "assisted",
            read(one.cell.judge),
            human,
            read(one.final) if one.cell.is_blind else human,
            one.evaluation.review.causes if one.evaluation.review else {},
        )
