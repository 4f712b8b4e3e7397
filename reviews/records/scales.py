"""Scales: the scores that a criterion can have, and the level of each score.

A scale knows which scores are valid, their order, and from which score on they count as Yes or Partial.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, cast, get_args

from reviews.records.scores import Score, format_score, identity, is_alike, is_number, is_score, likeness

# The levels of scores, best first.
Level = Literal["yes", "partial", "no"]
LEVELS: tuple[Level, ...] = get_args(Level)
ScaleKind = Literal["values", "boolean", "integer", "number", "pairwise"]

MAX_VALUES, MAX_VALUE = 15, 40
_VALUES = f"A value is a number, true, false, or a text of 1 to {MAX_VALUE} printable characters."
#: A range with at most this many scores has a button for each.
MAX_BUTTONS = 7
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
#: The bounds of ranges. Up to there, a browser counts exactly.
MAX_NUMBER = 10**15


class _ListedScores:
    """A scale whose scores are listed one by one."""

    @property
    def buttons(self) -> tuple[Score, ...]:
        """The valid scores."""
        raise NotImplementedError

    def fit(self, score: Any, like: Any = None) -> Score | None:
        """Return the score of the scale that equals the score, or None. `like` does not matter."""
        if not is_score(score):
            return None
        return next((one for one in self.buttons if identity(one) == identity(score)), None)

    @property
    def requirement(self) -> str:
        """A sentence that says which scores are valid."""
        return f"Choose one of these scores: {', '.join(map(format_score, self.buttons))}."


@dataclass(frozen=True)
class ValueScale(_ListedScores):
    """Named values in order, or true and false. Strings are compared ignoring case."""

    #: Best first.
    values: tuple[Score, ...]
    #: The last value that counts as Yes. Without it, the scale has no levels.
    pass_from: Score | None = None
    #: The last value that counts as Partial. Without it, none does.
    partial_from: Score | None = None
    #: Further values without a rank, such as "N/A". A verdict skips them.
    unranked: tuple[Score, ...] = ()

    @property
    def kind(self) -> ScaleKind:
        return "boolean" if self._is_boolean else "values"

    @property
    def _is_boolean(self) -> bool:
        return (
            len(self.values) == 2
            and self.pass_from is not None
            and self.partial_from is None
            and not self.unranked
            and all(one in (True, False) and isinstance(one, bool) for one in self.values)
        )

    @property
    def buttons(self) -> tuple[Score, ...]:
        return (*self.values, *self.unranked)

    @property
    def has_levels(self) -> bool:
        return self.pass_from is not None

    def level(self, score: Any) -> Level | None:
        """Return the level of a score, or None if it has none."""
        return self._levels.get(likeness(score)) if is_score(score) else None

    @cached_property
    def _levels(self) -> dict[tuple[str, Score], Level]:
        if self.pass_from is None:
            return {}
        last_yes, last_partial = self._place(self.pass_from), self._place(self.partial_from)
        levels: dict[tuple[str, Score], Level] = {}
        for key, place in self._places.items():
            if last_yes is not None and place <= last_yes:
                levels[key] = "yes"
            else:
                levels[key] = "partial" if last_partial is not None and place <= last_partial else "no"
        return levels

    def rank(self, score: Any) -> float | None:
        """Return a number that is higher for better scores: 1 for the best, 0 for the worst."""
        place = self._place(score)
        if place is None:
            return None
        return 1 - place / max(1, len(self.values) - 1)

    def amount(self, score: Any) -> float | None:
        """Return the number that a mean uses for a score: the score itself if all values are numbers."""
        place = self._place(score)
        if place is not None and all(map(is_number, self.values)):
            return float(self.values[place])
        return self.rank(score)

    def is_skipped(self, score: Any) -> bool:
        """Whether a verdict skips the score."""
        return is_score(score) and any(is_alike(one, score) for one in self.unranked)

    def as_json(self) -> dict[str, Any]:
        if self._is_boolean:
            return {"kind": "boolean", "best": self.values[0], **self._levels_as_json()}
        members: dict[str, Any] = {"kind": "values", "values": [*self.values], **self._levels_as_json()}
        return members | ({"unranked": [*self.unranked]} if self.unranked else {})

    def _levels_as_json(self) -> dict[str, Any]:
        return _given(pass_from=self.pass_from, partial_from=self.partial_from)

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each setting that is wrong, with the reason."""
        if not 2 <= len(self.values) <= MAX_VALUES:
            yield "values", f"A scale has 2 to {MAX_VALUES} values, not {len(self.values):,}."
        if len(self.unranked) > MAX_VALUES:
            yield "unranked", f"A scale has at most {MAX_VALUES} values without a rank."
        if not all(map(_is_value, self.buttons)):
            yield "values", _VALUES
            return
        keys = [likeness(one) for one in self.buttons]
        twice = {
            format_score(one): None
            for one, key in zip(self.buttons, keys, strict=True)
            if keys.count(key) > 1
        }
        for word in twice:
            yield "values", f"“{word}” is listed twice."
        for name in ("pass_from", "partial_from"):
            given = getattr(self, name)
            if given is not None and self._place(given) is None:
                yield name, f"“{format_score(given)}” is not one of the values."
        yes, partial = self._place(self.pass_from), self._place(self.partial_from)
        if partial is not None and yes is None:
            yield "partial_from", "Partial needs a value from which scores pass, too."
        elif partial is not None and yes is not None and partial <= yes:
            yield "partial_from", "Partial begins below the last value that passes."
        if yes is not None and yes == len(self.values) - 1:
            yield "pass_from", "With the lowest value, every score would pass."

    @cached_property
    def _places(self) -> dict[tuple[str, Score], int]:
        return {likeness(one): place for place, one in enumerate(self.values)}

    def _place(self, score: Any) -> int | None:
        return self._places.get(likeness(score)) if is_score(score) else None


