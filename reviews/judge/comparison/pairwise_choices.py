"""Load the choices of a judge that compares two responses, with the position of the chosen one.

A record can have the judge's choices in both orders: a criterion whose name begins with that of another and
contains “swapped” or “reversed” is the same choice with the responses in the other order. Otherwise, two
records with the same responses in opposite order are compared: see `pair_key` in SQL.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from reviews.judge.cells import FEWEST
from reviews.judge.comparison.judges import JudgeAndPrompt, load_run_judges
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, EvaluationFacets, Run, RunFacet
from reviews.records.rubric import Rubric
from reviews.records.scales import PairwiseScale
from reviews.records.scores import format_score, is_alike, is_score
from reviews.search.facets import facet_key
from reviews.search.hidden_records import hidden_from

#: Where the chosen response was shown. Neither for ties.
Position = Literal["first", "second", "neither"]
#: Of more records than this, a random sample by pair of responses is read.
MOST_RECORDS = 10_000
_SWAPPED = re.compile(r"swapp|revers", re.IGNORECASE)
_OTHER: dict[Position, Position] = {"first": "second", "second": "first", "neither": "neither"}


class Choice(NamedTuple):
    """The judge's choice between two responses."""

    #: Equal for choices between the same responses.
    pair: tuple[str, int]
    #: Which of the two orders.
    is_swapped: bool
    position: Position
    cluster: int
    record: int

    @property
    def content(self) -> Position:
        """Which response was chosen, by its position in one of the orders."""
        return _OTHER[self.position] if self.is_swapped else self.position


class BothOrders(NamedTuple):
    """Two choices between the same responses, in both orders."""

    one: Choice
    other: Choice
    weight: float

    @property
    def is_changed(self) -> bool:
        """Whether the outcome differs between the orders."""
        return self.one.content != self.other.content

    def is_twice(self, position: Position) -> bool:
        """Return whether the response at the position was chosen in both orders."""
        return self.one.position == self.other.position == position


def pairwise_criteria(run: Run, rubric: Rubric) -> list[str]:
    """Return the criteria that compare two responses, without those of the other order."""
    names = _pairwise_names(run, rubric)
    swapped = _swapped_criteria(names)
    return [name for name in names if name not in swapped]


def _pairwise_names(run: Run, rubric: Rubric) -> list[str]:
    """Return the criteria that compare two responses: those of the rubric, then those that it omits."""
    names = [name for name in rubric.names if isinstance(rubric.scale_of(name), PairwiseScale)]
    if isinstance(rubric.scale, PairwiseScale):
        endings = [f"={format_score(score)}".lower() for score in rubric.scale.buttons]
        omitted = {
            value[: -len(ending)]
            for value in _scores(run)
            for ending in endings
            if value.lower().endswith(ending)
        }
        names += sorted(omitted.difference(rubric.names))
    return names


def _scores(run: Run) -> Iterable[str]:
    """Return the scores of a run with their criteria, as in `Clarity=Yes`."""
    return RunFacet.objects.filter(run=run, name="score").values_list("value", flat=True)


def _swapped_criteria(names: Sequence[str]) -> dict[str, str]:
    """Return the criteria that are another one in the other order, with that criterion."""
    return {
        name: other
        for name in names
        for other in names
        if name != other and name.startswith(other) and _SWAPPED.search(name[len(other) :])
    }


def load_choices(scope: JudgeScope, rubric: Rubric) -> dict[tuple[str, JudgeAndPrompt], list[Choice]]:
    """Return the judge's choices by criterion and judge."""
    scores = _score_keys(scope, rubric)
    pairs = load_run_judges([scope.run])[scope.run.pk].pairs
    judges = {facet_key("judge", pair.judge): pair.judge for pair in pairs}
    templates = {facet_key("template", pair.template): pair.template for pair in pairs}
    found: dict[tuple[str, JudgeAndPrompt], list[Choice]] = {}
    for record, cluster, pair, keys in _records(scope):
        judge = next((judges[key] for key in keys if key in judges), "")
        template = next((templates[key] for key in keys if key in templates), "")
        # The last bit tells the order.
        same, bit = (("record", record), 0) if pair is None else (("pair", pair >> 1), pair & 1)
        for criterion, is_swapped, position in (scores[key] for key in keys if key in scores):
            choice = Choice(same, bool(bit) != is_swapped, position, cluster, record)
            found.setdefault((criterion, JudgeAndPrompt(judge, template)), []).append(choice)
    return found


