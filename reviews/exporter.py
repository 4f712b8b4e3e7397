"""The file back, with the decisions in it.

The kept files of a run are walked in order. A piece in which nothing is special goes out as it
is; otherwise its lines are told one by one: rejected ones and repeats are left out, a line with
a review here gets its human_* values, everything else keeps its bytes. Each record stands once,
at its first place.
"""

import datetime as dt
import heapq
from collections.abc import Iterator
from operator import itemgetter
from typing import Any, NamedTuple

import orjson
from django.db import connection, transaction
from django.db.models import F, Q

from reviews import source
from reviews.models import Evaluation, Import, ImportLine, Run
from reviews.receipt import Input, Ledger, Source
from reviews.record import DONE_WORDS, HUMAN_FIELDS
from reviews.source import Piece
from reviews.splice import splice

ONLY = ("all", "reviewed")


def export(
    run: Run,
    *,
    only: str = "all",
    with_rejected: bool = False,
    only_import: Import | None = None,
    ledger: Ledger | None = None,
) -> Iterator[bytes]:
    """The run as JSONL in blocks of bytes, as of the moment the first block is asked for.

    `only` is one of `ONLY`; "reviewed" gives the lines that hold a human decision. `with_rejected`
    keeps the rejected lines in their places (of all lines, not of the reviewed ones). `only_import`
    gives the file of one import of the run instead: the lines it came with, whatever other files
    brought, with the decisions made here. `ledger` is told what becomes of lines.
    """
    ledger = ledger or Ledger()
    with transaction.atomic():
        _freeze_view()
        if only_import:
            blocks = _blocks_of_import(only_import, only, ledger, with_rejected=with_rejected)
        else:
            blocks = _blocks(run, only, ledger, with_rejected=with_rejected)
        for block, line_ends in blocks:
            ledger.writes(block, line_ends)
            yield block


def _freeze_view() -> None:
    """Let every query of this export see the same moment (inside another transaction: as that has it)."""
    if len(connection.savepoint_ids) == 0:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


# A block, and how many line ends are in it, where that is known.
_Block = tuple[bytes, int | None]


def _blocks(run: Run, only: str, ledger: Ledger, *, with_rejected: bool) -> Iterator[_Block]:
    done = run.imports.filter(state=Import.State.DONE).order_by("pk")
    reader = source.LineReader()
    ended = True
    for place, kept in enumerate(done):
        ledger.inputs.append(_input(kept))
        agenda = _Agenda(
            _reviewed(kept) if only == "reviewed" else _special(kept, with_rejected=with_rejected)
        )
        opening = b"" if ended else b"\n"
        if place == 0 and kept.has_bom:
            opening = source.BOM
        for piece in source.kept_pieces(kept):
            block = _Stretch(kept, piece, ledger, reader, after_line_end=opening == b"\n").block(
                agenda, whole=only == "all", repeated=kept.repeated_lines
            )
            if block or (opening == b"\n" and _ends_what_broke_off(kept, piece)):
                yield _counted(opening + block, piece)
                ended = (opening + block).endswith(b"\n")
                opening = b""


def _blocks_of_import(kept: Import, only: str, ledger: Ledger, *, with_rejected: bool) -> Iterator[_Block]:
    ledger.inputs.append(_input(kept))
    rejected = iter(()) if with_rejected or only == "reviewed" else _rejected(kept)
    agenda = _Agenda(heapq.merge(_decided(kept, only), rejected))
    opening = source.BOM if kept.has_bom else b""
    reader = source.LineReader()
    for piece in source.kept_pieces(kept):
        block = _Stretch(kept, piece, ledger, reader).block(agenda, whole=only == "all")
        if block or opening:
            yield _counted(opening + block, piece)
            opening = b""


def _counted(block: bytes, piece: Piece) -> _Block:
    # A piece that goes out as it is was counted when it came in.
    return block, piece.lines if block is piece.data and block.endswith(b"\n") else None


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
        ledger: Ledger,
        reader: source.LineReader,
        *,
        after_line_end: bool = False,
    ) -> None:
        self._kept, self._piece, self._ledger, self._reader = kept, piece, ledger, reader
        self._lines_before = ledger.lines - ledger.in_line * (not after_line_end)

    def block(self, agenda: "_Agenda", *, whole: bool, repeated: int = 0) -> bytes:
        """What an export holds of it. `whole`: lines that nothing is told of are written.

        The first `repeated` lines of the import are not.
        """
        piece = self._piece
        self._ledger.bytes_read += len(piece.data)
        told_of = agenda.of(piece)
        data = piece.data.removeprefix(source.BOM) if piece.number == 0 else piece.data
        if not told_of and piece.first_line > repeated:
            if not whole:
                last = piece.first_line + max(piece.lines, 1) - 1
                self._ledger.leaves_out(self._kept.pk, piece.first_line, last)
            return data if whole else b""
        parts: list[bytes] = []
        for number, line in _numbered(piece.first_line, data):
            told = told_of.get(number)
            if number <= repeated or not (told.written if told else whole):
                self._ledger.leaves_out(self._kept.pk, number, number)
            else:
                parts.append(self._written(number, line, told, len(parts) + 1) if told else line)
        return b"".join(parts)

    def _written(self, number: int, line: bytes, told: "_Told", place: int) -> bytes:
        """The line as it goes out, in that place of the block."""
        moved = told.source_import and (told.source_import, told.source_line) != (self._kept.pk, number)
        if moved:
            line_end = b"\n" if line.endswith(b"\n") else b""
            line = self._reader.line(told.source_import, told.source_line) + line_end
        changed: list[str] = []
        if told.human:
            line = splice(line, told.human, changed)
        if moved or changed:
            keys = [key for key in HUMAN_FIELDS if key in changed]
            taken_from = Source(told.source_import, told.source_line) if moved else None
            self._ledger.changes(self._lines_before + place, told.evaluation_id, keys, taken_from)
        return line


