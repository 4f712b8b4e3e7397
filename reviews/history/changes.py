"""Compare two versions of a record: field by field, word by word."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, islice, takewhile
from typing import Any

from reviews.evidence.response_diff import DiffPiece, Word, diff_words, split_words
from reviews.models import Evaluation, SourceChunk
from reviews.records.json_text import indented
from reviews.records.schema import HUMAN_FIELDS, Record
from reviews.records.score_extraction import raw_text
from reviews.records.scores import criterion_title
from reviews.storage import corruption
from reviews.storage.corruption import CorruptData
from reviews.storage.line_reader import LineReader

# The fields that tell why a record is in the queue.
_FLAG = {"needs_human_review", "review_reasons"}
# Beyond these a text is shown as replaced as a whole, or with less of what stayed the same.
_MAX_WORDS = 600
_MAX_CHANGES = 50
_MAX_SHOWN = 5_000
_AROUND = 120
# Characters of all texts of a record together, before and after; the rest is shown as replaced.
_MAX_COMPARED = 400_000


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field, or what the judge said of one criterion, as it was and as it is, in pieces."""

    label: str
    pieces: list[DiffPiece]


def changes_since_review(evaluation: Evaluation) -> list[FieldChange]:
    """What differs from the line the review in force was made on; nothing where that is not kept."""
    review = evaluation.review
    if review is None or review.source_import_id is None or review.source_line is None:
        return []
    kept = LineReader()
    try:
        before = kept.record(review.source_import_id, review.source_line)
        after = kept.record(evaluation.source_import_id, evaluation.source_line)
    except SourceChunk.DoesNotExist:
        return []
    except CorruptData as damaged:
        corruption.log_corruption(damaged)
        return []
    found = compare_records(before, after)
    return without_flag(found) if evaluation.hides_reasons else found


def without_flag(found: Iterable[FieldChange]) -> list[FieldChange]:
    """The changes that do not tell why a record is in the queue."""
    return [change for change in found if change.label not in _FLAG]


def compare_records(before: Record, after: Record) -> list[FieldChange]:
    """What differs between two versions of a record, people's own values apart."""
    return compare_texts(
        text
        for name in Record._fields
        if name not in HUMAN_FIELDS
        for text in _texts(name, getattr(before, name), getattr(after, name))
    )


def compare_texts(texts: Iterable[tuple[str, str, str]]) -> list[FieldChange]:
    """What differs of texts: (label, the text before, the text after)."""
    differing = ((label, old, new) for label, old, new in texts if old != new)
    changes, left = [], _MAX_COMPARED
    for label, old, new in islice(differing, _MAX_CHANGES):
        left -= len(old) + len(new)
        changes.append(FieldChange(label, _pieces(old, new) if left >= 0 else _replaced(old, new)))
    return changes


def _replaced(old: str, new: str) -> list[DiffPiece]:
    """Show both texts as a whole, without comparing them."""
    pieces = [DiffPiece("removed", old), DiffPiece("added", new)]
    return [_shortened(piece, 0, 0) for piece in pieces if piece.text]


def _texts(name: str, old: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    """What to compare of a field: its label, and its text before and after."""
    if name == "parsed_rubric_scores":
        for criterion in {**new, **old}:
            title = criterion_title(criterion)
            for part, label in (("score", f"{title}: score"), ("justification", title)):
                yield label, _judged(old.get(criterion), part), _judged(new.get(criterion), part)
    elif name == "raw_judge_output":
        yield name, raw_text(old), raw_text(new)
    else:
        yield name, _text(old), _text(new)


def _judged(entry: Any, part: str) -> str:
    return _text(entry.get(part)) if isinstance(entry, dict) else ""


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return indented(value, 1, sort_keys=True, default=str)


def _pieces(old: str, new: str) -> list[DiffPiece]:
    before, after = ([word.text for word in split_words(text)] for text in (old, new))
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    middle = before[start : len(before) - end], after[start : len(after) - end]
    parts = [DiffPiece("same", "".join(before[:start]))]
    parts += _compared(*middle)
    parts.append(DiffPiece("same", "".join(before[len(before) - end :])))
    shown = [part for part in parts if part.text]
    return [_shortened(part, place, len(shown) - 1) for place, part in enumerate(shown)]


def _common(one: list[str], other: list[str]) -> int:
    """How many words two texts have in common at their start."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )


def _compared(before: list[str], after: list[str]) -> Iterator[DiffPiece]:
    if max(len(before), len(after)) > _MAX_WORDS:
        yield DiffPiece("removed", "".join(before))
        yield DiffPiece("added", "".join(after))
        return
    in_old, in_new = diff_words(*([Word(word, word) for word in side] for side in (before, after)))
    added = iter(in_new)
    for piece in in_old:
        if piece.kind == "same":
            # Words that both texts share come after the words that the new text has before them.
            yield from takewhile(lambda one: one.kind != "same", added)
        yield piece
    yield from added


def _shortened(piece: DiffPiece, place: int, last: int) -> DiffPiece:
    """A piece as it is shown: of what stayed the same, only what stands beside a change."""
    text = piece.text
    if piece.kind != "same":
        if len(text) <= _MAX_SHOWN:
            return piece
        return DiffPiece(piece.kind, f"{_beginning(split_words(text[: 2 * _MAX_SHOWN]), _MAX_SHOWN)} …")
    if len(text) <= 2 * _AROUND + 3:
        return piece
    of_text = split_words(text)
    head = "" if place == 0 else _beginning(of_text, _AROUND)
    tail = "" if place == last else text[len(text) - len(_beginning(of_text[::-1], _AROUND)) :]
    return DiffPiece("same", f"{head} … {tail}")


def _beginning(of_text: list[Word], limit: int) -> str:
    """Whole words, so that no formula is cut, of as many characters at most."""
    ends = list(accumulate(len(word.text) for word in of_text))
    return "".join(word.text for word in of_text[: bisect_right(ends, limit)])
