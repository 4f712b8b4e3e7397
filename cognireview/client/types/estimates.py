"""Figures about a judge that several responses have. docs/judge.md defines each figure."""

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
    low: float | None
    high: float | None
    n: int
    why: str
    design_effect: float | None
    clusters: int | None


@dataclass(frozen=True)
class Scope:
    """The filters that chose the ratings. Null for all."""

    run: str
    judge: str | None
    template: str | None
    model: str | None
    reviewer: str | None
    task: str | None
    since: str | None
    until: str | None


@dataclass(frozen=True)
class ScoreTable:
    """The number of ratings with each pair of scores."""

    scores: list[str]
    judge_by_human: list[list[int]]


@dataclass(frozen=True)
class Metrics:
    """The metrics of a criterion, or of the verdict, on some of the records."""

    criterion: str | None
    n: int
    judge_only: int
    human_only: int
    out_of_scale: int
    table: ScoreTable
    shares: list[list[float]] | None
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
    first: str
    second: str
