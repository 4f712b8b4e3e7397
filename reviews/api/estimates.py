"""The schemas of figures about a judge that several operations return. docs/judge.md defines each figure."""

from typing import Literal

from ninja import Field, Schema


class EstimateOut(Schema):
    """A figure with its 95% interval."""

    value: float | None = Field(description="Null if the figure is undefined.")
    low: float | None = Field(description="Null without a lower limit.")
    high: float | None = Field(description="Null without an upper limit.")
    n: int = Field(description="The number of units that the figure is based on.")
    why: str = Field(description="Why the value or a limit is undefined, or empty.")
    design_effect: float | None = Field(
        description="The variance as a multiple of that of n independent ratings."
    )
    clusters: int | None = Field(description="Tasks with ratings; null if the interval does not use them.")


class ScopeOut(Schema):
    """The filters that chose the ratings. Null for all."""

    run: str
    judge: str | None
    template: str | None = Field(description="The prompt.")
    model: str | None = Field(description="Empty for records without a model.")
    reviewer: str | None
    task: str | None
    since: str | None = Field(description="The first day in UTC.")
    until: str | None = Field(description="The last day in UTC.")


class ScoreTableOut(Schema):
    """The number of ratings with each pair of scores."""

    scores: list[str]
    judge_by_human: list[list[int]] = Field(
        description="A row for each score of the judge, and a column for each of the human, as in `scores`."
    )


class MetricsOut(Schema):
    """The metrics of a criterion, or of the verdict, on some of the records."""

    criterion: str | None = Field(description="Null for the verdict.")
    n: int = Field(description="Ratings in the table.")
    judge_only: int = Field(description="Ratings of people who gave no score.")
    human_only: int = Field(description="Ratings of records without a score of the judge.")
    out_of_scale: int = Field(description="Ratings with a score that has no place in the table.")
    table: ScoreTableOut
    shares: list[list[float]] | None = Field(
        description="The share of records that each number of the table stands for; null if unknown."
    )
    accuracy: EstimateOut
    defects_caught: EstimateOut
    kappa: EstimateOut
    weighted_kappa: EstimateOut
    ac1: EstimateOut
    false_pass: EstimateOut
    false_fail: EstimateOut
    leniency: EstimateOut


class ChangeOut(Schema):
    """Something that differs between two runs."""

    kind: str = Field(description="Judge, prompt or rubric.")
    first: str
    second: str


Part = Literal["run", "flagged", "unflagged"]
