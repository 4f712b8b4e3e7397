"""Recognise the scale of the scores found in files, and extend a known rubric by a found one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from reviews.records.rubric import Criterion, Rubric
from reviews.records.rubric_file import MAX_CRITERIA
from reviews.records.scales import MAX_VALUES, YES_PARTIAL_NO, PairwiseScale, RangeScale, Scale, ValueScale

# Usual ranges, the narrowest first.
_USUAL: Sequence[tuple[int, int]] = ((0, 1), (1, 3), (0, 3), (1, 5), (0, 5), (1, 10), (0, 10), (0, 100))
# A score that judges write where they failed.
_SENTINEL = -1

# Known words, best first. Other words follow, the most frequent first.
_RANKS = (
    ("excellent", "yes", "pass", "correct", "true", "full", "met"),
    ("very good", "mostly", "mostly correct"),
    ("good",),
    ("partial", "partially", "partially correct", "partially met", "fair", "average", "mixed"),
    ("poor", "minimal"),
    ("no", "fail", "incorrect", "false", "none", "not met", "very poor"),
)
# The letters of Inspect: correct, partly correct and incorrect, and N for no answer.
_LETTERS = ValueScale(("C", "P", "I"), "C", "P", ("N",))
# Words for the better one of two responses, and for neither.
_PAIRS = (("a", "b"), ("model_a", "model_b"), ("model_1", "model_2"), ("response_a", "response_b"))
_TIES = ("tie", "draw", "equal")
_BOTH_BAD = ("tie (bothbad)", "bothbad", "both bad", "neither")
_RANK = {word: rank for rank, words in enumerate(_RANKS) for word in words}


def complete_range(
    lowest: float, highest: float, *, is_integer: bool, step: float | None = None
) -> RangeScale:
    """Return the narrowest usual range that has both scores, or else the range between them."""
    for minimum, maximum in _USUAL:
        if minimum <= lowest and highest <= maximum:
            return RangeScale(minimum, maximum, is_integer, step)
    if lowest == highest:
        highest = lowest + 1
    return RangeScale(
        lowest, highest, is_integer, None if step is None or (highest - lowest) % step else step
    )


def range_of_scores(scores: Sequence[float]) -> RangeScale:
    """Return the range of numbers that a judge gave. Whole numbers written as floats get the step 1."""
    ranked = [score for score in scores if score != _SENTINEL] or [*scores]
    if min(ranked) < 0:
        ranked = [*scores]
    is_integer = all(isinstance(score, int) for score in ranked)
    step = 1 if not is_integer and all(float(score).is_integer() for score in ranked) else None
    return complete_range(min(ranked), max(ranked), is_integer=is_integer, step=step)


def scale_of_preferences(texts: Iterable[str]) -> PairwiseScale | None:
    """Return the scale of texts that name the better one of two responses; None for other texts.

    The letters A and B alone may be grades.
    """
    words = {text.strip().casefold(): text for text in texts}
    neither = [word for word in words if word in (*_TIES, *_BOTH_BAD)]
    for a, b in _PAIRS:
        chosen = {a, b} & {*words}
        is_clear = len(a) > 1 and len(chosen) == 2
        if chosen and (neither or is_clear) and {*words} == {*chosen, *neither}:
            tie, both_bad = _first(_TIES, words), _first(_BOTH_BAD, words)
            return PairwiseScale(words.get(a, a), words.get(b, b), tie or "tie", both_bad)
    return None


def _first(names: Iterable[str], words: dict[str, str]) -> str | None:
    return next((words[name] for name in names if name in words), None)


def scale_of_texts(texts: Iterable[str]) -> ValueScale | None:
    """Return the scale of texts, best first, with levels if the words are known; None for a single one."""
    spelled = [*_one_spelling_each(texts)]
    if "I" in spelled and {*spelled} <= {*_LETTERS.values, *_LETTERS.unranked}:
        return _LETTERS
    values = _completed(spelled)[:MAX_VALUES]
    if len(values) < 2:
        return None
    ranks = [_rank(value) for value in values]
    if None in ranks or ranks[0] != 0 or ranks[-1] != len(_RANKS) - 1:
        return ValueScale(tuple(values))
    last_yes = max(place for place, rank in enumerate(ranks) if rank == 0)
    between = [place for place, rank in enumerate(ranks) if rank not in {0, len(_RANKS) - 1}]
    return ValueScale(tuple(values), values[last_yes], values[between[-1]] if between else None)


def _one_spelling_each(texts: Iterable[str]) -> Iterator[str]:
    """Yield the texts without those that differ from an earlier one only by case or spaces."""
    met = set()
    for text in texts:
        key = text.strip().casefold()
        if key not in met:
            met.add(key)
            yield text


def _completed(texts: list[str]) -> list[str]:
    """Sort texts, best first. Two of Yes, Partial and No, or one alone, are completed to all three.

    Words without a known rank are then left out.
    """
    words = {text.strip().casefold(): text for text in texts}
    usual = [str(value) for value in YES_PARTIAL_NO.values]
    known = [word for word in words if word in {one.casefold() for one in usual}]
    others = [word for word in words if word not in known]
    if not known or any(_rank(word) is not None for word in others) or len(known) <= min(1, len(others)):
        return sorted(texts, key=_place)
    texts = [words[word] for word in known]
    cases = [case for case in (str.lower, str.upper) if all(text == case(text) for text in texts)]
    return [words.get(word.casefold(), cases[0](word) if cases else word) for word in usual]


def _rank(text: str) -> int | None:
    return _RANK.get(text.strip().casefold())


def _place(text: str) -> int:
    """Return the sort key of a text: known words by rank, then others."""
    rank = _rank(text)
    return len(_RANKS) if rank is None else rank


def merge_rubrics(known: Rubric, found: Rubric) -> Rubric:
    """Return the known rubric with the criteria and scores of the found one."""
    names = list(dict.fromkeys((*known.names, *found.names)))[:MAX_CRITERIA]
    scale = merge_scales(known.scale, found.scale)
    return replace(
        known,
        rule=found.rule if known.rule.kind == "none" else known.rule,
        criteria=tuple(_merge_criterion(name, known, found, scale) for name in names),
        scale=scale,
    )


def _merge_criterion(name: str, known: Rubric, found: Rubric, scale: Scale) -> Criterion:
    criterion = known.criterion(name)
    scales = [one.scale_of(name) for one in (known, found) if name in one.names]
    merged = scales[0] if len(scales) == 1 else merge_scales(*scales)
    return replace(criterion, scale=None if merged == scale else merged)


def merge_scales(known: Scale, found: Scale) -> Scale:
    """Return a scale with the scores of both, or the known one if they are of different kinds."""
    if known == found:
        return known
    if isinstance(known, RangeScale) and isinstance(found, RangeScale):
        return complete_range(
            min(known.minimum, found.minimum),
            max(known.maximum, found.maximum),
            is_integer=known.is_integer and found.is_integer,
            step=known.step if known.step == found.step else None,
        )
    if isinstance(known, ValueScale) and isinstance(found, ValueScale):
        return _merge_values(known, found)
    if isinstance(known, PairwiseScale) and isinstance(found, PairwiseScale) and not known.both_bad:
        return replace(known, both_bad=found.both_bad)
    return known


def _merge_values(known: ValueScale, found: ValueScale) -> ValueScale:
    """Return the scale of the texts of both. Their order and levels follow from all of them."""
    texts = [value for value in (*known.values, *found.values) if isinstance(value, str)]
    is_text = len(texts) == len(known.values) + len(found.values)
    if not is_text or len({text.strip().casefold() for text in texts}) > MAX_VALUES:
        return known
    merged = scale_of_texts(texts)
    # A word without a known rank must not cost the other ones their levels.
    return known if merged is None or (known.has_levels and not merged.has_levels) else merged
