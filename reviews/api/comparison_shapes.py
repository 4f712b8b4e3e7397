"""The schemas of figures about two or more runs. docs/judge.md defines each figure."""

from typing import Literal

from ninja import Field, Schema

from reviews.api.estimates import ChangeOut, EstimateOut

Outcome = Literal["better", "worse", "not shown"]
_CHANGES = "What differs (judge, prompt or rubric), with its first and second value."
_ACCURACY = "The second accuracy minus the first."


class CriterionComparisonOut(Schema):
    """The accuracy of two judges for a criterion."""

    criterion: str
    first_accuracy: EstimateOut
    second_accuracy: EstimateOut
    difference: EstimateOut = Field(description=_ACCURACY)
    p: float = Field(description="Two-sided, adjusted for all criteria.")


class ComparedPartOut(Schema):
    """The comparison for the records of one judge, or of one prompt."""

    kind: str = Field(description="Judge or prompt.")
    name: str
    n: int = Field(description="Pairs of verdicts.")
    outcome: Outcome
    first_accuracy: EstimateOut
    second_accuracy: EstimateOut
    difference: EstimateOut = Field(description=_ACCURACY)
    responses: int


class ComparisonOut(Schema):
    """The accuracy of two judges on the same responses. docs/judge.md defines each figure."""

    first: str = Field(description="The earlier run.")
    second: str = Field(description="The run whose judge is compared with it.")
    outcome: Outcome = Field(description="Of the second judge.")
    changes: list[ChangeOut] = Field(description=_CHANGES)
    first_accuracy: EstimateOut
    second_accuracy: EstimateOut
    difference: EstimateOut = Field(description=_ACCURACY)
    p: float = Field(description="Two-sided; 1 without ratings to compare.")
    counts: dict[str, int] = Field(
        description="Pairs of verdicts, by those that are right: both, first, second or neither."
    )
    hidden: int = Field(description="Pairs that count, but that pages do not list.")
    responses: int = Field(description="The responses that the figures describe.")
    different: int = Field(description="Those among them with different verdicts.")
    criteria: list[CriterionComparisonOut]
    parts: list[ComparedPartOut] = Field(
        description="Each judge, and each prompt, if both runs have several of them."
    )
    notes: list[str]


class PairCountOut(Schema):
    """The number of pairs of records with two verdicts."""

    first: str
    second: str
    pairs: int


class ScoreShiftOut(Schema):
    """The shift of a criterion's mean score, in the unit of its scale."""

    criterion: str
    pairs: int
    first_mean: float
    second_mean: float
    p: float = Field(description="Two-sided.")
    shift: EstimateOut = Field(description="The second mean minus the first.")


class ModelDifferenceOut(Schema):
    """A model of the second run compared with a model of the first."""

    first_model: str
    second_model: str
    first_rate: EstimateOut
    second_rate: EstimateOut
    raw: EstimateOut = Field(description="The difference of their pass rates.")
    adjusted: EstimateOut = Field(description="The same without the judge's shift.")
    p: float = Field(description="Of the adjusted difference, two-sided.")


class DriftOut(Schema):
    """The shift of a judge between two runs. docs/judge.md defines each figure."""

    first: str = Field(description="The earlier run.")
    second: str = Field(description="The run whose judge is compared with it.")
    outcome: Literal["milder", "stricter", "not shown"] = Field(description="Of the second judge.")
    changes: list[ChangeOut] = Field(description=_CHANGES)
    first_rate: EstimateOut = Field(description="The pass rate on the same responses in the earlier run.")
    second_rate: EstimateOut
    shift: EstimateOut = Field(description="The second pass rate minus the first.")
    p: float = Field(description="Two-sided; 1 without responses to compare.")
    changed: EstimateOut = Field(description="The share of verdicts that changed.")
    counts: list[PairCountOut]
    criteria: list[ScoreShiftOut]
    models: list[ModelDifferenceOut]
    notes: list[str]


class HistoryPointOut(Schema):
    """The accuracy over a run."""

    run: str
    at: str = Field(description="When the run was created.")
    judges: list[str]
    templates: list[str] = Field(description="The prompts.")
    related_by: list[Literal["judge", "prompt", "criteria"]] = Field(
        description="What it has in common with the run of the request; empty for that run."
    )
    changes: list[ChangeOut] = Field(
        description="What differs from the run before (judge, prompt or rubric), with both values."
    )
    accuracy: EstimateOut


class HistoryOut(Schema):
    """The accuracy of the judge over runs."""

    run: str
    points: list[HistoryPointOut] = Field(description="The oldest run first.")
    omitted: int = Field(description="The number of older runs that are left out.")
