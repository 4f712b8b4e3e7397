"""Check the figures of a report against required limits, for a pipeline that gates on the judge's quality.

A requirement uses the report's own words: `flagged kappa of Clarity >= 0.6`. The confidence sequence of the
figure is compared with the limit, not its value: see `GateOutcome`. A judge exactly at the limit passes in at
most 2.5% of all runs, however often the gate is asked while ratings come in.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from cognireview.types import judge
from cognireview.types.encoding import members
from cognireview.types.estimates import Basis, Estimate, Part
from reviews.judge import accuracy_figures, reviewer_agreement
from reviews.judge.flag_precision import FEWEST
from reviews.judge.gold import gold_gates
from reviews.judge.gold.gold_gates import GoldFigure
from reviews.judge.outcomes import GateOutcome, compare_with_limit
from reviews.judge.report import JudgeReport
from reviews.judge.sequences import coefficient_sequence, figure_sequence
from reviews.models import User
from reviews.records.wording import abbreviate
from reviews.statistics.intervals import undefined

# The figures about flags, by the names of `MissedErrors`.
FLAG_FIGURES = {
    "miss_rate": "miss_rate",
    "flag_recall": "flag_recall",
    "flag_precision": "flagged_error_rate",
}
FORMS = (
    f"[assisted] [flagged|unflagged] {'|'.join(accuracy_figures.FIGURES)}",
    f"reviewers {'|'.join(reviewer_agreement.FIGURES)}",
    "|".join(FLAG_FIGURES),
    gold_gates.FORM,
)
# The ratings that the words before a metric stand for.
_KINDS: dict[tuple[str, ...], tuple[Basis, Part]] = {
    (): ("blind", "run"),
    ("flagged",): ("blind", "flagged"),
    ("unflagged",): ("blind", "unflagged"),
    ("assisted",): ("assisted", "run"),
    ("assisted", "flagged"): ("assisted", "flagged"),
    ("assisted", "unflagged"): ("assisted", "unflagged"),
}
_LIMIT = re.compile(r"-?(\d{1,9}(\.\d{0,9})?|\.\d{1,9})", re.ASCII)
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
    #: The figure, if it is one of a gold set.
    gold: GoldFigure | None = None

    @property
    def figure(self) -> str:
        """The figure and its subject in words."""
        if self.words[0] in FLAG_FIGURES:
            return self.words[0]
        return f"{' '.join(self.words)} of {self.criterion or 'the verdict'}"


class GateResult(NamedTuple):
    """A requirement and the figure that the report has for it."""

    requirement: Requirement
    #: With its confidence sequence.
    estimate: Estimate

    @property
    def outcome(self) -> GateOutcome:
        """Compare the confidence sequence with the limit."""
        return compare_with_limit(self.estimate, self.requirement.limit, at_least=self.requirement.at_least)

    @property
    def sentence(self) -> str:
        """One line with the outcome, the figure, its sequence and n, and the limit."""
        value, low, high = self.estimate.value, self.estimate.low, self.estimate.high
        if value is None or low is None or high is None:
            found = self.estimate.why.rstrip(".")
        else:
            found = f"{value:.3f}, 95% at any time from {low:.3f} to {high:.3f}"
            if self.estimate.n < FEWEST:
                found += f", but {FEWEST} ratings are needed"
        limit = f"{'at least' if self.requirement.at_least else 'at most'} {self.requirement.limit:g}"
        return (
            f"{self.outcome}: {self.requirement.figure}: {found}; n = {self.estimate.n:,}; required: {limit}"
        )

    def as_json(self) -> dict[str, Any]:
        asked = self.requirement
        return members(judge.Requirement, self, require=asked.text, limit=asked.limit)


def parse_requirement(text: str) -> Requirement:
    """Parse `METRIC >= LIMIT` or `METRIC <= LIMIT`. Raises `InvalidRequirement`."""
    shown = abbreviate(text)
    at = max(text.rfind(">="), text.rfind("<="))
    if at < 0 or not text.isprintable():
        raise InvalidRequirement(f"“{shown}” is not of the form METRIC >= LIMIT or METRIC <= LIMIT.")
    named, _, about = text[:at].partition(" of ")
    words, criterion, limit = tuple(named.split()), about.strip() or None, text[at + 2 :].strip()
    gold = gold_gates.parse_figure(text[:at])
    if gold:
        basis = () if gold.basis == "blind" else (gold.basis,)
        words, criterion = (*basis, "gold", gold.name, gold.figure), gold.criterion
    elif not _is_figure(words) or (criterion and words[0] in FLAG_FIGURES):
        raise InvalidRequirement(f"“{shown}” names an unknown metric. Known metrics: {'; '.join(FORMS)}.")
    if not _LIMIT.fullmatch(limit) or abs(float(limit)) > 1:
        raise InvalidRequirement(f"“{shown}” has no limit from -1 to 1. Write 60% as 0.6.")
    return Requirement(text, words, criterion, text[at] == ">", float(limit), gold)


def _is_figure(words: tuple[str, ...]) -> bool:
    match words:
        case ("reviewers", figure):
            return figure in reviewer_agreement.FIGURES
        case (figure,) if figure in FLAG_FIGURES:
            return True
    return bool(words) and words[-1] in accuracy_figures.FIGURES and words[:-1] in _KINDS


def check_requirements(
    report: JudgeReport, required: Iterable[Requirement], reader: User | None = None
) -> list[GateResult]:
    """Check each requirement against the report, in the given order.

    `reader` is the person whose gold sets count, None for a command.
    """
    return [GateResult(one, _estimate(report, one, reader)) for one in required]


def _estimate(report: JudgeReport, required: Requirement, reader: User | None) -> Estimate:
    """Return the named figure with its sequence. It is undefined if no rating counts for it."""
    if required.gold:
        return gold_gates.estimate(required.gold, report.scope, reader)
    kind, figure = required.words[:-1], required.words[-1]
    if figure in FLAG_FIGURES:
        return report.missed_errors.sequence(FLAG_FIGURES[figure])
    # Requirements are stripped, so criteria are compared without surrounding spaces.
    if kind == ("reviewers",):
        for people in report.reviewers:
            if _stripped(people.criterion) == required.criterion:
                return coefficient_sequence(getattr(people, figure))
    else:
        for one in report.judge_vs_human.overall:
            if (one.basis, one.part) == _KINDS[kind] and _stripped(one.criterion) == required.criterion:
                return figure_sequence(figure, getattr(one, figure), one.confusion)
    return undefined(_why_missing(report, required))


def _stripped(criterion: str | None) -> str | None:
    return criterion and criterion.strip()


def _why_missing(report: JudgeReport, required: Requirement) -> str:
    """Say that there is no such figure.

    For an unknown criterion, list the known ones: it may be misspelled.
    """
    none = "There is no rating of that kind."
    known = dict.fromkeys(one.criterion for one in report.judge_vs_human.overall if one.criterion)
    if not required.criterion or required.criterion in {name.strip() for name in known}:
        return none
    listed = ", ".join([*known][:_MOST_NAMED]) or "none"
    return f"{none} Criteria with ratings: {listed}{', and more' if len(known) > _MOST_NAMED else ''}."


def as_json(report: JudgeReport, checked: Iterable[GateResult]) -> dict[str, Any]:
    """Return the report with its `requirements`, as the API and the command publish it."""
    return report.as_json() | {"requirements": [one.as_json() for one in checked]}


def worst_outcome(checked: Iterable[GateResult]) -> GateOutcome:
    """Return the worst of several outcomes, or `MET` without any."""
    outcomes = {one.outcome for one in checked}
    return next((outcome for outcome in GateOutcome if outcome in outcomes), GateOutcome.MET)