def _numbered(first: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines of a piece with their LF, numbered; of an overlong line, the part that is here."""
    lines = data.split(b"\n")
    last = lines.pop()
    for number, line in enumerate(lines, start=first):
        yield number, line + b"\n"
    if last:
        yield first + len(lines), last


# What is told of lines


def _special(kept: Import, *, with_rejected: bool) -> Iterator[_Told]:
    """The lines of an import that do not simply go out as they are."""
    noted = (
        _Told(line, written=with_rejected and outcome == ImportLine.Outcome.REJECTED)
        for line, outcome in kept.exceptions.order_by("line").values_list("line", "outcome").iterator()
    )
    decided_or_moved = Q(review__isnull=False) | ~Q(source_import=F("first_import"))
    return heapq.merge(noted, _evaluations(kept, decided_or_moved))


def _reviewed(kept: Import) -> Iterator[_Told]:
    return _evaluations(kept, Q(human_review_status__in=DONE_WORDS))


def _evaluations(kept: Import, condition: Q) -> Iterator[_Told]:
    rows = (
        Evaluation.objects.filter(condition, run=kept.run_id, first_import=kept)
        .order_by("first_line")
        .values_list(
            "first_line", "source_import_id", "source_line", "evaluation_id", "review_id", *HUMAN_FIELDS
        )
    )
    for line, source_import, source_line, evaluation_id, review, *human in rows.iterator():
        values = _human_values(*human) if review else None
        yield _Told(
            line,
            written=True,
            source_import=source_import,
            source_line=source_line,
            human=values,
            evaluation_id=evaluation_id,
        )


def _decided(kept: Import, only: str) -> Iterator[_Told]:
    """The lines of an import whose records have a decision, or with "all" those that have it from here."""
    decided = {"human_review_status__in": DONE_WORDS} if only == "reviewed" else {"review__isnull": False}
    columns = ("evaluation_id", "review_id", *HUMAN_FIELDS)
    new = Evaluation.objects.filter(run=kept.run_id, first_import=kept, **decided).order_by("first_line")
    known = (
        kept.exceptions.exclude(outcome=ImportLine.Outcome.REJECTED)
        .filter(**{f"evaluation__{name}": value for name, value in decided.items()})
        .order_by("line")
    )
    rows = heapq.merge(
        new.values_list("first_line", *columns).iterator(),
        known.values_list("line", *(f"evaluation__{name}" for name in columns)).iterator(),
        key=itemgetter(0),
    )
    for line, evaluation_id, review, *human in rows:
        values = _human_values(*human) if review else None
        yield _Told(line, written=True, human=values, evaluation_id=evaluation_id)


def _human_values(
    status: str, reviewer: str | None, timestamp: dt.datetime | None, scores: Any, comments: str | None
) -> dict[str, Any]:
    """The five human_* values as a file has them; the timestamp is spelled like `created_at`."""
    spelled = timestamp.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if timestamp else None
    return dict(zip(HUMAN_FIELDS, (status, reviewer, spelled, scores, comments), strict=True))


def _rejected(kept: Import) -> Iterator[_Told]:
    rejected = kept.exceptions.filter(outcome=ImportLine.Outcome.REJECTED).order_by("line")
    for line in rejected.values_list("line", flat=True).iterator():
        yield _Told(line, written=False)


# Downloads of one import


def rejected_lines(kept: Import) -> Iterator[bytes]:
    """The rejected lines of an import as they came, each with its line end."""
    rejected = kept.exceptions.filter(outcome=ImportLine.Outcome.REJECTED).order_by("line")
    numbers = rejected.values_list("line", flat=True)
    with transaction.atomic():
        agenda = _Agenda(_Told(line, written=True) for line in numbers.iterator())
        for piece in source.kept_pieces(kept):
            stretch = agenda.of(piece)
            yield b"".join(
                line for number, line in _numbered(piece.first_line, piece.data) if number in stretch
            )


def exceptions(kept: Import) -> Iterator[bytes]:
    """JSONL: `{"line", "outcome", "field", "reason"}` of every line that is not a new record or blank."""
    for exception in kept.listed_exceptions():
        yield orjson.dumps(exception) + b"\n"
