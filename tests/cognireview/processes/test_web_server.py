"""The number of web processes without a setting, and the modules that they share."""

import subprocess
import sys
from pathlib import Path

import pytest

from cognireview.processes import web_server
from tests.support.processes import environment


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


@pytest.mark.slow
def test_preloaded_application_has_all_pages_and_no_connection(tmp_path: Path) -> None:
    code = """
import sys
from cognireview.processes import web_server
web_server._preload_application()
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper
assert "reviews.views.review.queue" in sys.modules and "reviews.api.decisions" in sys.modules
assert connection.connection is None and not DatabaseWrapper._connection_pools
"""
    settings = environment(COGNIREVIEW_DATA_DIR=str(tmp_path), DJANGO_SETTINGS_MODULE="cognireview.settings")
    subprocess.run([sys.executable, "-c", code], env=settings, check=True)
