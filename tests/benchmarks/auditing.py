"""Verify the chain of a large audit log: its time against reading the events, and its memory."""

import sys
from collections.abc import Iterator

from django.conf import settings
from django.db import transaction

from reviews.audit import log
from reviews.audit.hash_chain import ChainVerifier
from reviews.database.statements import execute, fetch_all
from tests.benchmarks.measuring import Figure, alternating, peak_memory

EVENTS = 1_000_000
BATCH = 50_000

# The human values before and after a submit. The trigger seals the events. They name no record, so
# no decision is compared.
_ADD = """
    INSERT INTO audit_event (at, actor_name, action, run_name, record, detail)
    SELECT now(), 'Ana Reviewer', 'submit', 'algebra', 'eval_' || number,
           jsonb_build_object('number', number, 'human', jsonb_build_object(
               'before', jsonb_build_object('human_review_status', 'Needs Review', 'human_reviewer_id', null),
               'after', jsonb_build_object(
                   'human_review_status', 'Completed', 'human_reviewer_id', 'ana',
                   'human_corrected_scores', jsonb_build_object(
                       'Rigor', jsonb_build_object('score', 'No', 'justification', 'Skips a step.')
                   )
               )
           ))
    FROM generate_series(1, %s) AS number
"""


def verification(scale: float) -> Iterator[Figure]:
    """Fill the log, then alternate its verification with a plain SELECT of its events."""
    count = max(int(EVENTS * scale), 1_000)
    for _ in range(0, count, BATCH):
        execute(_ADD, [min(BATCH, count)])
    execute("VACUUM ANALYZE")
    taken, limit = alternating(_verify, _select)
    yield Figure(
        f"verify {count:,} events, against SELECT", f"{taken:.1f} s", f"{limit:.1f} s", taken / limit, most=6
    )
    peak = peak_memory([sys.executable, str(settings.BASE_DIR / "manage.py"), "verify_audit"])
    yield Figure("verify_audit, peak memory", f"{peak:.0f} MB", "200 MB", peak / 200, most=1)


def _verify() -> None:
    chain = ChainVerifier()
    assert list(log.verify(chain)) == []
    assert chain.head.position


def _select() -> None:
    """Read all events in order, as bytes, and discard them."""
    with transaction.atomic():
        execute("DECLARE events NO SCROLL CURSOR FOR SELECT * FROM audit_event ORDER BY id")
        while True:
            if not fetch_all("FETCH 2000 FROM events"):
                return
