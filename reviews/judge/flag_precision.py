"""What each reason for asking a human is worth: how often it leads to an error, and at what price."""

from dataclasses import dataclass
from typing import Any, Literal

from django.db.models import Sum

from reviews.judge.accuracy import JudgeScope
from reviews.judge.data_summary import percent
from reviews.models import FacetCount, ReasonCount, RunFacet
from reviews.search import strata
from reviews.statistics.intervals import Estimate, wilson

Advice = Literal["keep", "retire", "too few"]

# A reason that holds for one record in so many with an error is worth a reviewer's time.
WORTH = 0.10
# With fewer reviews nothing is advised, however they came out.
FEWEST = 10

RULE = (
    f"Keep: the 95 % interval of the precision lies above {percent(WORTH)}, so at least one in "
    f"{1 / WORTH:.0f} of the records that the reason flags held an error. Retire: it lies below. Too few: it "
    f"does not tell yet, or fewer than {FEWEST} records with the reason are reviewed. Before you retire a "
    "reason, compare its precision with the escape rate, which is that of records without any."
)
# By the names of `FlagReason`: what it is, of which records, where it is from, and what it does not say.
DEFINITIONS = {
    "flagged": "Records of the run with a reason of the family in `review_reasons`. One with reasons of "
    "several families counts for each.",
    "reviewed": "Of those, records with a decision in force that was made here and for which the judge's "
    "scores were known.",
    "changed": "Reviewed records in which a human changed, added or removed the score of a criterion, or "
    "said why the judge was wrong about one.",
    "verdict_changed": "Reviewed records whose verdict (Pass, Partial, Fail) is not the judge's any more.",
    "precision": "The share of reviewed records in which a score was changed (Wilson 1927, Journal of the "
    "American Statistical Association 22:209). What was reviewed so far need not be like the rest of the "
    "flagged records, and a reviewer who saw the judge's score changes it more rarely.",
    "verdict_precision": "The same for the verdict, of the records where both have one.",
    "minutes_per_error": "Active minutes of a review, on average, divided by the precision: what it costs "
    "to find one record with an error by this reason. Time is active while the page is visible and in use; "
    "a record with several reasons costs its whole time for each.",
    "advice": RULE,
}
_SUMS = ("reviews", "compared", "changed", "verdicts", "verdict_changed", "timed", "active_ms")


@dataclass(frozen=True)
class FlagReason:
    """One family of reasons.

    `flagged` is None while the records of the run are not all counted. `timed` is how many of its decisions
    are in `active_minutes`.
    """

    key: str
    title: str
    flagged: int | None
    reviewed: int
    changed: int
    verdicts: int
    verdict_changed: int
    timed: int
    active_minutes: float

    @property
    def precision(self) -> Estimate:
        return wilson(self.changed, self.reviewed, "reviewed records")

    @property
    def verdict_precision(self) -> Estimate:
        return wilson(self.verdict_changed, self.verdicts, "reviewed records with two verdicts")

    @property
    def minutes_per_error(self) -> float | None:
        if not (self.timed and self.changed):
            return None
        return self.active_minutes / self.timed * self.reviewed / self.changed

    @property
    def minutes_why(self) -> str:
        """Why there are no minutes per error; empty where there are."""
        if not self.timed:
            return "No review of a record with this reason was timed."
        if not self.changed:
            return f"No error was found in {self.active_minutes:,.0f} active minutes."
        return ""

    @property
    def advice(self) -> Advice:
        """See `RULE`."""
        low, high = self.precision.low, self.precision.high
        if low is None or high is None or self.reviewed < FEWEST or low <= WORTH <= high:
            return "too few"
        return "keep" if low > WORTH else "retire"

    @property
    def because(self) -> str:
        """The advice as a sentence."""
        found = f"{self.changed:,} of {self.reviewed:,} reviewed records held an error"
        if not self.reviewed:
            return "Too few: no record with this reason is reviewed yet."
        low, high = self.precision.low or 0, self.precision.high or 0
        between = f"the share is between {percent(low)} and {percent(high)}"
        if self.advice == "keep":
            return f"Keep: {found}; {between}, more than one in {1 / WORTH:.0f}."
        if self.advice == "retire":
            return f"Retire: {found}; {between}, less than one in {1 / WORTH:.0f}."
        return f"Too few: {found}; {between}, which does not tell yet."

    def as_json(self) -> dict[str, Any]:
        names = ("key", "title", "flagged", "reviewed", "changed", "verdicts", "verdict_changed", "timed")
        minutes = self.minutes_per_error
        return {name: getattr(self, name) for name in names} | {
            "active_minutes": round(self.active_minutes, 1),
            "precision": self.precision.as_json(),
            "verdict_precision": self.verdict_precision.as_json(),
            "minutes_per_error": None if minutes is None else round(minutes, 2),
            "minutes_why": self.minutes_why,
            "advice": self.advice,
            "because": self.because,
        }


@dataclass(frozen=True)
class FlagPrecision:
    """The families of a run, those that flag most records first.

    While its records are not all counted, `unknown` says so, and only families with a decision are here.
    """

    families: tuple[FlagReason, ...]
    unknown: str = ""

    @property
    def rule(self) -> str:
        return RULE

    def as_json(self) -> dict[str, Any]:
        families = [family.as_json() for family in self.families]
        return {"rule": self.rule, "families": families, "unknown": self.unknown}


def measure_flag_precision(scope: JudgeScope) -> FlagPrecision:
    """The families of a run's reasons; what came of them, by one reviewer if the scope has one."""
    run = scope.run
    unknown = strata.why_not_counted(run)
    facets = RunFacet.objects.filter(run=run, name="reason").values_list("value", "title")
    flagged = FacetCount.objects.filter(run=run, name="reason").values_list("value", "evaluations")
    titles, sums = dict(facets), _sums(scope)
    records = {} if unknown else dict(flagged)
    keys = sorted({*records, *sums}, key=lambda key: (-records.get(key, 0), key))
    return FlagPrecision(
        tuple(
            _family(key, titles.get(key, key), None if unknown else records.get(key, 0), sums.get(key, {}))
            for key in keys
        ),
        unknown,
    )


def _sums(scope: JudgeScope) -> dict[str, dict[str, int]]:
    counted = ReasonCount.objects.filter(run=scope.run)
    if scope.reviewer:
        counted = counted.filter(reviewer=scope.reviewer)
    rows = counted.order_by("family").values_list("family").annotate(*(Sum(name) for name in _SUMS))
    found = {family: dict(zip(_SUMS, map(int, sums), strict=True)) for family, *sums in rows}
    return {family: sums for family, sums in found.items() if sums["reviews"] > 0}


def _family(key: str, title: str, flagged: int | None, sums: dict[str, int]) -> FlagReason:
    return FlagReason(
        key=key,
        title=title,
        flagged=flagged,
        reviewed=sums.get("compared", 0),
        changed=sums.get("changed", 0),
        verdicts=sums.get("verdicts", 0),
        verdict_changed=sums.get("verdict_changed", 0),
        timed=sums.get("timed", 0),
        active_minutes=sums.get("active_ms", 0) / 60_000,
    )
