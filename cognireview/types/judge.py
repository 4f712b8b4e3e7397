"""The API's figures about a judge as dataclasses. docs/judge.md defines each figure."""

import datetime as dt
from dataclasses import dataclass
from typing import Literal

from cognireview.types.estimates import Change, Estimate, Metrics, Outcome, Scope
from cognireview.types.report_parts import (
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

AccuracyChange = Literal["better", "worse", "not shown"]
LeniencyChange = Literal["milder", "stricter", "not shown"]
# A property that two runs share.
Relation = Literal["judge", "prompt", "criteria"]
GoldBasis = Literal["blind", "adjudicated"]


@dataclass(frozen=True)
class Requirement:
    """A required value of a figure, and whether it is met."""

    require: str
    outcome: Outcome
    """met or shown worse if the confidence sequence is entirely on one side of the limit; not shown yet if it
    includes the limit, has fewer than 10 ratings, or is undefined (records are being counted)"""
    sentence: str
    limit: float
    estimate: Estimate
    """With its confidence sequence."""


@dataclass(frozen=True)
class Target:
    """The target of a run, and whether its judge is shown to reach it."""

    target: float
    outcome: Outcome
    """As of a requirement."""
    accuracy: Estimate
    """With its confidence sequence."""


@dataclass(frozen=True)
class JudgeReport:
    """The accuracy of a judge. docs/judge.md defines each figure."""

    version: int
    """Increases when a member of this schema is removed or redefined."""
    scope: Scope
    at: dt.datetime
    progress: dict[str, int]
    data: Data
    target: Target | None
    """The run's target of the blind accuracy, with its outcome. Null without a target or with filters."""
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
    """The second accuracy minus the first."""
    p: float
    """Two-sided, adjusted for all criteria."""


@dataclass(frozen=True)
class ComparedPart:
    """The comparison for the records of one judge, or of one prompt."""

    kind: str
    """Judge or prompt."""
    name: str
    n: int
    """Pairs of verdicts."""
    outcome: AccuracyChange
    first_accuracy: Estimate
    second_accuracy: Estimate
    difference: Estimate
    """The second accuracy minus the first."""
    responses: int


@dataclass(frozen=True)
class Comparison:
    """The accuracy of two judges on the same responses. docs/judge.md defines each figure."""

    first: str
    """The earlier run."""
    second: str
    """The run whose judge is compared with it."""
    outcome: AccuracyChange
    """Of the second judge."""
    changes: list[Change]
    """What differs (judge, prompt or rubric), with its first and second value."""
    first_accuracy: Estimate
    second_accuracy: Estimate
    difference: Estimate
    """The second accuracy minus the first."""
    p: float
    """Two-sided; 1 without ratings to compare."""
    counts: dict[str, int]
    """Pairs of verdicts, by those that are right: both, first, second or neither."""
    hidden: int
    """Pairs that count, but that pages do not list."""
    responses: int
    """The responses that the figures describe."""
    different: int
    """Those among them with different verdicts."""
    criteria: list[CriterionComparison]
    parts: list[ComparedPart]
    """Each judge, and each prompt, if both runs have several of them."""
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
    """Of records with a score in both runs."""
    first_mean: float
    """Named scores count from 0 for the worst to 1 for the best."""
    second_mean: float
    shift: Estimate
    """The second mean minus the first."""
    p: float
    """Two-sided."""


@dataclass(frozen=True)
class ModelDifference:
    """A model of the second run compared with a model of the first."""

    first_model: str
    second_model: str
    first_rate: Estimate
    second_rate: Estimate
    raw: Estimate
    """The difference of their pass rates."""
    adjusted: Estimate
    """The same without the judge's shift."""
    p: float
    """Of the adjusted difference, two-sided."""


@dataclass(frozen=True)
class Drift:
    """The shift of a judge between two runs. docs/judge.md defines each figure."""

    first: str
    """The earlier run."""
    second: str
    """The run whose judge is compared with it."""
    outcome: LeniencyChange
    """Of the second judge."""
    changes: list[Change]
    """What differs (judge, prompt or rubric), with its first and second value."""
    first_rate: Estimate
    """The pass rate on the same responses in the earlier run."""
    second_rate: Estimate
    shift: Estimate
    """The second pass rate minus the first."""
    p: float
    """Two-sided; 1 without responses to compare."""
    changed: Estimate
    """The share of verdicts that changed."""
    counts: list[PairCount]
    criteria: list[ScoreShift]
    models: list[ModelDifference]
    notes: list[str]


@dataclass(frozen=True)
class HistoryPoint:
    """The accuracy over a run."""

    run: str
    at: dt.datetime
    """When the run was created."""
    judges: list[str]
    templates: list[str]
    """The prompts."""
    related_by: list[Relation]
    """What it has in common with the run of the request; empty for that run."""
    changes: list[Change]
    """What differs from the run before (judge, prompt or rubric), with both values."""
    accuracy: Estimate


@dataclass(frozen=True)
class History:
    """The accuracy of the judge over runs."""

    run: str
    points: list[HistoryPoint]
    """The oldest run first."""
    omitted: int
    """The number of older runs that are left out."""


@dataclass(frozen=True)
class GoldSet:
    """A gold set: frozen human decisions on responses."""

    name: str
    run: str
    """The name of its run when it was frozen."""
    filters: dict[str, str]
    """The filters that chose its decisions."""
    frozen_by: str
    """A username; empty for a command on the server."""
    frozen_at: dt.datetime
    is_imported: bool


@dataclass(frozen=True)
class FrozenGoldSet(GoldSet):
    """A new gold set, with the ratings that it has and those left out."""

    blind: int
    """Blind ratings in it."""
    adjudicated: int
    """Adjudicated decisions in it."""
    left_out: dict[str, int]
    """Ratings left out: waiting (in the queue), unsampled (neither flagged nor sampled) and unanswered
    (without a model response)."""


@dataclass(frozen=True)
class GoldMetrics(Metrics):
    """The metrics of a criterion, or of the verdict, against a gold set."""

    basis: GoldBasis


@dataclass(frozen=True)
class GoldMeasurement:
    """A judge against a gold set. docs/judge.md defines each figure."""

    gold_set: GoldSet
    scope: Scope
    responses: int
    """Responses of the gold set."""
    matched: int
    """Those of them that records of the run have."""
    records: int
    """Records of the run."""
    matched_records: int
    """Those of them with a response of the gold set."""
    figures: list[GoldMetrics]
    notes: list[str]
    unknown: str
    """Why there are no figures, or empty."""
