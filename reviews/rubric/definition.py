"""The rubric of a run: its criteria, scores, verdict rule and causes of judge errors.

Missing parts have defaults. A change of the rubric changes pages at once, but no record.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from string import ascii_lowercase
from typing import Any, NamedTuple, TypeVar

from django.db import transaction

from reviews.accounts.permissions import check
from reviews.audit import events
from reviews.models import Run, User
from reviews.records.conflicts import SettingsChanged
from reviews.records.scores import (
    AS_IN_FILE,
    AS_JUDGED,
    Score,
    criterion_title,
    encode_score,
    format_score,
    identity,
    is_score,
)
from reviews.records.verdict import InvalidRule, Level, VerdictRule
from reviews.rubric.run_settings import InvalidSettings

SCORES: tuple[Score, ...] = ("Yes", "Partial", "No")
CAUSES = (
    "too strict",
    "too lenient",
    "misread answer",
    "arithmetic",
    "missed a step",
    "invented fact",
    "right score wrong reason",
    "reference wrong",
    "verifier wrong",
    "rubric unclear",
    "other",
)
MAX_CRITERIA, MAX_NAME = 100, 200
MAX_SCORES, MAX_SCORE = 15, 40
MAX_CAUSES, MAX_CAUSE = 20, 60

_Value = TypeVar("_Value", bound=Score)  # a criterion's name, or a score

# Keys of the review screen that are commands, so that no score takes them.
COMMAND_LETTERS = frozenset("acdefgjkmrsuvx")
# For scores without a letter of their own, as numbers are: from the left of the upper row.
_SPARE_LETTERS = "qwtyiopzhlbn"


class Cause(NamedTuple):
    """Why a judge may be wrong: the word is kept with the review. The first ten have a digit for a key."""

    word: str
    title: str
    key: str


def causes_named(titles: Iterable[str]) -> tuple[Cause, ...]:
    """Causes from what people call them."""
    digits = "1234567890"
    return tuple(
        Cause(title.casefold(), criterion_title(title), digits[place : place + 1])
        for place, title in enumerate(titles)
    )


class Choice(NamedTuple):
    """A score to choose: what a form posts for it, how it reads, its key (a letter, or empty).

    `level` is what the score counts as, empty for nothing; `number` is set for numbers.
    """

    score: Score
    value: str
    label: str
    key: str
    level: Level | None
    number: float | None


_USUAL_RULE = VerdictRule()
_USUAL_CAUSES = causes_named(CAUSES)


@dataclass(frozen=True, slots=True)
class Rubric:
    """`scores` are JSON values, best first. The criteria and scores left out are those a lead took away."""

    criteria: tuple[str, ...] = ()
    scores: tuple[Score, ...] = SCORES
    rule: VerdictRule = _USUAL_RULE
    causes: tuple[Cause, ...] = _USUAL_CAUSES
    criteria_left_out: tuple[str, ...] = ()
    scores_left_out: tuple[Score, ...] = ()

    def cause(self, word: str) -> Cause | None:
        return next((cause for cause in self.causes if cause.word == word), None)

    def choices(self, judged: Any = None, in_file: Any = None) -> tuple[Choice, ...]:
        """The scores to choose from.

        The judge's own score and that of a decision in the file come last if the run does not have them:
        `AS_JUDGED` and `AS_IN_FILE`.
        """
        pairs = [(score, encode_score(score)) for score in self.scores]
        for given, value in ((judged, AS_JUDGED), (in_file, AS_IN_FILE)):
            if is_score(given) and identity(given) not in [identity(score) for score, _ in pairs]:
                pairs.append((given, value))
        keys = _keys(format_score(score) for score, _ in pairs)
        return tuple(
            Choice(score, value, format_score(score), key, self.rule.level(score), _number(score))
            for (score, value), key in zip(pairs, keys, strict=True)
        )

    def as_json(self) -> dict[str, Any]:
        """The rubric by the run's columns."""
        names = ("criteria", "scores", "criteria_left_out", "scores_left_out")
        return {
            "rubric": {name: list(getattr(self, name)) for name in names},
            "verdict_rule": self.rule.as_json(),
            "causes": [[cause.word, cause.title] for cause in self.causes],
        }

    @property
    def fingerprint(self) -> str:
        """Tells two rubrics apart."""
        return sha256(json.dumps(self.as_json()).encode()).hexdigest()


def run_rubric(run: Run) -> Rubric:
    """What the run holds, and the usual where it holds nothing."""
    kept = run.rubric
    return Rubric(
        criteria=tuple(kept.get("criteria", ())),
        scores=tuple(kept.get("scores") or SCORES),
        rule=VerdictRule.from_json(run.verdict_rule),
        causes=causes_named(title for _, title in run.causes) if run.causes else _USUAL_CAUSES,
        criteria_left_out=tuple(kept.get("criteria_left_out", ())),
        scores_left_out=tuple(kept.get("scores_left_out", ())),
    )


def _number(score: Score) -> float | None:
    return None if isinstance(score, str | bool) else score


def _keys(words: Iterable[str]) -> list[str]:
    """A letter for each: its first one that is free, or a spare one; empty when there are no more."""
    taken = set(COMMAND_LETTERS)
    keys = []
    for word in words:
        own = (letter for letter in word.lower() if letter in ascii_lowercase)
        wanted = [*own, *_SPARE_LETTERS] if any(map(str.isalpha, word)) else _SPARE_LETTERS
        key = next((letter for letter in wanted if letter not in taken), "")
        taken.add(key)
        keys.append(key)
    return keys


