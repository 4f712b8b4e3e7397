"""The file back, with the decisions in it.

The kept files of a run are walked in order. A piece in which nothing is special goes out as it
is; otherwise its lines are told one by one: rejected ones and repeats are left out, a line with
a review here gets its human_* values, everything else keeps its bytes. Each record stands once,
at its first place.
"""

import heapq
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import orjson
from django.db import connection
from django.db.models import F, Q

from reviews.audit import log
from reviews.database.held_transaction import HeldTransaction
from reviews.database.replica import yield_from_replica
from reviews.exports.decision_values import decision_columns, human_values, order_criteria
from reviews.exports.receipt import ExportTally, LineSource, ReceiptInput
from reviews.imports.runs import run_mapping
from reviews.models import Evaluation, Import, ImportLine, Run
from reviews.records.line_splice import splice
from reviews.records.mapping import FieldMapping
from reviews.records.schema import HUMAN_FIELDS
from reviews.records.status import DONE_STATUSES
from reviews.storage import integrity, source_files, unchanged_ranges
from reviews.storage.copy_encoding import content_hash
from reviews.storage.corruption import CorruptData, SourceFile
from reviews.storage.source_files import Chunk

ONLY = ("all", "reviewed")


@yield_from_replica
def export_lines(
    run: Run,
    *,
    only: str = "all",
    with_rejected: bool = False,
    only_import: Import | None = None,
    tally: ExportTally | None = None,
) -> Iterator[bytes]:
    """The run as JSONL in blocks of bytes, as of the moment the first block is asked for.

    `only` is one of `ONLY`; "reviewed" gives the lines that hold a human decision. `with_rejected`
    keeps the rejected lines in their places (of all lines, not of the reviewed ones). `only_import`
    gives the file of one import of the run instead: the lines it came with, whatever other files
    brought, with the decisions made here. `tally` is told what becomes of lines. Raises `replica.ReplicaLost`, and
    `CorruptData` before a byte that is not as it came or was decided, and at the end if something is missing.
    """
    tally = tally or ExportTally()
    with HeldTransaction():
        use_snapshot()
        tally.audit_head = str(log.chain_head())
        if only_import:
            blocks = _blocks_of_import(only_import, only, tally, with_rejected=with_rejected)
        else:
            blocks = _blocks(run, only, tally, with_rejected=with_rejected)
        with closing(blocks):
            for block, line_ends in blocks:
                tally.writes(block, line_ends)
                yield block


def use_snapshot() -> None:
    """Let every query of a transaction see the same moment (inside another transaction: as that has it)."""
    if len(connection.savepoint_ids) == 0:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


# A block, and how many line ends are in it.
_Block = tuple[bytes, int]


def _blocks(run: Run, only: str, tally: ExportTally, *, with_rejected: bool) -> Generator[_Block, None, None]:
    integrity.verify_run_imports(run)
    reader, mapping = source_files.LineReader(), run_mapping(run)
    start, ended = b"", True
    for place, kept in enumerate(run.files):
        tally.inputs.append(_input(kept))
        agenda = _Agenda(
            kept, _reviewed(kept) if only == "reviewed" else _special(kept, with_rejected=with_rejected)
        )
        if place == 0 and kept.has_bom:
            start = source_files.BOM
        opening = start if ended else b"\n"
        with closing(agenda):
            for piece in source_files.stored_chunks(kept):
                stretch = _Stretch(kept, piece, tally, reader, mapping, after_line_end=opening == b"\n")
                block, line_ends = stretch.block(agenda, whole=only == "all", repeated=kept.repeated_lines)
                if block or (opening == b"\n" and _ends_what_broke_off(kept, piece)):
                    yield opening + block, line_ends + (opening == b"\n")
                    ended = (opening + block).endswith(b"\n")
                    start = opening = b""
    # A file that is nothing else.
    if start and not tally.lines_left_out:
        yield start, 0


def _blocks_of_import(
    kept: Import, only: str, tally: ExportTally, *, with_rejected: bool
) -> Generator[_Block, None, None]:
    integrity.verify_import(kept)
    tally.inputs.append(_input(kept))
    rejected = [] if with_rejected or only == "reviewed" else [_rejected(kept)]
    agenda = _Agenda(kept, _by_line(_decided(kept, only), *rejected))
    opening = source_files.BOM if kept.has_bom else b""
    reader, mapping = source_files.LineReader(), run_mapping(kept.run)
    with closing(agenda):
        for piece in source_files.stored_chunks(kept):
            block, line_ends = _Stretch(kept, piece, tally, reader, mapping).block(
                agenda, whole=only == "all"
            )
            if block or opening:
                yield opening + block, line_ends
                opening = b""


def _input(kept: Import) -> ReceiptInput:
    return ReceiptInput(kept.pk, kept.file_name, kept.size, kept.sha256, kept.lines)


