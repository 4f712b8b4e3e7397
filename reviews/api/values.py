"""JSON values without fixed members, and rubrics and mappings with the members of their files."""

import datetime as dt
from typing import Annotated, Any, NotRequired

from pydantic import AfterValidator, ConfigDict, StringConstraints, TypeAdapter, WithJsonSchema, with_config
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from reviews.days import check_year
from reviews.records.rubric import RuleKind
from reviews.records.scales import ScaleKind

_SCORE = {"type": ["string", "number", "boolean"]}
_SCORE_OR_NULL = WithJsonSchema({"type": [*_SCORE["type"], "null"]})

# A score: a text, a number or a boolean.
Score = Annotated[Any, WithJsonSchema(_SCORE)]


def _check_score(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    raise PydanticCustomError("score", "A score is a text, a number, true or false.")


def _check_day(day: dt.date) -> dt.date:
    try:
        check_year(day)
    except ValueError as error:
        raise PydanticCustomError("day", str(error)) from None
    return day


# A text without U+0000, which PostgreSQL does not store.
Note = Annotated[str, StringConstraints(strip_whitespace=True, max_length=5_000, pattern="^[^\x00]*$")]
Day = Annotated[dt.date, AfterValidator(_check_day)]
# A score in a body, or null for none.
ScoreOrNull = Annotated[Any, AfterValidator(_check_score), _SCORE_OR_NULL]
# Criterion -> score, or null for none.
RowScores = dict[str, Annotated[Any, _SCORE_OR_NULL]]
# Criterion -> entry of a decision.
DecidedScores = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "description": "The score, its justification, and all members that the entry has in a file.",
                "properties": {"score": _SCORE},
                "required": ["score"],
                "additionalProperties": True,
            },
        }
    ),
]


_CLOSED = with_config(ConfigDict(extra="forbid"))


class RuleOut(TypedDict):
    """How the scores of a record make a verdict."""

    rule: RuleKind
    pass_from: NotRequired[float]
    partial_from: NotRequired[float]


@_CLOSED
class RuleIn(TypedDict):
    """How the scores of a record make a verdict: by the worst score, if nothing else is given."""

    rule: NotRequired[RuleKind]
    pass_from: NotRequired[float]
    partial_from: NotRequired[float]


@_CLOSED
class RubricScale(TypedDict):
    """The valid scores of a criterion. Its kind decides which members it has (docs/rubric.md)."""

    kind: ScaleKind
    values: NotRequired[list[Score]]
    unranked: NotRequired[list[Score]]
    best: NotRequired[Score]
    min: NotRequired[float]
    max: NotRequired[float]
    step: NotRequired[float]
    lower_is_better: NotRequired[bool]
    pass_from: NotRequired[Score]
    partial_from: NotRequired[Score]
    a: NotRequired[Score]
    b: NotRequired[Score]
    tie: NotRequired[Score]
    both_bad: NotRequired[Score]


@_CLOSED
class RubricCriterion(TypedDict):
    """A criterion of a rubric."""

    name: str
    title: NotRequired[str]
    description: NotRequired[str]
    required: NotRequired[bool]
    weight: NotRequired[float]
    scale: NotRequired[RubricScale]


@_CLOSED
class RubricCause(TypedDict):
    """A cause of judge errors."""

    title: str
    directions: NotRequired[list[str]]
    needs: NotRequired[list[str]]


class RubricMembersOut(TypedDict):
    """The members of a rubric file (docs/rubric.md)."""

    verdict: RuleOut
    scale: RubricScale
    criteria: list[RubricCriterion]
    causes: list[RubricCause]


@_CLOSED
class RubricIn(TypedDict):
    """A rubric to declare (docs/rubric.md). Every member is optional."""

    verdict: NotRequired[RuleKind | RuleIn]
    scale: NotRequired[RubricScale]
    criteria: NotRequired[list[RubricCriterion]]
    causes: NotRequired[list[RubricCause]]


class CriteriaMappingOut(TypedDict):
    """Expressions for the criteria of a line."""

    name: str
    score: str
    justification: str
    each: str


class ReviewRuleOut(TypedDict):
    """A rule that flags records."""

    when: str
    reason: str


class ArchiveMappingOut(TypedDict):
    """The files of an archive that are read."""

    records: str
    document: str


class MappingMembersOut(TypedDict):
    """The members of a mapping file (docs/mapping.md)."""

    fields: dict[str, str]
    criteria: list[CriteriaMappingOut]
    review: list[ReviewRuleOut]
    records: NotRequired[str]
    inherit: NotRequired[bool]
    archive: NotRequired[ArchiveMappingOut]
    rubric: NotRequired[RubricMembersOut]


def body_components() -> dict[str, Any]:
    """Return the components of the body that declares a rubric, which its operation parses by itself."""
    schema = TypeAdapter(RubricIn).json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs"), RubricIn.__name__: schema}