def _records(scope: JudgeScope) -> Iterable[tuple[int, int, int | None, list[int]]]:
    """Return key, cluster, pair and facets of records: those of the same pair together."""
    facets = EvaluationFacets.objects.filter(run=scope.run)
    if any(value is not None for value in (scope.judge, scope.template, scope.model, scope.task)):
        facets = facets.filter(evaluation__in=scope.records())
    columns = ("evaluation_id", "cluster", "pair", "keys")
    # Both orders are by hash, so they are random.
    found = [*facets.exclude(pair=None).order_by("pair", "pk").values_list(*columns)[:MOST_RECORDS]]
    left = MOST_RECORDS - len(found)
    others = facets.filter(pair=None).order_by("response", "pk").values_list(*columns)[:left]
    return [*found, *others]


def _score_keys(scope: JudgeScope, rubric: Rubric) -> dict[int, tuple[str, bool, Position]]:
    """Return the facet of each score: its criterion, whether in the other order, and the chosen position."""
    names = _pairwise_names(scope.run, rubric)
    swapped = _swapped_criteria(names)
    found: dict[int, tuple[str, bool, Position]] = {}
    for value in _scores(scope.run):
        for name in names:
            scale = rubric.scale_of(name)
            text = value.removeprefix(f"{name}=")
            if text == value or not isinstance(scale, PairwiseScale):
                continue
            words = {format_score(score).lower(): score for score in scale.buttons}
            position = position_of(scale, words.get(text.lower()))
            if position:
                is_swapped = name in swapped
                shown = _OTHER[position] if is_swapped else position
                found[facet_key("score", value)] = (swapped.get(name, name), is_swapped, shown)
    return found


def position_of(scale: PairwiseScale, score: Any) -> Position | None:
    """Return the position of the response that a score chooses, in the order of the record."""
    labels: dict[str, Position] = {"A": "first", "B": "second", "Tie": "neither", "Both bad": "neither"}
    chosen = next((one for one in scale.buttons if is_score(score) and is_alike(one, score)), None)
    return None if chosen is None else labels.get(scale.label(chosen))


class ShownChoices(NamedTuple):
    """The choices that figures may count."""

    choices: list[Choice]
    #: The keys of records that somebody may still score blind. They may not be listed.
    hidden: set[int]
    #: Sentences about records that are not counted.
    notes: list[str]


def without_hidden(scope: JudgeScope, choices: list[Choice]) -> ShownChoices:
    """Omit records that somebody may still score blind, if a count could reveal the judge's choice."""
    records = {choice.record for choice in choices}
    notes = []
    if len(records) >= MOST_RECORDS:
        notes.append(f"The judge's choices are those of a random sample of {MOST_RECORDS:,} records.")
    if not scope.run.blind_share:
        return ShownChoices(choices, set(), notes)
    rows = Evaluation.objects.filter(hidden_from(None, scope.run), run=scope.run, pk__in=records)
    hidden = {*rows.values_list("pk", flat=True)}
    positions = Counter(choice.position for choice in choices if choice.record in hidden)
    if min(positions.values(), default=FEWEST) >= FEWEST:
        return ShownChoices(choices, hidden, notes)
    notes.append(
        f"Records that can still be scored blind are not counted ({len(hidden):,}): a count could reveal the "
        f"judge's choice."
    )
    return ShownChoices([choice for choice in choices if choice.record not in hidden], hidden, notes)


def both_orders(choices: Iterable[Choice]) -> Iterator[BothOrders]:
    """Yield each combination of choices between the same responses in opposite order. A pair weighs 1."""
    orders: dict[tuple[str, int], tuple[list[Choice], list[Choice]]] = {}
    for choice in choices:
        orders.setdefault(choice.pair, ([], []))[choice.is_swapped].append(choice)
    for ones, others in orders.values():
        for one in ones:
            for other in others:
                yield BothOrders(one, other, 1 / (len(ones) * len(others)))
