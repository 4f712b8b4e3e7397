"""The schema of the report on a judge. docs/judge.md defines each figure."""

import datetime as dt
from typing import Literal

from ninja import Field, Schema

from reviews.api.estimates import EstimateOut, MetricsOut, Part, ScopeOut
from reviews.judge.flag_precision import Advice
from reviews.judge.outcomes import GateOutcome
from reviews.judge.ratings import Basis

_OF_VERDICT = "Null for the verdict."


class RequirementOut(Schema):
    """A required value of a figure, and whether it is met."""

    require: str
    outcome: GateOutcome = Field(
        description="met or shown worse if the confidence sequence is entirely on one side of the limit; "
        "not shown yet if it includes the limit, has fewer than 10 ratings, or is undefined (records are "
        "being counted)"
    )
    sentence: str
    limit: float
    estimate: EstimateOut = Field(description="With its confidence sequence.")


class FacetCountOut(Schema):
    """The number of records with a value of a list filter."""

    name: str = Field(description="The filter.")
    value: str
    title: str
    records: int


class BlindReviewOut(Schema):
    """Whether records of the run can be reviewed blind."""

    is_possible: bool
    why_not: str


class DataOut(Schema):
    """Counts of the records that the figures are based on. Null and empty until they are counted."""

    records: int | None
    flagged: int | None
    no_verdict: int | None = Field(description="Records without a verdict in their file.")
    verdicts_read: int | None = Field(description="Those of them whose verdict is in the raw output.")
    is_counted: bool
    sentences: list[str]
    verifications: list[FacetCountOut]
    contradictions: list[FacetCountOut]
    families: list[FacetCountOut] = Field(description="Flag reasons, grouped.")
    blind_review: BlindReviewOut


class TargetOut(Schema):
    """The target of a run, and whether its judge is shown to reach it."""

    target: float
    outcome: GateOutcome
    accuracy: EstimateOut = Field(description="With its confidence sequence.")


class PartMetricsOut(MetricsOut):
    """The metrics of a criterion, or of the verdict, by basis and part."""

    basis: Basis
    part: Part


class JudgeGroupOut(Schema):
    """A judge with a prompt and an evaluated model."""

    judge: str
    template: str = Field(description="The prompt.")
    model: str = Field(description="Empty for records without a model.")


class GroupAccuracyOut(Schema):
    """The accuracy of a judge with a prompt on a model, from blind ratings."""

    group: JudgeGroupOut
    criterion: str | None = Field(description=_OF_VERDICT)
    part: Part
    accuracy: EstimateOut


class RatingCountOut(Schema):
    """The number of ratings of the verdict."""

    basis: Basis
    part: Part
    ratings: int


class AfterRevealOut(Schema):
    """Blind scores that reviewers changed after they saw those of the judge."""

    criterion: str | None = Field(description=_OF_VERDICT)
    changed: EstimateOut
    towards_judge: int
    away_from_judge: int


class JudgeVsHumanOut(Schema):
    """The judge compared with reviewers."""

    scope: ScopeOut
    bases: dict[str, str] = Field(description="What each basis means.")
    parts: dict[str, str] = Field(description="What each part means.")
    ratings: list[RatingCountOut]
    records: dict[str, int] = Field(description="Records by part.")
    unsampled: int = Field(description="Blind ratings of unflagged records that were not sampled.")
    overall: list[PartMetricsOut]
    groups: list[GroupAccuracyOut]
    after_reveal: list[AfterRevealOut]
    unknown: str
    left_out: str


class BoundsOut(Schema):
    """The lowest and the highest accuracy that the missing ratings leave possible."""

    low: float
    high: float


class FunnelOut(Schema):
    """Records assigned to blind review, by what became of them."""

    assigned: int
    locked_in: int
    changed: int
    escalated: int
    closed: int
    ratings: int
    outdated: int
    sentences: list[str]
    bounds: BoundsOut | None


class ReviewerAgreementOut(Schema):
    """The agreement of blind ratings among reviewers."""

    criterion: str | None = Field(description=_OF_VERDICT)
    alpha: EstimateOut
    ordinal_alpha: EstimateOut
    fleiss_kappa: EstimateOut
    unanimous: EstimateOut


class ComparedReviewerOut(Schema):
    """The judge compared with one reviewer."""

    reviewer: str
    judge_closer: float
    reviewer_closer: float
    difference: EstimateOut
    is_testable: bool


class EpsilonOut(Schema):
    """Whether the judge may replace reviewers, for one epsilon."""

    epsilon: float
    suits: str
    winning_rate: float | None
    tested: int
    outcome: Literal["passed", "shown worse", "not shown yet"]
    replaces: list[str]
    missing: str


