"""Compare two responses side by side: align their parts, and mark different words within parts."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import chain, islice
from typing import NamedTuple

from reviews.evidence.formulas import find_formulas
from reviews.evidence.rendering import json_html, mark_words, markdown, result, words_of
from reviews.records.answers import AnswerComparison, compare_answers
from reviews.records.latex import restore_latex
from reviews.records.responses import FINAL_ANSWER, WHOLE, ResponsePart

# Longer parts are not compared.
MAX_WORDS = 5_000
_MOST_CHARS = 50_000
# Ranges with at most this many pairs of words are compared exhaustively, larger ones by unique words.
_MOST_PAIRS = 10_000

# A LaTeX command is one word. White space belongs to the preceding word.
_WORD = re.compile(r"(?:\\[A-Za-z]+|\w+|[^\w\s])\s*|\s+")


class DiffPiece(NamedTuple):
    """A piece of text in a comparison."""

    #: same, removed or added.
    kind: str
    text: str


class Word(NamedTuple):
    """A word, a punctuation mark or a whole formula."""

    text: str
    #: The form used for comparison.
    key: str


@dataclass(frozen=True, slots=True)
class MarkedPart:
    """A part with its differences marked."""

    part: ResponsePart
    #: The HTML of its text, of each item, or of its data.
    html: list[str]


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A part that occurs in one or both responses."""

    label: str
    #: Empty if the model's response lacks the part; likewise `ideal`.
    model: list[ResponsePart]
    ideal: list[ResponsePart]
    #: The same parts with `del` around words that occur only in the model's response, and `ins` around those
    #: that occur only in the reference. Empty if a side is empty, the texts are too long, or nothing differs.
    in_model: list[MarkedPart] = field(default_factory=list)
    in_ideal: list[MarkedPart] = field(default_factory=list)
    #: Whether the words or the final answers are the same.
    is_same: bool = False
    is_too_long: bool = False
    #: The comparison of final answers; None for other parts.
    answers: AnswerComparison | None = None

    @property
    def is_answer(self) -> bool:
        return self.label == FINAL_ANSWER

    @property
    def is_unclear(self) -> bool:
        """Whether differences in spelling may not be differences in content."""
        return self.answers == "unclear"


def align_parts(model: Sequence[ResponsePart], ideal: Sequence[ResponsePart]) -> list[DiffRow]:
    """Align parts with the same name. If one side is plain text, merge all parts except the final answer."""
    whole = any(part.label == WHOLE for part in (*model, *ideal))
    of_model, of_ideal = _by_label(model, whole=whole), _by_label(ideal, whole=whole)
    labels = sorted({**of_model, **of_ideal}, key=lambda label: label != FINAL_ANSWER)
    return [_row(label, of_model.get(label, []), of_ideal.get(label, [])) for label in labels]


def _by_label(parts: Sequence[ResponsePart], *, whole: bool) -> dict[str, list[ResponsePart]]:
    found: dict[str, list[ResponsePart]] = {}
    for part in parts:
        if not part.is_around:
            found.setdefault(WHOLE if whole and part.label != FINAL_ANSWER else part.label, []).append(part)
    return found


def _row(label: str, model: list[ResponsePart], ideal: list[ResponsePart]) -> DiffRow:
    if not (model and ideal):
        return DiffRow(label, model, ideal)
    texts = [_text(side) for side in (model, ideal)]
    one, other = (split_words(text[:_MOST_CHARS]) for text in texts)
    if max(map(len, texts)) > _MOST_CHARS or max(len(one), len(other)) > MAX_WORDS:
        return DiffRow(label, model, ideal, is_too_long=True)
    answers = compare_answers(*texts) if label == FINAL_ANSWER else None
    marked = None if answers == "same" else _marked(model, ideal)
    return DiffRow(label, model, ideal, *(marked or ([], [])), is_same=marked is None, answers=answers)


def _marked(
    model: list[ResponsePart], ideal: list[ResponsePart]
) -> tuple[list[MarkedPart], list[MarkedPart]] | None:
    """Mark the differences between the formatted texts. Return None if their words are the same."""
    of_model, of_ideal = ([_html(part) for part in side] for side in (model, ideal))
    removed, added = _differing(words_of(chain(*of_model)), words_of(chain(*of_ideal)))
    if not (removed or added):
        return None
    return _with_marks(model, of_model, "del", removed), _with_marks(ideal, of_ideal, "ins", added)


def _html(part: ResponsePart) -> list[str]:
    """Format a part as `templates/review/record/part.html` does, but without notes of repairs."""
    render = result if part.is_result else markdown
    texts = [part.text] if part.text else part.items
    return [render(restore_latex(text).text) for text in texts] or [json_html(part.data)]


def _with_marks(
    side: list[ResponsePart], texts: list[list[str]], tag: str, marked: set[int]
) -> list[MarkedPart]:
    html = iter(mark_words(chain(*texts), tag, marked))
    return [
        MarkedPart(part, list(islice(html, len(of_part)))) for part, of_part in zip(side, texts, strict=True)
    ]


