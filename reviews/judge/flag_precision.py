"""Measure flag precision: how often each flag reason leads to an error, and at what cost."""

from dataclasses import dataclass
from typing import Any, Literal

from django.db.models import Sum

from reviews.judge.data_summary import percent
from reviews.judge.plain_json import members
from reviews.judge.scope import JudgeScope
from reviews.models import FacetCount, ReasonCount, RunFacet
from reviews.search import strata
from reviews.statistics.intervals import Estimate, wilson

Advice = Literal["keep", "retire", "not enough data"]

# A reason is worth a reviewer's time if at least this share of its records contains an error.
WORTH = 0.10
# No advice is given on fewer reviews.
FEWEST = 10

RULE = (
    f"Keep: the 95% interval of the precision is above {percent(WORTH)}, so at least one in {1 / WORTH:.0f} "
    f"records with the reason contains an error. Retire: the interval is below. Not enough data: the "
    f"interval includes {percent(WORTH)}, or fewer than {FEWEST} records with the reason are reviewed. "
    f"Before you retire a reason, compare its precision with the miss rate, which is the error rate of "
    f"unflagged records."
)
DEFINITIONS = {
    "flagged": "Records of the run with a reason of the family in `review_reasons`. A record with reasons of "
    "several families counts for each.",
    "reviewed": "Flagged records with a current decision made here, for which the judge's scores are known.",
    "changed": "Reviewed records in which a reviewer changed, added or removed the score of a criterion, or "
    "named a cause.",
    "verdict_changed": "Reviewed records whose verdict (Pass, Partial, Fail) differs from the judge's.",
    "precision": "The share of reviewed records with a changed score (Wilson 1927, Journal of the American "
    "Statistical Association 22:209). The records reviewed so far may differ from the other flagged ones. "
    "Reviewers who see the judge's score change it less often.",
    "verdict_precision": "The share of reviewed records with a changed verdict, among those with both "
    "verdicts.",
    "minutes_per_error": "The mean active minutes of a review divided by the precision: the cost of finding "
    "one record with an error. Time is active while the page is visible and in use. A record with several "
    "reasons counts its whole time for each.",
    "advice": RULE,
}
_SUMS = ("reviews", "compared", "changed", "verdicts", "verdict_changed", "timed", "active_ms")


@dataclass(frozen=True)
class FlagReason:
    """The figures of one family of flag reasons."""

    key: str
    title: str
    #: None while the run's records are being counted.
    flagged: int | None
    reviewed: int
    changed: int
    verdicts: int
    verdict_changed: int
    #: The number of decisions in `active_minutes`.
    timed: int
    active_minutes: float

    @property
    def precision(self) -> Estimate:
        return wilson(self.changed, self.reviewed, "reviewed records")

    @property
    def verdict_precision(self) -> Estimate:
        return wilson(self.verdict_changed, self.verdicts, "reviewed records with both verdicts")

    @property
    def minutes_per_error(self) -> float | None:
        if not (self.timed and self.changed):
            return None
        return self.active_minutes / self.timed * self.reviewed / self.changed

    @property
    def minutes_why(self) -> str:
        """Why `minutes_per_error` is undefined, or empty."""
        if not self.timed:
            return "No review of a record with this reason was timed."
        if not self.changed:
            return f"No error found in {self.active_minutes:,.0f} active minutes."
        return ""

    @property
    def advice(self) -> Advice:
        """Apply `RULE`."""
        low, high = self.precision.low, self.precision.high
        if low is None or high is None or self.reviewed < FEWEST or low <= WORTH <= high:
            return "not enough data"
        return "keep" if low > WORTH else "retire"

    @property
    def because(self) -> str:
        """The advice as a sentence."""
        found = f"{self.changed:,} of {self.reviewed:,} reviewed records contained an error"
        if not self.reviewed:
            return "Not enough data: no record with this reason is reviewed yet."
        low, high = self.precision.low or 0, self.precision.high or 0
        between = f"the share is between {percent(low)} and {percent(high)}"
        if self.advice == "keep":
            return f"Keep: {found}; {between}, more than one in {1 / WORTH:.0f}."
        if self.advice == "retire":
            return f"Retire: {found}; {between}, less than one in {1 / WORTH:.0f}."
        return f"Not enough data: {found}; {between}, which includes one in {1 / WORTH:.0f}."

    def as_json(self) -> dict[str, Any]:
        counts = ("key", "title", "flagged", "reviewed", "changed", "verdicts", "verdict_changed", "timed")
        figures = ("precision", "verdict_precision", "minutes_why", "advice", "because")
        minutes = self.minutes_per_error
        return members(self, *counts, *figures) | {
            "active_minutes": round(self.active_minutes, 1),
            "minutes_per_error": None if minutes is None else round(minutes, 2),
        }


@dataclass(frozen=True)
class FlagPrecision:
    """The families of a run, those with most flagged records first."""

    families: tuple[FlagReason, ...]
    #: Why `flagged` is unknown, or empty. Families without a decision are absent then.
    unknown: str = ""

    @property
    def rule(self) -> str:
        return RULE

    def as_json(self) -> dict[str, Any]:
        return members(self, "rule", "families", "unknown")


def measure_flag_precision(scope: JudgeScope) -> FlagPrecision:
    """Measure every family of a run's flag reasons. A reviewer in the scope limits the decisions counted."""
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
        active_minutes=sums.get("active_ms", 0) / 60_000,
        **{name: sums.get(name, 0) for name in ("changed", "verdicts", "verdict_changed", "timed")},
    )
