"""Data folders of an installation: created once for each version of the schema, then copied."""

import os
import shutil
import subprocess
from pathlib import Path

from django.conf import settings

from cognireview.postgres import embedded
from tests.support.commands import manage_py
from tests.support.locked import locked
from tests.support.template_database import schema_fingerprint

_CRASH_UNSAFE = "\nfsync = off\nfull_page_writes = off\nsynchronous_commit = off\n"


def copy_data_folder(target: Path) -> Path:
    """Copy a data folder with a migrated, empty database, which no process uses, and return the copy."""
    subprocess.run(["cp", "-a", _template(), target], check=True)
    return target


def copy_cluster(data_dir: Path) -> None:
    """Give a data folder a cluster with a migrated, empty database, unless it has one of this version."""
    schema = data_dir / "schema"
    if schema.exists():
        if schema.read_text() == schema_fingerprint():
            return
        with embedded.running(data_dir, disposable=True):
            pass  # stops a server that a killed process left
        schema.unlink()
    shutil.rmtree(data_dir / "postgres", ignore_errors=True)
    subprocess.run(["cp", "-a", _template() / "postgres", data_dir], check=True)
    schema.write_text(schema_fingerprint())


def shared_folder() -> Path:
    """Return the folder of files that all test processes copy."""
    is_one_of_several = "PYTEST_XDIST_WORKER" in os.environ
    folder: Path = settings.DATA_DIR.parent if is_one_of_several else settings.DATA_DIR / "tests"
    return folder


def _template() -> Path:
    """Return the data folder that all test processes copy. The first one creates it."""
    shared = shared_folder()
    template = shared / "data_folders" / schema_fingerprint()
    with locked(shared / "data_folders.lock"):
        if not template.exists():
            shutil.rmtree(template.parent, ignore_errors=True)
            draft = template.with_name("draft")
            done = manage_py(draft, "list_runs")  # on a fresh folder, each command of ours migrates first
            assert done.returncode == 0, done.stderr
            with (draft / "postgres" / "postgresql.conf").open("a") as configuration:
                configuration.write(_CRASH_UNSAFE)
            draft.rename(template)
    return template
