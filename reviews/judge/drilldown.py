"""List the current decisions behind a count of the judge's accuracy."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

from django.db import connection
from django.db.models import F, Q, QuerySet, Sum

from reviews.database.pagination import Page, parse_key, split_page
from reviews.judge.accuracy import Basis, Population, read_score
from reviews.judge.scope import JudgeScope
from reviews.models import CauseMention, JudgedCount, Review
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.queue import progress
from reviews.records.scores import identity, is_score

PAGE_SIZE = 50
# A filter that matches fewer than one decision in this many is searched by index, not by scanning.
_RARE = 200
# No score (a removed criterion or no verdict), any score, and a human score that differs from the judge's.
NO_SCORE, ANY_SCORE, OTHER_SCORE = "-", "*", "!"


@dataclass(frozen=True)
class DecisionFilter:
    """The decisions to list, as query parameters. An empty field does not filter."""

    #: Empty for the verdict.
    criterion: str = ""
    #: A score as JSON text, a verdict, or one of `NO_SCORE` and `ANY_SCORE`.
    judge_said: str = ""
    #: The same, or `OTHER_SCORE`.
    human_said: str = ""
    #: Whether the reviewer saw the judge's scores.
    seen: Basis | Literal[""] = ""
    #: How the record came to be reviewed.
    drawn: Population | Literal[""] = ""
    #: A cause of the run's rubric.
    cause: str = ""

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Self:
        """Read the filter from query parameters. Raises `KeyError` for an impossible value."""
        said: dict[str, Any] = {field.name: query.get(field.name, "") for field in fields(cls)}
        if said["seen"] not in _SEEN or said["drawn"] not in _SAMPLED or "\0" in "".join(said.values()):
            raise KeyError
        if said["judge_said"] == OTHER_SCORE:
            raise KeyError
        return cls(**said)

    @property
    def parts(self) -> dict[str, str]:
        """The filter as query parameters."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name))}


# Scores as the trigger `count_judged` counts them. A decision is current if its record points to it.
_FIND = """
    SELECT id FROM review
    WHERE run_id = %(run)s AND id < %(after)s AND judged IS NOT NULL
      AND stratum_id = ANY(%(stratum)s) AND reviewer_id = ANY(%(reviewer)s) AND {conditions}
      AND EXISTS (SELECT FROM evaluation WHERE evaluation.review_id = review.id)
    ORDER BY id DESC LIMIT %(most)s
"""
_JUDGE = "left((judged -> %(criterion)s)::text, 200)"
_HUMAN = """
    left((CASE WHEN blind_scores IS NULL THEN corrected_scores -> %(criterion)s -> 'score'
               ELSE blind_scores -> %(criterion)s END)::text, 200)
"""
_JUDGE_VERDICT = "judged_verdict"
_HUMAN_VERDICT = "CASE WHEN blind_scores IS NULL THEN verdict ELSE blind_verdict END"
_SEEN = {"": "", "blind": "blind_scores IS NOT NULL", "assisted": "blind_scores IS NULL"}
_DRAWN = {
    "flagged": Q(stratum__is_flagged=True, is_sampled=False),
    "sampled": Q(is_sampled=True),
    "picked": Q(stratum__is_flagged=False, is_sampled=False),
}
_SAMPLED = {
    "": "",
    "flagged": "NOT is_sampled",
    "sampled": "is_sampled",
    "picked": "NOT is_sampled",
}
_NEWEST = 2**63 - 1


def list_decisions(scope: JudgeScope, asked: DecisionFilter, *, after: str = "") -> Page[Review]:
    """Return a page of current decisions, newest first. An invalid cursor gives the first page."""
    key = parse_key(after)
    start = _NEWEST if key is None else key
    found = _mentioning(scope, asked, start) if asked.cause else _counted(scope, asked, start)
    keys = split_page(found, PAGE_SIZE, str)
    rows = Review.objects.filter(pk__in=keys.rows).order_by("-pk").select_related("reviewer", "evaluation")
    rows = rows.defer(*(f"evaluation__{column}" for column in LARGE_COLUMNS))
    return Page(list(rows), keys.next_after)


