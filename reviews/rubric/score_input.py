"""The scores that a person can enter for a criterion of a record."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from string import ascii_lowercase
from typing import Any, NamedTuple, cast

from reviews.records.rubric import Rubric
from reviews.records.scales import Level, PairwiseScale, RangeScale, Scale
from reviews.records.scores import (
    AS_IN_FILE,
    AS_JUDGED,
    Score,
    decode_score,
    encode_score,
    format_score,
    identity,
    is_alike,
    is_number,
    is_score,
)

# Shortcut keys of commands on the review screen. Scores do not use them.
COMMAND_LETTERS = frozenset("acdefghjkmoqrsuvwxz")
# Shortcut keys for scores without a free letter or a digit, such as 0.5.
_SPARE_LETTERS = "tyipzlbn"
# A score that begins with a number of one digit: 4, 4.0, 4/5, "4 - good".
_ONE_DIGIT = re.compile(r"(\d)(?:[.,]0+)?(?![\d.,])", re.ASCII)


class Choice(NamedTuple):
    score: Score
    #: The form value.
    value: str
    label: str
    #: The shortcut key, a letter or the digit of the score; empty if none is left.
    key: str
    #: The level of the score by the rubric.
    level: Level | None
    #: The number that a mean uses; None without one.
    amount: float | None
    #: Higher for better scores; None without an order.
    rank: float | None
    #: Whether a verdict skips the score.
    is_skipped: bool


@dataclass(frozen=True)
class ScoreInput:
    """The scores that can be entered for a criterion.

    In addition to the scores of the scale, these are the judge's score and that of a decision in the file, if
    they are not on the scale. A score of the scale that is alike, such as Yes for "YES", is saved as it is
    written there.
    """

    rubric: Rubric
    criterion: str
    #: The judge's score; None without one.
    judged: Any = None
    #: The score of a decision in the imported file; None without one.
    in_file: Any = None

    @cached_property
    def scale(self) -> Scale:
        return self.rubric.scale_of(self.criterion)

    @property
    def has_field(self) -> bool:
        """Whether a number is entered, as the scale has too many scores for buttons."""
        return isinstance(self.scale, RangeScale) and not self.scale.buttons

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """The scores with a button, those off the scale last."""
        found = [
            (self._typed(score), encode_score(score), self._label(score)) for score in self.scale.buttons
        ]
        for given, value in ((self.judged, AS_JUDGED), (self.in_file, AS_IN_FILE)):
            is_known = any(is_alike(score, given) for score, _, _ in found)
            if is_score(given) and not self._is_on_scale(given) and not is_known:
                found.append((given, value, format_score(given)))
        keys = _keys(label for _, _, label in found)
        return tuple(
            Choice(
                score,
                value,
                label,
                key,
                self.rubric.level(self.criterion, score),
                self.scale.amount(score),
                self.scale.rank(score),
                self.scale.is_skipped(score),
            )
            for (score, value, label), key in zip(found, keys, strict=True)
        )

    def _is_on_scale(self, score: Score) -> bool:
        fitted = self.fit(score)
        return fitted is not None and identity(fitted) == identity(score)

    def _typed(self, score: Score) -> Score:
        """Return a score of the scale as the file or the judge wrote it, otherwise in the judge's type."""
        for given in (self.in_file, self.judged):
            if is_alike(given, score):
                return cast("Score", given)
        fitted = self.fit(score)
        return score if fitted is None else fitted

    def _label(self, score: Score) -> str:
        label = self.scale.label(score) if isinstance(self.scale, PairwiseScale) else ""
        return label or format_score(score)

    def fit(self, score: Any) -> Score | None:
        """Return a score of the scale in the judge's type, or None if it is not on the scale."""
        return self.scale.fit(score, self.judged)

    def find(self, score: Any) -> Score | None:
        """Return the score to save for an entered one, or None if it is not valid."""
        if not is_score(score):
            return None
        off_scale = (given for given in (self.judged, self.in_file) if is_score(given))
        same = next((given for given in off_scale if identity(given) == identity(score)), None)
        return same if same is not None else self.fit(score)

    def encode(self, score: Any) -> str:
        """Return the form value of a score; empty if it cannot be entered."""
        found = self.find(score)
        if found is None:
            return ""
        chosen = next((one.value for one in self.choices if is_alike(one.score, found)), None)
        return chosen if chosen is not None else found if isinstance(found, str) else encode_score(found)

    def decode(self, value: str) -> Score | None:
        """Return the score of a form value, or None if it is not valid."""
        chosen = next((one.score for one in self.choices if one.value == value), None)
        if chosen is not None or not self.has_field:
            return chosen
        number = decode_score(value.strip())
        entered = number if is_number(number) else value
        found = self.fit(entered)
        return self.find(entered) if found is None else found

    @property
    def requirement(self) -> str:
        """A sentence that says which scores are valid."""
        off_scale = [one.label for one in self.choices if one.value in {AS_JUDGED, AS_IN_FILE}]
        if not off_scale:
            return self.scale.requirement
        if not self.has_field:
            return f"Choose one of these scores: {', '.join(one.label for one in self.choices)}."
        return f"{self.scale.requirement} Or keep {', '.join(off_scale)}."


def _keys(words: Iterable[str]) -> list[str]:
    """Assign a key to each word: its digit or first free letter, else a spare one; empty if none is left."""
    taken = set(COMMAND_LETTERS)
    keys = []
    for word in words:
        digit = _ONE_DIGIT.match(word)
        own = (letter for letter in word.lower() if letter in ascii_lowercase)
        wanted = [*([digit[1]] if digit else []), *own, *_SPARE_LETTERS]
        key = next((letter for letter in wanted if letter not in taken), "")
        taken.add(key)
        keys.append(key)
    return keys
