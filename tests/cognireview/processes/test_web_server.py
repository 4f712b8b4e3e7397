"""The web server: its number of processes, and its connections after a pause in the requests."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cognireview.processes import web_server


@pytest.mark.parametrize(
    ("cores", "limit", "counts"),
    [
        (1, "max", [1, 1]),
        (2, "max", [2, 1]),
        (3, "max", [3, 2]),
        (64, "max", [4, 4]),
        (4, f"{1024**3}", [2, 2]),
        (4, f"{100 * 1024**2}", [1, 1]),
    ],
)
def test_number_of_web_processes_follows_cores_and_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int, limit: str, counts: list[int]
) -> None:
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    monkeypatch.setattr(web_server, "_MEMORY_LIMIT", tmp_path / "memory.max")
    monkeypatch.setattr(web_server, "_cores", lambda: cores)
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**22}.get)
    assert [web_server.default_workers(shares_machine=shares) for shares in (False, True)] == counts


PAUSE = web_server._PERIODS_OF_A_PAUSE


def replacements(requests: list[int]) -> list[int]:
    """Return the periods after which connections are replaced. `requests` are the numbers of each period."""
    found, passed, total = list[int](), [0], [0]

    def sleep(_: float) -> None:
        if passed[0] == len(requests):
            raise StopIteration
        total[0] += requests[passed[0]]
        passed[0] += 1

    # Without any request, the pool has no such number.
    pool: Any = SimpleNamespace(
        get_stats=lambda: {"requests_num": total[0]} if total[0] else {},
        drain=lambda: found.append(passed[0]),
    )
    with pytest.raises(StopIteration):
        web_server._watch(lambda: pool, sleep)
    return found


def test_connections_are_replaced_once_in_a_pause() -> None:
    assert replacements([5] + [0] * 3 * PAUSE) == [1 + PAUSE]


def test_connections_are_replaced_again_after_more_requests() -> None:
    assert replacements(([5] + [0] * 2 * PAUSE) * 2) == [1 + PAUSE, 2 + 3 * PAUSE]


def test_connections_that_renew_a_claim_once_a_minute_stay() -> None:
    minute = 60 // web_server._PERIOD_SECONDS
    assert replacements(([1] + [0] * (minute - 1)) * 10) == []
