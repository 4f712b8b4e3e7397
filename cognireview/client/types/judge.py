"""The API's figures about a judge as dataclasses. docs/judge.md defines each figure."""

import datetime as dt
from dataclasses import dataclass
from typing import Literal

from cognireview.client.types.estimates import Change, Estimate, Metrics, Outcome, Scope
from cognireview.client.types.report_parts import (
    AltTest,
    Data,
    ErrorAnalysis,
    FlagChoice,
    FlagPrecision,
    Funnel,
    JudgeVsHuman,
    Leaderboard,
    MissedErrors,
    PositionBias,
    ReviewerAgreement,
)


@dataclass(frozen=True)
class Requirement:
    """A required value of a figure, and whether it is met."""

    require: str
    outcome: Outcome
    sentence: str
    limit: float
    estimate: Estimate


@dataclass(frozen=True)
class Target:
    """The target of a run, and whether its judge is shown to reach it."""

    target: float
    outcome: Outcome
    accuracy: Estimate


@dataclass(frozen=True)
class JudgeReport:
    """The accuracy of a judge."""

    version: int
    scope: Scope
    at: dt.datetime
    progress: dict[str, int]
    data: Data
    target: Target | None
    judge_vs_human: JudgeVsHuman
    funnel: Funnel
    reviewers: list[ReviewerAgreement]
    alt_test: list[AltTest]
    position_bias: list[PositionBias]
    flag_precision: FlagPrecision
    flag_choice: FlagChoice
    missed_errors: MissedErrors
    leaderboard: Leaderboard
    error_analysis: ErrorAnalysis
    requirements: list[Requirement]

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of the requirements: "met" if all of them are met, also if there are none."""
        outcomes = {one.outcome for one in self.requirements}
        if "shown worse" in outcomes:
            return "shown worse"
        return "not shown yet" if "not shown yet" in outcomes else "met"


@dataclass(frozen=True)
class CriterionComparison:
    """The accuracy of two judges for a criterion."""

    criterion: str
    first_accuracy: Estimate
    second_accuracy: Estimate
    difference: Estimate
    p: float


@dataclass(frozen=True)
class ComparedPart:
    """The comparison for the records of one judge, or of one prompt."""

    kind: str
    name: str
    n: int
    outcome: Literal["better", "worse", "not shown"]
    first_accuracy: Estimate
    second_accuracy: Estimate
    difference: Estimate
    responses: int


@dataclass(frozen=True)
class Comparison:
    """The accuracy of two judges on the same responses."""

    first: str
    second: str
    outcome: Literal["better", "worse", "not shown"]
    changes: list[Change]
    first_accuracy: Estimate
    second_accuracy: Estimate
    difference: Estimate
    p: float
    counts: dict[str, int]
    hidden: int
    responses: int
    different: int
    criteria: list[CriterionComparison]
    parts: list[ComparedPart]
    notes: list[str]


@dataclass(frozen=True)
class PairCount:
    """The number of pairs of records with two verdicts."""

    first: str
    second: str
    pairs: int


@dataclass(frozen=True)
class ScoreShift:
    """The shift of a criterion's mean score, in the unit of its scale."""

    criterion: str
    pairs: int
    first_mean: float
    second_mean: float
    p: float
    shift: Estimate


@dataclass(frozen=True)
class ModelDifference:
    """A model of the second run compared with a model of the first."""

    first_model: str
    second_model: str
    first_rate: Estimate
    second_rate: Estimate
    raw: Estimate
    adjusted: Estimate
    p: float


@dataclass(frozen=True)
class Drift:
    """The shift of a judge between two runs."""

    first: str
    second: str
    outcome: Literal["milder", "stricter", "not shown"]
    changes: list[Change]
    first_rate: Estimate
    second_rate: Estimate
    shift: Estimate
    p: float
    changed: Estimate
    counts: list[PairCount]
    criteria: list[ScoreShift]
    models: list[ModelDifference]
    notes: list[str]


@dataclass(frozen=True)
class HistoryPoint:
    """The accuracy over a run."""

    run: str
    at: str
    judges: list[str]
    templates: list[str]
    related_by: list[Literal["judge", "prompt", "criteria"]]
    changes: list[Change]
    accuracy: Estimate


@dataclass(frozen=True)
class History:
    """The accuracy of the judge over runs."""

    run: str
    points: list[HistoryPoint]
    omitted: int


@dataclass(frozen=True)
class GoldSet:
    """A gold set: frozen human decisions on responses."""

    name: str
    run: str
    filters: dict[str, str]
    frozen_by: str
    frozen_at: str
    is_imported: bool


@dataclass(frozen=True)
class FrozenGoldSet(GoldSet):
    """A new gold set, with the ratings that it has and those left out."""

    blind: int
    adjudicated: int
    left_out: dict[str, int]


@dataclass(frozen=True)
class GoldMetrics(Metrics):
    """The metrics of a criterion, or of the verdict, against a gold set."""

    basis: Literal["blind", "adjudicated"]


@dataclass(frozen=True)
class GoldMeasurement:
    """A judge against a gold set."""

    gold_set: GoldSet
    scope: Scope
    responses: int
    matched: int
    records: int
    matched_records: int
    figures: list[GoldMetrics]
    notes: list[str]
    unknown: str
