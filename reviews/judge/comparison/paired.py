"""Compare the accuracy of two judges on the same responses: run with run, and judge or prompt within a run.

The figures are about all responses that both judged. Blind ratings of either judge's records represent them:
see `statistics.paired`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from cognireview.types import judge
from cognireview.types.estimates import Change
from cognireview.types.judge import AccuracyChange, ComparedPart
from reviews.database.replica import read_from_replica
from reviews.judge.cells import FEWEST
from reviews.judge.comparison import matches
from reviews.judge.comparison.criteria import compare_criteria
from reviews.judge.comparison.judged_records import VERDICTS, JudgedRecords, add_rated, select_records
from reviews.judge.comparison.judges import JudgeAndPrompt, RunJudges, changes_between, load_scope_judges
from reviews.judge.comparison.matches import Matches, RatedRecords
from reviews.judge.figure_cache import cache_comparison
from reviews.judge.scope import JudgeScope
from reviews.models import Run
from reviews.records.wording import counted
from reviews.search import indexing
from reviews.statistics import paired
from reviews.statistics.intervals import side_of, undefined
from reviews.statistics.paired import PairedRatings
from reviews.statistics.strata import IntArray
from reviews.statistics.sums import BoolArray

Side = Literal["both", "first", "second", "neither"]
#: Which of the two verdicts are right.
SIDES: tuple[Side, ...] = ("both", "first", "second", "neither")
DEFINITION = (
    "The accuracy of the second judge minus that of the first, on all responses that both judged. Blind "
    "ratings of the records of either judge represent the responses with the same verdicts and flags "
    "(stratified prediction-powered inference: Fisch et al. 2024). The interval counts tasks."
)
_OUTCOMES: dict[int, AccuracyChange] = {1: "better", -1: "worse", 0: "not shown"}
# Judges, or prompts, that are compared apart.
_MOST_PARTS = 10
_NOT_INDEXED = "The records of a run are still being indexed. Try again in a few minutes."
_NO_MATCHES = "The two have no response in common."
_NO_VERDICTS = "No response in common has a verdict of both."
_NO_RATINGS = "No response that both judged has a blind rating."
_SAMPLED = (
    "Compared: {:,} common responses, up to {:,} rated ones and a random sample of the others. The command "
    "judge_report compares all."
)


class Judged(NamedTuple):
    """A record with the verdict of its judge."""

    record: int
    verdict: str


class Pair(NamedTuple):
    """The verdicts of both judges on a response, and a blind rating of it."""

    first: Judged
    second: Judged
    human: str


@dataclass(frozen=True)
class PairedComparison(judge.Comparison):
    """The difference of two judges' accuracies on the same responses, with the pairs behind the counts."""

    #: For `list_pairs`.
    listed: "_Listed | None"

    @property
    def n(self) -> int:
        """The number of pairs."""
        return sum(self.counts.values())

    def list_pairs(self, side: Side) -> list[Pair]:
        """List the pairs behind a count. Pairs with a record that can still be scored blind are left out."""
        return self.listed.pairs_of(side) if self.listed else []

    def lists(self, side: Side) -> bool:
        """Return whether `list_pairs` has any."""
        return self.listed is not None and bool(self.listed.chosen(side).any())


@dataclass(frozen=True, eq=False)
class _Listed:
    """The pairs of a comparison, as columns."""

    #: The place in `SIDES` of each pair.
    side: IntArray
    #: Whether each pair may be listed.
    shown: BoolArray
    #: For each judge, the keys of the records and the places of their verdicts in `VERDICTS`.
    judged: tuple[tuple[IntArray, IntArray], ...]
    #: The place in `VERDICTS` of each rating.
    human: IntArray

    def chosen(self, side: Side) -> BoolArray:
        chosen: BoolArray = self.shown & (self.side == SIDES.index(side))
        return chosen

    def pairs_of(self, side: Side) -> list[Pair]:
        chosen = self.chosen(side)
        columns = [*self.judged[0], *self.judged[1], self.human]
        return [
            Pair(Judged(one, VERDICTS[first]), Judged(other, VERDICTS[second]), VERDICTS[human])
            for one, first, other, second, human in zip(
                *(column[chosen].tolist() for column in columns), strict=True
            )
        ]


