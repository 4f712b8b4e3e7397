"""Estimate missed errors: wrong verdicts among unflagged records, from a random sample of them.

A verdict is wrong if the current human verdict differs. `intervals.stratified_share` has the weights and
intervals.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Sum

from reviews.judge import population as judge_population
from reviews.judge.accuracy import read_score
from reviews.judge.data_summary import counted
from reviews.judge.plain_json import members
from reviews.judge.population import PopulationCell
from reviews.judge.scope import JudgeScope
from reviews.models import JudgedCount
from reviews.records.scores import criterion_title, is_score
from reviews.rubric.overrides import is_same_score
from reviews.search import strata
from reviews.statistics.intervals import (
    Estimate,
    StratifiedEstimate,
    StratumSample,
    scale,
    share_of_sum,
    stratified_share,
    undefined,
    wilson,
)

DEFINITIONS = {
    "miss_rate": "The share of unflagged records whose verdict a human changes. It is estimated from a "
    "random sample, drawn within judge, prompt, model and verdict, and weighted by the number of records "
    "(Cochran 1977, Sampling Techniques, chapter 5; interval: Wilson on the effective sample size, Kish "
    "1965). It says nothing about single scores. Assisted reviews may bias it towards the judge.",
    "flagged_error_rate": "The share of flagged records whose verdict a human changes. The records reviewed "
    "so far are not a random sample: the others are assumed to be like those with the same judge, prompt, "
    "model and verdict.",
    "flag_recall": "The share of all wrong verdicts in the run that are flagged: the wrong verdicts among "
    "flagged records divided by their sum with the missed ones, each estimated for all records (interval: "
    "Donner & Zou 2012, Statistical Methods in Medical Research 21:347).",
    "missed": "The estimated number of unflagged records with a wrong verdict: the miss rate times their "
    "number.",
    "criteria": "The share of sampled records with a judge's score for the criterion in which the current "
    "human score differs or the criterion was removed. Not weighted. Interval: Wilson 1927.",
}


_NOTHING_TO_MISS = StratifiedEstimate(undefined("Every record with a verdict is flagged."), 0, 0, ())


@dataclass(frozen=True)
class CriterionMissRate:
    """How often the judge's score of a criterion was wrong in sampled records."""

    criterion: str
    miss_rate: Estimate

    @property
    def title(self) -> str:
        return criterion_title(self.criterion)

    def as_json(self) -> dict[str, Any]:
        return members(self, "criterion", "miss_rate")


