"""The parts of the report on a judge as dataclasses. docs/judge.md defines each figure."""

from dataclasses import dataclass
from typing import Literal

from cognireview.types.estimates import Basis, Estimate, Metrics, Part, Scope

FavouredPosition = Literal["first", "second", "not shown"]
FlagAdvice = Literal["keep", "retire", "not enough data"]


@dataclass(frozen=True)
class FacetCount:
    """The number of records with a value of a list filter."""

    name: str
    """The filter."""
    value: str
    title: str
    records: int


@dataclass(frozen=True)
class BlindReview:
    """Whether records of the run can be reviewed blind."""

    is_possible: bool
    why_not: str


@dataclass(frozen=True)
class Data:
    """Counts of the records that the figures are based on. Null and empty until they are counted."""

    records: int | None
    flagged: int | None
    no_verdict: int | None
    """Records without a verdict in their file."""
    verdicts_read: int | None
    """Those of them whose verdict follows from the judge's scores."""
    is_counted: bool
    sentences: list[str]
    verifications: list[FacetCount]
    contradictions: list[FacetCount]
    families: list[FacetCount]
    """The 100 flag reasons with most records, grouped."""
    blind_review: BlindReview


@dataclass(frozen=True)
class PartMetrics(Metrics):
    """The metrics of a criterion, or of the verdict, by basis and part."""

    basis: Basis
    part: Part


@dataclass(frozen=True, order=True)
class JudgeGroup:
    """A judge with a prompt and an evaluated model."""

    judge: str
    template: str
    """The prompt."""
    model: str
    """Empty for records without a model."""


@dataclass(frozen=True)
class GroupAccuracy:
    """The accuracy of a judge with a prompt on a model, from blind ratings."""

    group: JudgeGroup
    criterion: str | None
    """Null for the verdict."""
    part: Part
    accuracy: Estimate


@dataclass(frozen=True)
class RatingCount:
    """The number of ratings of the verdict."""

    basis: Basis
    part: Part
    ratings: int


@dataclass(frozen=True)
class AfterReveal:
    """Blind scores that reviewers changed after they saw those of the judge."""

    criterion: str | None
    """Null for the verdict."""
    changed: Estimate
    towards_judge: int
    """Changed scores that now equal the judge's."""
    away_from_judge: int
    """Changed scores that used to equal the judge's."""


@dataclass(frozen=True)
class JudgeVsHuman:
    """The judge compared with reviewers."""

    scope: Scope
    bases: dict[str, str]
    """What each basis means."""
    parts: dict[str, str]
    """What each part means."""
    ratings: list[RatingCount]
    records: dict[str, int]
    """Records by part."""
    unsampled: int
    """Blind ratings of unflagged records that were not sampled."""
    overall: list[PartMetrics]
    groups: list[GroupAccuracy]
    after_reveal: list[AfterReveal]
    unknown: str
    left_out: str


@dataclass(frozen=True)
class Bounds:
    """The lowest and the highest accuracy that the missing ratings leave possible."""

    low: float
    high: float


@dataclass(frozen=True)
class Funnel:
    """Records assigned to blind review, by what became of them."""

    assigned: int
    locked_in: int
    changed: int
    escalated: int
    closed: int
    ratings: int
    outdated: int
    sentences: list[str]
    bounds: Bounds | None
    """Null without ratings of flagged and of unflagged records."""

    @property
    def missing(self) -> int:
        """Assigned records without a blind rating."""
        return self.assigned - self.locked_in


@dataclass(frozen=True)
class ReviewerAgreement:
    """The agreement of blind ratings among reviewers."""

    criterion: str | None
    """Null for the verdict."""
    alpha: Estimate
    ordinal_alpha: Estimate
    fleiss_kappa: Estimate
    unanimous: Estimate


@dataclass(frozen=True)
class ComparedReviewer:
    """The judge compared with one reviewer."""

    reviewer: str
    judge_closer: float
    reviewer_closer: float
    difference: Estimate
    is_testable: bool


@dataclass(frozen=True)
class Epsilon:
    """Whether the judge may replace reviewers, for one epsilon."""

    epsilon: float
    suits: str
    """The reviewers for whom the epsilon is suggested."""
    winning_rate: float | None
    """Null if too few reviewers can be compared."""
    tested: int
    """The number of reviewers with enough records."""
    outcome: Literal["passed", "shown worse", "not shown yet"]
    replaces: list[str]
    """The reviewers whom the judge can replace."""
    missing: str
    """What an answer needs, as a sentence. Empty if there is one."""