class Limits(NamedTuple):
    """How much a comparison reads. A page may not take long."""

    #: With more ratings, criteria are left out: their scores take time to read.
    scores: int | None = None
    #: Of more records with a common response, about this many rated ones and as many others are compared.
    records: int | None = None
    parts: bool = True


NO_LIMITS = Limits()


class _Judges(NamedTuple):
    """The two sides of a comparison."""

    names: tuple[str, str]
    scopes: tuple[JudgeScope, JudgeScope]
    changes: tuple[Change, ...]
    limits: Limits
    #: Whether a sample is compared.
    is_sample: bool


@read_from_replica
def compare_runs(first: Run, scope: JudgeScope, limits: Limits = NO_LIMITS) -> PairedComparison:
    """Compare the judge of a scope with that of an earlier run. The filters apply to both runs."""
    [found] = _compare_runs((replace(scope, run=first), scope), limits).found
    return found


class _Compared(NamedTuple):
    """Comparisons that stay in memory."""

    found: tuple[PairedComparison, ...]

    @property
    def held(self) -> int:
        """The number of pairs in memory."""
        return sum(one.n for one in self.found)


@cache_comparison
def _compare_runs(scopes: tuple[JudgeScope, ...], limits: Limits) -> _Compared:
    first, second = scopes
    runs = first.run.name, second.run.name
    if not all(indexing.is_indexed(one.run) for one in scopes):
        return _Compared((_unknown(runs, _NOT_INDEXED),))
    before, after = (load_scope_judges(one) for one in scopes)
    names = before.pairs, after.pairs
    # The records of a single judge need no distinction.
    several = tuple(one if len(one) > 1 else () for one in names)
    selected = select_records(scopes, several, limits.records)
    ratings = matches.load_ratings(scopes)
    one, other = add_rated(selected, scopes, several, ratings.record, limits.records)
    is_sample = selected.last is not None
    judges = _Judges(runs, (first, second), tuple(changes_between(before, after)), limits, is_sample)
    compared = replace(
        _compare(judges, matches.match(one, other, ratings), one.without_verdict + other.without_verdict),
        parts=[*_compare_parts(judges, names, (one, other), ratings)] if limits.parts else [],
    )
    return _Compared((compared,))


def _compare_parts(
    judges: "_Judges",
    names: tuple[tuple[JudgeAndPrompt, ...], tuple[JudgeAndPrompt, ...]],
    sides: tuple[JudgedRecords, JudgedRecords],
    ratings: RatedRecords,
) -> Iterator[ComparedPart]:
    """Compare the records of each judge, and of each prompt, that both runs have, if these are several."""
    without_scores = judges._replace(changes=(), limits=judges.limits._replace(scores=0))
    for kind, place in (("Judge", 0), ("Prompt", 1)):
        shared = sorted({one[place] for one in names[0]} & {one[place] for one in names[1]})
        for name in shared[:_MOST_PARTS] if len(shared) > 1 else ():
            first, second = (
                side.only(np.isin(side.judge, [at for at, one in enumerate(known) if one[place] == name]))
                for side, known in zip(sides, names, strict=True)
            )
            found = matches.match(first, second, ratings)
            if len(found.sides[0]):
                compared = _compare(without_scores, found, 0)
                yield ComparedPart(
                    kind,
                    name,
                    compared.n,
                    compared.outcome,
                    compared.first_accuracy,
                    compared.second_accuracy,
                    compared.difference,
                    compared.responses,
                )


@read_from_replica
def compare_judges(scope: JudgeScope, limits: Limits = NO_LIMITS) -> tuple[PairedComparison, ...]:
    """Compare judges and prompts that judged the same responses within a scope, in alphabetical order."""
    return _compare_judges((scope,), limits).found


