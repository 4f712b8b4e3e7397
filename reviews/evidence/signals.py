"""The signals of a record in the form that pages show: chips with a few words, each with its sentences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Literal

from reviews.records.contradictions import Contradiction

# Longer sentences are shortened in a chip.
_MAX_LABEL = 48
# Further flag reasons share a chip, so that the chips stay in one line.
_MAX_REASONS = 3
# The label for one contradiction of a kind, and for several.
_LABELS = {
    "verdict": ("Verdict and scores disagree", ""),
    "verifier": ("Judge and verifier disagree", ""),
    "justification": ("Check a justification", "Check {} justifications"),
    "missing": ("Scores missing", ""),
}


@dataclass(frozen=True, slots=True)
class Signal:
    """A warning about a record: a chip that opens its sentences."""

    label: str
    #: The sentences that the chip opens; empty if the label is the whole sentence.
    sentences: list[str]
    #: bad for a disagreement that the reviewer has to settle, otherwise warn.
    tone: Literal["bad", "warn"]


def list_signals(reasons: Sequence[str], contradictions: Iterable[Contradiction]) -> list[Signal]:
    """Return the contradictions, by kind, and then the flag reasons."""
    by_kind: dict[str, list[str]] = {}
    for contradiction in contradictions:
        by_kind.setdefault(contradiction.kind, []).append(contradiction.sentence)
    found = [_contradiction(kind, sentences) for kind, sentences in by_kind.items()]
    first, more = reasons[:_MAX_REASONS], list(reasons[_MAX_REASONS:])
    if len(more) == 1:
        first, more = reasons, []
    found += [_reason(reason) for reason in first]
    return [*found, Signal(f"{len(more)} more reasons", more, "warn")] if more else found


def _contradiction(kind: str, sentences: list[str]) -> Signal:
    one, several = _LABELS.get(kind, (_short(sentences[0]), ""))
    label = several.format(len(sentences)) if several and len(sentences) > 1 else one
    return Signal(label, sentences, "warn" if kind == "missing" else "bad")


def _reason(sentence: str) -> Signal:
    label = _short(sentence)
    return Signal(label, [] if label == sentence else [sentence], "warn")


def _short(sentence: str) -> str:
    """Shorten a sentence between words, or within its first word if that is too long."""
    if len(sentence) <= _MAX_LABEL:
        return sentence
    label = shorten(sentence, _MAX_LABEL, placeholder=" …")
    return label if label.strip(" …") else f"{sentence.strip()[: _MAX_LABEL - 1]}…"
