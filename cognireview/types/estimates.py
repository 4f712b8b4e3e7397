"""Figures about a judge that several responses have. docs/judge.md defines each figure."""

import datetime as dt
from dataclasses import dataclass
from typing import Literal

Basis = Literal["blind", "assisted"]
Part = Literal["run", "flagged", "unflagged"]
# The outcome of a requirement, worst first.
Outcome = Literal["shown worse", "not shown yet", "met"]


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95% interval."""

    value: float | None
    """Null if the figure is undefined."""
    low: float | None
    """Null without a lower limit."""
    high: float | None
    """Null without an upper limit."""
    n: int
    """The number of units that the figure is based on."""
    why: str = ""
    """Why the value or a limit is undefined, or empty."""
    design_effect: float | None = None
    """The variance as a multiple of that of n independent ratings. Null if it was not estimated."""
    clusters: int | None = None
    """Tasks with ratings; null if the interval does not use them."""

    def __str__(self) -> str:
        if self.value is None:
            return self.why
        between = "" if self.low is None or self.high is None else f", {self.low:,.2f} to {self.high:,.2f}"
        return f"{self.value:,.2f}{between}, n = {self.n:,}"


@dataclass(frozen=True)
class Scope:
    """The filters that chose the ratings. Null for all."""

    run: str
    judge: str | None
    template: str | None
    """The prompt."""
    model: str | None
    """Empty for records without a model."""
    reviewer: str | None
    task: str | None
    since: dt.date | None
    """The first day in UTC."""
    until: dt.date | None
    """The last day in UTC."""


@dataclass(frozen=True)
class ScoreTable:
    """The number of ratings with each pair of scores."""

    scores: list[str]
    judge_by_human: list[list[int]]
    """A row for each score of the judge, and a column for each of the human, as in `scores`."""


@dataclass(frozen=True)
class Metrics:
    """The metrics of a criterion, or of the verdict, on some of the records."""

    criterion: str | None
    """Null for the verdict."""
    n: int
    """Ratings in the table."""
    judge_only: int
    """Ratings of people who gave no score."""
    human_only: int
    """Ratings of records without a score of the judge."""
    out_of_scale: int
    """Ratings with a score that has no place in the table."""
    table: ScoreTable
    shares: list[list[float]] | None
    """The share of records that each number of the table stands for; null if unknown."""
    accuracy: Estimate
    defects_caught: Estimate
    kappa: Estimate
    weighted_kappa: Estimate
    ac1: Estimate
    false_pass: Estimate
    false_fail: Estimate
    leniency: Estimate


@dataclass(frozen=True)
class Change:
    """Something that differs between two runs."""

    kind: str
    """Judge, prompt or rubric."""
    first: str
    second: str

    @property
    def sentence(self) -> str:
        return f"{self.kind}: {self.first} → {self.second}."
