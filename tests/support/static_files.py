"""Static files as `up` collects them: collected once for each version of their sources, then copied."""

import shutil
from pathlib import Path

from django.test import override_settings

from cognireview import settings as production
from cognireview.web import static_files
from tests.support.data_folders import shared_folder
from tests.support.locked import locked


def copy_static_files(data_dir: Path) -> None:
    """Give a data folder the collected static files, which takes `up` seconds."""
    shared = shared_folder()
    collected = shared / "static_files"
    with locked(shared / "static_files.lock"):
        with override_settings(STATIC_ROOT=collected, STORAGES=production.STORAGES):
            static_files.collect()
        shutil.copytree(collected, data_dir / "static")
