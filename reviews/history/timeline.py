"""The history of a record, newest first: imports, claims, decisions and escalations.

Read from the audit events of the record, the lines of files that held it, and changes of lists it stood in.
Each of the three is in the order of its sequence, so that a clock that steps back moves nothing; only among
each other they stand by their clocks.
"""

import datetime as dt
import heapq
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple

from django.db.models import Q

from reviews.history.changes import FieldChange, compare_records, without_flag
from reviews.history.versions import Version, list_versions, version_changes
from reviews.models import (
    AuditEvent,
    BulkChange,
    BulkChangeItem,
    Evaluation,
    Import,
    ImportLine,
    SourceChunk,
    User,
)
from reviews.records.status import QUEUE_STATUSES
from reviews.review.escalations import REASONS
from reviews.rubric.definition import run_rubric
from reviews.rubric.proposals import read_proposals
from reviews.storage import corruption, unchanged_ranges
from reviews.storage.corruption import CorruptData
from reviews.storage.line_reader import LineReader

PAGE_SIZE = 20
# A page ends early where it has so many changed fields: each is compared word by word.
_MOST_CHANGES = 60
_CURSOR = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})\.([0-9]{1,18})")
_BEYOND = 10**18 - 1  # no key or sequence is that large
# Events that bring a version; what they say of it is in `_sentence`.
_DECIDE = {"submit", "independent review", "revise", "close", "restore"}
# Where a hold ends, and how the page says it.
_ENDS = {
    "claim": "when the hold had run out",
    "release": "given back",
    "skip": "skipped",
    "escalate": "handed to a lead",
    "submit": "submitted",
    "independent review": "an independent review was given",
    "close": "closed",
    "resolve conflict": "a conflict was settled",
    "resolve escalation": "the question was answered",
}
_FILES = {
    "new": "brought this record",
    "unchanged": "held it unchanged",
    "updated": "changed it",
    "conflict": "says something else than was decided here",
}


