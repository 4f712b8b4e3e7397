"""A rubric: criteria with their scales, the rule that makes verdicts, and the causes of judge errors."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, get_args

from reviews.records.scales import YES_PARTIAL_NO, Level, Scale
from reviews.records.scores import criterion_title, score_of

Verdict = Literal["Pass", "Partial", "Fail"]
VERDICT_OF_LEVEL: dict[Level, Verdict] = {"yes": "Pass", "partial": "Partial", "no": "Fail"}
RuleKind = Literal["worst", "mean", "weighted", "none"]
RULES: dict[RuleKind, str] = {
    "worst": "Worst score: any No fails, otherwise any Partial is Partial, and all Yes passes",
    "mean": "Mean of all scores",
    "weighted": "Mean weighted by the criteria's weights",
    "none": "No verdict",
}


@dataclass(frozen=True)
class VerdictRule:
    """How the scores of a record make a verdict.

    "worst": the worst level decides. "mean" and "weighted": the mean of the scores is a Pass from
    `pass_from`, a Partial from `partial_from`, otherwise a Fail. Numbers count as they are, and values from 1
    (the best) to 0 (the worst) in equal steps. "none": there is no verdict.
    """

    kind: RuleKind = "worst"
    pass_from: float | None = None
    partial_from: float | None = None

    @property
    def is_mean(self) -> bool:
        return self.kind in {"mean", "weighted"}

    def level(self, mean: float) -> Level:
        if self.pass_from is not None and mean >= self.pass_from:
            return "yes"
        return "partial" if self.partial_from is not None and mean >= self.partial_from else "no"

    def as_json(self) -> dict[str, Any]:
        if not self.is_mean:
            return {"rule": self.kind}
        limits = {"pass_from": self.pass_from, "partial_from": self.partial_from}
        return {"rule": self.kind, **{name: limit for name, limit in limits.items() if limit is not None}}

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each setting that is wrong, with the reason."""
        if not self.is_mean:
            return
        if self.pass_from is None:
            yield "pass_from", "Enter the lowest mean that passes."
        elif self.partial_from is not None and self.partial_from > self.pass_from:
            yield "partial_from", "The lowest mean of a Partial cannot be above that of a Pass."


