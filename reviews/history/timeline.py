"""The history of a record, newest first: imports, claims, decisions and escalations.

It merges three sources: audit events of the record, lines of files that contain it, and bulk changes. Each
source keeps the order of its sequence, even if a clock was set back. Times decide only how the three are
merged.
"""

import datetime as dt
import heapq
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple

from django.db.models import Q

from reviews.database.pagination import Page
from reviews.history.changes import FieldChange, compare_lines, without_flag
from reviews.history.versions import Version, list_versions, version_changes
from reviews.models import AuditEvent, BulkChange, BulkChangeItem, Evaluation, Import, ImportLine, User
from reviews.records.status import QUEUE_STATUSES
from reviews.review import independent_reviews
from reviews.review.escalations import REASONS
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric
from reviews.storage import unchanged_ranges
from reviews.storage.line_reader import LineReader

PAGE_SIZE = 20
# A page ends early after this many changed fields, because each is compared word by word.
_MOST_CHANGES = 60
_CURSOR = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})\.([0-9]{1,18})")
_BEYOND = 10**18 - 1  # no key or sequence is that large
# Events that create a version.
_CREATING = {"submit", "adjudicate", "independent review", "revise", "close", "restore", "resolve conflict"}
# Events that end a claim, with the wording of the page.
_ENDS = {
    "claim": "expired",
    "release": "released",
    "skip": "skipped",
    "escalate": "escalated",
    "submit": "submitted",
    "adjudicate": "adjudicated",
    "independent review": "independent review submitted",
    "close": "closed",
    "resolve conflict": "conflict resolved",
    "resolve escalation": "escalation resolved",
}
_NOT_OVER = "not over yet"
# Events of people on their way to an independent review.
_OF_REVIEWERS = (
    "claim",
    "release",
    "undo release",
    "skip",
    "unskip",
    "undo skip",
    "reveal",
    "blind scores",
    "independent review",
    "undo independent review",
)
_FILE_SENTENCES = {
    "new": "added this record",
    "unchanged": "contains it unchanged",
    "updated": "changed it",
    "conflict": "has a different decision",
}
_OUTCOMES = {
    "withdrawn": "withdrawn",
    "closed": "closed",
    "upheld": "decision upheld",
    "returned": "back to the queue",
}


class ClaimPeriod(NamedTuple):
    """The end of a claim."""

    #: None if the claim ended at an unknown time before it was due to expire.
    until: dt.datetime | None
    #: The reason for its end, in words.
    end: str

    @property
    def is_over(self) -> bool:
        return self.end != _NOT_OVER


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    at: dt.datetime
    #: The name of a person or a file; empty for the program.
    who: str
    #: The predicate of a sentence with the subject `who`.
    what: str
    #: Text by the person, or the reason of the import.
    note: str = ""
    source: Import | None = None
    #: Differences from the previous decision, or from the previous line.
    changes: Sequence[FieldChange] = ()
    #: The version that the event created.
    version: Version | None = None
    #: Set if the event started a claim.
    claim: ClaimPeriod | None = None


class _Place(NamedTuple):
    """The start of a page: after this event (key), file (sequence) and bulk change (key)."""

    event: int = _BEYOND
    file: int = _BEYOND
    change: int = _BEYOND


class _Row(NamedTuple):
    at: dt.datetime
    stored: AuditEvent | ImportLine | BulkChangeItem


def load_page(evaluation: Evaluation, *, reader: User | None = None, after: str = "") -> Page[TimelineEntry]:
    """Load a page of a record's history. An invalid cursor in `after` gives the first page.

    Open independent reviews of others are hidden from the reader, and until the record is settled also what
    others did to give theirs: nobody learns who reviews a record, or how many people do. Costs at most two
    queries for each line of a file on the page, and seven more.
    """
    found = _CURSOR.fullmatch(after)
    place = _Place(*map(int, found.groups())) if found else _Place()
    rows = _rows(evaluation, place, reader)
    rubric = run_rubric(evaluation.run)
    versions = list_versions(evaluation, read_proposals(evaluation, rubric), rubric, reader=reader)
    by_number = {version.review.version: version for version in versions}
    periods = _claim_periods(evaluation, rows[:PAGE_SIZE], place)
    lines = LineReader()
    entries: list[TimelineEntry] = []
    for number, row in enumerate(rows[:PAGE_SIZE], start=1):
        entry = _entry(row, rows[number:], by_number, periods, lines)
        if entry.source and evaluation.hides_reasons:
            entry = replace(entry, note="", changes=without_flag(entry.changes))
        entries.append(entry)
        if sum(len(entry.changes) for entry in entries) >= _MOST_CHANGES:
            break
    return Page(entries, _cursor(place, rows[: len(entries)]) if len(rows) > len(entries) else "")


