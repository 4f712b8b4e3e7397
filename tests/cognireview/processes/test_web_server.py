"""The number of web processes without a setting."""

from pathlib import Path

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
