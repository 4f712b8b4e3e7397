"""The storage of static files."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Compress static files and name them by their contents, in the imports of modules, too."""

    support_js_module_import_aggregation = True