# Changing it


@transaction.atomic
def configure_rubric(*, run_id: int, actor: User, rubric: Rubric, seen: str) -> Run:
    """Give a run another rubric. `seen` is the fingerprint of the one that the actor changed.

    Criteria and scores that it lacks are left out for good: `inference` does not add them again. Raises
    `InvalidSettings`, and `SettingsChanged` if somebody else saved another one first.
    """
    check(actor, "configure_run")
    _check(rubric)
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    before = run_rubric(run)
    if before.fingerprint != seen:
        raise SettingsChanged
    after = replace(
        rubric,
        criteria_left_out=_left_out((*before.criteria, *before.criteria_left_out), rubric.criteria),
        scores_left_out=_left_out((*before.scores, *before.scores_left_out), rubric.scores),
    )
    for name, value in after.as_json().items():
        setattr(run, name, value)
    run.save(update_fields=["rubric", "verdict_rule", "causes"])
    events.record("configure run", actor=actor, run=run, before=before.as_json(), after=after.as_json())
    return run


def _left_out(before: Iterable[_Value], now: Iterable[_Value]) -> tuple[_Value, ...]:
    still = {identity(value) for value in now}
    return tuple({identity(value): value for value in before if identity(value) not in still}.values())


@transaction.atomic
def extend_rubric(*, run_id: int, criteria: Sequence[str], scores: Sequence[Score]) -> None:
    """Add what was found in the records of a run to its rubric, behind what is there, unless it was left out.

    A run that holds no scores yet takes these ones as they are.
    """
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    before = run_rubric(run)
    known = before.scores if run.rubric.get("scores") else ()
    joined = _in_order(known, _joined(known, scores, before.scores_left_out))
    after = replace(
        before,
        criteria=_joined(before.criteria, criteria, before.criteria_left_out)[:MAX_CRITERIA],
        scores=joined[:MAX_SCORES] if len(joined) > 1 else before.scores,
    )
    if after != before:
        run.rubric = after.as_json()["rubric"]
        if len(joined) < 2:
            del run.rubric["scores"]  # a scale is yet to be met
        run.save(update_fields=["rubric"])
        events.record("extend rubric", actor=None, run=run, before=before.as_json(), after=after.as_json())


def _in_order(known: tuple[Score, ...], joined: tuple[Score, ...]) -> tuple[Score, ...]:
    """Numbers find their place among others, if those go from the highest down."""
    if any(isinstance(score, str) for score in joined) or list(known) != sorted(known, reverse=True):
        return joined
    return tuple(sorted(joined, reverse=True))


def _joined(
    known: Iterable[_Value], found: Iterable[_Value], left_out: Iterable[_Value]
) -> tuple[_Value, ...]:
    skipped = {identity(value) for value in left_out}
    joined = {identity(value): value for value in known}
    for value in found:
        if identity(value) not in skipped:
            joined.setdefault(identity(value), value)
    return tuple(joined.values())


# What a rubric may be


def _check(rubric: Rubric) -> None:
    """Raise `InvalidSettings` with everything that is wrong."""
    problems = {
        "criteria": _problems_of_names("criterion", "criteria", rubric.criteria, MAX_CRITERIA, MAX_NAME),
        "scores": _problems_of_scores(rubric),
        "rule": _problems_of_rule(rubric.rule),
        "causes": _problems_of_names(
            "cause", "causes", [cause.word for cause in rubric.causes], MAX_CAUSES, MAX_CAUSE
        ),
    }
    if any(problems.values()):
        raise InvalidSettings({name: sentences for name, sentences in problems.items() if sentences})


def _problems_of_names(one: str, many: str, names: Sequence[str], most: int, longest: int) -> list[str]:
    problems = []
    if len(names) > most:
        problems.append(f"A run has at most {most} {many}, not {len(names):,}.")
    if any(len(name) > longest or not name.isprintable() or not name.strip() for name in names[:most]):
        problems.append(f"Each {one} has 1 to {longest} characters, all of them printable.")
    problems += [f"“{format_score(name)}” stands there twice." for name in _repeated(names)]
    return problems


def _problems_of_scores(rubric: Rubric) -> list[str]:
    scores, problems = rubric.scores, []
    if not 2 <= len(scores) <= MAX_SCORES:
        problems.append(f"A run has 2 to {MAX_SCORES} scores, not {len(scores):,}.")
    texts = [score for score in scores if isinstance(score, str)]
    if any(len(text) > MAX_SCORE or not text.isprintable() for text in texts) or not all(
        map(is_score, scores)
    ):
        problems.append(
            f"A score is a number, true, false, or a text of 1 to {MAX_SCORE} printable characters."
        )
    problems += [f"“{format_score(score)}” stands there twice." for score in _repeated(scores)]
    if rubric.rule.kind == "mean" and not any(map(rubric.rule.level, scores)):
        problems.append("A mean needs numbers among the scores.")
    return problems


def _problems_of_rule(rule: VerdictRule) -> list[str]:
    try:
        rule.check()
    except InvalidRule as wrong:
        return [*wrong.problems]
    return []


def _repeated(values: Iterable[Score]) -> list[Score]:
    """The values that occur more than once, each once."""
    counts = Counter(identity(value) for value in values)
    return [value for (_, value), count in counts.items() if count > 1]
