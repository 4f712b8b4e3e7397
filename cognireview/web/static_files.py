"""Store static files under hashed names, and collect them, but only if they have changed."""

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.apps import StaticFilesConfig
from django.core.management import call_command
from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(StaticFilesConfig):
    """Omit files that no page loads, because hashing and compressing them takes seconds."""

    ignore_patterns = [  # noqa: RUF012 (as Django has it)
        *StaticFilesConfig.ignore_patterns,
        "django_htmx/ext/*",
        "django_htmx/htm*-4*",
    ]


def missing_packages() -> list[str]:
    """Return the packages of `package.json` that are missing in `static/vendor`."""
    wanted = json.loads((settings.FILES_DIR / "package.json").read_text())["dependencies"]
    return [name for name in wanted if finders.find(f"vendor/{name}") is None]


def collect(report: Callable[[str], object] = bool) -> None:
    """Collect the static files into `STATIC_ROOT` if one has changed, and `report` that first."""
    seal = Path(settings.STATIC_ROOT) / ".collected"
    digest = hashlib.sha256("\n".join(_sources()).encode()).hexdigest()
    if seal.exists() and seal.read_text() == digest:
        return
    report("Collecting static files...")
    call_command("collectstatic", verbosity=0, interactive=False)
    seal.write_text(digest)


def _sources() -> Iterator[str]:
    for finder in finders.get_finders():
        for name, storage in finder.list(None):
            status = Path(storage.path(name)).stat()
            yield f"{name} {status.st_size} {status.st_mtime_ns}"


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Compress static files and name them by their contents, in the imports of modules, too."""

    support_js_module_import_aggregation = True

    def url(self, name: str, force: bool = False) -> str:  # noqa: FBT001, FBT002 (as Django has it)
        """Return the address of a file, which stays the same while the process runs."""
        return self._find_url(name, force)

    @cached_property
    def _find_url(self) -> Callable[[str, bool], str]:
        return cache(super().url)