@dataclass(frozen=True)
class AltTest:
    """Whether a judge may replace a reviewer."""

    judge: str
    criterion: str | None
    """Null for the verdict."""
    records: int
    advantage: Estimate
    reviewers: list[ComparedReviewer]
    answers: list[Epsilon]


@dataclass(frozen=True)
class PositionBias:
    """Whether the order of two responses changes the judge's choice."""

    criterion: str
    judge: str
    template: str
    """The prompt."""
    outcome: FavouredPosition
    """The favoured position."""
    first_share: Estimate
    balanced_share: Estimate
    changed: Estimate
    first_twice: Estimate
    second_twice: Estimate
    accuracy_first: Estimate
    accuracy_second: Estimate
    accuracy_difference: Estimate
    notes: list[str]


@dataclass(frozen=True)
class FlagReason:
    """The precision and recall of a flag reason."""

    key: str
    title: str
    flagged: int | None
    ratings: int
    wrong: int
    precision: Estimate
    recall: Estimate
    minutes_why: str
    advice: FlagAdvice
    because: str
    timed: int
    active_minutes: float
    minutes_per_error: float | None


@dataclass(frozen=True)
class FlagPrecision:
    """The precision and recall of the 100 flag reasons with most records."""

    rule: str
    families: list[FlagReason]
    left_out: int
    """The number of other flag reasons."""
    unknown: str


@dataclass(frozen=True)
class FlagStep:
    """The run after one more flag reason is dropped."""

    dropped: str | None
    """The reason that is dropped in this step; null for the start, with all reasons."""
    kept: list[str]
    """The titles of the reasons that remain."""
    error_rate: Estimate
    """The share of wrong verdicts among records without a remaining reason."""
    flagged: int
    """The estimated number of records that remain flagged, with those that were flagged without a reason."""
    is_shown: bool
    """Whether the error rate is shown to be below the limit."""


@dataclass(frozen=True)
class FlagChoice:
    """The flag reasons that can be dropped."""

    limit: float
    steps: list[FlagStep]
    left_out: int
    """The number of flag reasons with fewer records than the 100 largest, which are not dropped."""
    unknown: str
    sentence: str


@dataclass(frozen=True)
class CriterionMissRate:
    """How often a score is wrong in unflagged records."""

    criterion: str
    miss_rate: Estimate


@dataclass(frozen=True)
class MissedErrors:
    """Errors among unflagged records."""

    share: float
    records: int | None
    ratings: int
    unsampled: int
    miss_rate: Estimate
    flagged_error_rate: Estimate
    flag_recall: Estimate
    missed: Estimate
    criteria: list[CriterionMissRate]
    sentences: list[str]


@dataclass(frozen=True)
class RankedModel:
    """A model with its pass rates and ranks."""

    model: str
    """Empty for records without a model."""
    judge_rate: float | None
    records: int
    judged: int
    passes: int
    ratings: int
    judge_rank: int | None
    estimate: Estimate
    best_rank: int | None
    worst_rank: int | None


@dataclass(frozen=True)
class RankingDisagreement:
    """A pair of models that the judge and reviewers rank in opposite order."""

    ahead: str
    behind: str
    difference: Estimate
    is_significant: bool
    p: float


@dataclass(frozen=True)
class Leaderboard:
    """The models as ranked by the judge and by reviewers."""

    models: list[RankedModel]
    ranking_disagreements: list[RankingDisagreement]
    pairs: int
    sentences: list[str]


@dataclass(frozen=True)
class ErrorExample:
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


@dataclass(frozen=True)
class CriterionMentions:
    """How often a cause was named for a criterion."""

    criterion: str
    mentions: int


@dataclass(frozen=True)
class NamedCause:
    """A cause of the judge's errors."""

    cause: str
    criteria: list[CriterionMentions]
    title: str
    mentions: int
    examples: list[ErrorExample]


@dataclass(frozen=True)
class TemplateErrors:
    """The causes named for a prompt."""

    template: str
    mentions: int
    causes: list[NamedCause]


@dataclass(frozen=True)
class ErrorAnalysis:
    """Causes of the judge's errors, by prompt."""

    mentions: int
    templates: list[TemplateErrors]