def _ends_what_broke_off(kept: Import, piece: Chunk) -> bool:
    """Whether a file that repeats an earlier one has the line end which that one's last line lacks."""
    return kept.repeated_lines > 0 and piece.data.endswith(b"\n")


class _Told(NamedTuple):
    """What an export does with one line: leave it out, or write it.

    Of a record, `source_import`, `source_line` and `content_hash` are the line that holds it now. With
    `takes_newest` that line is written in the place of this one. `human` are the values of a review.
    """

    line: int
    written: bool
    evaluation_id: str = ""
    source_import: int = 0
    source_line: int = 0
    content_hash: bytes = b""
    takes_newest: bool = False
    human: dict[str, Any] | None = None


class _Agenda:
    """Hand out the special lines of an import piece by piece. Raises `CorruptData` out of order.

    Close it inside the transaction: it reads from a server-side cursor.
    """

    def __init__(self, kept: Import, told: Generator[_Told, None, None]) -> None:
        self._told = _in_order(kept, told)
        self._next = next(self._told, None)
        self._last: _Told | None = None

    def close(self) -> None:
        self._told.close()

    def of(self, piece: Chunk) -> dict[int, _Told]:
        """What is told of the lines of a piece, by line; of a line cut in pieces, with each of them."""
        last_line = piece.first_line + max(piece.lines, 1) - 1
        stretch = {}
        if self._last and self._last.line == piece.first_line:
            stretch[self._last.line] = self._last
        while self._next and self._next.line <= last_line:
            self._last = stretch[self._next.line] = self._next
            self._next = next(self._told, None)
        return stretch


def _in_order(kept: Import, told: Generator[_Told, None, None]) -> Generator[_Told, None, None]:
    """Check that line numbers ascend within the import. Raises `CorruptData`."""
    last = 0
    with closing(told):
        for one in told:
            if not last < one.line <= kept.lines:
                what = f"line {one.line:,} cannot be what a row says of it"
                raise CorruptData(SourceFile.of_import(kept).rows_fault(what))
            last = one.line
            yield one


def _by_line(*told: Generator[_Told, None, None]) -> Generator[_Told, None, None]:
    """Merge by line."""
    with ExitStack() as stack:
        for each in told:
            stack.enter_context(closing(each))
        yield from heapq.merge(*told, key=attrgetter("line"))


class _Stretch:
    """One piece of an import, on its way out. `after_line_end`: the block begins with a line end."""

    def __init__(
        self,
        kept: Import,
        piece: Chunk,
        tally: ExportTally,
        reader: source_files.LineReader,
        mapping: FieldMapping | None,
        *,
        after_line_end: bool = False,
    ) -> None:
        self._kept, self._piece, self._tally, self._reader = kept, piece, tally, reader
        self._mapping = mapping
        self._lines_before = tally.lines - tally.in_line * (not after_line_end)

    def block(self, agenda: "_Agenda", *, whole: bool, repeated: int = 0) -> _Block:
        """What an export holds of it. `whole`: lines that nothing is told of are written.

        The first `repeated` lines of the import are not.
        """
        piece = self._piece
        self._tally.bytes_read += len(piece.data)
        told_of = agenda.of(piece)
        data = piece.data.removeprefix(source_files.BOM) if piece.number == 0 else piece.data
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
        """Return the line as it is written. Raises `CorruptData` for another record's line."""
        is_newest = (told.source_import, told.source_line) == (self._kept.pk, number)
        moved = told.takes_newest and not is_newest
        if told.evaluation_id and not self._is_of(line, told, is_newest=is_newest):
            raise CorruptData(
                SourceFile.of_import(self._kept).rows_fault(source_files.wrong_line_message(number))
            )
        if moved:
            newest = (told.source_import, told.source_line)
            line = self._reader.verified(*newest, told.evaluation_id, told.content_hash)
        changed: list[str] = []
        if told.human:
            line = splice(line, order_criteria(line, told.human), changed)
        if moved or changed:
            keys = [key for key in HUMAN_FIELDS if key in changed]
            taken_from = LineSource(told.source_import, told.source_line) if moved else None
            self._tally.changes(self._lines_before + place, told.evaluation_id, keys, taken_from)
        return line

    def _is_of(self, line: bytes, told: "_Told", *, is_newest: bool) -> bool:
        """Whether the line in this place holds the record, and where it is the newest, in that version."""
        if is_newest and content_hash(line) != told.content_hash:
            return False
        # A record that one file has in two lines would have its other line rejected.
        is_elsewhere_here = told.source_import == self._kept.pk and not is_newest
        return not is_elsewhere_here and source_files.line_has_record(line, told.evaluation_id, self._mapping)