@cache_comparison
def _compare_judges(scopes: tuple[JudgeScope, ...], limits: Limits) -> _Compared:
    [scope] = scopes
    names, rubric = load_scope_judges(scope)
    if len(names) < 2 or not indexing.is_indexed(scope.run):
        return _Compared(())
    selected, ratings = select_records((scope,), (names,), limits.records), matches.load_ratings([scope])
    [records] = add_rated(selected, (scope,), (names,), ratings.record, limits.records)
    # Titles name the part in which the pairs differ: the judge, the prompt or both.
    varied = [place for place in range(2) if len({name[place] for name in names}) > 1]
    titles = [", ".join(name[place] for place in varied) for name in names]
    found = []
    for first, second in combinations(range(len(names)), 2):
        matched = matches.match(
            records.only(records.judge == first), records.only(records.judge == second), ratings
        )
        if len(matched.sides[0]):
            changes = tuple(changes_between(*(RunJudges((names[at],), rubric) for at in (first, second))))
            sides = (titles[first], titles[second])
            judges = _Judges(sides, (scope, scope), changes, limits, selected.last is not None)
            found.append(_compare(judges, matched, 0))
    return _Compared(tuple(found))


def _compare(judges: _Judges, found: Matches, without_verdict: int) -> PairedComparison:
    if not len(found.sides[0]):
        return _unknown(judges.names, _NO_VERDICTS if without_verdict else _NO_MATCHES)
    decided = found.ratings.human >= 0
    undecided = int((~decided).sum())
    everything = found.rated_by(found.ratings.only(decided))
    hidden = _hidden_responses(judges.scopes, everything)
    found, omitted = _without_few(everything, hidden)
    listed = _listed(found, hidden[~omitted])
    compared = paired.compare_verdicts(found.responses, _ratings(found))
    unknown = compared.difference.difference.value is None
    left_out = len(everything.pairs.rating) - len(listed.side)
    notes = [*_notes(found, compared, listed, (without_verdict, undecided, left_out))]
    if judges.is_sample:
        notes.insert(0, _SAMPLED.format(len(found.responses), judges.limits.records))
    most_scores = judges.limits.scores
    reads_scores = not unknown and (most_scores is None or len(found.ratings) <= most_scores)
    if not (reads_scores or unknown):
        notes.append(f"Criteria are compared on this page for up to {most_scores:,} ratings.")
    blank = _unknown(judges.names, _NO_RATINGS)
    return replace(
        blank,
        outcome=_OUTCOMES[side_of(compared.difference.difference)],
        changes=[*judges.changes],
        first_accuracy=blank.first_accuracy if unknown else compared.first,
        second_accuracy=blank.second_accuracy if unknown else compared.second,
        difference=blank.difference if unknown else compared.difference.difference,
        p=compared.difference.p,
        responses=compared.responses,
        different=compared.different,
        counts={side: int((listed.side == place).sum()) for place, side in enumerate(SIDES)},
        hidden=int((~listed.shown).sum()),
        criteria=compare_criteria(judges.scopes, found, hidden[~omitted]) if reads_scores else [],
        notes=notes,
        listed=listed,
    )


def _unknown(names: tuple[str, str], why: str) -> PairedComparison:
    none = undefined(why)
    return PairedComparison(
        *names,
        outcome="not shown",
        changes=[],
        first_accuracy=none,
        second_accuracy=none,
        difference=none,
        p=1.0,
        counts=dict.fromkeys(SIDES, 0),
        hidden=0,
        responses=0,
        different=0,
        criteria=[],
        parts=[],
        notes=[],
        listed=None,
    )


def _ratings(found: Matches) -> PairedRatings:
    """Return the ratings with the share of each judge's records whose verdict is right."""
    human, responses = found.ratings.human, found.responses
    right = [
        counts[found.response, human] / counts[found.response].sum(axis=1)
        for counts in (responses.first, responses.second)
    ]
    return PairedRatings(
        found.response, found.frame, found.ratings.weight, found.ratings.raters, np.column_stack(right)
    )


