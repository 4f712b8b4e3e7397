"""The storage of static files."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    """Compress static files, name them by their contents, and rewrite the imports of modules to these names."""

    support_js_module_import_aggregation = True