class ClaimPeriod(NamedTuple):
    """How long a claim went on: until when, None for no longer than until the next one, and why it ended."""

    until: dt.datetime | None
    end: str


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One thing that happened. `who` is a person, a file or empty; `what` goes on from there.

    `note` is what they wrote. `version` is the decision that came of it, `changes` what differs from the
    decision or the line before.
    """

    at: dt.datetime
    who: str
    what: str
    note: str = ""
    source: Import | None = None
    changes: Sequence[FieldChange] = ()
    version: Version | None = None
    claim: ClaimPeriod | None = None


class TimelinePage(NamedTuple):
    """`next_after` is the cursor of the page behind it, empty on the last."""

    entries: list[TimelineEntry]
    next_after: str


class _Place(NamedTuple):
    """Where a page begins: behind this event (key), this file (sequence) and this list change (key)."""

    event: int = _BEYOND
    file: int = _BEYOND
    change: int = _BEYOND


class _Row(NamedTuple):
    at: dt.datetime
    of: AuditEvent | ImportLine | BulkChangeItem


def load_page(evaluation: Evaluation, *, reader: User | None = None, after: str = "") -> TimelinePage:
    """A page of what happened, behind the place `after`; a cursor that is none gives the first page.

    What others say in independent reviews that wait for a decision is not told to the reader. Costs at most
    two queries for each line of a file on it, and six besides.
    """
    place = _place_of(after)
    rows = _rows(evaluation, place)
    shown = rows[:PAGE_SIZE]
    rubric = run_rubric(evaluation.run)
    made = {
        version.review.version: version
        for version in list_versions(evaluation, read_proposals(evaluation, rubric), rubric, reader=reader)
    }
    periods = _claim_periods(evaluation, shown, place)
    kept = LineReader()
    entries: list[TimelineEntry] = []
    for number, row in enumerate(shown, start=1):
        entries.append(_entry(row, rows[number:], made, periods, kept))
        if sum(len(entry.changes) for entry in entries) >= _MOST_CHANGES:
            break
    if evaluation.hides_reasons:
        entries = [_without_flag(entry) for entry in entries]
    return TimelinePage(entries, _cursor(place, rows[: len(entries)]) if len(rows) > len(entries) else "")


def _without_flag(entry: TimelineEntry) -> TimelineEntry:
    """Leave out the changes that a file made to the flag and its reasons."""
    if entry.source is None:
        return entry
    return replace(entry, note="", changes=without_flag(entry.changes))


# The three kinds of rows, each with one row more than a page


def _rows(evaluation: Evaluation, before: _Place) -> list[_Row]:
    """The three kinds merged by their clocks; each stays in its own order."""
    kinds = (
        [_Row(event.at, event) for event in _events(evaluation, before)],
        [_Row(item.change.at, item) for item in _list_changes(evaluation, before)],
        [_Row(_moment(line.source), line) for line in _lines(evaluation, before)],
    )
    return [*heapq.merge(*kinds, key=attrgetter("at"), reverse=True)]


def _events(evaluation: Evaluation, before: _Place) -> Iterable[AuditEvent]:
    # The event "blind scores" implies this one.
    implied = Q(action="reveal", detail__how="locked in")
    earlier = evaluation.events.filter(pk__lt=before.event).exclude(implied).select_related("actor")
    return earlier.order_by("-pk")[: PAGE_SIZE + 1]


def _list_changes(evaluation: Evaluation, before: _Place) -> Iterable[BulkChangeItem]:
    # By the changes of the run, of which there are few: the index on items begins with their change.
    items = BulkChangeItem.objects.filter(change__run=evaluation.run_id, evaluation=evaluation)
    items = items.filter(change__lt=before.change).select_related("change__actor", "change__assigned_to")
    return items.order_by("-change")[: PAGE_SIZE + 1]


def _lines(evaluation: Evaluation, before: _Place) -> list[ImportLine]:
    """The lines of files that held the record, with the first one, which brought it."""
    found: list[ImportLine] = []
    for lines in (
        ImportLine.objects.filter(evaluation=evaluation),
        unchanged_ranges.ranges_of_record(evaluation),
    ):
        earlier = lines.filter(source__sequence__lt=before.file).select_related("source")
        found += earlier.order_by("-source__sequence")[: PAGE_SIZE + 1]
    found = [
        unchanged_ranges.narrow_to_record(row, evaluation) if row.first_import_id else row for row in found
    ]
    found.sort(key=lambda row: row.source.sequence or 0, reverse=True)
    del found[PAGE_SIZE + 1 :]
    brought = evaluation.first_import
    if len(found) <= PAGE_SIZE and (brought.sequence or 0) < before.file:
        found.append(ImportLine(source=brought, line=evaluation.first_line, outcome="new"))
    return found


def _moment(source: Import) -> dt.datetime:
    return source.finished_at or source.created_at


def _place_of(cursor: str) -> _Place:
    found = _CURSOR.fullmatch(cursor)
    return _Place(*map(int, found.groups())) if found else _Place()


def _cursor(before: _Place, shown: Iterable[_Row]) -> str:
    """The place behind the rows of a page that began at `before`."""
    event, file, change = before
    for row in shown:
        one = row.of
        if isinstance(one, AuditEvent):
            event = one.pk
        elif isinstance(one, ImportLine):
            file = one.source.sequence or 0
        else:
            change = one.change_id
    return f"{event}.{file}.{change}"


# Who held the record, from when to when


def _claim_periods(evaluation: Evaluation, shown: list[_Row], before: _Place) -> dict[int, ClaimPeriod]:
    """How long each claim on the page went on, by the key of its event."""
    found: dict[int, ClaimPeriod] = {}
    newer = evaluation.events.filter(pk__gte=before.event, action__in=_ENDS)
    behind = newer.order_by("pk").first()
    end: tuple[dt.datetime, str] | None = (behind.at, behind.action) if behind else None
    for row in shown:
        one = row.of
        if isinstance(one, AuditEvent):
            if _begins_claim(one):
                found[one.pk] = _claim_period(evaluation, one, end)
            if one.action in _ENDS:
                end = (one.at, one.action)
        elif isinstance(one, BulkChangeItem) and one.change.kind == BulkChange.Kind.RELEASE:
            end = (one.change.at, "release")
    return found


def _begins_claim(event: AuditEvent) -> bool:
    after = event.detail.get("human", {}).get("after", {})
    is_undone = event.action == "undo" and after.get("human_review_status") in QUEUE_STATUSES
    return is_undone or event.action in {"claim", "withdraw escalation", "adjudicate"}


def _claim_period(
    evaluation: Evaluation, claim: AuditEvent, end: tuple[dt.datetime, str] | None
) -> ClaimPeriod:
    if end:
        at, action = end
        return ClaimPeriod(None if action == "claim" else at, _ENDS[action])
    if evaluation.claimed_by_id == claim.actor_id and evaluation.claimed_until:
        return ClaimPeriod(
            evaluation.claimed_until, "not over yet" if evaluation.is_claimed else "the hold ran out"
        )
    return ClaimPeriod(None, "given back unseen" if claim.detail.get("prefetched") else "given back")


# What each says


def _entry(
    row: _Row, older: list[_Row], made: dict[int, Version], periods: dict[int, ClaimPeriod], kept: LineReader
) -> TimelineEntry:
    one = row.of
    if isinstance(one, ImportLine):
        earlier = next((each.of for each in older if isinstance(each.of, ImportLine)), None)
        return _of_file(one, earlier, kept)
    if isinstance(one, BulkChangeItem):
        return TimelineEntry(row.at, one.change.actor.name, _of_list(one.change))
    detail = one.detail
    version = made.get(detail.get("version") or 0) if _brings_version(one, made) else None
    note = detail.get("reason", "") if one.action in {"reopen", "restore"} else ""
    note = note or detail.get("note") or detail.get("answer") or ""
    return TimelineEntry(
        at=row.at,
        who=one.actor.name if one.actor else "",
        what=_sentence(one),
        note=note,
        changes=version_changes(version) if version else [],
        version=version,
        claim=periods.get(one.pk),
    )


def _of_file(line: ImportLine, earlier: ImportLine | None, kept: LineReader) -> TimelineEntry:
    is_other = line.outcome in {ImportLine.Outcome.UPDATED, ImportLine.Outcome.CONFLICT}
    return TimelineEntry(
        at=_moment(line.source),
        who=line.source.file_name,
        what=f"{_FILES[line.outcome]}, in line {line.line:,}",
        note=line.reason,
        source=line.source,
        changes=_changes(line, earlier, kept) if is_other and earlier else (),
    )


def _changes(line: ImportLine, earlier: ImportLine, kept: LineReader) -> list[FieldChange]:
    """What a line says of the record otherwise than the line before it; nothing where one is not kept."""
    try:
        before, after = (kept.record(one.source_id, one.line) for one in (earlier, line))
    except SourceChunk.DoesNotExist:
        return []
    except CorruptData as damaged:
        corruption.log_corruption(damaged)
        return []
    return compare_records(before, after)


def _of_list(change: BulkChange) -> str:
    undone = f"; undone {change.undone_at:%Y-%m-%d %H:%M} UTC" if change.undone_at else ""
    if change.kind == BulkChange.Kind.ASSIGN:
        return f"assigned it to {change.assigned_to.name if change.assigned_to else 'nobody'}{undone}"
    if change.kind == BulkChange.Kind.PRIORITISE:
        return f"{'put it first' if change.priority else 'took it off the front'}{undone}"
    return f"freed it from whoever held it{undone}"


def _brings_version(event: AuditEvent, made: dict[int, Version]) -> bool:
    """Whether a version came of it. Of a reopened record only the one that a file had decided."""
    if event.action == "reopen":
        version = made.get(event.detail.get("version") or 0)
        return version is not None and version.review.is_from_file and version.review.conflict_id is None
    return event.action in _DECIDE | {"resolve conflict"}


def _sentence(event: AuditEvent) -> str:
    detail: dict[str, Any] = event.detail
    number = f"version {detail.get('version')}"
    reason = REASONS.get(detail.get("reason") or "", "")
    outcomes = {"closed": "closed", "upheld": "the decision stands"}
    outcome = outcomes.get(detail.get("outcome") or "", "back to the queue")
    is_own = detail.get("holder") == event.actor_name
    with_draft = ", with the draft of before" if detail.get("draft") else ""
    shown = "the independent reviews of others" if detail.get("how") == "reviews" else "the judge's scores"
    sentences = {
        "claim": f"{'took it back' if detail.get('renewed') else 'began to review it'}{with_draft}",
        "release": "gave it back" if is_own else f"freed it from {detail.get('holder')}",
        "skip": "skipped it",
        "blind scores": "committed scores before the judge's were shown",
        "reveal": f"was shown {shown}",
        "unskip": "took the skip back",
        "escalate": f"handed it to a lead. {reason}".rstrip(". "),
        "withdraw escalation": "took it back from the lead",
        "resolve escalation": f"answered: {outcome}",
        "submit": f"submitted {number}",
        "independent review": f"gave an independent review: {number}",
        "resolve": f"settled it: all independent reviews agree, and {number} is in force",
        "disagreement": "gave an independent review that differs: a lead decides",
        "adjudicate": "began to decide with the independent reviews there are",
        "undo independent review": f"took an independent review back: {number}",
        "revise": f"revised it: {number}",
        "close": f"closed it without scores: {number}",
        "restore": f"restored version {detail.get('restored')} as {number}",
        "undo": f"took {number} back",
        "reopen": f"reopened it; {number} stands until there is a newer one",
        "agree to spot check": "agreed with it in a spot check",
        "resolve conflict": (
            f"let the file's decision hold: {number}"
            if detail.get("kept") == "theirs"
            else "let the decision made here hold"
        ),
    }
    return sentences.get(event.action, event.action)
