"""Hypothesis strategies of scales and rubrics without problems."""

from string import ascii_letters
from typing import Any

from hypothesis import strategies as st

from reviews.records.rubric import CIRCUMSTANCES, DIRECTIONS, Cause, Criterion, Rubric, VerdictRule
from reviews.records.scales import PairwiseScale, RangeScale, Scale, ValueScale
from reviews.records.scores import Score

NUMBERS = st.integers(-(10**15), 10**15) | st.floats(-1e15, 1e15)
_PRINTABLE = st.characters(exclude_categories=["C", "Z"], include_characters=" ")
WORDS = st.text(_PRINTABLE, min_size=1, max_size=40).map(lambda word: word if word.strip() else "blank")
VALUES: st.SearchStrategy[Score] = WORDS | NUMBERS | st.booleans()
# Any JSON value, as a request can have it.
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=8,
)


def _distinct(least: int, most: int) -> st.SearchStrategy[list[Score]]:
    return st.lists(VALUES, min_size=least, max_size=most, unique_by=_key)


def _key(value: Score) -> tuple[bool, Score]:
    return isinstance(value, bool), value.strip().casefold() if isinstance(value, str) else value


@st.composite
def _value_scales(draw: st.DrawFn) -> ValueScale:
    drawn = draw(_distinct(2, 7))
    count = draw(st.integers(2, len(drawn)))
    values, unranked = tuple(drawn[:count]), tuple(drawn[count:])
    last_yes = draw(st.none() | st.integers(0, count - 2))
    if last_yes is None:
        return ValueScale(values, unranked=unranked)
    partial = draw(st.none() | st.sampled_from(values[last_yes + 1 :]))
    return ValueScale(values, values[last_yes], partial, unranked)


@st.composite
def _range_scales(draw: st.DrawFn, lower_is_better: st.SearchStrategy[bool]) -> RangeScale:
    is_integer = draw(st.booleans())
    numbers = st.integers(-20, 20) if is_integer else NUMBERS
    usual = st.sampled_from([(0, 1), (1, 5), (1, 10), (0, 100)])
    limits = st.lists(numbers, min_size=2, max_size=2, unique=True).map(sorted)
    lowest, highest = draw(usual | limits)
    steps = [step for step in (0.01, 0.1, 0.25, 0.3, 1) if not is_integer and step <= highest - lowest]
    within = st.floats(lowest, highest)
    worse, better = sorted((draw(within), draw(within)))
    is_lower_better = draw(lower_is_better)
    thresholds = (worse, better) if is_lower_better else (better, worse)
    count = draw(st.integers(0, 2))
    return RangeScale(
        lowest,
        highest,
        is_integer,
        draw(st.sampled_from([None, *steps])),
        thresholds[0] if count else None,
        thresholds[1] if count > 1 else None,
        is_lower_better,
    )


BOOLEAN_SCALES = st.sampled_from(
    [ValueScale((True, False), pass_from=True), ValueScale((False, True), False), ValueScale((True, False))]
)
VALUE_SCALES = _value_scales()
RANGE_SCALES = _range_scales(st.booleans())
PAIRWISE_SCALES = st.builds(
    lambda words, has_tie, has_both_bad: PairwiseScale(
        words[0], words[1], words[2] if has_tie else None, words[3] if has_both_bad else None
    ),
    _distinct(4, 4),
    st.booleans(),
    st.booleans(),
)
_LISTED_SCALES: st.SearchStrategy[Scale] = VALUE_SCALES | BOOLEAN_SCALES | PAIRWISE_SCALES
SCALES: st.SearchStrategy[Scale] = _LISTED_SCALES | RANGE_SCALES
_SCALES_OF_MEANS: st.SearchStrategy[Scale] = _LISTED_SCALES | _range_scales(st.just(value=False))

_THRESHOLDS = st.lists(NUMBERS, min_size=1, max_size=2).map(lambda limits: sorted(limits, reverse=True))
_RULES = st.sampled_from([VerdictRule("worst"), VerdictRule("none")]) | st.builds(
    lambda kind, limits: VerdictRule(kind, *limits), st.sampled_from(["mean", "weighted"]), _THRESHOLDS
)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=60)
_CAUSES = st.builds(
    Cause,
    title=st.text(ascii_letters, min_size=1, max_size=20),
    directions=st.lists(st.sampled_from(DIRECTIONS), unique=True).map(tuple),
    needs=st.lists(st.sampled_from(CIRCUMSTANCES), unique=True).map(tuple),
)


@st.composite
def _rubrics(draw: st.DrawFn) -> Rubric:
    rule = draw(_RULES)
    scales = _SCALES_OF_MEANS if rule.is_mean else SCALES
    criteria = st.builds(
        Criterion,
        name=WORDS,
        title=st.just("") | WORDS,
        description=_TEXTS,
        is_required=st.booleans(),
        weight=st.integers(0, 1000) | st.floats(0, 1000),
        scale=st.none() | scales,
    )
    return Rubric(
        tuple(draw(st.lists(criteria, max_size=4, unique_by=lambda criterion: criterion.name))),
        draw(scales),
        rule,
        tuple(draw(st.lists(_CAUSES, max_size=4, unique_by=lambda cause: cause.word))),
    )


RUBRICS = _rubrics()
