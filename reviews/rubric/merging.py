"""Merge the rubrics inferred from several files of a run."""

from dataclasses import replace

from reviews.records.rubric import Criterion, Rubric
from reviews.records.rubric_file import MAX_CRITERIA
from reviews.records.scales import MAX_VALUES, PairwiseScale, RangeScale, Scale, ValueScale
from reviews.rubric.completion import complete_range, scale_of_texts


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
