"""Is a figure of the report good enough? What a pipeline requires of a judge before it believes it.

A requirement is a sentence in the report's own words: `blind flagged kappa of Clarity >= 0.6`. What counts is
not the figure but its interval: see `GateOutcome`.
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

# Bars and limits are compared to so many decimals: what differs by less is a matter of floating point.
_DECIMALS = 9


class GateOutcome(StrEnum):
    """The outcome of a requirement, the worst first. Of several, the worst decides.

    | Outcome     | Exit status | The figure's interval                                               |
    |-------------|-------------|---------------------------------------------------------------------|
    | missed      | 1           | lies wholly on the wrong side of the bar                            |
    | cannot tell | 2           | holds values on both sides, is of fewer than 10, or does not exist  |
    | met         | 0           | lies wholly on the right side of the bar, or touches it from there  |
    """

    MISSED = "missed"
    CANNOT_TELL = "cannot tell"
    MET = "met"

    @property
    def status(self) -> int:
        """The exit status of a command."""
        return {GateOutcome.MISSED: 1, GateOutcome.CANNOT_TELL: 2, GateOutcome.MET: 0}[self]


ESCAPES: dict[str, Callable[[MissedErrors], Estimate]] = {
    "rate": lambda escapes: escapes.rate.share,
    "caught": lambda escapes: escapes.caught.share,
    "recall": lambda escapes: escapes.recall,
}
FORMS = (
    f"{'|'.join(accuracy.BASES)} {'|'.join(accuracy.POPULATIONS)} {'|'.join(accuracy.FIGURES)}",
    f"reviewers {'|'.join(reviewer_agreement.FIGURES)}",
    f"escapes {'|'.join(ESCAPES)}",
)
_BAR = re.compile(r"-?(\d{1,9}(\.\d{0,9})?|\.\d{1,9})", re.ASCII)
_LONGEST = 60
_MOST_NAMED = 10


class InvalidRequirement(Exception):
    """What was required is no sentence about a figure; the message says what is."""


@dataclass(frozen=True)
class Requirement:
    """`words` name a figure (see `FORMS`), of a criterion or of the verdict (None)."""

    text: str
    words: tuple[str, ...]
    criterion: str | None
    at_least: bool
    bar: float

    @property
    def figure(self) -> str:
        """The figure in words, with what it is about."""
        if self.words[0] == "escapes":
            return " ".join(self.words)
        return f"{' '.join(self.words)} of {self.criterion or 'the verdict'}"


class GateResult(NamedTuple):
    """A requirement and what the report has of it."""

    requirement: Requirement
    estimate: Estimate

    @property
    def outcome(self) -> GateOutcome:
        """Compare the interval with the bar."""
        low, high, n = self.estimate.low, self.estimate.high, self.estimate.n
        if self.estimate.value is None or low is None or high is None or n < FEWEST:
            return GateOutcome.CANNOT_TELL
        bar, low, high = (round(number, _DECIMALS) for number in (self.requirement.bar, low, high))
        is_met = low >= bar if self.requirement.at_least else high <= bar
        is_missed = high < bar if self.requirement.at_least else low > bar
        return GateOutcome.MET if is_met else GateOutcome.MISSED if is_missed else GateOutcome.CANNOT_TELL

    @property
    def sentence(self) -> str:
        """One line: the outcome, the figure with its interval and n, and the bar."""
        value, low, high = self.estimate.value, self.estimate.low, self.estimate.high
        if value is None or low is None or high is None:
            found = self.estimate.why.rstrip(".")
        else:
            found = f"{value:.3f}, 95 % from {low:.3f} to {high:.3f}"
            if self.estimate.n < FEWEST:
                found += f", of fewer than {FEWEST}"
        bar = f"{'at least' if self.requirement.at_least else 'at most'} {self.requirement.bar:g}"
        return f"{self.outcome}: {self.requirement.figure}: {found}; n = {self.estimate.n:,}; required: {bar}"

    def as_json(self) -> dict[str, Any]:
        return {
            "require": self.requirement.text,
            "outcome": self.outcome.value,
            "sentence": self.sentence,
            "bar": self.requirement.bar,
            "estimate": self.estimate.as_json(),
        }


def parse_requirement(text: str) -> Requirement:
    """Raises `InvalidRequirement`."""
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    at = max(text.rfind(">="), text.rfind("<="))
    if at < 0 or not text.isprintable():
        raise InvalidRequirement(f"“{shown}” does not say FIGURE >= BAR or FIGURE <= BAR.")
    named, _, about = text[:at].partition(" of ")
    words, criterion, bar = tuple(named.split()), about.strip() or None, text[at + 2 :].strip()
    if not _is_figure(words) or (criterion and words[0] == "escapes"):
        raise InvalidRequirement(f"“{shown}” names no figure. There are: {'; '.join(FORMS)}.")
    if not _BAR.fullmatch(bar) or abs(float(bar)) > 1:
        raise InvalidRequirement(f"“{shown}” has no bar from -1 to 1: 60 % is 0.6.")
    return Requirement(text, words, criterion, text[at] == ">", float(bar))


def _is_figure(words: tuple[str, ...]) -> bool:
    match words:
        case (basis, population, figure):
            known = basis in accuracy.BASES and population in accuracy.POPULATIONS
            return known and figure in accuracy.FIGURES
        case ("reviewers", figure):
            return figure in reviewer_agreement.FIGURES
        case ("escapes", figure):
            return figure in ESCAPES
    return False


def check_requirements(report: JudgeReport, required: Iterable[Requirement]) -> list[GateResult]:
    """What a report says of each, in their order."""
    return [GateResult(one, _estimate(report, one)) for one in required]


def _estimate(report: JudgeReport, required: Requirement) -> Estimate:
    """The figure that is named; undefined where no decision is of that kind."""
    kind, figure = required.words[:-1], required.words[-1]
    if kind == ("escapes",):
        return ESCAPES[figure](report.escapes)
    judged = (one for one in report.judge.overall if (one.basis, one.population) == kind)
    rows: Iterable[Any] = report.reviewers if kind == ("reviewers",) else judged
    # A requirement has no space at the ends of a name.
    found = (row for row in rows if (row.criterion and row.criterion.strip()) == required.criterion)
    row = next(found, None)
    return getattr(row, figure) if row else undefined(_why_none(report, required))


def _why_none(report: JudgeReport, required: Requirement) -> str:
    """Say that there is no such figure; of an unknown criterion, which ones there are: it may be misspelt."""
    none = "No decision of that kind is in force."
    known = dict.fromkeys(one.criterion for one in report.judge.overall if one.criterion)
    if not required.criterion or required.criterion in {name.strip() for name in known}:
        return none
    listed = ", ".join([*known][:_MOST_NAMED]) or "none"
    return f"{none} Criteria with decisions: {listed}{', and more' if len(known) > _MOST_NAMED else ''}."


def as_json(report: JudgeReport, checked: Iterable[GateResult]) -> dict[str, Any]:
    """The report with its `requirements`, as the API and the command give it."""
    return report.as_json() | {"requirements": [one.as_json() for one in checked]}


def worst_outcome(checked: Iterable[GateResult]) -> GateOutcome:
    """Return the worst outcome of several requirements; `MET` without any."""
    outcomes = {one.outcome for one in checked}
    return next((outcome for outcome in GateOutcome if outcome in outcomes), GateOutcome.MET)