# Rows of the three sources, at least one more than a page has


def _rows(evaluation: Evaluation, before: _Place, reader: User | None) -> list[_Row]:
    sources = (
        [_Row(event.at, event) for event in _events(evaluation, before, reader)],
        [_Row(item.change.at, item) for item in _bulk_changes(evaluation, before)],
        [_Row(line.source.imported_at, line) for line in _lines(evaluation, before)],
    )
    return [*heapq.merge(*sources, key=attrgetter("at"), reverse=True)]


def _events(evaluation: Evaluation, before: _Place, reader: User | None) -> Iterable[AuditEvent]:
    # The event "blind scores" implies this one.
    left_out = Q(action="reveal", detail__how="locked in")
    if reader and independent_reviews.are_collected(evaluation):
        left_out |= Q(action__in=_OF_REVIEWERS) & ~Q(actor=reader)
    earlier = evaluation.events.filter(pk__lt=before.event).exclude(left_out).select_related("actor")
    return earlier.order_by("-pk")[: PAGE_SIZE + 1]


def _bulk_changes(evaluation: Evaluation, before: _Place) -> Iterable[BulkChangeItem]:
    # Through the bulk changes of the run, which are few: the index on items begins with the bulk change.
    items = BulkChangeItem.objects.filter(change__run=evaluation.run_id, evaluation=evaluation)
    # An escalation has an event of its own.
    items = items.filter(change__lt=before.change).exclude(change__kind=BulkChange.Kind.ESCALATE)
    items = items.select_related("change__actor", "change__assigned_to", "given_to")
    return items.order_by("-change")[: PAGE_SIZE + 1]


def _lines(evaluation: Evaluation, before: _Place) -> list[ImportLine]:
    """Return the lines that contain the record, including the first one, which added it."""
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
    first = evaluation.first_import
    if len(found) <= PAGE_SIZE and (first.sequence or 0) < before.file:
        found.append(ImportLine(source=first, line=evaluation.first_line, outcome="new"))
    return found


def _cursor(before: _Place, shown: Iterable[_Row]) -> str:
    """Return the cursor after the rows of a page that starts at `before`."""
    event, file, change = before
    for row in shown:
        one = row.stored
        if isinstance(one, AuditEvent):
            event = one.pk
        elif isinstance(one, ImportLine):
            file = one.source.sequence or 0
        else:
            change = one.change_id
    return f"{event}.{file}.{change}"


# Claims


def _claim_periods(evaluation: Evaluation, shown: list[_Row], before: _Place) -> dict[int, ClaimPeriod]:
    """Return the end of each claim on the page, by the key of the event that started it."""
    found: dict[int, ClaimPeriod] = {}
    newer = evaluation.events.filter(pk__gte=before.event, action__in=_ENDS).order_by("pk").first()
    end = (newer.at, newer.action) if newer else None
    for row in shown:
        one = row.stored
        if isinstance(one, AuditEvent):
            if _starts_claim(one):
                found[one.pk] = _claim_period(evaluation, one, end)
            if one.action in _ENDS:
                end = (one.at, one.action)
        elif isinstance(one, BulkChangeItem) and one.change.kind == BulkChange.Kind.RELEASE:
            end = (one.change.at, "release")
    return found


def _starts_claim(event: AuditEvent) -> bool:
    after = event.detail.get("human", {}).get("after", {})
    is_undone = event.action == "undo" and after.get("human_review_status") in QUEUE_STATUSES
    return is_undone or event.action in {"claim", "withdraw escalation", "take over"}


def _claim_period(
    evaluation: Evaluation, claim: AuditEvent, end: tuple[dt.datetime, str] | None
) -> ClaimPeriod:
    if end:
        at, action = end
        return ClaimPeriod(None if action == "claim" else at, _ENDS[action])
    if evaluation.claimed_by_id == claim.actor_id and evaluation.claimed_until:
        return ClaimPeriod(evaluation.claimed_until, _NOT_OVER if evaluation.is_claimed else "expired")
    return ClaimPeriod(None, "released unseen" if claim.detail.get("prefetched") else "released")


# Entries


