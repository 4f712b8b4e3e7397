"""Programs that `up` keeps running: longer and longer pauses, and one line for each change."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from cognireview.processes import supervisor
from cognireview.processes.supervisor import ProgramError, SupervisedProgram, last_line


class Program(SupervisedProgram):
    """Runs while `alive`; its clock stands unless a test moves it."""

    def __init__(self, log: Path, *, dies_at_once: bool = False) -> None:
        self.lines: list[str] = []
        super().__init__("worker", log, self.lines.append)
        self.dies_at_once = dies_at_once
        self.alive = False
        self.starts = 0
        self.fault = ""
        self.ending = "it ended with status 1"
        self.is_planned = False

    def is_running(self) -> bool:
        return self.alive

    def start(self) -> None:
        if self.fault:
            raise ProgramError(self.fault)
        self.starts += 1
        self.alive = not self.dies_at_once

    def exit_reason(self) -> str:
        return self.ending

    def ended_as_planned(self) -> bool:
        return self.is_planned


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Seconds, as `backoff` sees them."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(supervisor, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def tend(program: SupervisedProgram, clock: SimpleNamespace, seconds: int) -> None:
    """Look at a program twice a second."""
    for _ in range(2 * seconds):
        program.check()
        clock.now += 0.5


def test_restart_pauses_double_up_to_a_minute() -> None:
    assert [supervisor._delay(failures) for failures in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10_000)] == [
        *(0, 1, 2, 4, 8, 16, 32, 60, 60, 60)
    ]


def test_broken_program_is_restarted_ever_more_rarely(tmp_path: Path, clock: SimpleNamespace) -> None:
    program = Program(tmp_path / "log", dies_at_once=True)
    program.try_start()
    tend(program, clock, 3600)
    assert 60 <= program.starts <= 80
    tend(program, clock, 600)
    assert len(program.lines) == 1


def test_program_that_ends_as_planned_is_started_again_without_a_report(
    tmp_path: Path, clock: SimpleNamespace
) -> None:
    program = Program(tmp_path / "log")
    program.is_planned = True
    program.try_start()
    for _ in range(3):
        tend(program, clock, 20)
        program.alive = False
        tend(program, clock, 1)
        assert program.alive
    assert (program.starts, program.lines) == (4, [])


def test_program_that_ends_at_once_as_planned_is_restarted_ever_more_rarely(
    tmp_path: Path, clock: SimpleNamespace
) -> None:
    program = Program(tmp_path / "log", dies_at_once=True)
    program.is_planned = True
    program.try_start()
    tend(program, clock, 600)
    assert program.starts <= 20
    assert len(program.lines) == 1


def test_program_killed_occasionally_is_restarted_at_once(tmp_path: Path, clock: SimpleNamespace) -> None:
    program = Program(tmp_path / "log")
    program.try_start()
    for _ in range(20):
        clock.now += 30
        program.alive = False
        tend(program, clock, 1)
        assert program.alive
    assert program.starts == 21


def test_failure_is_reported_with_log_once_until_it_changes(tmp_path: Path, clock: SimpleNamespace) -> None:
    log = tmp_path / "worker.log"
    log.write_text("first\nNo module named x\n")
    program = Program(log, dies_at_once=True)
    program.try_start()
    tend(program, clock, 60)
    assert "\n".join(program.lines) == (
        'The worker fails: it ended with status 1. The last line of its log: "No module named x". '
        f"See {log}. It is restarted within 60 seconds."
    )
    program.ending = "it was ended by signal 9 (SIGKILL)"
    tend(program, clock, 60)
    assert len(program.lines) == 2
    program.dies_at_once = False
    tend(program, clock, 120)
    assert program.lines[2:] == ["The worker runs again."]


def test_startup_error_counts_as_failure(tmp_path: Path, clock: SimpleNamespace) -> None:
    program = Program(tmp_path / "log")
    program.fault = "/data/logs: No space left on device"
    program.try_start()
    tend(program, clock, 300)
    assert len(program.lines) == 1
    assert "/data/logs: No space left on device" in program.lines[0]
    program.fault = ""
    tend(program, clock, 120)
    assert program.alive


@pytest.mark.parametrize(
    ("content", "line"), [(b"", ""), (b"a\nb \n\n", "b"), (b"\xff\n", "\ufffd"), (None, "")]
)
def test_last_log_line_is_found_in_any_log(tmp_path: Path, content: bytes | None, line: str) -> None:
    log = tmp_path / "log"
    if content is not None:
        log.write_bytes(content)
    assert last_line(log) == line


def test_signals_are_named() -> None:
    assert supervisor._signal_description(9) == "it was ended by signal 9 (SIGKILL)"
    assert supervisor._signal_description(200) == "it was ended by signal 200 (unknown)"
