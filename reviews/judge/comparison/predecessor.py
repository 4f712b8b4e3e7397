"""Find the run whose judge a run replaces: the most recent earlier run with the same responses."""

from django.db.models import Q

from reviews.database.statements import fetch_value
from reviews.models import Run, User

# The responses with the lowest numbers. The numbers are hashes, so these are a random sample.
_SAMPLE = 500
_FIND = """
    WITH sample AS MATERIALIZED (
        SELECT response FROM evaluation_facets WHERE run_id = %(run)s AND response IS NOT NULL
        ORDER BY response LIMIT %(sample)s
    )
    SELECT candidate FROM unnest(%(candidates)s::bigint[]) WITH ORDINALITY AS earlier (candidate, place)
    WHERE EXISTS (
        SELECT FROM sample JOIN evaluation_facets AS known USING (response) WHERE known.run_id = candidate
    )
    ORDER BY place LIMIT 1
"""


def find_predecessor(run: Run, reader: User) -> Run | None:
    """Return the most recent earlier run that the reader may see and that has responses in common.

    It looks for a sample of the responses, so it can overlook a run that shares few of them, and one whose
    answers come from task context. Takes two queries, or three.
    """
    earlier = Run.objects.visible_to(reader).filter(
        Q(created_at__lt=run.created_at) | Q(created_at=run.created_at, pk__lt=run.pk)
    )
    candidates = [*earlier.order_by("-created_at", "-pk").values_list("pk", flat=True)]
    found = fetch_value(_FIND, {"run": run.pk, "sample": _SAMPLE, "candidates": candidates})
    return earlier.get(pk=found) if found else None
