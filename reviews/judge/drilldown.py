"""The decisions in force behind a count of the judge against people, to look at one by one."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, Self

from django.db import connection
from django.db.models import F, Q, QuerySet, Sum

from reviews.judge.accuracy import Basis, JudgeScope, Population
from reviews.models import CauseMention, JudgedCount, Review
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.queue import progress
from reviews.records.scores import Score, identity, is_score

PAGE_SIZE = 50
# Fewer than one decision in so many: not worth going through all of them in their order.
_RARE = 200
# Stand for no score (the criterion was removed, or there is no verdict), for any, and for another than the
# judge's (said of the human alone).
NO_SCORE, ANY_SCORE, OTHER_SCORE = "-", "*", "!"
_CURSOR = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class DecisionFilter:
    """Which decisions: as an address says it, everything empty that does not narrow.

    `judge_said` and `human_said` are scores as JSON spells them, of a `criterion`; without one, verdicts.
    `seen` is a basis and `drawn` a population of `judging`, `cause` a word of the run's causes.
    """

    criterion: str = ""
    judge_said: str = ""
    human_said: str = ""
    seen: Basis | Literal[""] = ""
    drawn: Population | Literal[""] = ""
    cause: str = ""

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Self:
        """What an address asks for. Raises `KeyError` where it asks for what there cannot be."""
        said: dict[str, Any] = {field.name: query.get(field.name, "") for field in fields(cls)}
        if said["seen"] not in _SEEN or said["drawn"] not in _SAMPLED or "\0" in "".join(said.values()):
            raise KeyError
        if said["judge_said"] == OTHER_SCORE:
            raise KeyError
        return cls(**said)

    @property
    def parts(self) -> dict[str, str]:
        """The same as parameters of an address."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name))}


class Page(NamedTuple):
    """The next page begins behind `next_after`, which is empty on the last."""

    rows: list[Review]
    next_after: str


# Scores as `count_judged` counts them. A decision in force is one that a record leads to.
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


def list_decisions(scope: JudgeScope, asked: DecisionFilter, *, after: str = "") -> Page:
    """A page of decisions in force, newest first. A cursor that is none gives the first page."""
    start = int(after) if _CURSOR.fullmatch(after) else _NEWEST
    keys = _mentioning(scope, asked, start) if asked.cause else _counted(scope, asked, start)
    shown = keys[:PAGE_SIZE]
    rows = Review.objects.filter(pk__in=shown).order_by("-pk").select_related("reviewer", "evaluation")
    rows = rows.defer(*(f"evaluation__{column}" for column in LARGE_COLUMNS))
    return Page(list(rows), str(shown[-1]) if keys[PAGE_SIZE:] else "")


def _mentioning(scope: JudgeScope, asked: DecisionFilter, start: int) -> list[int]:
    """Those that name a cause, which are in force by their nature."""
    mentions = CauseMention.objects.filter(scope.condition(), cause=asked.cause, review__lt=start)
    if asked.criterion:
        mentions = mentions.filter(criterion=asked.criterion)
    if scope.reviewer:
        mentions = mentions.filter(review__reviewer=scope.reviewer)
    keys = mentions.order_by("-review").values_list("review", flat=True).distinct()
    return list(keys[: PAGE_SIZE + 1])


def _counted(scope: JudgeScope, asked: DecisionFilter, start: int) -> list[int]:
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
    """The counts that the decisions are in: they tell whose these are, and of what."""
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
    """Whether a page is filled soonest by looking through the run's decisions, from the newest on."""
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
    # PostgreSQL takes it that hardly a row fulfils such a condition, and every second one does so in a CASE:
    # then it goes through the newest first.
    return f"CASE WHEN {both} THEN true ELSE false END" if is_common else both


def _condition(name: str, score: str, asked: str) -> str:
    wanted = {"": "", NO_SCORE: f"coalesce({score}, 'null') = 'null'", ANY_SCORE: f"{score} <> 'null'"}
    return wanted.get(asked, f"{score} = ANY(%({name})s)")


def _is_said(counted: str | None, asked: str) -> bool:
    """Whether a score as it is counted is the one asked for: 4 and 4.0 are one."""
    if not asked:
        return True
    is_none = counted in {None, "null"}
    if asked in {NO_SCORE, ANY_SCORE}:
        return is_none == (asked == NO_SCORE)
    return not is_none and (counted == asked or _read(str(counted)) == _read(asked))


def _read(text: str) -> object:
    """What tells a score from others; the text itself, where it is a verdict's word or was cut."""
    try:
        value: Score = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return identity(value) if is_score(value) else text