# How a reviewer's score compares with the judge's.
Direction = Literal["raised", "lowered", "same"]
# A circumstance of the record that a cause needs.
Circumstance = Literal["reference", "verifier"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
CIRCUMSTANCES: tuple[Circumstance, ...] = get_args(Circumstance)
#: A mean is rounded to so many decimals.
MEAN_DIGITS = 9
_WORST = VerdictRule()
# Levels that are remembered, and the longest criterion and score of one.
_MOST_KNOWN, _LONGEST_KNOWN = 200, 200


@dataclass(frozen=True)
class Criterion:
    #: The name in the records.
    name: str
    #: The title on pages; empty for the name in words.
    title: str = ""
    #: Markdown.
    description: str = ""
    is_required: bool = True
    #: The weight in a weighted mean.
    weight: float = 1
    #: None: the scale of the rubric.
    scale: Scale | None = None

    def as_json(self) -> dict[str, Any]:
        members: dict[str, Any] = {"name": self.name}
        members |= {name: text for name in ("title", "description") if (text := getattr(self, name))}
        if not self.is_required:
            members["required"] = False
        if self.weight != 1:
            members["weight"] = self.weight
        return members | ({"scale": self.scale.as_json()} if self.scale else {})


@dataclass(frozen=True)
class Cause:
    """A cause of judge errors."""

    title: str
    #: The comparisons with the judge's score for which it is offered; empty for all.
    directions: tuple[Direction, ...] = ()
    #: Circumstances that the record must have.
    needs: tuple[Circumstance, ...] = ()

    @property
    def word(self) -> str:
        """The stored word."""
        return self.title.casefold()

    def as_json(self) -> dict[str, Any]:
        members: dict[str, Any] = {"title": self.title}
        return members | {
            name: [*given] for name in ("directions", "needs") if (given := getattr(self, name))
        }


DEFAULT_CAUSES = (
    Cause("Too strict", ("raised",)),
    Cause("Too lenient", ("lowered",)),
    Cause("Misread the answer"),
    Cause("Calculation error"),
    Cause("Missed a step"),
    Cause("Hallucinated fact"),
    Cause("Right score, wrong reasoning", ("same",)),
    Cause("Wrong reference", needs=("reference",)),
    Cause("Verifier error", needs=("verifier",)),
    Cause("Unclear rubric"),
    Cause("Other"),
)


_VERDICTS: dict[str | None, Verdict] = {verdict: verdict for verdict in VERDICT_OF_LEVEL.values()}


@dataclass(frozen=True)
class Rubric:
    """How the records of a run are scored."""

    criteria: tuple[Criterion, ...] = ()
    #: The scale of criteria without their own, and of criteria that the rubric does not list.
    scale: Scale = YES_PARTIAL_NO
    rule: VerdictRule = _WORST
    causes: tuple[Cause, ...] = DEFAULT_CAUSES

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(criterion.name for criterion in self.criteria)

    @cached_property
    def _by_name(self) -> dict[str, Criterion]:
        return {criterion.name: criterion for criterion in self.criteria}

    def criterion(self, name: str) -> Criterion:
        """Return the criterion of that name, with defaults if the rubric does not list it."""
        return self._by_name.get(name) or Criterion(name)

    def title(self, name: str) -> str:
        return self._titles.get(name) or criterion_title(name)

    @cached_property
    def _titles(self) -> dict[str, str]:
        return {one.name: one.title or criterion_title(one.name) for one in self.criteria}

    def scale_of(self, name: str) -> Scale:
        listed = self._by_name.get(name)
        return (listed and listed.scale) or self.scale

    def cause(self, word: str) -> Cause | None:
        return next((cause for cause in self.causes if cause.word == word), None)

    def level(self, name: str, score: Any) -> Level | None:
        """Return the level of a criterion's score, or None if it has none."""
        known = self._known_levels
        try:
            return known[name, score]
        except (KeyError, TypeError):  # a score may be any JSON value
            level = self._level(name, score)
        if isinstance(score, str) and len(name) + len(score) <= _LONGEST_KNOWN and len(known) < _MOST_KNOWN:
            known[name, score] = level
        return level

    @cached_property
    def _known_levels(self) -> dict[tuple[str, str], Level | None]:
        """The levels of some scores: imports ask for the same ones with each record."""
        return {}

    def _level(self, name: str, score: Any) -> Level | None:
        scale = self.scale_of(name)
        if scale.has_levels or not self.rule.is_mean:
            return scale.level(score)
        amount = scale.amount(score)
        return None if amount is None else self.rule.level(amount)

    @property
    def scales(self) -> tuple[Scale, ...]:
        """All scales: the default one, and those that criteria have."""
        return (self.scale, *(criterion.scale for criterion in self.criteria if criterion.scale))

    @property
    def has_verdict(self) -> bool:
        """Whether scores can make a verdict: by levels, or by a mean."""
        by_levels = self.rule.kind == "worst" and any(scale.has_levels for scale in self.scales)
        return self.rule.is_mean or by_levels

    def aggregate(self, scores: Mapping[str, Any]) -> Verdict | None:
        """Return the verdict of scores, criterion -> score.

        None without a score that counts, or if one of them is not on its scale. Preferences between two
        responses and values without a rank do not count.
        """
        counted = {name: score for name, score in scores.items() if not self.scale_of(name).is_skipped(score)}
        if not counted or self.rule.kind == "none":
            return None
        level = self._mean_level(counted) if self.rule.is_mean else self._worst_level(counted)
        return None if level is None else VERDICT_OF_LEVEL[level]

    def verdict(self, entries: Mapping[str, Any] | None) -> Verdict | None:
        """Return the verdict of entries in the shape of `parsed_rubric_scores`: criterion -> {score, ...}."""
        if not entries:
            return None
        return self.aggregate({name: score_of(entry) for name, entry in entries.items()})

    def judge_verdict(self, aggregated_score: str | None, scores: Mapping[str, Any]) -> Verdict | None:
        """Return the judge's verdict: that of the record, or else that of the judge's scores."""
        return _VERDICTS.get(aggregated_score) or self.aggregate(scores)

    def judges_like(self, other: "Rubric") -> bool:
        """Return whether both rubrics give all records the same levels and verdicts."""
        names = {*self.names, *other.names, ""}
        return self.rule == other.rule and all(self.scoring(name) == other.scoring(name) for name in names)

    def scoring(self, name: str) -> tuple[Any, ...]:
        """Return what gives a criterion's scores their levels: its title, its weight, a scale that counts."""
        scale = self.scale_of(name)
        counts = scale.has_levels or self.rule.is_mean
        return self.title(name), self.criterion(name).weight, scale if counts else None

    def _worst_level(self, scores: Mapping[str, Any]) -> Level | None:
        levels = {self.level(name, score) for name, score in scores.items()}
        if None in levels:
            return None
        return next(level for level in ("no", "partial", "yes") if level in levels)

    def _mean_level(self, scores: Mapping[str, Any]) -> Level | None:
        total = weights = 0.0
        for name, score in scores.items():
            amount = self.scale_of(name).amount(score)
            if amount is None:
                return None
            weight = self.weight(name)
            total, weights = total + weight * amount, weights + weight
        # Rounded, as the mean of three scores of 0.7 is a little less than 0.7.
        return self.rule.level(round(total / weights, MEAN_DIGITS)) if weights else None

    def weight(self, name: str) -> float:
        """Return the weight of a criterion in the mean."""
        return self.criterion(name).weight if self.rule.kind == "weighted" else 1

    def as_json(self) -> dict[str, Any]:
        """Return the rubric as `rubric_file.rubric_from_json` reads it."""
        return {
            "verdict": self.rule.as_json(),
            "scale": self.scale.as_json(),
            "criteria": [criterion.as_json() for criterion in self.criteria],
            "causes": [cause.as_json() for cause in self.causes],
        }

    @property
    def fingerprint(self) -> str:
        """A hash that differs for different rubrics."""
        return sha256(json.dumps(self.as_json()).encode()).hexdigest()