class AltTestOut(Schema):
    """Whether a judge may replace a reviewer."""

    judge: str
    criterion: str | None = Field(description=_OF_VERDICT)
    records: int
    advantage: EstimateOut
    reviewers: list[ComparedReviewerOut]
    answers: list[EpsilonOut]


class PositionBiasOut(Schema):
    """Whether the order of two responses changes the judge's choice."""

    criterion: str
    judge: str
    template: str = Field(description="The prompt.")
    outcome: Literal["first", "second", "not shown"] = Field(description="The favoured position.")
    first_share: EstimateOut
    balanced_share: EstimateOut
    changed: EstimateOut
    first_twice: EstimateOut
    second_twice: EstimateOut
    accuracy_first: EstimateOut
    accuracy_second: EstimateOut
    accuracy_difference: EstimateOut
    notes: list[str]


class FlagReasonOut(Schema):
    """The precision and recall of a flag reason."""

    key: str
    title: str
    flagged: int | None
    ratings: int
    wrong: int
    precision: EstimateOut
    recall: EstimateOut
    minutes_why: str
    advice: Advice
    because: str
    timed: int
    active_minutes: float
    minutes_per_error: float | None


class FlagPrecisionOut(Schema):
    """The precision and recall of each flag reason."""

    rule: str
    families: list[FlagReasonOut]
    unknown: str


class FlagStepOut(Schema):
    """The run after one more flag reason is dropped."""

    dropped: str | None
    kept: list[str]
    error_rate: EstimateOut
    flagged: int
    is_shown: bool


class FlagChoiceOut(Schema):
    """The flag reasons that can be dropped."""

    limit: float
    steps: list[FlagStepOut]
    unknown: str
    sentence: str


class CriterionMissRateOut(Schema):
    """How often a score is wrong in unflagged records."""

    criterion: str
    miss_rate: EstimateOut


class MissedErrorsOut(Schema):
    """Errors among unflagged records."""

    share: float
    records: int | None
    ratings: int
    unsampled: int
    miss_rate: EstimateOut
    flagged_error_rate: EstimateOut
    flag_recall: EstimateOut
    missed: EstimateOut
    criteria: list[CriterionMissRateOut]
    sentences: list[str]


class RankedModelOut(Schema):
    """A model with its pass rates and ranks."""

    model: str = Field(description="Empty for records without a model.")
    judge_rate: float | None
    records: int
    judged: int
    passes: int
    ratings: int
    judge_rank: int | None
    estimate: EstimateOut
    best_rank: int | None
    worst_rank: int | None


class RankingDisagreementOut(Schema):
    """A pair of models that the judge and reviewers rank in opposite order."""

    ahead: str
    behind: str
    difference: EstimateOut
    is_significant: bool
    p: float


class LeaderboardOut(Schema):
    """The models as ranked by the judge and by reviewers."""

    models: list[RankedModelOut]
    ranking_disagreements: list[RankingDisagreementOut]
    pairs: int
    sentences: list[str]


class ErrorExampleOut(Schema):
    """A record for which a cause was named."""

    evaluation_id: str
    title: str
    model: str
    judge: str
    criterion: str
    cause: str
    judge_score: str
    judge_justification: str
    human_score: str
    human_justification: str
    comment: str
    reviewer: str


class CriterionMentionsOut(Schema):
    """How often a cause was named for a criterion."""

    criterion: str
    mentions: int


class NamedCauseOut(Schema):
    """A cause of the judge's errors."""

    cause: str
    criteria: list[CriterionMentionsOut]
    title: str
    mentions: int
    examples: list[ErrorExampleOut]


class TemplateErrorsOut(Schema):
    """The causes named for a prompt."""

    template: str
    mentions: int
    causes: list[NamedCauseOut]


class ErrorAnalysisOut(Schema):
    """Causes of the judge's errors, by prompt."""

    mentions: int
    templates: list[TemplateErrorsOut]


class ReportOut(Schema):
    """The accuracy of a judge. docs/judge.md defines each figure."""

    version: int = Field(description="Increases when a member of this schema is removed or redefined.")
    scope: ScopeOut
    at: dt.datetime
    progress: dict[str, int]
    data: DataOut
    target: TargetOut | None = Field(
        description="The run's target of the blind accuracy, with its outcome. Null without a target or with "
        "filters."
    )
    judge_vs_human: JudgeVsHumanOut
    funnel: FunnelOut
    reviewers: list[ReviewerAgreementOut]
    alt_test: list[AltTestOut]
    position_bias: list[PositionBiasOut]
    flag_precision: FlagPrecisionOut
    flag_choice: FlagChoiceOut
    missed_errors: MissedErrorsOut
    leaderboard: LeaderboardOut
    error_analysis: ErrorAnalysisOut
    requirements: list[RequirementOut]
