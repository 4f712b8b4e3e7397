"""JSON values in responses and bodies that have no fixed members."""

import datetime as dt
from typing import Annotated, Any

from pydantic import AfterValidator, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError

from reviews.days import check_year

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