def _joined(lines: list[bytes], gone: set[int]) -> _Block:
    """What was split on LF, in one again, without the lines at these places."""
    ended = [line for place, line in enumerate(lines[:-1]) if place not in gone] if gone else lines[:-1]
    last = b"" if len(lines) - 1 in gone else lines[-1]
    return b"\n".join([*ended, last]), len(ended)


# What is told of lines


def _special(kept: Import, *, with_rejected: bool) -> Generator[_Told, None, None]:
    """The lines of an import that do not simply go out as they are."""
    noted_rows = kept.exceptions.order_by("line")
    noted = (
        _Told(number, written=with_rejected and outcome == ImportLine.Outcome.REJECTED)
        for line, lines, outcome in noted_rows.values_list("line", "lines", "outcome").iterator()
        for number in range(line, line + lines)
    )
    decided_or_moved = Q(review__isnull=False) | ~Q(source_import=F("first_import"))
    return _by_line(noted, _evaluations(kept, decided_or_moved))


def _reviewed(kept: Import) -> Generator[_Told, None, None]:
    return _evaluations(kept, Q(human_review_status__in=DONE_STATUSES))


_NEWEST = ("evaluation_id", "source_import_id", "source_line", "content_hash")


def _evaluations(kept: Import, condition: Q) -> Generator[_Told, None, None]:
    rows = (
        Evaluation.objects.filter(condition, run=kept.run_id, first_import=kept)
        .order_by("first_line")
        .values_list("first_line", *_NEWEST, *decision_columns())
    )
    for row in rows.iterator():
        yield _told(*row, takes_newest=True)


def _told(
    line: int,
    evaluation_id: str,
    source_import: int,
    source_line: int,
    line_hash: bytes,
    *decision: Any,
    takes_newest: bool,
) -> _Told:
    return _Told(
        line,
        written=True,
        evaluation_id=evaluation_id,
        source_import=source_import,
        source_line=source_line,
        content_hash=bytes(line_hash),
        takes_newest=takes_newest,
        human=human_values(*decision),
    )


def _decided(kept: Import, only: str) -> Generator[_Told, None, None]:
    """The lines of an import whose records have a decision, or with "all" those that have it from here."""
    decided = {"human_review_status__in": DONE_STATUSES} if only == "reviewed" else {"review__isnull": False}
    new = Evaluation.objects.filter(run=kept.run_id, first_import=kept, **decided).order_by("first_line")
    known = (
        kept.exceptions.exclude(outcome=ImportLine.Outcome.REJECTED)
        .filter(**{f"evaluation__{name}": value for name, value in decided.items()})
        .order_by("line")
    )
    same = (
        Evaluation.objects.filter(run=kept.run_id, **decided)
        .exclude(first_import=kept)
        .annotate(line_here=unchanged_ranges.line_in_import(kept))
        .filter(line_here__isnull=False)
        .order_by("line_here")
    )
    newest = [f"evaluation__{name}" for name in _NEWEST]
    rows = heapq.merge(
        new.values_list("first_line", *_NEWEST, *decision_columns()).iterator(),
        same.values_list("line_here", *_NEWEST, *decision_columns()).iterator(),
        known.values_list("line", *newest, *decision_columns("evaluation__")).iterator(),
        key=itemgetter(0),
    )
    for row in rows:
        yield _told(*row, takes_newest=False)


def _rejected(kept: Import) -> Generator[_Told, None, None]:
    rejected = kept.exceptions.filter(outcome=ImportLine.Outcome.REJECTED).order_by("line")
    for line in rejected.values_list("line", flat=True).iterator():
        yield _Told(line, written=False)


# Downloads of one import


def rejected_lines(kept: Import) -> Iterator[bytes]:
    """The rejected lines of an import as they came, each with its line end. Raises `CorruptData`."""
    rejected = kept.exceptions.filter(outcome=ImportLine.Outcome.REJECTED).order_by("line")
    numbers = rejected.values_list("line", flat=True)
    with HeldTransaction():
        integrity.verify_import(kept)
        with closing(_Agenda(kept, (_Told(line, written=True) for line in numbers.iterator()))) as agenda:
            for piece in source_files.stored_chunks(kept):
                stretch = agenda.of(piece)
                lines = piece.data.split(b"\n")
                gone = {place for place in range(len(lines)) if piece.first_line + place not in stretch}
                yield _joined(lines, gone)[0]


def import_exceptions(kept: Import, *, outcome: str = "") -> Iterator[bytes]:
    """JSONL: `{"line", "outcome", "field", "reason"}` of every line that is not a new record or blank.

    With an `outcome`, of those that had it. Raises `CorruptData`.
    """
    integrity.verify_import(kept)
    for exception in kept.listed_exceptions():
        if not outcome or exception["outcome"] == outcome:
            yield orjson.dumps(exception) + b"\n"
