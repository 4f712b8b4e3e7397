"""Parsing of lines into rows, in this process and in others."""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, suppress
from typing import Any

import psutil
import pytest

from reviews.imports import parser_pool, parsing
from reviews.imports.parser_pool import ParserDied, parse_ahead
from reviews.imports.parsing import ParsedLines, ParseRequest, parse
from reviews.records.rubric import Rubric
from reviews.records.schema import Limits
from reviews.search.index_entries import EncodedEntries
from reviews.storage import copy_encoding
from tests.support.lines import file_of, line
from tests.support.waiting import PATIENCE, eventually

MANY = parser_pool.BATCHES_WITHOUT_POOL + 12


def work(text: bytes, *, first_line: int = 1, begins_inside: bool = False) -> ParseRequest:
    count = text.count(b"\n")
    keys = range(first_line, first_line + count)
    return ParseRequest(text, first_line, count, begins_inside, 1, 2, keys, Limits(), rubric=Rubric())


def chunks(count: int) -> Iterator[tuple[int, ParseRequest]]:
    for number in range(count):
        text = file_of(line(f"eval_{number}"), b"no record")
        yield number, work(text, first_line=1 + 2 * number)


def parsed_ahead(count: int, *, cores: int) -> Generator[tuple[int, ParsedLines], None, None]:
    requests = dict(chunks(count))
    return parse_ahead(requests, requests.__getitem__, cores=cores)


@pytest.fixture
def process() -> Iterator[parser_pool._Process]:
    [started] = parser_pool.start_processes(1)
    with closing(started):
        yield started


