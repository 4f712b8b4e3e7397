"""The file back, with the decisions in it.

The kept files of a run are walked in order. A piece in which nothing is special goes out as it
is; otherwise its lines are told one by one: rejected ones and repeats are left out, a line with
a review here gets its human_* values, everything else keeps its bytes. Each record stands once,
at its first place.
"""

import heapq
import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import orjson
from django.db import connection
from django.db.models import Expression, F, Func, Q, TextField, Value
from django.db.models.functions import Cast

from reviews import ledger, source, unchanged
from reviews.held_transaction import HeldTransaction
from reviews.models import Evaluation, Import, ImportLine, Run
from reviews.receipt import Input, Source, Tally
from reviews.record import DONE_WORDS, HUMAN_FIELDS, NOT_REQUIRED
from reviews.replica import by_replica_in_steps
from reviews.source import Piece
from reviews.splice import splice

ONLY = ("all", "reviewed")


@by_replica_in_steps
def export(
    run: Run,
    *,
    only: str = "all",
    with_rejected: bool = False,
    only_import: Import | None = None,
    tally: Tally | None = None,
) -> Iterator[bytes]:
    """The run as JSONL in blocks of bytes, as of the moment the first block is asked for.

    `only` is one of `ONLY`; "reviewed" gives the lines that hold a human decision. `with_rejected`
    keeps the rejected lines in their places (of all lines, not of the reviewed ones). `only_import`
    gives the file of one import of the run instead: the lines it came with, whatever other files
    brought, with the decisions made here. `tally` is told what becomes of lines. Raises `replica.Lost`.
    """
    tally = tally or Tally()
    with HeldTransaction():
        _freeze_view()
        tally.ledger = str(ledger.head())
        if only_import:
            blocks = _blocks_of_import(only_import, only, tally, with_rejected=with_rejected)
        else:
            blocks = _blocks(run, only, tally, with_rejected=with_rejected)
        for block, line_ends in blocks:
            tally.writes(block, line_ends)
            yield block


def _freeze_view() -> None:
    """Let every query of this export see the same moment (inside another transaction: as that has it)."""
    if len(connection.savepoint_ids) == 0:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


# A block, and how many line ends are in it.
_Block = tuple[bytes, int]


def _blocks(run: Run, only: str, tally: Tally, *, with_rejected: bool) -> Iterator[_Block]:
    reader = source.LineReader()
    start, ended = b"", True
    for place, kept in enumerate(run.files):
        tally.inputs.append(_input(kept))
        agenda = _Agenda(
            _reviewed(kept) if only == "reviewed" else _special(kept, with_rejected=with_rejected)
        )
        if place == 0 and kept.has_bom:
            start = source.BOM
        opening = start if ended else b"\n"
        for piece in source.kept_pieces(kept):
            block, line_ends = _Stretch(kept, piece, tally, reader, after_line_end=opening == b"\n").block(
                agenda, whole=only == "all", repeated=kept.repeated_lines
            )
            if block or (opening == b"\n" and _ends_what_broke_off(kept, piece)):
                yield opening + block, line_ends + (opening == b"\n")
                ended = (opening + block).endswith(b"\n")
                start = opening = b""
    # A file that is nothing else.
    if start and not tally.lines_left_out:
        yield start, 0


def _blocks_of_import(kept: Import, only: str, tally: Tally, *, with_rejected: bool) -> Iterator[_Block]:
    tally.inputs.append(_input(kept))
    rejected = iter(()) if with_rejected or only == "reviewed" else _rejected(kept)
    agenda = _Agenda(heapq.merge(_decided(kept, only), rejected))
    opening = source.BOM if kept.has_bom else b""
    reader = source.LineReader()
    for piece in source.kept_pieces(kept):
        block, line_ends = _Stretch(kept, piece, tally, reader).block(agenda, whole=only == "all")
        if block or opening:
            yield opening + block, line_ends
            opening = b""


def _input(kept: Import) -> Input:
    return Input(kept.pk, kept.file_name, kept.size, kept.sha256, kept.lines)


def _ends_what_broke_off(kept: Import, piece: Piece) -> bool:
    """Whether a file that repeats an earlier one has the line end which that one's last line lacks."""
    return kept.repeated_lines > 0 and piece.data.endswith(b"\n")


class _Told(NamedTuple):
    """What an export does with one line: leave it out, or write it.

    It may write another import's line in its place, and put the human values of a review in it.
    """

    line: int
    written: bool
    source_import: int = 0
    source_line: int = 0
    human: dict[str, Any] | None = None
    evaluation_id: str = ""


class _Agenda:
    """What is told of the lines of an import, handed out piece by piece."""

    def __init__(self, told: Iterator[_Told]) -> None:
        self._told = told
        self._next = next(told, None)
        self._last: _Told | None = None

    def of(self, piece: Piece) -> dict[int, _Told]:
        """What is told of the lines of a piece, by line; of a line cut in pieces, with each of them."""
        last_line = piece.first_line + max(piece.lines, 1) - 1
        stretch = {}
        if self._last and self._last.line == piece.first_line:
            stretch[self._last.line] = self._last
        while self._next and self._next.line <= last_line:
            self._last = stretch[self._next.line] = self._next
            self._next = next(self._told, None)
        return stretch