def _mentioning(scope: JudgeScope, asked: DecisionFilter, start: int) -> list[int]:
    """Find the decisions that name a cause. Only current decisions have mentions."""
    mentions = CauseMention.objects.filter(scope.condition(), cause=asked.cause, review__lt=start)
    if asked.criterion:
        mentions = mentions.filter(criterion=asked.criterion)
    if scope.reviewer:
        mentions = mentions.filter(review__reviewer=scope.reviewer)
    keys = mentions.order_by("-review").values_list("review", flat=True).distinct()
    return list(keys[: PAGE_SIZE + 1])


def _counted(scope: JudgeScope, asked: DecisionFilter, start: int) -> list[int]:
    """Find the decisions that a count includes."""
    counted = _cells(scope, asked)
    is_common = _is_common(scope, counted)
    values: dict[str, Any] = {
        "run": scope.run.pk,
        "criterion": asked.criterion,
        "after": start,
        "most": PAGE_SIZE + 1,
        **{name: _spellings(counted, name) for name in ("judge", "human")},
        **{name: sorted(counted.values_list(name, flat=True).distinct()) for name in ("stratum", "reviewer")},
    }
    with connection.cursor() as cursor:
        cursor.execute(_FIND.format(conditions=_conditions(asked, is_common=is_common)), values)
        return [key for (key,) in cursor.fetchall()]


def _cells(scope: JudgeScope, asked: DecisionFilter) -> QuerySet[JudgedCount]:
    """Return the counts that include the decisions. They give the strata and reviewers to search."""
    strata = list(scope.strata().values_list("pk", flat=True))
    counted = JudgedCount.objects.filter(stratum__in=strata, reviews__gt=0, criterion=asked.criterion or None)
    if scope.reviewer:
        counted = counted.filter(reviewer=scope.reviewer)
    if asked.seen:
        counted = counted.filter(is_blind=asked.seen == "blind")
    if asked.drawn:
        counted = counted.filter(_DRAWN[asked.drawn])
    for name, said in (("judge", asked.judge_said), ("human", asked.human_said)):
        if said == OTHER_SCORE:
            counted = counted.exclude(human=F("judge"))
        elif said:
            found = counted.values_list(name, flat=True).distinct()
            matching = [score for score in found if _is_said(score, said)]
            is_none = Q(**{f"{name}__isnull": True}) if None in matching else Q(pk__in=())
            counted = counted.filter(is_none | Q(**{f"{name}__in": [score for score in matching if score]}))
    return counted


def _spellings(counted: QuerySet[JudgedCount], name: str) -> list[str]:
    return [score for score in counted.values_list(name, flat=True).distinct() if score is not None]


def _is_common(scope: JudgeScope, counted: QuerySet[JudgedCount]) -> bool:
    """Return whether scanning the run's decisions from the newest fills a page soonest."""
    reviews = counted.aggregate(all=Sum("reviews", default=0))["all"]
    return bool(reviews * _RARE > progress.run_progress(scope.run).done)


def _conditions(asked: DecisionFilter, *, is_common: bool) -> str:
    judge, human = (_JUDGE, _HUMAN) if asked.criterion else (_JUDGE_VERDICT, _HUMAN_VERDICT)
    found = (
        "judged ? %(criterion)s" if asked.criterion else "",
        _SEEN[asked.seen],
        _SAMPLED[asked.drawn],
        _condition("judge", judge, asked.judge_said),
        f"{human} IS DISTINCT FROM {judge}"
        if asked.human_said == OTHER_SCORE
        else _condition("human", human, asked.human_said),
    )
    both = " AND ".join(filter(None, found)) or "true"
    # PostgreSQL expects such a condition to match few rows, but half of all rows inside a CASE. The CASE
    # makes it scan the newest decisions first.
    return f"CASE WHEN {both} THEN true ELSE false END" if is_common else both


def _condition(name: str, score: str, asked: str) -> str:
    wanted = {"": "", NO_SCORE: f"coalesce({score}, 'null') = 'null'", ANY_SCORE: f"{score} <> 'null'"}
    return wanted.get(asked, f"{score} = ANY(%({name})s)")


def _is_said(counted: str | None, asked: str) -> bool:
    """Return whether a counted score is the requested one. 4 and 4.0 are the same score."""
    if not asked:
        return True
    is_none = counted in {None, "null"}
    if asked in {NO_SCORE, ANY_SCORE}:
        return is_none == (asked == NO_SCORE)
    return not is_none and (counted == asked or _read(str(counted)) == _read(asked))


def _read(text: str) -> object:
    """Return the identity of a score, a verdict or a cut-off score; otherwise the text."""
    value = read_score(text)
    return identity(value) if is_score(value) else text
