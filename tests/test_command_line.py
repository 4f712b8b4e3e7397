"""What `manage.py` does around a command."""

import os
import subprocess
import sys
from pathlib import Path

from cognireview.environment import BASE_DIR
from tests.lines import line


def manage(data_dir: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    without = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=BASE_DIR,
        env={**without, "COGNIREVIEW_DATA_DIR": str(data_dir), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_command_of_ours_needs_no_up_before_it(tmp_path: Path) -> None:
    file = tmp_path / "fresh.jsonl"
    file.write_bytes(line("eval_1"))
    imported = manage(tmp_path / "var", "import_run", str(file))
    assert imported.returncode == 0, imported.stderr
    exported = manage(tmp_path / "var", "export_run", "fresh")
    assert exported.stdout.encode() == file.read_bytes()


def test_a_database_out_of_reach_is_one_line(tmp_path: Path) -> None:
    refused = manage(
        tmp_path / "var", "import_run", __file__, DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing"
    )
    assert refused.returncode == 2
    assert refused.stderr.startswith("cognireview: The database cannot be reached: ")
    assert refused.stderr.count("\n") == 1


def test_all_wrong_settings_are_named_at_once(tmp_path: Path) -> None:
    refused = manage(tmp_path, "check", COGNIREVIEW_WEB_THREADS="many", COGNIREVIEW_CLAIM_MINUTES="0")
    assert refused.returncode == 2
    assert "COGNIREVIEW_WEB_THREADS: got 'many'" in refused.stderr
    assert "COGNIREVIEW_CLAIM_MINUTES: got '0'" in refused.stderr