class _Stretch:
    """One piece of an import, on its way out. `after_line_end`: the block begins with a line end."""

    def __init__(
        self,
        kept: Import,
        piece: Piece,
        tally: Tally,
        reader: source.LineReader,
        *,
        after_line_end: bool = False,
    ) -> None:
        self._kept, self._piece, self._tally, self._reader = kept, piece, tally, reader
        self._lines_before = tally.lines - tally.in_line * (not after_line_end)

    def block(self, agenda: "_Agenda", *, whole: bool, repeated: int = 0) -> _Block:
        """What an export holds of it. `whole`: lines that nothing is told of are written.

        The first `repeated` lines of the import are not.
        """
        piece = self._piece
        self._tally.bytes_read += len(piece.data)
        told_of = agenda.of(piece)
        data = piece.data.removeprefix(source.BOM) if piece.number == 0 else piece.data
        untold = range(piece.first_line, piece.first_line + max(piece.lines, 1))
        if told_of or piece.first_line <= repeated:
            # Where the others go out as they are, nobody looks at them.
            numbers = told_of if whole and piece.first_line > repeated else untold
            return self._lines(data, numbers, told_of, whole=whole, repeated=repeated)
        if not whole:
            self._tally.leaves_out(self._kept.pk, untold[0], untold[-1])
            return b"", 0
        # Its line ends were counted when it came in; the last line of a file may have none.
        return data, piece.lines if data.endswith(b"\n") else data.count(b"\n")

    def _lines(
        self, data: bytes, numbers: Iterable[int], told_of: dict[int, _Told], *, whole: bool, repeated: int
    ) -> _Block:
        lines, gone = data.split(b"\n"), set()
        for number in numbers:
            told, index = told_of.get(number), number - self._piece.first_line
            if number <= repeated or not (told.written if told else whole):
                self._tally.leaves_out(self._kept.pk, number, number)
                gone.add(index)
            elif told:
                lines[index] = self._written(number, lines[index], told, index - len(gone) + 1)
        return _joined(lines, gone)

    def _written(self, number: int, line: bytes, told: "_Told", place: int) -> bytes:
        """The line as it goes out, in that place of the block."""
        moved = told.source_import and (told.source_import, told.source_line) != (self._kept.pk, number)
        if moved:
            line = self._reader.line(told.source_import, told.source_line)
        changed: list[str] = []
        if told.human:
            line = splice(line, _in_order_of(line, told.human), changed)
        if moved or changed:
            keys = [key for key in HUMAN_FIELDS if key in changed]
            taken_from = Source(told.source_import, told.source_line) if moved else None
            self._tally.changes(self._lines_before + place, told.evaluation_id, keys, taken_from)
        return line


def _joined(lines: list[bytes], gone: set[int]) -> _Block:
    """What was split on LF, in one again, without the lines at these places."""
    ended = [line for place, line in enumerate(lines[:-1]) if place not in gone] if gone else lines[:-1]
    last = b"" if len(lines) - 1 in gone else lines[-1]
    return b"\n".join([*ended, last]), len(ended)


# What is told of lines


def _special(kept: Import, *, with_rejected: bool) -> Iterator[_Told]:
    """The lines of an import that do not simply go out as they are."""
    noted_rows = kept.exceptions.order_by("line")
    noted = (
        _Told(number, written=with_rejected and outcome == ImportLine.Outcome.REJECTED)
        for line, lines, outcome in noted_rows.values_list("line", "lines", "outcome").iterator()
        for number in range(line, line + lines)
    )
    decided_or_moved = Q(review__isnull=False) | ~Q(source_import=F("first_import"))
    return heapq.merge(noted, _evaluations(kept, decided_or_moved))


def _reviewed(kept: Import) -> Iterator[_Told]:
    return _evaluations(kept, Q(human_review_status__in=DONE_WORDS))


def _evaluations(kept: Import, condition: Q) -> Iterator[_Told]:
    rows = (
        Evaluation.objects.filter(condition, run=kept.run_id, first_import=kept)
        .order_by("first_line")
        .values_list("first_line", "source_import_id", "source_line", "evaluation_id", *_decision())
    )
    for line, source_import, source_line, evaluation_id, *decision in rows.iterator():
        values = _human_values(*decision)
        yield _Told(line, True, source_import, source_line, values, evaluation_id)  # noqa: FBT003 (by their order)


