"""Export a run: the stored source files, with the decisions spliced in.

The source files of a run are read in order. Chunks without decisions are copied verbatim; other chunks are
rewritten line by line. Rejected and repeated lines are omitted, a line with a review made here gets its
human_* values, and every other line keeps its bytes. Each record appears once, at its first place.
"""

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from enum import StrEnum

import orjson
from django.db import connection

from reviews.audit import log
from reviews.database.held_transaction import HeldTransaction
from reviews.database.replica import yield_from_replica
from reviews.database.statements import execute
from reviews.exports.decision_values import order_criteria
from reviews.exports.documents import archive_text, document_text, require_document
from reviews.exports.line_plan import LineAction, LinePlan, plan_of_import, plan_of_run, rejected_plan
from reviews.exports.receipt import ExportTally, LineSource, ReceiptInput
from reviews.models import Import, Run
from reviews.records.line_splice import splice
from reviews.records.mapping import FieldMapping
from reviews.records.schema import HUMAN_FIELDS, NO_LIMITS
from reviews.records.translation import translate
from reviews.storage import integrity, source_files
from reviews.storage.chunks import BOM, Chunk
from reviews.storage.copy_encoding import content_hash
from reviews.storage.corruption import CorruptData, SourceFile
from reviews.storage.frames import keep_frame
from reviews.storage.json_document import on_one_line
from reviews.storage.line_reader import LineReader, line_has_record, source_mapping, wrong_line_message

ONLY = ("all", "reviewed")


class Form(StrEnum):
    #: JSONL of the imported lines.
    LINES = "lines"
    #: JSONL of records: the lines of other tools are translated by their mapping.
    RECORDS = "records"
    #: The imported JSON document or archive.
    DOCUMENT = "document"


# A block of output, and the number of line ends in it.
_Block = tuple[bytes, int]


@yield_from_replica
def export_lines(
    run: Run,
    *,
    only: str = "all",
    with_rejected: bool = False,
    only_import: Import | None = None,
    form: Form = Form.LINES,
    tally: ExportTally | None = None,
) -> Iterator[bytes]:
    """Yield the run in blocks of bytes, as of the moment the first block is requested.

    `only` is one of `ONLY`: "reviewed" exports the lines with a human decision. `with_rejected` keeps
    rejected lines in their places (for "all" only). `only_import` exports the file of one import of the run
    instead: its own lines, whatever other files contain, with the decisions made here. A document keeps its
    rejected members. `tally` counts the lines. Raises `ReplicaLost`, `InvalidExport` if the run is no
    document, and `CorruptData` before any wrong byte, or at the end if something is missing.
    """
    tally = tally or ExportTally()
    with HeldTransaction():
        use_snapshot()
        tally.audit_head = str(log.chain_head())
        if form == Form.DOCUMENT:
            source = require_document(run, only_import)
            blocks = _import_blocks(source, only, tally, with_rejected=only == "all", form=form)
            lines = _counted(blocks, tally)
            if source.is_archive:
                text = archive_text(source, lines)
            else:
                text = document_text(source, lines, only_some=only != "all")
        else:
            if only_import:
                blocks = _import_blocks(only_import, only, tally, with_rejected=with_rejected, form=form)
            else:
                blocks = _run_blocks(run, only, tally, with_rejected=with_rejected, form=form)
            text = _counted(blocks, tally)
        with closing(text):
            yield from text


def _counted(blocks: Generator[_Block, None, None], tally: ExportTally) -> Generator[bytes, None, None]:
    """Yield the bytes of blocks, whose lines are counted."""
    with closing(blocks):
        for block, line_ends in blocks:
            tally.writes(block, line_ends)
            yield block


def use_snapshot(*, read_only: bool = True) -> None:
    """Let all queries of the transaction see one snapshot. A nested transaction keeps the outer one's."""
    if len(connection.savepoint_ids) == 0:
        mode = "REPEATABLE READ, READ ONLY" if read_only else "REPEATABLE READ"
        execute(f"SET TRANSACTION ISOLATION LEVEL {mode}")