@dataclass(frozen=True)
class MissedErrors:
    """The errors that the flags miss, and those that they catch."""

    scope: JudgeScope
    #: Unflagged records with a verdict. None while the run's records are being counted.
    records: int | None
    #: Sampled records with a verdict by a human.
    reviewed: int
    #: Reviewed records that were scored blind.
    blind: int
    #: Reviews of unflagged records that were not sampled. No figure counts them.
    unsampled: int
    miss_rate: StratifiedEstimate
    #: The error rate of flagged records.
    flagged_error_rate: StratifiedEstimate
    criteria: tuple[CriterionMissRate, ...]
    #: Why no figure about all records is defined, or empty.
    unknown: str = ""
    #: The records that no figure counts, as a sentence.
    left_out: str = ""

    @property
    def share(self) -> float:
        """The share of unflagged records that are sampled for review, from 0 to 1."""
        return self.scope.run.sample_share

    @property
    def missed(self) -> Estimate:
        """The estimated number of unflagged records with a wrong verdict."""
        return scale(self.miss_rate.share, self.miss_rate.population)

    @property
    def flag_recall(self) -> Estimate:
        """The share of all wrong verdicts that are flagged."""
        return share_of_sum(
            scale(self.flagged_error_rate.share, self.flagged_error_rate.population), self.missed
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The coverage and the assumptions of the figures, or why they are undefined."""
        return tuple(_sentences(self))

    def as_json(self) -> dict[str, Any]:
        counts = ("share", "records", "reviewed", "blind", "unsampled")
        figures = ("miss_rate", "flagged_error_rate", "flag_recall", "missed", "criteria", "sentences")
        found = members(self, *counts, *figures)
        if self.unknown:
            for name in ("miss_rate", "flagged_error_rate"):
                found[name] |= {"population": None, "covered": None}
        return found


def estimate_missed_errors(scope: JudgeScope) -> MissedErrors:
    """Estimate the missed errors of a scope from the decisions of all reviewers."""
    if unknown := strata.why_not_counted(scope.run):
        return _unknown(scope, unknown)
    population = judge_population.read_population(scope)
    if population.withheld and not population.cells:
        return _unknown(scope, population.sentence)
    cells = [cell for cell in population.cells if cell.verdict]
    others = [cell for cell in cells if not cell.is_flagged]
    return MissedErrors(
        scope=scope,
        records=sum(cell.records for cell in others),
        reviewed=sum(cell.reviewed for cell in others),
        blind=sum(cell.blind for cell in others),
        unsampled=sum(cell.unsampled for cell in others),
        miss_rate=stratified_share(_parts(others)) if others else _NOTHING_TO_MISS,
        flagged_error_rate=stratified_share(_parts(cell for cell in cells if cell.is_flagged)),
        criteria=tuple(_criteria(scope)),
        left_out=population.sentence,
    )


def _unknown(scope: JudgeScope, why: str) -> MissedErrors:
    """Count the decisions of a scope whose population is unknown."""
    verdicts = JudgedCount.objects.filter(
        scope.condition(), stratum__is_flagged=False, criterion=None, judge__isnull=False, final__isnull=False
    )
    rows = verdicts.values_list("is_sampled", "is_blind").annotate(Sum("reviews")).order_by()
    reviews = {(is_sampled, is_blind): int(count) for is_sampled, is_blind, count in rows}
    nothing = StratifiedEstimate(undefined(why), 0, 0, ())
    return MissedErrors(
        scope=scope,
        records=None,
        reviewed=reviews.get((True, True), 0) + reviews.get((True, False), 0),
        blind=reviews.get((True, True), 0),
        unsampled=reviews.get((False, True), 0) + reviews.get((False, False), 0),
        miss_rate=nothing,
        flagged_error_rate=nothing,
        criteria=tuple(_criteria(scope)),
        unknown=why,
    )


def _parts(cells: Iterable[PopulationCell]) -> Iterator[StratumSample]:
    for cell in cells:
        yield StratumSample(cell.records, cell.reviewed, cell.wrong, cell.label)


def _criteria(scope: JudgeScope) -> Iterator[CriterionMissRate]:
    """Yield the miss rate of each criterion, highest first."""
    sampled = JudgedCount.objects.filter(
        scope.condition(), stratum__is_flagged=False, is_sampled=True, criterion__isnull=False
    )
    rows = sampled.values_list("criterion", "judge", "final").annotate(Sum("reviews")).order_by()
    scored: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for criterion, judge, final, reviews in rows:
        if is_score(said := read_score(judge)):
            scored[criterion] += reviews
            wrong[criterion] += 0 if is_same_score(said, read_score(final)) else reviews
    found = [
        CriterionMissRate(criterion, wilson(int(wrong[criterion]), int(reviews), "sampled records"))
        for criterion, reviews in scored.items()
        if reviews > 0
    ]
    yield from sorted(found, key=lambda one: (-(one.miss_rate.value or 0), one.criterion))


def _sentences(found: MissedErrors) -> Iterator[str]:
    if found.records is None:
        yield found.unknown
    else:
        yield from _sentences_of(found, found.records)
    if found.left_out:
        yield found.left_out


def _sentences_of(found: MissedErrors, records: int) -> Iterator[str]:
    others = counted(records, "unflagged record")
    if not records:
        yield "Every record with a verdict is flagged, so the flags cannot miss any."
    elif found.reviewed:
        yield f"{found.reviewed:,} of {others} are sampled and reviewed."
    elif found.share:
        yield f"None of {others} is sampled and reviewed yet. Their error rate is unknown."
    else:
        yield (
            f"None of {others} is sampled. Their error rate is unknown. Set a share under “Sampling and "
            f"blind review”."
        )
    if found.reviewed:
        if found.reviewed > found.blind:
            saw = counted(found.reviewed - found.blind, "of these reviews is", "of these reviews are")
            yield f"{saw} assisted: the reviewer saw the judge's scores. This may bias the miss rate."
        if found.miss_rate.note:
            yield f"Unflagged: {found.miss_rate.note}"
        left = found.flagged_error_rate.population - found.flagged_error_rate.share.n
        if left > 0:
            yield f"{counted(left, 'unreviewed flagged record')} are assumed to be like the reviewed ones."
        if found.flagged_error_rate.note:
            yield f"Flagged: {found.flagged_error_rate.note}"
    if found.unsampled:
        yield (
            f"Not counted: {counted(found.unsampled, 'review')} of records that were neither flagged nor "
            f"sampled."
        )
