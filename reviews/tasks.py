"""The jobs: ids in, one function of the core called, nothing else."""

from procrastinate import JobContext
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


@app.periodic(cron="* * * * *")
@app.task(queueing_lock="take_up_stalled_jobs", pass_context=True)
async def take_up_stalled_jobs(context: JobContext, timestamp: int) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Give the jobs of workers that died (no heartbeat for 30 seconds) to the next worker."""
    manager = context.app.job_manager
    for job in await manager.get_stalled_jobs():
        await manager.retry_job(job)
