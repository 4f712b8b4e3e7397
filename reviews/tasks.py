"""The jobs: ids in, one function of the core called, nothing else."""

from procrastinate.contrib.django import app

from reviews import importer


@app.task(name=importer.JOB, queue="import")
def import_kept_file(import_id: int) -> None:
    """Import a file that was uploaded in the browser."""
    try:
        importer.import_upload(import_id)
    except Exception as error:
        importer.fail_upload(import_id, f"{type(error).__name__}: {error}")
        raise