def _run_blocks(
    run: Run, only: str, tally: ExportTally, *, with_rejected: bool, form: Form
) -> Generator[_Block, None, None]:
    for source in integrity.run_imports(run):
        integrity.verify_import(source)
    reader = LineReader()
    start, ended = b"", True
    for index, source in enumerate(run.files):
        tally.inputs.append(_input(source))
        mapping = source_mapping(source)
        plan = LinePlan(source, plan_of_run(source, only, with_rejected=with_rejected))
        if index == 0 and source.has_bom:
            start = BOM
        opening = start if ended else b"\n"
        with closing(plan):
            for chunk in source_files.stored_chunks(source):
                writer = _ChunkWriter(
                    source,
                    chunk,
                    tally,
                    reader,
                    mapping,
                    form=form,
                    after_line_end=opening == b"\n",
                )
                block, line_ends = writer.block(plan, whole=only == "all", repeated=source.repeated_lines)
                if opening and (block or (opening == b"\n" and _ends_previous_file(source, chunk))):
                    block, line_ends = opening + block, line_ends + (opening == b"\n")
                    start = opening = b""
                if block:
                    yield block, line_ends
                    ended = block.endswith(b"\n")
    if form == Form.LINES and not ended and source.is_document:
        yield b"\n", 1
    # A file that consists of a byte order mark alone.
    if start and not tally.lines_left_out:
        yield start, 0


def _import_blocks(
    source: Import, only: str, tally: ExportTally, *, with_rejected: bool, form: Form
) -> Generator[_Block, None, None]:
    integrity.verify_import(source)
    tally.inputs.append(_input(source))
    plan = LinePlan(source, plan_of_import(source, only, with_rejected=with_rejected))
    opening = BOM if source.has_bom else b""
    reader, mapping = LineReader(), source_mapping(source)
    with closing(plan):
        for chunk in source_files.stored_chunks(source):
            writer = _ChunkWriter(source, chunk, tally, reader, mapping, form=form)
            block, line_ends = writer.block(plan, whole=only == "all")
            if opening:
                block, opening = opening + block, b""
            if block:
                yield block, line_ends
    if form == Form.LINES and tally.in_line and source.is_document:
        yield b"\n", 1


def _input(source: Import) -> ReceiptInput:
    return ReceiptInput(source.pk, source.file_name, source.size, source.sha256, source.lines)


def _ends_previous_file(source: Import, chunk: Chunk) -> bool:
    """Whether a file repeats an earlier one and has the line end that its last line lacks."""
    return source.repeated_lines > 0 and chunk.data.endswith(b"\n")


