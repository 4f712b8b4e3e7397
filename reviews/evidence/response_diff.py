"""Two responses side by side: their parts in line, and inside those what differs, word by word."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import NamedTuple

from reviews.evidence.formulas import find_formulas
from reviews.records.latex import restore_latex
from reviews.records.responses import FINAL_ANSWER, WHOLE, ResponsePart

# Beyond so much of a part nothing is compared.
MAX_WORDS = 5_000
_MOST_CHARS = 50_000
# Stretches of so few pairs of words are compared each with each, longer ones by the words that occur once.
_MOST_PAIRS = 10_000

# A LaTeX command is one word, and white space goes with the word before it.
_WORD = re.compile(r"(?:\\[A-Za-z]+|\w+|[^\w\s])\s*|\s+")


class DiffPiece(NamedTuple):
    """A stretch of text: `same`, `removed` or `added`."""

    kind: str
    text: str


class Word(NamedTuple):
    """A word, a sign or a whole formula as it is written, and what it is compared by."""

    text: str
    key: str


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A part of both responses; a side that lacks it is empty.

    `in_model` and `in_ideal` are the same texts in pieces: `removed` is in the model's only, `added` in the
    reference only. They are empty where a side is, and where the texts are too long (`is_too_long`).
    """

    label: str
    model: list[ResponsePart]
    ideal: list[ResponsePart]
    in_model: list[DiffPiece] = field(default_factory=list)
    in_ideal: list[DiffPiece] = field(default_factory=list)
    is_too_long: bool = False

    @property
    def is_answer(self) -> bool:
        return self.label == FINAL_ANSWER

    @property
    def is_same(self) -> bool:
        return bool(self.in_model) and all(piece.kind == "same" for piece in (*self.in_model, *self.in_ideal))


def align_parts(model: Sequence[ResponsePart], ideal: Sequence[ResponsePart]) -> list[DiffRow]:
    """Put parts of the same name in line. If one side is plain text, so is all but the final answer."""
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
    return DiffRow(label, model, ideal, *diff_words(one, other))


def _text(side: list[ResponsePart]) -> str:
    return restore_latex("\n".join(part.source for part in side)).text


def split_words(text: str) -> list[Word]:
    """The words of a text. A formula is one, however long, so that nothing ever cuts it."""
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
    """Both texts in pieces; what they share stands in both as each writes it."""
    a, b = [word.key for word in one], [word.key for word in other]
    in_one: list[DiffPiece] = []
    in_other: list[DiffPiece] = []
    done_a = done_b = 0
    for start_a, start_b, length in [*_runs(a, b), (len(a), len(b), 0)]:
        _add(in_one, "removed", one[done_a:start_a])
        _add(in_other, "added", other[done_b:start_b])
        done_a, done_b = start_a + length, start_b + length
        _add(in_one, "same", one[start_a:done_a])
        _add(in_other, "same", other[start_b:done_b])
    return in_one, in_other


def _add(pieces: list[DiffPiece], kind: str, of: Sequence[Word]) -> None:
    if of:
        pieces.append(DiffPiece(kind, "".join(word.text for word in of)))


class _Stretch(NamedTuple):
    """`a[a1:a2]` beside `b[b1:b2]`."""

    a1: int
    a2: int
    b1: int
    b2: int


def _runs(a: list[str], b: list[str]) -> list[tuple[int, int, int]]:
    """What two lists share: (start in a, start in b, length) in order; no pair of words is tried twice.

    Words that occur once in both stand for each other, as long as their order is the same; then what is
    between those, and so on. The time goes with the length, not with its square.
    """
    found: list[tuple[int, int, int]] = []
    waiting = [_Stretch(0, len(a), 0, len(b))]
    while waiting:
        stretch = _without_ends(a, b, waiting.pop(), found)
        if stretch.a1 == stretch.a2 or stretch.b1 == stretch.b2:
            continue
        if (stretch.a2 - stretch.a1) * (stretch.b2 - stretch.b1) <= _MOST_PAIRS:
            found += _each_with_each(a, b, stretch)
        else:
            waiting += _between(_landmarks(a, b, stretch), stretch)
    return sorted(found)


def _without_ends(
    a: list[str], b: list[str], stretch: _Stretch, found: list[tuple[int, int, int]]
) -> _Stretch:
    """Note what both begin and end with, and return the rest."""
    a1, a2, b1, b2 = stretch
    while a1 < a2 and b1 < b2 and a[a1] == b[b1]:
        a1, b1 = a1 + 1, b1 + 1
    while a1 < a2 and b1 < b2 and a[a2 - 1] == b[b2 - 1]:
        a2, b2 = a2 - 1, b2 - 1
    for start_a, start_b, length in ((stretch.a1, stretch.b1, a1 - stretch.a1), (a2, b2, stretch.a2 - a2)):
        if length:
            found.append((start_a, start_b, length))
    return _Stretch(a1, a2, b1, b2)


def _each_with_each(a: list[str], b: list[str], stretch: _Stretch) -> Iterator[tuple[int, int, int]]:
    a1, a2, b1, b2 = stretch
    blocks = SequenceMatcher(None, a[a1:a2], b[b1:b2], autojunk=False).get_matching_blocks()
    return ((a1 + block.a, b1 + block.b, block.size) for block in blocks if block.size)


def _landmarks(a: list[str], b: list[str], stretch: _Stretch) -> list[tuple[int, int]]:
    """The places of words that occur once in both, as many as stand in the same order."""
    a1, a2, b1, b2 = stretch
    in_a, in_b = Counter(a[a1:a2]), Counter(b[b1:b2])
    places = {b[place]: place for place in range(b1, b2) if in_b[b[place]] == in_a[b[place]] == 1}
    return _longest_rising([(place, places[a[place]]) for place in range(a1, a2) if a[place] in places])


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most of the pairs whose second numbers rise, as their first ones do."""
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


def _between(landmarks: list[tuple[int, int]], stretch: _Stretch) -> Iterator[_Stretch]:
    """The stretches from landmark to landmark; each begins with one, so that it is found. None without."""
    if not landmarks:
        return
    starts = [(stretch.a1, stretch.b1), *landmarks]
    ends = [*landmarks, (stretch.a2, stretch.b2)]
    for (a1, b1), (a2, b2) in zip(starts, ends, strict=True):
        yield _Stretch(a1, a2, b1, b2)