def _listed(found: Matches, hidden: BoolArray) -> _Listed:
    pairs = found.pairs
    human = found.ratings.human[pairs.rating]
    judged = tuple(
        (records.record[places], records.verdict[places])
        for records, places in zip(found.sides, (pairs.first, pairs.second), strict=True)
    )
    first, second = (verdict == human for _, verdict in judged)
    side = np.where(first, np.where(second, 0, 1), np.where(second, 2, 3))
    return _Listed(side, ~hidden[found.response[pairs.rating]], judged, human)


def _hidden_responses(scopes: tuple[JudgeScope, JudgeScope], found: Matches) -> BoolArray:
    """Return which responses have a record that somebody may still score blind: see `hidden_keys`."""
    hidden = np.zeros(len(found.responses), dtype=np.bool_)
    is_rated = np.zeros(len(hidden), dtype=np.bool_)
    is_rated[found.response] = True
    for scope, records, places in zip(scopes, found.sides, found.places, strict=True):
        keys = matches.hidden_keys(scope, records.record, is_rated[places])
        hidden[places[np.isin(records.record, keys)]] = True
    return hidden


def _without_few(found: Matches, hidden: BoolArray) -> tuple[Matches, BoolArray]:
    """Leave out hidden responses if they are so few that a figure could reveal a judge's verdict on one.

    The reader may know for each rating whether a verdict is right. Returns the responses left out, too.
    """
    omitted = np.zeros(len(hidden), dtype=np.bool_)
    if not hidden.any():
        return found, omitted
    listed = _listed(found, hidden)
    of_hidden = listed.side[~listed.shown]
    is_rated = np.zeros(len(hidden), dtype=np.bool_)
    is_rated[found.response] = True
    first, second = of_hidden <= 1, of_hidden % 2 == 0
    numbers = [int(one.sum()) for one in (first, ~first, second, ~second)]
    if any(0 < number < FEWEST for number in numbers):
        omitted |= hidden & is_rated
    waiting = hidden & ~is_rated
    if 0 < waiting.sum() < FEWEST:
        omitted |= waiting
    return (found.without(omitted) if omitted.any() else found), omitted


def _notes(
    found: Matches, compared: paired.PairedEstimate, listed: _Listed, left_out: tuple[int, int, int]
) -> Iterator[str]:
    without_verdict, undecided, omitted = left_out
    if without_verdict:
        yield f"Not compared: {counted(without_verdict, 'record')} without a verdict by the judge."
    if undecided:
        yield f"Not compared: {counted(undecided, 'rating')} without a verdict by the reviewer."
    if omitted:
        yield (
            f"Not compared: {counted(omitted, 'pair')} with a record that can still be scored blind. A count "
            f"could reveal the judge's verdict on it."
        )
    if hidden := int((~listed.shown).sum()):
        yield f"Not listed: {counted(hidden, 'pair')} with a record that can still be scored blind."
    yield from _about_parts(found, compared)
    if compared.unknown:
        yield (
            f"No rating represents {counted(compared.unknown, 'response')} with different verdicts. The "
            f"interval allows for any rating of them."
        )


def _about_parts(found: Matches, compared: paired.PairedEstimate) -> Iterable[str]:
    """Say which responses the figures describe, if not all."""
    left = len(found.responses) - compared.responses
    if not (left and compared.responses):
        return
    if found.responses.is_flagged[found.response].all():
        yield (
            f"The figures do not describe {counted(left, 'unflagged response')}, because none of them has a "
            f"rating. A judge looks worse on records that were flagged because of its own scores, so the "
            f"difference may favour the other judge. Score a random sample blind, too."
        )
    else:
        yield f"The figures do not describe {counted(left, 'flagged response')}: none of them has a rating."
