"""Verify that the audit log explains each decision in an export. Uses no database."""

import datetime as dt
import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson

from reviews.audit.hash_chain import EMPTY, ChainVerifier, Head, SealedEvent, event_digest
from reviews.exports import formats
from reviews.exports.verify_export import Comparison, MatchedRecord
from reviews.exports.verify_receipt import InvalidReceipt, bind_mapping, verify_files
from reviews.records.json_text import sorted_json
from reviews.records.mapping import FieldMapping
from reviews.records.schema import HUMAN_FIELDS, Limits
from reviews.records.status import DONE_STATUSES
from reviews.records.translation import read_line

# A line as written by `audit.log.jsonl_lines`. The seal covers the exact bytes of the event.
_LINE = re.compile(
    rb'\{"position": ([0-9]{1,18}), "previous": "([0-9a-f]{64})", "hash": "([0-9a-f]{64})", '
    rb'(?:"event": (\{.*\}|null)|"digest": "([0-9a-f]{64})")\}\n'
)


class UnreadableAuditLog(Exception):
    """The file was not written by `export_audit`. The message describes the fault."""


class LoggedDecision(NamedTuple):
    """The decision on a record after an event of the audit log."""

    event: str
    record: str
    #: The number of the run. Its name may change.
    run: int
    #: The five human_* values. None: those of the record's line.
    values: dict[str, Any] | None


class AuditLogFile:
    """An exported audit log: verifies its chain and finds the current decision on each record.

    Memory has only the positions of the decisions in the file, by record.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        # record -> run -> place of the last decision on it in the file
        self._places: dict[str, dict[int, int]] = {}
        # The last name of each run, and the run that last had a name.
        self._names: dict[int, str] = {}
        self._runs: dict[str, int] = {}
        #: The run to verify; without one, each record may be decided in one run only.
        self.run: int | None = None
        self.head = EMPTY

    def read(self, until: Head | None = None) -> Iterator[str]:
        """Read the file, with decisions up to that head, and yield the faults of its chain.

        Raises `UnreadableAuditLog` and OSError.
        """
        seals, place = ChainVerifier(*[until] if until else []), 0
        for number, line in enumerate(self._file, start=1):
            sealed, text = self._taken_apart(number, line)
            yield from seals.verify_next(sealed)
            in_time = until is None or sealed.position <= until.position
            if in_time and sealed.fits and text:
                self._note(text, place)
            place += len(line)
        yield from seals.verify_end()
        self.head = seals.head

    def select_run(self, name: str) -> None:
        """Verify the run that had this name last. A log without that run has no decisions on its records."""
        self.run = self._runs.get(name, 0)

    def take(self, record: str) -> LoggedDecision | None:
        """Return the last decision on a record, once. Raises `UnreadableAuditLog` if its run is unclear."""
        places = self._places.get(record, {})
        if self.run is None and len(places) > 1:
            runs = " and ".join(sorted(self._names[run] for run in places))
            raise UnreadableAuditLog(
                f"{self._name}: {record} was decided in {runs}. Pass a receipt or the log of one run."
            )
        run = next(iter(places), 0) if self.run is None else self.run
        place = places.pop(run, None)
        return None if place is None else self._at(place)

    def rest(self) -> Iterator[LoggedDecision]:
        """Yield the decisions that were not taken."""
        yield from filter(None, map(self._at, chain.from_iterable(map(dict.values, self._places.values()))))

    def _note(self, text: bytes, place: int) -> None:
        """Note the name of the event's run, and the place of its decision. Raises `UnreadableAuditLog`."""
        event = orjson.loads(text)
        run, name = event.get("run"), event.get("run_name")
        if isinstance(run, int) and isinstance(name, str):
            self._names[run], self._runs[name] = name, run
        if b'"human": {' in text and (decided := self._decision(text)):
            self._places.setdefault(decided.record, {})[decided.run] = place

    def _taken_apart(self, number: int, line: bytes) -> tuple[SealedEvent, bytes]:
        found = _LINE.fullmatch(line)
        if not found:
            raise UnreadableAuditLog(f"{self._name}: line {number} was not written by export_audit")
        position, previous, hash_, text, digest = found.groups()
        text = b"" if text in {None, b"null"} else text
        own = bytes.fromhex(digest.decode()) if digest else event_digest(text) if text else None
        event = _key(text) if text else None
        hashes = (bytes.fromhex(previous.decode()), bytes.fromhex(hash_.decode()))
        return SealedEvent(int(position), event, *hashes, own), text

    def _at(self, place: int) -> LoggedDecision | None:
        self._file.seek(place)
        _, text = self._taken_apart(0, self._file.readline())
        return self._decision(text)

    def _decision(self, text: bytes) -> LoggedDecision | None:
        """Return the decision in an event, if it has one. Raises `UnreadableAuditLog` for another shape."""
        event = orjson.loads(text)
        try:
            if "human" not in event["detail"]:
                return None
            event_text = f"event {event['id']} ({event['action']} by {event['actor_name'] or 'the program'})"
            return LoggedDecision(event_text, event["record"], event["run"], _left(event["detail"]["human"]))
        except (KeyError, TypeError, ValueError) as error:
            raise UnreadableAuditLog(f"{self._name}: an event lacks something: {error}") from error


