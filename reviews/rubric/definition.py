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

# Shortcut keys of commands on the review screen. Scores do not use them.
COMMAND_LETTERS = frozenset("acdefgjkmrsuvx")
# Shortcut keys for scores without a free letter, such as numbers.
_SPARE_LETTERS = "qwtyiopzhlbn"


class Cause(NamedTuple):
    """A cause of judge errors."""

    #: The stored word.
    word: str
    title: str
    #: The shortcut key, a digit; empty after the first ten causes.
    key: str


def causes_named(titles: Iterable[str]) -> tuple[Cause, ...]:
    """Return the causes with these titles."""
    digits = "1234567890"
    return tuple(
        Cause(title.casefold(), criterion_title(title), digits[place : place + 1])
        for place, title in enumerate(titles)
    )


class Choice(NamedTuple):
    """A score to choose."""

    score: Score
    #: The form value.
    value: str
    label: str
    #: The shortcut key, a letter; empty if none is left.
    key: str
    #: The level of the score by the verdict rule.
    level: Level | None
    #: The score as a number; None if it is not a number.
    number: float | None


_DEFAULT_RULE = VerdictRule()
_DEFAULT_CAUSES = causes_named(CAUSES)


@dataclass(frozen=True, slots=True)
class Rubric:
    """The rubric of a run."""

    criteria: tuple[str, ...] = ()
    #: JSON values, best first.
    scores: tuple[Score, ...] = SCORES
    rule: VerdictRule = _DEFAULT_RULE
    causes: tuple[Cause, ...] = _DEFAULT_CAUSES
    #: Criteria that a lead has removed. Imports do not add them again.
    criteria_left_out: tuple[str, ...] = ()
    #: Scores that a lead has removed.
    scores_left_out: tuple[Score, ...] = ()

    def cause(self, word: str) -> Cause | None:
        return next((cause for cause in self.causes if cause.word == word), None)

    def choices(self, judged: Any = None, in_file: Any = None) -> tuple[Choice, ...]:
        """Return the scores to choose from.

        The judge's score (`AS_JUDGED`) and that of a decision in the file (`AS_IN_FILE`) come last if the
        rubric lacks them.
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
        """Return the values of the run's columns."""
        names = ("criteria", "scores", "criteria_left_out", "scores_left_out")
        return {
            "rubric": {name: list(getattr(self, name)) for name in names},
            "verdict_rule": self.rule.as_json(),
            "causes": [[cause.word, cause.title] for cause in self.causes],
        }

    @property
    def fingerprint(self) -> str:
        """A hash that differs for different rubrics."""
        return sha256(json.dumps(self.as_json()).encode()).hexdigest()


def run_rubric(run: Run) -> Rubric:
    """Return the rubric of a run, with defaults for missing parts."""
    kept = run.rubric
    return Rubric(
        criteria=tuple(kept.get("criteria", ())),
        scores=tuple(kept.get("scores") or SCORES),
        rule=VerdictRule.from_json(run.verdict_rule),
        causes=causes_named(title for _, title in run.causes) if run.causes else _DEFAULT_CAUSES,
        criteria_left_out=tuple(kept.get("criteria_left_out", ())),
        scores_left_out=tuple(kept.get("scores_left_out", ())),
    )


def _number(score: Score) -> float | None:
    return None if isinstance(score, str | bool) else score


def _keys(words: Iterable[str]) -> list[str]:
    """Assign a letter to each word: its first free letter, else a spare one; empty if none is left."""
    taken = set(COMMAND_LETTERS)
    keys = []
    for word in words:
        own = (letter for letter in word.lower() if letter in ascii_lowercase)
        wanted = [*own, *_SPARE_LETTERS] if any(map(str.isalpha, word)) else _SPARE_LETTERS
        key = next((letter for letter in wanted if letter not in taken), "")
        taken.add(key)
        keys.append(key)
    return keys


@transaction.atomic
def configure_rubric(*, run_id: int, actor: User, rubric: Rubric, seen: str) -> Run:
    """Change the rubric of a run. `seen` is the fingerprint of the rubric that the actor saw.

    Removed criteria and scores are not added again by imports. Raises `InvalidSettings`, and
    `SettingsChanged` if somebody else has changed the rubric meanwhile.
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
    """Append criteria and scores to the rubric of a run, except those that a lead has removed.

    The scores replace the default scores if the run has none of its own.
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
            del run.rubric["scores"]  # one score is no scale yet
        run.save(update_fields=["rubric"])
        events.record("extend rubric", actor=None, run=run, before=before.as_json(), after=after.as_json())


def _in_order(known: tuple[Score, ...], joined: tuple[Score, ...]) -> tuple[Score, ...]:
    """Sort numbers from the highest down, if the known scores have this order."""
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


def _check(rubric: Rubric) -> None:
    """Raise `InvalidSettings` with the problems of each setting."""
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
    problems += [f"“{format_score(name)}” is listed twice." for name in _repeated(names)]
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
    problems += [f"“{format_score(score)}” is listed twice." for score in _repeated(scores)]
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
    """Return the values that occur more than once."""
    counts = Counter(identity(value) for value in values)
    return [value for (_, value), count in counts.items() if count > 1]
