"""The file back, with the decisions in it.

The kept files of a run are walked in order. A piece in which nothing is special goes out as it
is; otherwise its lines are told one by one: rejected ones and repeats are left out, a line with
a review here gets its human_* values, everything else keeps its bytes. Each record stands once,
at its first place.
"""

import datetime as dt
import heapq
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson
from django.db import connection, transaction
from django.db.models import F, Q

from reviews import source
from reviews.models import Evaluation, Import, ImportLine, Run
from reviews.record import DONE_WORDS, HUMAN_FIELDS
from reviews.source import Piece
from reviews.splice import splice

ONLY = ("all", "reviewed")


def export(run: Run, *, only: str = "all", with_rejected: bool = False) -> Iterator[bytes]:
    """The run as JSONL in blocks of bytes, as of the moment the first block is asked for.

    `only` is one of `ONLY`; "reviewed" gives the lines that hold a human decision. `with_rejected`
    keeps the rejected lines in their places (of all lines, not of the reviewed ones).
    """
    with transaction.atomic():
        _freeze_view()
        yield from _blocks(run, only, with_rejected=with_rejected)


def _freeze_view() -> None:
    """Let every query of this export see the same moment (inside another transaction: as that has it)."""
    if len(connection.savepoint_ids) == 0:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def _blocks(run: Run, only: str, *, with_rejected: bool) -> Iterator[bytes]:
    done = run.imports.filter(state=Import.State.DONE).order_by("pk")
    ended = True
    for place, kept in enumerate(done):
        agenda = _Agenda(
            _reviewed(kept) if only == "reviewed" else _special(kept, with_rejected=with_rejected)
        )
        opening = b"" if ended else b"\n"
        if place == 0 and kept.has_bom:
            opening = source.BOM
        for piece in source.kept_pieces(kept):
            block = _block(kept, piece, agenda, whole=only == "all")
            if block or (opening == b"\n" and _ends_what_broke_off(kept, piece)):
                yield opening + block
                ended = (opening + block).endswith(b"\n")
                opening = b""


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


def _block(kept: Import, piece: Piece, agenda: _Agenda, *, whole: bool) -> bytes:
    """What an export holds of one piece. `whole`: lines that nothing is told of are written."""
    stretch = agenda.of(piece)
    data = piece.data.removeprefix(source.BOM) if piece.number == 0 else piece.data
    if not stretch and piece.first_line > kept.repeated_lines:
        return data if whole else b""
    parts = []
    for number, line in _numbered(piece.first_line, data):
        told = stretch.get(number)
        if number <= kept.repeated_lines:
            continue
        if told is None:
            parts.append(line if whole else b"")
        elif told.written:
            parts.append(_written(kept, number, line, told))
    return b"".join(parts)


def _numbered(first: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines of a piece with their LF, numbered; of an overlong line, the part that is here."""
    lines = data.split(b"\n")
    last = lines.pop()
    for number, line in enumerate(lines, start=first):
        yield number, line + b"\n"
    if last:
        yield first + len(lines), last


def _written(kept: Import, number: int, line: bytes, told: _Told) -> bytes:
    if told.source_import and (told.source_import, told.source_line) != (kept.pk, number):
        line_end = b"\n" if line.endswith(b"\n") else b""
        line = source.kept_line(told.source_import, told.source_line) + line_end
    return splice(line, told.human) if told.human else line


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
        .values_list("first_line", "source_import_id", "source_line", "review_id", *HUMAN_FIELDS)
    )
    for line, source_import, source_line, review, *human in rows.iterator():
        values = _human_values(*human) if review else None
        yield _Told(line, written=True, source_import=source_import, source_line=source_line, human=values)


def _human_values(
    status: str, reviewer: str, timestamp: dt.datetime, scores: Any, comments: str | None
) -> dict[str, Any]:
    """The five human_* values as a file has them; the timestamp is spelled like `created_at`."""
    spelled = timestamp.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return dict(zip(HUMAN_FIELDS, (status, reviewer, spelled, scores, comments), strict=True))


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
