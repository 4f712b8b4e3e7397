"""Check the figures of a report against required limits, for a pipeline that gates on the judge's quality.

A requirement uses the report's own words: `blind flagged kappa of Clarity >= 0.6`. The interval of the figure
is compared with the limit, not its value: see `GateOutcome`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from reviews.judge import accuracy, reviewer_agreement
from reviews.judge.flag_precision import FEWEST
from reviews.judge.missed_errors import MissedErrors
from reviews.judge.report import JudgeReport
from reviews.statistics.intervals import Estimate, undefined

# Limits are compared after rounding, so that floating-point noise decides nothing.
_DECIMALS = 9


class GateOutcome(StrEnum):
    """The outcome of a requirement, worst first. The worst outcome of several decides.

    | Outcome     | Exit status | The figure's interval                                               |
    |-------------|-------------|---------------------------------------------------------------------|
    | missed      | 1           | lies entirely on the wrong side of the limit                        |
    | cannot tell | 2           | includes the limit, is based on fewer than 10, or does not exist    |
    | met         | 0           | lies entirely on the right side of the limit, or touches it         |
    """

    MISSED = "missed"
    CANNOT_TELL = "cannot tell"
    MET = "met"

    @property
    def status(self) -> int:
        """The exit status of the command."""
        return {GateOutcome.MISSED: 1, GateOutcome.CANNOT_TELL: 2, GateOutcome.MET: 0}[self]


FLAG_FIGURES: dict[str, Callable[[MissedErrors], Estimate]] = {
    "miss_rate": lambda found: found.miss_rate.share,
    "flag_recall": lambda found: found.flag_recall,
    "flagged_error_rate": lambda found: found.flagged_error_rate.share,
}
FORMS = (
    f"{'|'.join(accuracy.BASES)} {'|'.join(accuracy.POPULATIONS)} {'|'.join(accuracy.FIGURES)}",
    f"reviewers {'|'.join(reviewer_agreement.FIGURES)}",
    "|".join(FLAG_FIGURES),
)
_LIMIT = re.compile(r"-?(\d{1,9}(\.\d{0,9})?|\.\d{1,9})", re.ASCII)
_LONGEST = 60
_MOST_NAMED = 10


class InvalidRequirement(Exception):
    """A requirement that cannot be parsed. The message shows the accepted forms."""


@dataclass(frozen=True)
class Requirement:
    """A limit that a figure of the report must keep."""

    #: The requirement as it was written.
    text: str
    #: The words that name the figure: see `FORMS`.
    words: tuple[str, ...]
    #: None for the verdict.
    criterion: str | None
    at_least: bool
    limit: float

    @property
    def figure(self) -> str:
        """The figure and its subject in words."""
        if self.words[0] in FLAG_FIGURES:
            return self.words[0]
        return f"{' '.join(self.words)} of {self.criterion or 'the verdict'}"


class GateResult(NamedTuple):
    """A requirement and the estimate that the report has for it."""

    requirement: Requirement
    estimate: Estimate

    @property
    def outcome(self) -> GateOutcome:
        """Compare the interval with the limit."""
        low, high, n = self.estimate.low, self.estimate.high, self.estimate.n
        if self.estimate.value is None or low is None or high is None or n < FEWEST:
            return GateOutcome.CANNOT_TELL
        limit, low, high = (round(number, _DECIMALS) for number in (self.requirement.limit, low, high))
        is_met = low >= limit if self.requirement.at_least else high <= limit
        is_missed = high < limit if self.requirement.at_least else low > limit
        return GateOutcome.MET if is_met else GateOutcome.MISSED if is_missed else GateOutcome.CANNOT_TELL

    @property
    def sentence(self) -> str:
        """One line with the outcome, the figure, its interval and n, and the limit."""
        value, low, high = self.estimate.value, self.estimate.low, self.estimate.high
        if value is None or low is None or high is None:
            found = self.estimate.why.rstrip(".")
        else:
            found = f"{value:.3f}, 95% from {low:.3f} to {high:.3f}"
            if self.estimate.n < FEWEST:
                found += f", of fewer than {FEWEST}"
        limit = f"{'at least' if self.requirement.at_least else 'at most'} {self.requirement.limit:g}"
        return (
            f"{self.outcome}: {self.requirement.figure}: {found}; n = {self.estimate.n:,}; required: {limit}"
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "require": self.requirement.text,
            "outcome": self.outcome.value,
            "sentence": self.sentence,
            "limit": self.requirement.limit,
            "estimate": self.estimate.as_json(),
        }


def parse_requirement(text: str) -> Requirement:
    """Parse `METRIC >= LIMIT` or `METRIC <= LIMIT`. Raises `InvalidRequirement`."""
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    at = max(text.rfind(">="), text.rfind("<="))
    if at < 0 or not text.isprintable():
        raise InvalidRequirement(f"“{shown}” is not of the form METRIC >= LIMIT or METRIC <= LIMIT.")
    named, _, about = text[:at].partition(" of ")
    words, criterion, limit = tuple(named.split()), about.strip() or None, text[at + 2 :].strip()
    if not _is_figure(words) or (criterion and words[0] in FLAG_FIGURES):
        raise InvalidRequirement(f"“{shown}” names an unknown metric. Known metrics: {'; '.join(FORMS)}.")
    if not _LIMIT.fullmatch(limit) or abs(float(limit)) > 1:
        raise InvalidRequirement(f"“{shown}” has no limit from -1 to 1. Write 60% as 0.6.")
    return Requirement(text, words, criterion, text[at] == ">", float(limit))


def _is_figure(words: tuple[str, ...]) -> bool:
    match words:
        case (basis, population, figure):
            known = basis in accuracy.BASES and population in accuracy.POPULATIONS
            return known and figure in accuracy.FIGURES
        case ("reviewers", figure):
            return figure in reviewer_agreement.FIGURES
        case (figure,):
            return figure in FLAG_FIGURES
    return False


def check_requirements(report: JudgeReport, required: Iterable[Requirement]) -> list[GateResult]:
    """Check each requirement against the report, in the given order."""
    return [GateResult(one, _estimate(report, one)) for one in required]


def _estimate(report: JudgeReport, required: Requirement) -> Estimate:
    """Return the named figure. It is undefined if no decision counts for it."""
    kind, figure = required.words[:-1], required.words[-1]
    if not kind:
        return FLAG_FIGURES[figure](report.missed_errors)
    judged = (one for one in report.judge_vs_human.overall if (one.basis, one.population) == kind)
    rows: Iterable[Any] = report.reviewers if kind == ("reviewers",) else judged
    # Requirements are stripped, so criteria are compared without surrounding spaces.
    found = (row for row in rows if (row.criterion and row.criterion.strip()) == required.criterion)
    row = next(found, None)
    return getattr(row, figure) if row else undefined(_why_missing(report, required))


def _why_missing(report: JudgeReport, required: Requirement) -> str:
    """Say that there is no such figure.

    For an unknown criterion, list the known ones: it may be misspelled.
    """
    none = "There is no current decision of that kind."
    known = dict.fromkeys(one.criterion for one in report.judge_vs_human.overall if one.criterion)
    if not required.criterion or required.criterion in {name.strip() for name in known}:
        return none
    listed = ", ".join([*known][:_MOST_NAMED]) or "none"
    return f"{none} Criteria with decisions: {listed}{', and more' if len(known) > _MOST_NAMED else ''}."


def as_json(report: JudgeReport, checked: Iterable[GateResult]) -> dict[str, Any]:
    """Return the report with its `requirements`, as the API and the command publish it."""
    return report.as_json() | {"requirements": [one.as_json() for one in checked]}


def worst_outcome(checked: Iterable[GateResult]) -> GateOutcome:
    """Return the worst of several outcomes, or `MET` without any."""
    outcomes = {one.outcome for one in checked}
    return next((outcome for outcome in GateOutcome if outcome in outcomes), GateOutcome.MET)