@dataclass(frozen=True)
class RangeScale:
    """Numbers from `minimum` to `maximum`: whole ones, or any with an optional step.

    Numbers that a judge writes as text count as well.
    """

    minimum: float
    maximum: float
    is_integer: bool = True
    #: The distance of valid numbers from the minimum. None: any number in between.
    step: float | None = None
    pass_from: float | None = None
    partial_from: float | None = None
    lower_is_better: bool = False

    @property
    def kind(self) -> ScaleKind:
        return "integer" if self.is_integer else "number"

    @property
    def size(self) -> int | None:
        """Number of valid scores; None if they are not counted."""
        step = 1 if self.is_integer else self.step
        return None if step is None else 1 + (_exact(self.maximum) - _exact(self.minimum)) // _exact(step)

    @property
    def buttons(self) -> tuple[Score, ...]:
        if self.size is None or self.size > MAX_BUTTONS:
            return ()
        step = _exact(1 if self.step is None else self.step)
        numbers = [_exact(self.minimum) + step * place for place in range(self.size)]
        return tuple(int(one) if self.is_integer else float(one) for one in numbers)

    @property
    def has_levels(self) -> bool:
        return self.pass_from is not None

    def level(self, score: Any) -> Level | None:
        number = self._number(score)
        if number is None or self.pass_from is None:
            return None
        return self.level_of(number, self.pass_from, self.partial_from)

    def level_of(self, number: float, pass_from: float, partial_from: float | None) -> Level:
        """Return the level of a number by these thresholds."""
        sign = -1 if self.lower_is_better else 1
        if sign * number >= sign * pass_from:
            return "yes"
        return "partial" if partial_from is not None and sign * number >= sign * partial_from else "no"

    def rank(self, score: Any) -> float | None:
        number = self._number(score)
        return None if number is None else -number if self.lower_is_better else number

    def amount(self, score: Any) -> float | None:
        return self._number(score)

    def part_of(self, score: Any, parts: int) -> int | None:
        """Return the place of a number among equal parts of the range, the lowest first; None outside it.

        A number between two parts is in the upper one.
        """
        number = self._number(score)
        if number is None:
            return None
        low, high = _exact(self.minimum), _exact(self.maximum)
        return min(parts - 1, int((_exact(number) - low) * parts / (high - low))) if high > low else 0

    def is_skipped(self, score: Any) -> bool:
        return False

    def fit(self, score: Any, like: Any = None) -> Score | None:
        """Return the number in the type of `like`, a score of the judge; None if it is not valid.

        The number of `like` itself is returned as the judge wrote it. Text is accepted only if the judge's
        score is text.
        """
        if isinstance(score, str) and not isinstance(like, str):
            return None
        number = self._number(score)
        if number is None or not self._is_on_step(number):
            return None
        if is_score(like) and self._number(like) == number:
            return cast("Score", like)
        if isinstance(like, str):
            shown = next((one for one in self.buttons if one == number), score)
            return shown if isinstance(shown, str) else json.dumps(shown)
        if isinstance(like, float) or not (self.is_integer or isinstance(like, int)):
            return float(number)
        return int(number) if number == int(number) else number

    def _is_on_step(self, number: float) -> bool:
        step = 1 if self.is_integer else self.step
        if step is None:
            return True
        start, exact, width = _exact(self.minimum), _exact(number), _exact(step)
        nearest = start + round((exact - start) / width) * width
        # Some steps from a minimum lead to no floating-point number. Then the nearest one is meant.
        return nearest == exact or float(nearest) == number

    @property
    def requirement(self) -> str:
        kind = "whole number" if self.is_integer else "number"
        steps = "" if self.step is None else f" in steps of {_shown(self.step)}"
        return f"Enter a {kind} from {_shown(self.minimum)} to {_shown(self.maximum)}{steps}."

    def as_json(self) -> dict[str, Any]:
        members = {"kind": self.kind, "min": self.minimum, "max": self.maximum}
        members |= _given(step=self.step, pass_from=self.pass_from, partial_from=self.partial_from)
        return members | ({"lower_is_better": True} if self.lower_is_better else {})

    def problems(self) -> Iterator[tuple[str, str]]:
        if not all(-MAX_NUMBER <= limit <= MAX_NUMBER for limit in (self.minimum, self.maximum)):
            yield "max", f"The lowest and the highest score must be from -{MAX_NUMBER:,} to {MAX_NUMBER:,}."
        elif self.minimum >= self.maximum:
            yield "max", f"The highest score must be above the lowest, {_shown(self.minimum)}."
        else:
            yield from self._problems_within_bounds()

    def _problems_within_bounds(self) -> Iterator[tuple[str, str]]:
        if self.is_integer and not (_is_whole(self.minimum) and _is_whole(self.maximum)):
            yield "min", "The lowest and the highest score must be whole numbers."
        if self.is_integer and self.step is not None:
            yield "step", "Whole numbers have no step."
        elif self.step is not None and not 0 < self.step <= self.maximum - self.minimum:
            yield "step", "The step must be above 0 and fit into the range."
        for name in ("pass_from", "partial_from"):
            given = getattr(self, name)
            if given is not None and not self.minimum <= given <= self.maximum:
                yield name, f"This must be from {_shown(self.minimum)} to {_shown(self.maximum)}."
        if self.partial_from is not None and self.pass_from is None:
            yield "partial_from", "Partial needs a number from which scores pass, too."
        elif self.partial_from is not None and self.pass_from is not None:
            sign = -1 if self.lower_is_better else 1
            if sign * self.partial_from > sign * self.pass_from:
                yield "partial_from", "Partial cannot begin at a better score than Pass."

    def _number(self, score: Any) -> float | None:
        """Return a score as a number in the range, or None."""
        number = number_of(score)
        if number is None or not self.minimum <= number <= self.maximum:
            return None
        # Zero is written without a sign.
        return number + 0


