"""Check the invariants of decisions, jobs, claims, audit log and exports; yield a sentence per violation."""

import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from procrastinate.contrib.django.models import ProcrastinateJob

from reviews.api.saved_decision import _SUBMISSIONS
from reviews.audit import log
from reviews.audit.hash_chain import ChainVerifier
from reviews.database.statements import fetch_all
from reviews.exports.verify_export import compare
from reviews.exports.verify_receipt import ComparedFile
from reviews.models import AuditEvent, Evaluation, Export, Review, UnindexedImport, User
from tests.load.reviewing import Accepted

_GAPS = """
    SELECT evaluation_id, array_agg(version ORDER BY version) FROM review
    GROUP BY evaluation_id HAVING max(version) <> count(*) OR min(version) <> 1
"""
# Reviews without exactly one matching submit event in the audit log.
_SUBMITS_IN_LOG = """
    SELECT review.id, review.version, count(event.id) FROM review
    LEFT JOIN audit_event event ON event.evaluation_id = review.evaluation_id AND event.action = 'submit'
        AND event.detail -> 'version' = to_jsonb(review.version)
        AND event.detail -> 'human' -> 'after' ->> 'human_review_comments' = review.comments
        AND event.actor_id = review.reviewer_id
    GROUP BY review.id HAVING count(event.id) <> 1
"""


def check_decisions(accepted: Iterable[Accepted], *, once: bool) -> Iterator[str]:
    """Check that exactly the accepted decisions are saved; `once` allows one decision per record."""
    people = dict(User.objects.values_list("username", "pk"))
    reviews = {review.submission: review for review in Review.objects.select_related("evaluation")}
    last: dict[str, Accepted] = {}
    for one in accepted:
        review = reviews.pop(uuid.uuid5(_SUBMISSIONS, f"{people[one.reviewer]} {one.key}"), None)
        if review is None:
            yield f"the decision {one.key} on {one.evaluation_id} was accepted, and is lost"
        elif not _is_as_accepted(review, one):
            yield f"the decision {one.key} on {one.evaluation_id} is not as it was accepted"
        if once and one.evaluation_id in last:
            yield f"{one.evaluation_id} was decided by {last[one.evaluation_id].key} and by {one.key}"
        if one.evaluation_id not in last or last[one.evaluation_id].version < one.version:
            last[one.evaluation_id] = one
    for review in reviews.values():
        yield f"the decision {review.comments} on {review.evaluation} is saved, but was not accepted"
    yield from _check_current(last)
    yield from _violations("reviews whose versions have a gap", fetch_all(_GAPS))
    yield from _violations("reviews that the audit log does not have once", fetch_all(_SUBMITS_IN_LOG))
    submits, kept = AuditEvent.objects.filter(action="submit").count(), Review.objects.count()
    if submits != kept:
        yield f"the audit log has {submits:,} submits of {kept:,} reviews"


def _check_current(last: dict[str, Accepted]) -> Iterator[str]:
    decided = Evaluation.objects.filter(review__isnull=False).values_list(
        "evaluation_id", "human_review_comments", "review__version"
    )
    current = {record: (comments, version) for record, comments, version in decided.iterator()}
    for record, one in last.items():
        if current.pop(record, None) != (one.key, one.version):
            yield f"the decision {one.key} on {record} is not the current one"
    for record in current:
        yield f"{record} is decided, but no decision was accepted"


def _is_as_accepted(review: Review, one: Accepted) -> bool:
    kept = (
        review.evaluation.evaluation_id,
        review.version,
        review.comments,
        _scores(review.corrected_scores),
    )
    return kept == (one.evaluation_id, one.version, one.key, one.scores)


def _scores(corrected: dict[str, Any] | None) -> dict[str, Any]:
    return {name: entry["score"] for name, entry in (corrected or {}).items()}


#: Tasks whose jobs come again.
PERIODIC = ("reviews.tasks.retry_stalled_jobs", "reviews.tasks.remove_expired_rows")


def check_jobs() -> Iterator[str]:
    """Check that no job is left or has failed, other than periodic ones."""
    for export in Export.objects.exclude(state=Export.State.DONE):
        yield f"export {export.pk} is {export.state}: {export.error}"
    for job in ProcrastinateJob.objects.exclude(task_name__in=PERIODIC):
        yield f"the job {job.task_name}({job.args}) is {job.status} after {job.attempts} attempts"
    for left in UnindexedImport.objects.all():
        yield f"{left} cannot be found by facets and words"


def check_claims() -> Iterator[str]:
    """Check that every claim has been released."""
    held = Evaluation.objects.filter(claimed_by__isnull=False)
    for record, name in held.values_list("evaluation_id", "claimed_by__username"):
        yield f"{record} is still claimed by {name}"


def check_audit_log() -> Iterator[str]:
    """Verify the audit log as `manage.py verify_audit` does."""
    yield from log.verify(ChainVerifier())


def check_export(originals: list[Path], exported: Path, accepted: Iterable[Accepted]) -> Iterator[str]:
    """Check that each line is a copy of the original or has the last accepted decision on its record."""
    last: dict[str, Accepted] = {}
    for one in sorted(accepted, key=lambda one: one.version):
        last[one.evaluation_id] = one
    missing = set(last)
    with exported.open("rb") as lines:
        for line in lines:
            record = orjson.loads(line)
            if record["evaluation_id"] not in last:
                continue
            one = last[record["evaluation_id"]]
            missing.discard(one.evaluation_id)
            scores = _scores(record["human_corrected_scores"])
            found = (record["human_review_comments"], record["human_reviewer_id"], scores)
            if found != (one.key, one.reviewer, one.scores):
                yield f"the export has another decision on {one.evaluation_id} than {one.key}"
    yield from (f"the export lacks {record}" for record in missing)
    compared = compare(
        [ComparedFile(path).lines for path in originals], ComparedFile(exported).lines(), settings.LIMITS
    )
    yield from compared.problems
    if compared.changed != len(last):
        yield f"{compared.changed:,} lines are not as they came, and {len(last):,} records were decided"


def _violations(what: str, rows: list[tuple[Any, ...]]) -> Iterator[str]:
    yield from (f"{what}: {row}" for row in rows)
