"""The storage of static files."""

from collections.abc import Callable
from functools import cache, cached_property

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Compress static files and name them by their contents, in the imports of modules, too."""

    support_js_module_import_aggregation = True

    def url(self, name: str, force: bool = False) -> str:  # noqa: FBT001, FBT002 (as Django has it)
        """Return the address of a file, which stays the same while the process runs."""
        return self._find_url(name, force)

    @cached_property
    def _find_url(self) -> Callable[[str, bool], str]:
        return cache(super().url)