class _ChunkWriter:
    """Write one chunk of an import. With `after_line_end` the block begins with a line end."""

    def __init__(
        self,
        source: Import,
        chunk: Chunk,
        tally: ExportTally,
        reader: LineReader,
        mapping: FieldMapping | None,
        *,
        form: Form,
        after_line_end: bool = False,
    ) -> None:
        self._source, self._chunk, self._tally, self._reader = source, chunk, tally, reader
        self._mapping = mapping
        self._translates = form == Form.RECORDS and mapping is not None
        # The members of a document may take several lines.
        self._joins_lines = form == Form.LINES and source.is_document
        self._lines_before = tally.lines - tally.in_line * (not after_line_end)

    def block(self, plan: LinePlan, *, whole: bool, repeated: int = 0) -> _Block:
        """Return the exported part of the chunk.

        With `whole`, lines without an action are exported. The first `repeated` lines are always omitted.
        """
        block, line_ends = self._block(plan, whole=whole, repeated=repeated)
        return on_one_line(block) if self._joins_lines else block, line_ends

    def _block(self, plan: LinePlan, *, whole: bool, repeated: int) -> _Block:
        chunk = self._chunk
        self._tally.bytes_read += len(chunk.data)
        actions = plan.actions_in(chunk)
        data = chunk.data.removeprefix(BOM) if chunk.number == 0 else chunk.data
        all_numbers = range(chunk.first_line, chunk.first_line + max(chunk.lines, 1))
        if actions or chunk.first_line <= repeated or self._translates:
            # If the other lines are copied verbatim, only lines with an action need a look.
            copies = whole and chunk.first_line > repeated and not self._translates
            numbers = actions if copies else all_numbers
            return self._lines(data, numbers, actions, whole=whole, repeated=repeated)
        if not whole:
            self._tally.leaves_out(self._source.pk, all_numbers[0], all_numbers[-1])
            return b"", 0
        # The import counted the line ends. The last line of a file may have none.
        line_ends = chunk.lines if data.endswith(b"\n") else data.count(b"\n")
        return keep_frame(data, chunk.frame) if data is chunk.data else data, line_ends

    def _lines(
        self,
        data: bytes,
        numbers: Iterable[int],
        actions: dict[int, LineAction],
        *,
        whole: bool,
        repeated: int,
    ) -> _Block:
        lines, omitted = data.split(b"\n"), set()
        for number in numbers:
            action, index = actions.get(number), number - self._chunk.first_line
            if number <= repeated or not (action.written if action else whole):
                self._tally.leaves_out(self._source.pk, number, number)
                omitted.add(index)
            else:
                if action:
                    lines[index] = self._written(number, lines[index], action, index - len(omitted) + 1)
                if self._translates and lines[index].strip():
                    lines[index] = self._translated(number, lines[index], action)
        return _joined(lines, omitted)

    def _translated(self, number: int, line: bytes, action: LineAction | None) -> bytes:
        """Translate a written line by the mapping of the import that it is from."""
        if action and action.takes_newest:
            mapping, number = self._reader.mapping(action.source_import), action.source_line
        else:
            mapping = self._mapping
        return translate(line, NO_LIMITS, mapping, number).whole_line if mapping else line

    def _written(self, number: int, line: bytes, action: LineAction, position: int) -> bytes:
        """Return the line as exported at that position of the block.

        Raises `CorruptData` if the line is another record's.
        """
        newest = (action.source_import, action.source_line)
        is_newest = newest == (self._source.pk, number)
        moved = action.takes_newest and not is_newest
        if action.evaluation_id and not self._has_record(line, action, is_newest=is_newest):
            raise CorruptData(SourceFile.of_import(self._source).rows_fault(wrong_line_message(number)))
        if moved:
            line = self._reader.verified(*newest, action.evaluation_id, action.content_hash)
            if self._reader.source(action.source_import).is_document:
                line = on_one_line(line)
        changed: list[str] = []
        if action.human:
            line = splice(line, order_criteria(line, action.human), changed)
        if moved or changed:
            keys = [key for key in HUMAN_FIELDS if key in changed]
            self._tally.changes(
                self._lines_before + position,
                action.evaluation_id,
                keys,
                LineSource(*newest) if moved else None,
            )
        return line

    def _has_record(self, line: bytes, action: LineAction, *, is_newest: bool) -> bool:
        """Whether the line contains the record, and in its newest place, the record's newest version."""
        if is_newest and content_hash(line, is_member=self._source.is_document) != action.content_hash:
            return False
        # One file cannot have a record in two lines: the import rejects the second one.
        is_elsewhere_here = action.source_import == self._source.pk and not is_newest
        return not is_elsewhere_here and line_has_record(line, action.evaluation_id, self._mapping)


def _joined(lines: list[bytes], omitted: set[int]) -> _Block:
    """Join lines that were split on LF, without the omitted indexes."""
    ended = [line for index, line in enumerate(lines[:-1]) if index not in omitted] if omitted else lines[:-1]
    last = b"" if len(lines) - 1 in omitted else lines[-1]
    return b"\n".join([*ended, last]), len(ended)


# Downloads of one import


def rejected_lines(source: Import) -> Iterator[bytes]:
    """Yield the rejected lines of an import verbatim, each with its line end. Raises `CorruptData`."""
    with HeldTransaction():
        integrity.verify_import(source)
        with closing(LinePlan(source, rejected_plan(source, written=True))) as plan:
            for chunk in source_files.stored_chunks(source):
                actions = plan.actions_in(chunk)
                lines = chunk.data.split(b"\n")
                omitted = {index for index in range(len(lines)) if chunk.first_line + index not in actions}
                block = _joined(lines, omitted)[0]
                yield on_one_line(block) if source.is_document else block


def import_exceptions(source: Import, *, outcome: str = "") -> Iterator[bytes]:
    """Yield `{"line", "outcome", "field", "reason"}` as JSONL for each line that is not new or blank.

    With an `outcome`, only the lines with that outcome. Raises `CorruptData`.
    """
    integrity.verify_import(source)
    for exception in source.listed_exceptions():
        if not outcome or exception["outcome"] == outcome:
            yield orjson.dumps(exception) + b"\n"
