"""Update known records in bulk, and open conflicts for decisions that differ from those made here."""

from collections.abc import Iterable
from typing import Any

import orjson
from django.utils import timezone

from reviews.audit import events
from reviews.database.statements import execute
from reviews.imports.reconcile import IncomingRecord, Reconciled
from reviews.models import Evaluation, FileConflict, Import
from reviews.records.criteria_order import encode_order
from reviews.records.extracted_scores import encode_extracted
from reviews.records.schema import HUMAN_FIELDS, Record
from reviews.review import blind_scoring, independent_reviews, status_changes

_MOVE = """
    UPDATE evaluation
    SET source_import_id = %s, source_line = new.source_line, content_hash = new.content_hash
    FROM json_to_recordset(%s::json) AS new (id bigint, source_line bigint, content_hash bytea)
    WHERE evaluation.id = new.id
"""


def apply_updates(target: Import, reconciled: Iterable[Reconciled]) -> None:
    """Point evaluations at their new lines, update changed content, and open conflicts.

    The version of a changed record increases, so a reviewer who has it open is notified.
    """
    moved, changed, reopened, disputed = [], [], [], {}
    for one in reconciled:
        if one.takes and one.evaluation:
            place = _place(one.evaluation, one.takes)
            if one.values:
                values = dict(zip(Record._fields, one.values, strict=True))
                values["extracted_scores"] = encode_extracted(
                    one.values.parsed_rubric_scores, one.values.raw_judge_output
                )
                values["criteria_order"] = encode_order(one.values.parsed_rubric_scores)
                state = {name: getattr(one, name) for name in ("is_sampled", "is_outdated", "keeps_review")}
                changed.append(place | values | state)
                if one.reopens:
                    human: dict[str, Any] = {
                        "before": _as_json(one.reopens),
                        "after": _human_values(one.values),
                    }
                    detail = {
                        "line": one.line,
                        "human": human if one.keeps_review else human | events.KEEPS_LINE,
                    }
                    reopened.append(events.RecordEvent(one.evaluation, one.takes.evaluation_id, detail))
            else:
                moved.append(place)
        if one.disputes and one.evaluation:
            disputed[one.evaluation] = one.disputes
    if changed and target.target_run.blind_share:
        # New evidence may contain the first answer, which makes the judge's scores hidden from now on.
        blind_scoring.reveal_served(Evaluation.objects.filter(pk__in=[row["id"] for row in changed]))
    if moved:
        execute(_MOVE, [target.pk, orjson.dumps(moved).decode()])
    if changed:
        status_changes.update_records(target, changed)
        independent_reviews.outdate(row["id"] for row in changed)
    events.record_each("new evidence", source=target, about=reopened)
    _note_conflicts(target, disputed)


def _place(evaluation: int, line: IncomingRecord) -> dict[str, Any]:
    return {"id": evaluation, "source_line": line.line, "content_hash": f"\\x{line.content_hash.hex()}"}


def _note_conflicts(target: Import, disputed: dict[int, IncomingRecord]) -> None:
    """Open a conflict for each evaluation, replacing an open one of an earlier file."""
    is_open = FileConflict.objects.filter(evaluation__in=disputed, outcome=FileConflict.Outcome.OPEN)
    for conflict in is_open:
        if bytes(conflict.content_hash) == disputed[conflict.evaluation_id].content_hash:
            del disputed[conflict.evaluation_id]
    replaced = is_open.filter(evaluation__in=disputed)
    replaced.update(outcome=FileConflict.Outcome.REPLACED, resolved_at=timezone.now())
    FileConflict.objects.bulk_create(
        FileConflict(
            evaluation_id=evaluation,
            run_id=target.target_run.pk,
            source=target,
            line=incoming.line,
            content_hash=incoming.content_hash,
            human=_human_values(incoming.record),
            outcome=FileConflict.Outcome.OPEN,
        )
        for evaluation, incoming in disputed.items()
    )


def _human_values(record: Record) -> dict[str, Any]:
    """Return the five human_* values as JSON."""
    return _as_json({name: getattr(record, name) for name in HUMAN_FIELDS})


def _as_json(human: dict[str, Any]) -> dict[str, Any]:
    moment = human["human_review_timestamp"]
    return human | {"human_review_timestamp": moment.isoformat() if moment else None}