class TestParse:
    def test_parser_accounts_for_every_line(self) -> None:
        parsed = parse(work(file_of(line("eval_a"), b" ", b"no record", line("eval_b")), first_line=5))
        assert [(number, evaluation_id) for number, evaluation_id, _ in parsed.records] == [
            (5, "eval_a"),
            (8, "eval_b"),
        ]
        assert [(number, field) for number, field, _ in parsed.errors] == [(7, "")]

    def test_parser_returns_the_end_of_each_row(self) -> None:
        both = parse(work(file_of(line("eval_a"), line("eval_b"))))
        first = parse(work(file_of(line("eval_a"))))
        assert both.ends == [len(first.rows), len(both.rows)]
        assert both.rows.startswith(first.rows)

    def test_parser_rejects_the_end_of_an_overlong_line(self) -> None:
        parsed = parse(work(file_of(line("eval_a"), line("eval_b")), begins_inside=True))
        assert parsed.errors == [(1, "", "is longer than 16,777,216 bytes (COGNIREVIEW_MAX_LINE_BYTES)")]
        assert [number for number, _, _ in parsed.records] == [2]

    def test_parser_leaves_the_begin_of_a_line_to_the_next_chunk(self) -> None:
        assert parse(work(line())) == ParsedLines([], b"", [], [], EncodedEntries(b"", b"", frozenset()))

    @pytest.mark.parametrize("error", [MemoryError, SystemError])
    def test_line_that_needs_too_much_memory_is_rejected_alone(
        self, error: type[Exception], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row_of = copy_encoding.encode_line

        def failing(text: bytes, *rest: Any, **more: Any) -> Any:
            if b"eval_b" in text:
                raise error
            return row_of(text, *rest, **more)

        monkeypatch.setattr(parsing, "encode_line", failing)
        parsed = parse(work(file_of(line("eval_a"), line("eval_b"), line("eval_c"))))
        assert [number for number, _, _ in parsed.records] == [1, 3]
        assert parsed.errors == [(2, "", "needs more memory than is available for one line")]


class TestAhead:
    @pytest.mark.slow
    @pytest.mark.parametrize("cores", [1, 2, 16])
    def test_parsed_chunks_are_in_order(self, cores: int) -> None:
        expected = [(number, parse(lines)) for number, lines in chunks(MANY)]
        assert list(parsed_ahead(MANY, cores=cores)) == expected

    @pytest.mark.slow
    def test_large_chunk_is_parsed_in_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            parser_pool, "MAX_POOLED_BYTES", max(len(lines.text) for _, lines in chunks(MANY)) - 1
        )
        assert [number for number, _ in parsed_ahead(MANY, cores=2)] == [*range(MANY)]

    @pytest.mark.parametrize(("count", "cores"), [(parser_pool.BATCHES_WITHOUT_POOL, 2), (MANY, 1)])
    def test_small_file_or_one_core_starts_no_process(
        self, count: int, cores: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(parser_pool, "_Processes", None)
        assert len(list(parsed_ahead(count, cores=cores))) == count

    @pytest.mark.slow
    def test_closed_pool_leaves_no_process(self) -> None:
        before = set(psutil.Process().children())
        with closing(parsed_ahead(MANY, cores=2)) as ahead:
            for number, _ in ahead:
                if number == parser_pool.BATCHES_WITHOUT_POOL:
                    assert set(psutil.Process().children()) > before
                    break
        assert set(psutil.Process().children()) == before


def _has_ended(process: psutil.Process) -> bool:
    """Return whether a process has ended, perhaps without a parent that waits for it."""
    with suppress(psutil.NoSuchProcess):
        return process.status() == psutil.STATUS_ZOMBIE
    return True


class TestProcess:
    @pytest.mark.slow
    def test_killed_parser_process_is_replaced(self, process: parser_pool._Process) -> None:
        [(_, lines)] = chunks(1)
        assert process.parse(lines) == parse(lines)
        os.kill(process.pid, signal.SIGKILL)
        for _ in range(3):
            assert process.parse(lines) == parse(lines)

    @pytest.mark.slow
    def test_forked_processes_outlive_the_first_one_and_are_replaced(self) -> None:
        [(_, lines)] = chunks(1)
        processes = parser_pool.start_processes(3)
        with ExitStack() as stack:
            for one in processes:
                stack.callback(one.close)
                assert one.parse(lines) == parse(lines)
            forked = psutil.Process(processes[0].pid).children()
            assert len(forked) == 2
            os.kill(processes[0].pid, signal.SIGKILL)
            forked[0].kill()
            for _ in range(2):
                assert [one.parse(lines) for one in processes] == [parse(lines)] * 3
            assert forked[1].is_running()
        assert eventually(lambda: all(map(_has_ended, forked)))

    @pytest.mark.slow
    def test_forked_process_ends_with_the_pool(self) -> None:
        [(_, lines)] = chunks(1)
        first, second = parser_pool.start_processes(2)
        with closing(first), closing(second):
            second.parse(lines)
            forked = psutil.Process(first.pid).children()
        assert len(forked) == 1
        assert eventually(lambda: all(map(_has_ended, forked)))

    def test_process_that_does_not_end_is_killed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(parser_pool, "_PATIENCE", 0.01)
        monkeypatch.setattr(parser_pool, "_program", lambda _pipes: "import time; time.sleep(1000)")
        [started] = parser_pool.start_processes(1)
        started.close()
        assert not psutil.pid_exists(started.pid)

    def test_parser_process_that_dies_twice_is_reported(
        self, process: parser_pool._Process, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        [(_, lines)] = chunks(1)
        program = "import sys; sys.stdin.buffer.read(10); sys.exit(9)"
        monkeypatch.setattr(parser_pool, "_program", lambda _pipes: program)
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(ParserDied, match=r"lines 1 to 2 died twice \(status 9\)"):
            process.parse(lines)

    @pytest.mark.slow
    def test_parser_process_has_a_memory_limit(self, process: parser_pool._Process) -> None:
        [(_, lines)] = chunks(1)
        process.parse(lines)
        assert psutil.Process(process.pid).rlimit(psutil.RLIMIT_AS)[0] == parsing.MAX_MEMORY

    @pytest.mark.slow
    def test_parser_process_has_its_own_process_group(self, process: parser_pool._Process) -> None:
        assert os.getpgid(process.pid) != os.getpgid(0)

    @pytest.mark.slow
    def test_parser_process_with_half_a_request_ends_silently(self) -> None:
        program = "from reviews.imports import parsing; parsing.main([])"
        [(_, lines)] = chunks(1)
        half = pickle.dumps(lines)[:-20]
        done = subprocess.run([sys.executable, "-c", program], input=half, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    @pytest.mark.slow
    def test_parser_process_ends_with_its_parent(self) -> None:
        program = "from reviews.imports.parser_pool import start_processes; [one] = start_processes(1); print(one.pid, flush=True); input()"  # noqa: E501
        with subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as parent:
            assert parent.stdout
            child = psutil.Process(int(parent.stdout.readline()))
            parent.kill()
        child.wait(PATIENCE)
        assert not child.is_running()