def _decided(kept: Import, only: str) -> Iterator[_Told]:
    """The lines of an import whose records have a decision, or with "all" those that have it from here."""
    decided = {"human_review_status__in": DONE_WORDS} if only == "reviewed" else {"review__isnull": False}
    new = Evaluation.objects.filter(run=kept.run_id, first_import=kept, **decided).order_by("first_line")
    known = (
        kept.exceptions.exclude(outcome=ImportLine.Outcome.REJECTED)
        .filter(**{f"evaluation__{name}": value for name, value in decided.items()})
        .order_by("line")
    )
    same = (
        Evaluation.objects.filter(run=kept.run_id, **decided)
        .exclude(first_import=kept)
        .annotate(line_here=unchanged.line_in(kept))
        .filter(line_here__isnull=False)
        .order_by("line_here")
    )
    rows = heapq.merge(
        new.values_list("first_line", "evaluation_id", *_decision()).iterator(),
        same.values_list("line_here", "evaluation_id", *_decision()).iterator(),
        known.values_list("line", "evaluation__evaluation_id", *_decision("evaluation__")).iterator(),
        key=itemgetter(0),
    )
    for line, evaluation_id, *decision in rows:
        yield _Told(line, written=True, human=_human_values(*decision), evaluation_id=evaluation_id)


def _decision(prefix: str = "") -> list[str | Expression]:
    """The columns of a decision with its five human_* values, as `_human_values` takes them.

    PostgreSQL spells the time, like `created_at`, and hands out the scores as text: half the work of
    having Django make values of both.
    """
    status, reviewer, moment, scores, comments = (prefix + name for name in HUMAN_FIELDS)
    spelled = Func(
        moment, Value('YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), function="to_char", output_field=TextField()
    )
    stands = [f"{prefix}review_id", f"{prefix}is_sampled"]
    return [*stands, status, reviewer, spelled, Cast(scores, TextField()), comments]


def _human_values(review: int | None, is_sampled: bool, *columns: str | None) -> dict[str, Any] | None:  # noqa: FBT001 (by their order)
    """The five human_* values as a file has them; None where `Evaluation.keeps_line`."""
    values: dict[str, Any] = dict(zip(HUMAN_FIELDS, columns, strict=True))
    if review is None or (is_sampled and values["human_review_status"] == NOT_REQUIRED):
        return None
    scores = values["human_corrected_scores"]
    if scores is not None:
        values["human_corrected_scores"] = orjson.loads(scores)
    return values


def _in_order_of(line: bytes, human: dict[str, Any]) -> dict[str, Any]:
    """The human_* values with the corrected criteria in the order that the line has them in.

    PostgreSQL keeps no order of keys. What the pipeline parsed are keys in `parsed_rubric_scores`;
    what it could not parse stands in the raw output, with escaped quotes.
    """
    scores = human["human_corrected_scores"]
    if not scores:
        return human
    parsed, end = line.find(b'"parsed_rubric_scores"'), len(line)
    keys, keys_in_text = _spelled(tuple(scores), ascii_only=line.isascii())
    places = [line.find(key, parsed) for key in keys]
    if -1 in places:
        # First those that were parsed, then those in the text, then those that people brought.
        in_text = [line.find(key) + 1 or end for key in keys_in_text]
        places = [place if place >= 0 else end + other for place, other in zip(places, in_text, strict=True)]
    order = sorted(zip(places, scores, strict=True), key=itemgetter(0))
    return human | {"human_corrected_scores": {criterion: scores[criterion] for _, criterion in order}}


@lru_cache(maxsize=1000)
def _spelled(criteria: tuple[str, ...], *, ascii_only: bool) -> tuple[list[bytes], list[bytes]]:
    """Criteria as a line spells them: as keys, and as keys in a text that holds JSON."""
    encode = json.JSONEncoder(ensure_ascii=ascii_only).encode
    return (
        [encode(criterion).encode() for criterion in criteria],
        [encode(f'"{criterion}"')[1:-1].encode() for criterion in criteria],
    )


def _rejected(kept: Import) -> Iterator[_Told]:
    rejected = kept.exceptions.filter(outcome=ImportLine.Outcome.REJECTED).order_by("line")
    for line in rejected.values_list("line", flat=True).iterator():
        yield _Told(line, written=False)


# Downloads of one import


def rejected_lines(kept: Import) -> Iterator[bytes]:
    """The rejected lines of an import as they came, each with its line end."""
    rejected = kept.exceptions.filter(outcome=ImportLine.Outcome.REJECTED).order_by("line")
    numbers = rejected.values_list("line", flat=True)
    with HeldTransaction():
        agenda = _Agenda(_Told(line, written=True) for line in numbers.iterator())
        for piece in source.kept_pieces(kept):
            stretch = agenda.of(piece)
            lines = piece.data.split(b"\n")
            gone = {place for place in range(len(lines)) if piece.first_line + place not in stretch}
            yield _joined(lines, gone)[0]


def exceptions(kept: Import, *, outcome: str = "") -> Iterator[bytes]:
    """JSONL: `{"line", "outcome", "field", "reason"}` of every line that is not a new record or blank.

    With an `outcome`, of those that had it.
    """
    for exception in kept.listed_exceptions():
        if not outcome or exception["outcome"] == outcome:
            yield orjson.dumps(exception) + b"\n"
