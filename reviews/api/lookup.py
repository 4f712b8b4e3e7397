"""Look up the run or record in an API path. Raise `Http404` if it does not exist."""

from django.http import Http404

from reviews.models import Evaluation, Run


def get_run(name: str) -> Run:
    run = Run.objects.filter(name=name).first() if name.isprintable() else None
    if run is None:
        raise Http404("There is no run with this name.")
    return run


def get_record(run: str, evaluation_id: str) -> Evaluation:
    rows = get_run(run).evaluations.select_related("run", "claimed_by", "review__reviewer")
    record = None if "\0" in evaluation_id else rows.filter(evaluation_id=evaluation_id).first()
    if record is None:
        raise Http404("The run has no record with that evaluation_id.")
    return record
