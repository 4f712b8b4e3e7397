"""Aggregate scores to a verdict by the rule of a run, and parse the result of the verifier."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, Literal, NamedTuple, get_args

from reviews.records.scores import Score, format_score, identity, is_score, score_of

Verdict = Literal["Pass", "Partial", "Fail"]
# The levels of scores, best first.
Level = Literal["yes", "partial", "no"]
Kind = Literal["worst", "mean"]
VerificationOutcome = Literal["match", "mismatch", "no reference", "skipped", "none"]

LEVELS: tuple[Level, ...] = get_args(Level)
VERDICT_OF_LEVEL: dict[Level, Verdict] = {"yes": "Pass", "partial": "Partial", "no": "Fail"}


class InvalidRule(ValueError):
    """The data are not a valid rule. `problems` are sentences."""

    def __init__(self, *problems: str) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class VerdictRule:
    """How the scores of a record make a verdict.

    "worst": each score counts as yes, partial or no, and the worst one decides. Strings are compared
    ignoring case. "mean": the mean of numbers is a Pass from `pass_from`, a Partial from `partial_from`,
    otherwise a Fail. Strings and booleans are not numbers.
    """

    kind: Kind = "worst"
    yes: tuple[Score, ...] = ("Yes",)
    partial: tuple[Score, ...] = ("Partial",)
    no: tuple[Score, ...] = ("No",)
    pass_from: float = 0
    partial_from: float = 0

    @classmethod
    def from_json(cls, data: Any) -> "VerdictRule":
        """Build the rule from `as_json`. Empty data give the default rule. Raises `InvalidRule`."""
        if not data and isinstance(data, dict):
            return cls()
        match data:
            case {"kind": "worst"}:
                yes, partial, no = (_scores(data.get(level, [])) for level in LEVELS)
                rule = cls("worst", yes, partial, no)
            case {"kind": "mean", "pass": pass_from, "partial": partial_from}:
                rule = cls("mean", (), (), (), pass_from, partial_from)
            case _:
                raise InvalidRule("The rule must be “worst” or “mean”.")
        rule.check()
        return rule

    def as_json(self) -> dict[str, Any]:
        """Return the rule as the run stores it and the review script reads it."""
        if self.kind == "mean":
            return {"kind": "mean", "pass": self.pass_from, "partial": self.partial_from}
        return {"kind": "worst", "yes": [*self.yes], "partial": [*self.partial], "no": [*self.no]}

    def check(self) -> None:
        """Raise `InvalidRule` unless every score has one level and the thresholds are in order."""
        problems = self._problems_of_mean() if self.kind == "mean" else self._problems_of_worst()
        if problems:
            raise InvalidRule(*problems)

    def _problems_of_mean(self) -> list[str]:
        if not _is_number(self.pass_from) or not _is_number(self.partial_from):
            return ["Enter two numbers: the lowest mean of a Pass, and of a Partial."]
        if self.partial_from > self.pass_from:
            return ["The lowest mean of a Partial cannot be above that of a Pass."]
        return []

    def _problems_of_worst(self) -> list[str]:
        scores = [*self.yes, *self.partial, *self.no]
        keys = [_key(score) for score in scores]
        twice = {format_score(score) for score, key in zip(scores, keys, strict=True) if keys.count(key) > 1}
        problems = [f"“{word}” has more than one level." for word in sorted(twice)]
        if not (self.yes and self.no):
            problems.append("At least one score must count as Yes, and one as No.")
        return problems

    def level(self, score: Any) -> Level | None:
        """Return the level of a score, or None if the rule does not know the score."""
        if self.kind == "mean":
            return self._level_of_number(score) if _is_number(score) else None
        return self._levels.get(_key(score)) if isinstance(score, Score) else None

    def aggregate(self, scores: Iterable[Any]) -> Verdict | None:
        """Return the verdict, or None without scores or if one of them has no level."""
        given = list(scores)
        levels = {self.level(score) for score in given}
        if not given or None in levels:
            return None
        if self.kind == "mean":
            return VERDICT_OF_LEVEL[self._level_of_number(fmean(given))]
        return next(VERDICT_OF_LEVEL[level] for level in reversed(LEVELS) if level in levels)

    def verdict(self, scores: Mapping[str, Any] | None) -> Verdict | None:
        """Return the verdict of scores in the shape of `parsed_rubric_scores`: criterion -> {score, ...}."""
        return self.aggregate(score_of(entry) for entry in (scores or {}).values())

    def _level_of_number(self, number: float) -> Level:
        if number >= self.pass_from:
            return "yes"
        return "partial" if number >= self.partial_from else "no"

    @cached_property
    def _levels(self) -> dict[tuple[str, Score], Level]:
        counted = ((self.yes, LEVELS[0]), (self.partial, LEVELS[1]), (self.no, LEVELS[2]))
        return {_key(score): level for scores, level in counted for score in scores}


def _key(score: Score) -> tuple[str, Score]:
    return identity(score.strip().casefold() if isinstance(score, str) else score)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and is_score(value)


def _scores(data: Any) -> tuple[Score, ...]:
    if not isinstance(data, list) or not all(is_score(score) for score in data):
        raise InvalidRule("The scores of a rule must be non-blank strings, numbers or booleans.")
    return tuple(data)


class Verification(NamedTuple):
    """The result of the verifier, and a sentence about it (empty if there is nothing to say)."""

    outcome: VerificationOutcome
    #: None if the message does not contain the answer.
    extracted: str | None
    #: None if the message does not contain the answer.
    correct: str | None
    sentence: str


_COMPARED = re.compile(r"(?:Verification \([^()]*\): )?(?P<word>Match|Mismatch) \(Extracted: '")
_BETWEEN = "', Correct: '"
_END = re.compile(r"'\)\.?\Z")
_SKIPPED = "Verification skipped:"
_SKIPPED_SENTENCES = {
    "Extracted answer was None.": "Not verified: no final answer was extracted.",
    "": "Not verified.",
}
_NO_REFERENCE = "Correct answer was None."


def read_verification(verified: bool | None, message: str | None) -> Verification:  # noqa: FBT001 (a value)
    """Parse the fields `final_answer_verified` and `verification_message`.

    A comparison with an empty reference is "no reference", whatever its result. Otherwise `verified`
    decides, and the word in the message only if `verified` is null.
    """
    text = (message or "").strip()
    if text.startswith(_SKIPPED) and verified is None:
        return _skipped(text.removeprefix(_SKIPPED).strip())
    word, extracted, correct = _compared(text)
    if correct is not None and not correct.strip():
        return Verification("no reference", extracted, correct, "No reference answer.")
    matches = word == "Match" if verified is None else verified
    if verified is None and not word:
        return Verification("none", None, None, text)
    if matches:
        return Verification("match", extracted, correct, "The final answer matches the reference answer.")
    sentence = "The final answer does not match the reference answer."
    return Verification("mismatch", extracted, correct, sentence)


def _skipped(reason: str) -> Verification:
    if reason == _NO_REFERENCE:
        return Verification("no reference", None, None, "No reference answer.")
    return Verification("skipped", None, None, _SKIPPED_SENTENCES.get(reason, f"Not verified: {reason}"))


def _compared(text: str) -> tuple[str, str | None, str | None]:
    """Return the word, the extracted and the correct answer of a comparison message."""
    start = _COMPARED.match(text)
    if not start:
        return "", None, None
    extracted, between, correct = text[start.end() :].rpartition(_BETWEEN)
    if not between:
        return start["word"], None, None
    return start["word"], extracted, _END.sub("", correct)
