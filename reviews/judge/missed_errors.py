"""What the flags miss: wrong verdicts among records that nobody flagged, told by a random sample of them.

A verdict is wrong where a human's in force is another one. For weights and intervals see
`intervals.stratified`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Sum

from reviews.judge import population as judge_population
from reviews.judge.accuracy import JudgeScope, read_score
from reviews.judge.data_summary import counted
from reviews.judge.population import PopulationCell
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

# By the names of `MissedErrors`: what it is, of which records, where it is from, and what it does not say.
DEFINITIONS = {
    "rate": "Escape rate: of the records that were not flagged, the share whose verdict a human changes. "
    "From a random sample of them, drawn within judge, prompt, model and verdict, each weighted by all its "
    "records (Cochran 1977, Sampling Techniques, chapter 5; the interval is Wilson's on the effective "
    "sample size, Kish 1965). It does not say how often a single score is wrong, and where reviewers saw "
    "the judge's score it is too low rather than too high.",
    "caught": "The same of the flagged records, from those reviewed so far. They were not drawn at random: "
    "what is left is taken to be like what was reviewed of the same judge, prompt, model and verdict.",
    "recall": "Recall of the flags: of all wrong verdicts in the run, the share that was flagged. Wrong "
    "verdicts among flagged records, divided by the sum of those and of the ones that escaped, each "
    "estimated for all records (interval: Donner & Zou 2012, Statistical Methods in Medical Research "
    "21:347).",
    "escaped": "How many records with a wrong verdict were not flagged: the escape rate times all of them.",
    "criteria": "Of the sampled records that the judge gave a score for the criterion, the share where the "
    "human's in force differs or the criterion was removed (Wilson). Counted as they were drawn, not "
    "weighted.",
}


_NONE_COULD_ESCAPE = StratifiedEstimate(undefined("Every record with a verdict is flagged."), 0, 0, ())


@dataclass(frozen=True)
class CriterionMissRate:
    """How often a score was wrong in sampled records."""

    criterion: str
    escaped: Estimate

    @property
    def title(self) -> str:
        return criterion_title(self.criterion)

    def as_json(self) -> dict[str, Any]:
        return {"criterion": self.criterion, "escaped": self.escaped.as_json()}


@dataclass(frozen=True)
class MissedErrors:
    """What the flags miss, and what they catch.

    `records` were not flagged and have a verdict; `reviewed` of these were sampled and have a human's,
    `blind` of which were given before the judge's scores showed. `unsampled` reviews are of records that were
    neither flagged nor drawn, and count for nothing here. While the run is not counted completely `unknown`
    says so; then `records` is None, and no figure about all records is defined. `left_out` says which records
    no figure counts.
    """

    scope: JudgeScope
    records: int | None
    reviewed: int
    blind: int
    unsampled: int
    rate: StratifiedEstimate
    caught: StratifiedEstimate
    criteria: tuple[CriterionMissRate, ...]
    unknown: str = ""
    left_out: str = ""

    @property
    def share(self) -> float:
        """Of the records that need no review, how many are to be reviewed all the same; from 0 to 1."""
        return self.scope.run.sample_share

    @property
    def escaped(self) -> Estimate:
        return scale(self.rate.share, self.rate.population)

    @property
    def recall(self) -> Estimate:
        return share_of_sum(scale(self.caught.share, self.caught.population), self.escaped)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the figures cover and assume, or why there are none."""
        return tuple(_sentences(self))

    def as_json(self) -> dict[str, Any]:
        names = ("share", "records", "reviewed", "blind", "unsampled")
        figures = ("rate", "caught", "recall", "escaped")
        estimates = {name: getattr(self, name).as_json() for name in figures}
        if self.unknown:
            for name in ("rate", "caught"):
                estimates[name] |= {"population": None, "covered": None}
        return (
            {name: getattr(self, name) for name in names}
            | estimates
            | {"criteria": [one.as_json() for one in self.criteria], "sentences": list(self.sentences)}
        )


def estimate_missed_errors(scope: JudgeScope) -> MissedErrors:
    """What the flags miss in a scope, whoever reviewed."""
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
        unsampled=sum(cell.aside for cell in others),
        rate=stratified_share(_parts(others)) if others else _NONE_COULD_ESCAPE,
        caught=stratified_share(_parts(cell for cell in cells if cell.is_flagged)),
        criteria=tuple(_criteria(scope)),
        left_out=population.sentence,
    )


def _unknown(scope: JudgeScope, why: str) -> MissedErrors:
    """Count the decisions of a scope about whose other records nothing is said."""
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
        rate=nothing,
        caught=nothing,
        criteria=tuple(_criteria(scope)),
        unknown=why,
    )


def _parts(cells: Iterable[PopulationCell]) -> Iterator[StratumSample]:
    for cell in cells:
        yield StratumSample(cell.records, cell.reviewed, cell.wrong, cell.label)


def _criteria(scope: JudgeScope) -> Iterator[CriterionMissRate]:
    """By criterion, the most often wrong one first."""
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
    yield from sorted(found, key=lambda one: (-(one.escaped.value or 0), one.criterion))


def _sentences(found: MissedErrors) -> Iterator[str]:
    if found.records is None:
        yield found.unknown
    else:
        yield from _sentences_of(found, found.records)
    if found.left_out:
        yield found.left_out


def _sentences_of(found: MissedErrors, records: int) -> Iterator[str]:
    others = counted(records, "record")
    if not records:
        yield "Every record here that has a verdict is flagged: there is nothing the flags could have missed."
    elif found.reviewed:
        yield f"{found.reviewed:,} of {others} that nobody flagged are sampled and reviewed."
    elif found.share:
        yield f"Of {others} that nobody flagged no sampled one is reviewed yet: what they hide is unknown."
    else:
        yield (
            f"Of {others} that nobody flagged none is sampled: what they hide is unknown. Set a share under "
            "“How the judge is measured”."
        )
    if found.reviewed:
        if found.reviewed > found.blind:
            saw = counted(found.reviewed - found.blind, "of these reviews was", "of these reviews were")
            yield f"{saw} made with the judge's scores in sight: the escape rate is too low, if anything."
        if found.rate.note:
            yield f"Not flagged: {found.rate.note}"
        left = found.caught.population - found.caught.share.n
        if left > 0:
            yield f"{counted(left, 'flagged record')} not reviewed yet are taken to be like those that are."
        if found.caught.note:
            yield f"Flagged: {found.caught.note}"
    if found.unsampled:
        yield (
            f"Left out: {counted(found.unsampled, 'review')} of records that were neither flagged nor drawn "
            "at random."
        )
