"""Compare two versions of a record by fields and words, and describe a re-import in one sentence."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, chain, islice, takewhile
from typing import Any, NamedTuple

from reviews.evidence.response_diff import DiffPiece, Word, diff_words, split_words
from reviews.models import Evaluation, SourceChunk
from reviews.records.json_text import indented
from reviews.records.schema import HUMAN_FIELDS, Record
from reviews.records.score_extraction import raw_text
from reviews.records.scores import criterion_title, format_score
from reviews.rubric.overrides import is_same_score
from reviews.rubric.proposals import Proposal
from reviews.storage import corruption
from reviews.storage.corruption import CorruptData
from reviews.storage.line_reader import LineReader

# The fields with the flag and its reasons.
_FLAG = {"needs_human_review", "review_reasons"}
# Texts with more words than this in their differing middle are shown as replaced.
_MAX_WORDS = 600
_MAX_CHANGES = 50
# Characters of a removed or added piece to show.
_MAX_SHOWN = 5_000
# Characters of unchanged text to show before and after a change.
_CONTEXT = 120
# Characters of all texts of a record, before and after. Further texts are shown as replaced.
_MAX_COMPARED = 400_000


@dataclass(frozen=True, slots=True)
class FieldChange:
    """The old and the new text of a field, or of the judge's score or justification for a criterion."""

    label: str
    #: Both texts, with long unchanged parts shortened.
    pieces: list[DiffPiece]
    #: The field of the record; empty for a decision.
    field: str = ""
    #: Title of the criterion, for the judge's score or justification.
    criterion: str = ""

    @property
    def is_score(self) -> bool:
        """Whether this is the judge's score for a criterion."""
        return self.label != self.criterion and bool(self.criterion)

    @property
    def texts(self) -> tuple[str, str]:
        """The old and the new text, shortened as the pieces."""
        kinds = ("added", "removed")
        old, new = ("".join(piece.text for piece in self.pieces if piece.kind != kind) for kind in kinds)
        return old, new


class ComparedText(NamedTuple):
    label: str
    old: str
    new: str
    #: As in `FieldChange`.
    field: str = ""
    criterion: str = ""


def changes_since_review(evaluation: Evaluation) -> list[FieldChange]:
    """Compare the record with the line that its current decision is based on.

    Empty if there is no such line.
    """
    review = evaluation.review
    if review is None or review.source_import_id is None or review.source_line is None:
        return []
    found = compare_lines(
        (review.source_import_id, review.source_line),
        (evaluation.source_import_id, evaluation.source_line),
        LineReader(),
    )
    return without_flag(found) if evaluation.hides_reasons else found


def compare_lines(before: tuple[int, int], after: tuple[int, int], reader: LineReader) -> list[FieldChange]:
    """Compare two stored lines, given as import and line number. Empty if a line is missing or damaged."""
    try:
        return compare_records(reader.record(*before), reader.record(*after))
    except SourceChunk.DoesNotExist:
        return []
    except CorruptData as damaged:
        corruption.log_corruption(damaged)
        return []


def without_flag(found: Iterable[FieldChange]) -> list[FieldChange]:
    """Leave out changes of the flag and its reasons."""
    return [change for change in found if change.label not in _FLAG]


def compare_records(before: Record, after: Record) -> list[FieldChange]:
    """Compare all fields of two versions of a record except the human_* fields."""
    return compare_texts(
        text
        for name in Record._fields
        if name not in HUMAN_FIELDS
        for text in _texts(name, getattr(before, name), getattr(after, name))
    )


def compare_texts(texts: Iterable[ComparedText]) -> list[FieldChange]:
    """Compare texts. Equal texts are left out."""
    differing = (text for text in texts if text.old != text.new)
    changes, left = [], _MAX_COMPARED
    for label, old, new, field, criterion in islice(differing, _MAX_CHANGES):
        left -= len(old) + len(new)
        pieces = _pieces(old, new) if left >= 0 else _replaced(old, new)
        changes.append(FieldChange(label, pieces, field, criterion))
    return changes


def _replaced(old: str, new: str) -> list[DiffPiece]:
    """Show the old text as removed and the new one as added."""
    pieces = [DiffPiece("removed", old), DiffPiece("added", new)]
    return [_shortened(piece, 0, 0) for piece in pieces if piece.text]