def _differing(a: list[str], b: list[str]) -> tuple[set[int], set[int]]:
    """Return the numbers of the words that occur on one side only."""
    in_a, in_b = set(range(len(a))), set(range(len(b)))
    for start_a, start_b, length in _common_ranges(a, b):
        in_a.difference_update(range(start_a, start_a + length))
        in_b.difference_update(range(start_b, start_b + length))
    return in_a, in_b


def _text(side: list[ResponsePart]) -> str:
    return restore_latex("\n".join(part.source for part in side)).text


def split_words(text: str) -> list[Word]:
    """Split a text into words. A formula of any length is one word, so that pieces never cut it."""
    done = 0
    found: list[Word] = []
    for formula in find_formulas(text):
        found += _plain_words(text[done : formula.start])
        found.append(Word(text[formula.start : formula.end], "".join(formula.source.split())))
        done = formula.end
    return found + _plain_words(text[done:])


def _plain_words(text: str) -> list[Word]:
    return [Word(word, word.rstrip()) for word in _WORD.findall(text)]


def diff_words(one: Sequence[Word], other: Sequence[Word]) -> tuple[list[DiffPiece], list[DiffPiece]]:
    """Return both texts as pieces. Common words keep the spelling of their own text."""
    a, b = [word.key for word in one], [word.key for word in other]
    in_one: list[DiffPiece] = []
    in_other: list[DiffPiece] = []
    done_a = done_b = 0
    for start_a, start_b, length in [*_common_ranges(a, b), (len(a), len(b), 0)]:
        _add(in_one, "removed", one[done_a:start_a])
        _add(in_other, "added", other[done_b:start_b])
        done_a, done_b = start_a + length, start_b + length
        _add(in_one, "same", one[start_a:done_a])
        _add(in_other, "same", other[start_b:done_b])
    return in_one, in_other


def _add(pieces: list[DiffPiece], kind: str, added: Sequence[Word]) -> None:
    if added:
        pieces.append(DiffPiece(kind, "".join(word.text for word in added)))


class _RangePair(NamedTuple):
    """The ranges `a[a1:a2]` and `b[b1:b2]`."""

    a1: int
    a2: int
    b1: int
    b2: int


def _common_ranges(a: list[str], b: list[str]) -> list[tuple[int, int, int]]:
    """Return the common ranges of two lists in order: (start in a, start in b, length).

    A patience diff: match the words that occur once in both lists, as far as their order is the same, then
    repeat between these matches. The time is linear in the length, not quadratic.
    """
    found: list[tuple[int, int, int]] = []
    waiting = [_RangePair(0, len(a), 0, len(b))]
    while waiting:
        ranges = _without_ends(a, b, waiting.pop(), found)
        if ranges.a1 == ranges.a2 or ranges.b1 == ranges.b2:
            continue
        if (ranges.a2 - ranges.a1) * (ranges.b2 - ranges.b1) <= _MOST_PAIRS:
            found += _each_with_each(a, b, ranges)
        else:
            waiting += _between(_landmarks(a, b, ranges), ranges)
    return sorted(found)


def _without_ends(
    a: list[str], b: list[str], ranges: _RangePair, found: list[tuple[int, int, int]]
) -> _RangePair:
    """Add the common prefix and suffix to `found`. Return the rest."""
    a1, a2, b1, b2 = ranges
    while a1 < a2 and b1 < b2 and a[a1] == b[b1]:
        a1, b1 = a1 + 1, b1 + 1
    while a1 < a2 and b1 < b2 and a[a2 - 1] == b[b2 - 1]:
        a2, b2 = a2 - 1, b2 - 1
    for start_a, start_b, length in ((ranges.a1, ranges.b1, a1 - ranges.a1), (a2, b2, ranges.a2 - a2)):
        if length:
            found.append((start_a, start_b, length))
    return _RangePair(a1, a2, b1, b2)


def _each_with_each(a: list[str], b: list[str], ranges: _RangePair) -> Iterator[tuple[int, int, int]]:
    a1, a2, b1, b2 = ranges
    blocks = SequenceMatcher(None, a[a1:a2], b[b1:b2], autojunk=False).get_matching_blocks()
    return ((a1 + block.a, b1 + block.b, block.size) for block in blocks if block.size)


def _landmarks(a: list[str], b: list[str], ranges: _RangePair) -> list[tuple[int, int]]:
    """Return the positions of words that occur once in both, as many as have the same order."""
    a1, a2, b1, b2 = ranges
    in_a, in_b = Counter(a[a1:a2]), Counter(b[b1:b2])
    places = {b[place]: place for place in range(b1, b2) if in_b[b[place]] == in_a[b[place]] == 1}
    return _longest_rising([(place, places[a[place]]) for place in range(a1, a2) if a[place] in places])


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of pairs whose second numbers increase, as their first ones do."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [number]
    chain: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _between(landmarks: list[tuple[int, int]], ranges: _RangePair) -> Iterator[_RangePair]:
    """Yield the ranges between landmarks, each starting at one. Yield nothing without landmarks."""
    if not landmarks:
        return
    starts = [(ranges.a1, ranges.b1), *landmarks]
    ends = [*landmarks, (ranges.a2, ranges.b2)]
    for (a1, b1), (a2, b2) in zip(starts, ends, strict=True):
        yield _RangePair(a1, a2, b1, b2)
