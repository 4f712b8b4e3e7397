"""The causes that a row offers: filtered, and numbered from 1 to 6."""

import pytest

from reviews.records.rubric import CIRCUMSTANCES, DEFAULT_CAUSES, Cause, Circumstance, Direction
from reviews.review.forms.criterion import cause_options

GENERAL = ["misread the answer", "calculation error", "missed a step", "hallucinated fact"]


def shown(
    direction: Direction | None, *circumstances: Circumstance, chosen: str = "", given: tuple[Cause, ...] = ()
) -> list[str]:
    """Return the words of the causes with a key, which must count from 1."""
    options = cause_options(
        given or DEFAULT_CAUSES, direction=direction, circumstances=circumstances, chosen=chosen
    )
    with_key = [one for one in options if one.key]
    assert [one.key for one in with_key] == [*"123456"[: len(with_key)]]
    return [one.word for one in with_key]


@pytest.mark.parametrize(
    ("direction", "first"),
    [
        ("raised", ["too strict", *GENERAL]),
        ("lowered", ["too lenient", *GENERAL]),
        ("same", [*GENERAL, "right score, wrong reasoning"]),
        (None, GENERAL),
    ],
)
def test_causes_fit_the_direction_of_the_change(direction: Direction | None, first: list[str]) -> None:
    assert shown(direction)[: len(first)] == first
    assert not {"too strict", "too lenient", "right score, wrong reasoning"} - {*first} & {*shown(direction)}


def test_causes_with_needs_are_offered_where_the_record_has_them() -> None:
    assert not {"verifier error", "wrong reference"} & {*shown(None)}
    assert shown(None, "reference")[4:] == ["wrong reference", "unclear rubric"]
    assert shown(None, "verifier")[4:] == ["verifier error", "unclear rubric"]


def test_at_most_six_causes_are_shown_and_the_others_remain() -> None:
    options = cause_options(DEFAULT_CAUSES, direction="raised", circumstances=CIRCUMSTANCES, chosen="")
    assert shown("raised", *CIRCUMSTANCES) == ["too strict", *GENERAL, "wrong reference"]
    assert [one.word for one in options if not one.key] == [
        "too lenient",
        "right score, wrong reasoning",
        "verifier error",
        "unclear rubric",
        "other",
    ]


def test_chosen_cause_remains_whatever_it_needs() -> None:
    options = cause_options(DEFAULT_CAUSES, direction="raised", circumstances=(), chosen="verifier error")
    assert [one.word for one in options if one.checked] == ["verifier error"]
