"""The schemas of rubrics and mappings, with the members of their files. Defaults may be left out."""

from typing import Any, NotRequired

from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

from reviews.api.values import Score
from reviews.records.scales import ScaleKind
from reviews.records.verdict import RuleKind

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
