"""Sentences about the errors of pydantic."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from reviews.records.field_errors import sentence_of


class Sent(BaseModel):
    """A body with a field of each kind."""

    model_config = ConfigDict(extra="forbid")
    text: Annotated[str, Field(min_length=1, max_length=1000, pattern="^[a-z]*$")] = "a"
    whole: Annotated[int, Field(ge=1, lt=2_000)] = 1
    number: Annotated[float, Field(gt=0, le=1)] = 1
    truth: bool = True
    table: dict[str, int] = {}
    entries: Annotated[list[str], Field(min_length=1, max_length=2)] = ["a"]
    word: Literal["all", "none"] = "all"
    at: AwareDatetime | None = None
    needed: int


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"needed": ...}, "“needed” is missing."),
        ({"comment": 1}, "“comment” is not a known field."),
        ({"text": 1}, "“text” must be a text."),
        ({"text": ""}, "“text” is empty."),
        ({"text": "a" * 1001}, "“text” has more than 1,000 characters."),
        ({"text": "B"}, "“text” does not match the pattern ^[a-z]*$."),
        ({"whole": "x"}, "“whole” must be a whole number."),
        ({"whole": 1.5}, "“whole” must be a whole number."),
        ({"whole": 0}, "“whole” must be at least 1."),
        ({"whole": 2000}, "“whole” must be below 2,000."),
        ({"number": 0}, "“number” must be above 0."),
        ({"number": 1.5}, "“number” must be at most 1."),
        ({"number": "much"}, "“number” must be a number."),
        ({"truth": "perhaps"}, "“truth” must be true or false."),
        ({"table": []}, "“table” must be an object."),
        ({"table": {"a": None}}, "“table.a” must be a whole number."),
        ({"entries": {}}, "“entries” must be a list."),
        ({"entries": []}, "“entries” is empty."),
        ({"entries": ["a", "b", "c"]}, "“entries” has more than 2 entries."),
        ({"word": "some"}, "“word” must be 'all' or 'none'."),
        ({"at": "soon"}, "“at” must be a date and time in ISO 8601."),
        ({"at": "2026-01-31T10:00:00"}, "“at” must be a date and time in ISO 8601 with a time zone."),
    ],
)
def test_error_is_a_sentence_that_names_the_field(change: dict[str, Any], sentence: str) -> None:
    sent = {name: value for name, value in ({"needed": 1} | change).items() if value is not ...}
    with pytest.raises(ValidationError) as caught:
        Sent.model_validate(sent)
    (error,) = caught.value.errors()
    assert sentence_of(".".join(map(str, error["loc"])), dict(error)) == sentence


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ({"type": "own", "msg": "A sentence of our own."}, "A sentence of our own."),
        ({"type": "value_error", "ctx": {"error": ValueError("Send one.")}}, "Send one."),
        ({"type": "new_in_pydantic", "msg": "Wrong."}, "Wrong."),
    ],
)
def test_own_and_unknown_sentences_stay_as_they_are(error: dict[str, Any], sentence: str) -> None:
    assert sentence_of("field", error) == sentence
