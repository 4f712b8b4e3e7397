"""Data folders of an installation: created once for each version of the schema, then copied."""

import shutil
import subprocess
from pathlib import Path

from django.conf import settings

from tests.support.commands import manage_py
from tests.support.template_database import schema_fingerprint

_CRASH_UNSAFE = "\nfsync = off\nfull_page_writes = off\nsynchronous_commit = off\n"


def copy_data_folder(target: Path) -> Path:
    """Copy a data folder with a migrated, empty database, which no process uses, and return the copy."""
    template = settings.DATA_DIR / "tests" / "data_folders" / schema_fingerprint()
    if not template.exists():
        shutil.rmtree(template.parent, ignore_errors=True)
        draft = template.with_name("draft")
        done = manage_py(draft, "migrate")
        assert done.returncode == 0, done.stderr
        with (draft / "postgres" / "postgresql.conf").open("a") as configuration:
            configuration.write(_CRASH_UNSAFE)
        draft.rename(template)
    subprocess.run(["cp", "-a", template, target], check=True)
    return target