def _texts(name: str, old: Any, new: Any) -> Iterator[ComparedText]:
    if name == "parsed_rubric_scores":
        for criterion in {**new, **old}:
            title = criterion_title(criterion)
            for part, label in (("score", f"{title}: score"), ("justification", title)):
                before, after = (_judged(version.get(criterion), part) for version in (old, new))
                yield ComparedText(label, before, after, name, title)
    elif name == "raw_judge_output":
        yield ComparedText(name, raw_text(old), raw_text(new), name)
    elif name == "task_context":
        for member in {**(old or {}), **(new or {})}:
            before, after = (_text((version or {}).get(member)) for version in (old, new))
            yield ComparedText(member, before, after, name)
    else:
        yield ComparedText(name, _text(old), _text(new), name)


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
    """Return how many words two texts have in common at their start."""
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
            # Added words come before the unchanged words that follow them.
            yield from takewhile(lambda one: one.kind != "same", added)
        yield piece
    yield from added


def _shortened(piece: DiffPiece, place: int, last: int) -> DiffPiece:
    """Shorten a long piece. Unchanged text is kept only next to a change."""
    text = piece.text
    if piece.kind != "same":
        if len(text) <= _MAX_SHOWN:
            return piece
        return DiffPiece(piece.kind, f"{_beginning(split_words(text[: 2 * _MAX_SHOWN]), _MAX_SHOWN)} …")
    if len(text) <= 2 * _CONTEXT + 3:
        return piece
    words = split_words(text)
    head = "" if place == 0 else _beginning(words, _CONTEXT)
    tail = "" if place == last else text[len(text) - len(_beginning(words[::-1], _CONTEXT)) :]
    return DiffPiece("same", f"{head} … {tail}")


def _beginning(words: list[Word], limit: int) -> str:
    """Return the first words with at most `limit` characters. Whole words, so that no formula is cut."""
    ends = list(accumulate(len(word.text) for word in words))
    return "".join(word.text for word in words[: bisect_right(ends, limit)])


# Changes to name; the others are counted.
_MAX_NAMED = 2
# Fields of a record in words, in the order of their importance to a reviewer.
_WORDS = {
    "structured_model_response": "model response changed",
    "structured_ideal_response": "reference answer changed",
    "task_context": "question or responses changed",
    "aggregated_score": "judge's verdict changed",
    "final_answer_verified": "verification changed",
    "verification_message": "verification changed",
    "judge_llm_model": "judge changed",
    "judge_prompt_template_path": "judge prompt changed",
    "raw_judge_output": "raw judge output changed",
    "parsing_error": "parsing error changed",
    "needs_human_review": "flag reasons changed",
    "review_reasons": "flag reasons changed",
}
# Fields that change with the judge's scores.
_WITH_SCORES = {"raw_judge_output", "aggregated_score"}


def summarise_changes(evaluation: Evaluation, proposals: list[Proposal], found: list[FieldChange]) -> str:
    """Return the changes since the current decision, as "Rigour: judge No → Yes; model response changed".

    `proposals` are the judge's proposals now, and `found` are the changes of the record's fields.
    """
    judged = list(_score_changes(evaluation, proposals, found))
    fields = [change for change in found if not (judged and change.field in _WITH_SCORES)]
    words = list(dict.fromkeys(chain(judged, _justification_changes(fields), _field_changes(fields))))
    named, more = words[:_MAX_NAMED], len(words) - _MAX_NAMED
    if more > 0:
        named.append(f"{more} more {'change' if more == 1 else 'changes'}")
    sentence = "; ".join(named) or "re-imported with changes"
    return sentence[0].upper() + sentence[1:]


def _score_changes(
    evaluation: Evaluation, proposals: list[Proposal], found: list[FieldChange]
) -> Iterator[str]:
    before = evaluation.review.judged if evaluation.review else None
    if before is None:  # not every decision has them, such as one from a file
        yield from (_in_words(change.criterion, *change.texts) for change in found if change.is_score)
        return
    now = {proposal.criterion: proposal.score for proposal in proposals if proposal.origin != "rubric"}
    for name in {**now, **before}:
        if not is_same_score(before.get(name), now.get(name)):
            texts = (format_score(scores.get(name)) for scores in (before, now))
            yield _in_words(criterion_title(name), *texts)


def _in_words(title: str, before: str, after: str) -> str:
    if not after:
        return f"{title}: no longer scored by the judge"
    return f"{title}: judge {before} → {after}" if before else f"{title}: new, judge {after}"


def _justification_changes(found: Iterable[FieldChange]) -> Iterator[str]:
    changed = [change for change in found if change.criterion]
    scored = {change.criterion for change in changed if change.is_score}
    for change in changed:
        if change.criterion not in scored:
            yield f"{change.criterion}: justification changed"


def _field_changes(found: Iterable[FieldChange]) -> Iterator[str]:
    fields = {change.field for change in found if not change.criterion}
    yield from (words for field, words in _WORDS.items() if field in fields)
    if fields - _WORDS.keys():
        yield "other fields changed"