def _entry(
    row: _Row,
    older: list[_Row],
    versions: dict[int, Version],
    periods: dict[int, ClaimPeriod],
    lines: LineReader,
) -> TimelineEntry:
    one = row.stored
    if isinstance(one, ImportLine):
        earlier = next((each.stored for each in older if isinstance(each.stored, ImportLine)), None)
        return _file_entry(one, earlier, lines)
    if isinstance(one, BulkChangeItem):
        return TimelineEntry(row.at, one.change.actor.name, _bulk_sentence(one))
    detail = one.detail
    version = _created_version(one, versions)
    note = detail.get("reason", "") if one.action in {"reopen", "restore", "revise"} else ""
    return TimelineEntry(
        at=row.at,
        who=one.actor.name if one.actor else "",
        what=_event_sentence(one),
        note=note or detail.get("note") or detail.get("answer") or "",
        changes=version_changes(version) if version else [],
        version=version,
        claim=periods.get(one.pk),
    )


def _file_entry(line: ImportLine, earlier: ImportLine | None, lines: LineReader) -> TimelineEntry:
    changes: Sequence[FieldChange] = ()
    if earlier and line.outcome in {ImportLine.Outcome.UPDATED, ImportLine.Outcome.CONFLICT}:
        before, after = ((one.source_id, one.line) for one in (earlier, line))
        changes = compare_lines(before, after, lines)
    return TimelineEntry(
        at=line.source.imported_at,
        who=line.source.file_name,
        what=f"{_FILE_SENTENCES[line.outcome]} in line {line.line:,}",
        note=line.reason,
        source=line.source,
        changes=changes,
    )


def _bulk_sentence(item: BulkChangeItem) -> str:
    change = item.change
    undone = f"; undone {change.undone_at:%Y-%m-%d %H:%M} UTC" if change.undone_at else ""
    match change.kind:
        case BulkChange.Kind.ASSIGN | BulkChange.Kind.SPLIT:
            recipient = item.given_to or change.assigned_to
            sentence = f"assigned it to {recipient.name if recipient else 'nobody'}"
        case BulkChange.Kind.PRIORITISE:
            sentence = "gave it priority" if change.priority else "removed its priority"
        case BulkChange.Kind.DUE:
            sentence = f"set its due date to {change.due_on}" if change.due_on else "removed its due date"
        case _:
            sentence = "released it"
    return f"{sentence}{undone}"


def _created_version(event: AuditEvent, versions: dict[int, Version]) -> Version | None:
    """Return the version that an event created. Reopening creates one if a file had decided the record."""
    version = versions.get(event.detail.get("version") or 0)
    if event.action == "reopen" and version:
        is_created = version.review.is_from_file and version.review.conflict_id is None
        return version if is_created else None
    return version if event.action in _CREATING else None


def _event_sentence(event: AuditEvent) -> str:
    detail: dict[str, Any] = event.detail
    number = f"version {detail.get('version')}"
    reason = REASONS.get(detail.get("reason") or "", "")
    holder = detail.get("claimed_by")
    draft = ", with the saved draft" if detail.get("draft") else ""
    shown = "the other independent reviews" if detail.get("how") == "reviews" else "the judge's scores"
    kept = f"file's decision: {number}" if detail.get("kept") == "theirs" else "decision made here"
    sentences = {
        "claim": f"{'claimed it again' if detail.get('renewed') else 'claimed it'}{draft}",
        "release": "released it" if holder == event.actor_name else f"released it from {holder}",
        "skip": "skipped it",
        "unskip": "undid the skip",
        "undo skip": "undid the skip",
        "undo release": "undid the release",
        "blind scores": "locked in blind scores",
        "reveal": f"was shown {shown}",
        "escalate": f"escalated it. {reason}".rstrip(". "),
        "withdraw escalation": "withdrew the escalation",
        "resolve escalation": f"answered: {_OUTCOMES.get(detail.get('outcome') or '', 'resolved')}",
        "submit": f"submitted {number}",
        "independent review": "submitted an independent review",
        "resolve": f"completed the independent reviews: all agree, {number} is current",
        "disagreement": "submitted an independent review that differs: a lead decides",
        "take over": "took it over to adjudicate",
        "adjudicate": f"adjudicated it: {number}",
        "undo independent review": "undid an independent review",
        "revise": f"{'corrected it in a spot check' if detail.get('spot_check') else 'revised it'}: {number}",
        "close": f"closed it without scores: {number}",
        "restore": f"restored version {detail.get('restored')} as {number}",
        "undo": f"undid {number}",
        "reopen": f"reopened it; {number} is current until there is a newer one",
        "agree to spot check": "agreed with it in a spot check",
        "resolve conflict": f"kept the {kept}",
    }
    return sentences.get(event.action, event.action)