@dataclass(frozen=True)
class PairwiseScale(_ListedScores):
    """The better one of two responses. The judge's own words stand for the four outcomes."""

    a: Score = "A"
    b: Score = "B"
    tie: Score | None = "tie"
    both_bad: Score | None = None

    kind: ScaleKind = "pairwise"
    pass_from = None
    has_levels = False

    @property
    def buttons(self) -> tuple[Score, ...]:
        return tuple(one for one in (self.a, self.b, self.tie, self.both_bad) if one is not None)

    def level(self, score: Any) -> Level | None:
        return None

    def rank(self, score: Any) -> float | None:
        """Return 1 for A, 0 for a tie and -1 for B."""
        ranks = [(self.a, 1.0), (self.tie, 0.0), (self.b, -1.0)]
        return next((rank for one, rank in ranks if is_score(score) and is_alike(one, score)), None)

    def amount(self, score: Any) -> float | None:
        return None

    def is_skipped(self, score: Any) -> bool:
        return is_score(score)

    def label(self, score: Score) -> str:
        """Return the outcome that a score means."""
        names = [(self.a, "A"), (self.b, "B"), (self.tie, "Tie"), (self.both_bad, "Both bad")]
        return next((name for one, name in names if one is not None and identity(one) == identity(score)), "")

    def as_json(self) -> dict[str, Any]:
        return {"kind": "pairwise", "a": self.a, "b": self.b, **_given(tie=self.tie, both_bad=self.both_bad)}

    def problems(self) -> Iterator[tuple[str, str]]:
        if not all(map(_is_value, self.buttons)):
            yield "a", _VALUES
        elif len({likeness(one) for one in self.buttons}) < len(self.buttons):
            yield "a", "The values of the outcomes must differ."


Scale = ValueScale | RangeScale | PairwiseScale
YES_PARTIAL_NO = ValueScale(("Yes", "Partial", "No"), "Yes", "Partial")


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def number_of(score: Any) -> float | None:
    """Return a finite number, which may be written as text; None for other scores."""
    if isinstance(score, str) and _NUMBER.fullmatch(score.strip()):
        try:
            score = json.loads(score)
        except ValueError:
            score = float(score)
    return score if isinstance(score, int | float) and is_number(score) else None


def _is_value(value: Any) -> bool:
    return is_score(value) and (
        not isinstance(value, str) or (len(value) <= MAX_VALUE and value.isprintable())
    )


def _exact(number: float) -> Fraction:
    """Return a number as it is written: 0.1 is one tenth."""
    return Fraction(repr(number))


def _is_whole(number: float) -> bool:
    return number == int(number)


def _shown(number: float) -> str:
    return f"{int(number) if _is_whole(number) else number:,}"