def _left(human: dict[str, Any]) -> dict[str, Any] | None:
    """Return the human_* values after an event, as in `LoggedDecision`."""
    if human.get("keeps_line"):
        return None
    values = {name: human["after"][name] for name in HUMAN_FIELDS}
    moment = values["human_review_timestamp"]
    return values | {"human_review_timestamp": dt.datetime.fromisoformat(moment) if moment else None}


def _key(text: bytes) -> int | None:
    """Return the key of an event, or None for a manipulated event without one."""
    try:
        event = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return event["id"] if isinstance(event.get("id"), int) else None


def verify_with_log(
    audit_log: AuditLogFile,
    originals: list[Path],
    exported: Path,
    limits: Limits,
    receipt: dict[str, Any] | None = None,
    *,
    mapping: FieldMapping | None = None,
) -> Comparison:
    """Compare an export with its originals, and each decision in it with the audit log.

    With a receipt, which is checked too, the audit log may be newer than the export: the receipt has the head
    of the log at that time. Raises `UnreadableAuditLog`, `InvalidReceipt` and the errors of reading.
    """
    broken = list(audit_log.read(_head_in(receipt) if receipt else None))
    if receipt:
        audit_log.select_run(receipt["run"])
    witness = partial(_unexplained, audit_log, bind_mapping(mapping, originals))
    result = verify_files(receipt, originals, exported, limits, mapping=mapping, witness=witness)
    if receipt and receipt["filter"]["import_id"] is None:
        broken += _unseen(audit_log)
    for problem in broken:
        result.found(problem)
    return result


def _head_in(receipt: dict[str, Any]) -> Head:
    try:
        if receipt["output"]["format"] not in formats.OF_LINES:
            raise InvalidReceipt("Only an export as JSONL or JSON can be compared with an audit log.")
        return Head.parse(receipt["audit_head"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidReceipt(f"The receipt does not say how far the audit log was: {error}") from error


def _unexplained(audit_log: AuditLogFile, mapping: FieldMapping | None, met: MatchedRecord) -> Iterator[str]:
    """Yield the differences of an exported record from the audit log."""
    decision = audit_log.take(met.evaluation_id)
    place = f"line {met.line} of the export ({met.evaluation_id})"
    if decision is None:
        if met.keys:
            yield f"{place} has changed in {', '.join(met.keys)}, and the audit log has no decision on it"
    elif decision.values is None:
        if met.keys:
            yield f"{place} has changed in {', '.join(met.keys)}, and {decision.event} left it as it came"
    elif met.line:
        if differing := _differing(met.text, mapping, decision.values):
            yield f"{place} is not as {decision.event} left it: {', '.join(differing)}"
    elif decision.values["human_review_status"] in DONE_STATUSES:
        yield f"{met.evaluation_id} is not in the export, and was decided in {decision.event}"


def _unseen(audit_log: AuditLogFile) -> Iterator[str]:
    """Yield decisions of the run on records that are not in any of the files."""
    for decision in audit_log.rest():
        if decision.run == audit_log.run and decision.values:
            yield f"{decision.record} was decided in {decision.event}, and is in none of the files"


def _differing(line: bytes, mapping: FieldMapping | None, values: dict[str, Any]) -> list[str]:
    record = read_line(line.removesuffix(b"\n"), mapping=mapping)
    return [name for name in HUMAN_FIELDS if sorted_json(getattr(record, name)) != sorted_json(values[name])]
