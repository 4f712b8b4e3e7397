"""Cache figures of runs in the memory of the process, until an event of the run may have changed them.

Each transaction that changes a run writes an audit event, and events are sealed in the order of their
commits. So figures stay right as long as no event of their run has been sealed since they were computed. A
job counts records without an event, so the counts have a number of their own.

An event of a record is that of a transaction which changes no ratings or states but those of the record,
unless it seals an event without a record, too (tests check all transactions: `tests/support/audit_check.py`).
So rows of ratings are updated with those of the records that changed.

An import of task context for all runs has an event without a run, and counts as an event of each.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from functools import wraps
from itertools import count
from threading import Lock
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar, cast

from django.db import connection

from reviews.database.statements import fetch_one, prepared_statements
from reviews.judge.loading import loads
from reviews.judge.scope import JudgeScope
from reviews.models import Run
from reviews.search.listing import only_reads
from reviews.search.strata import IS_COUNTED

_T = TypeVar("_T")
# The subject of figures, and its state.
_F = TypeVar("_F", bound=Hashable)
_S = TypeVar("_S")
_P = ParamSpec("_P")
_PartName: TypeAlias = Literal["whole", "of_counts", "of_records"]
_OfScope: TypeAlias = Callable[Concatenate[JudgeScope, _P], _T]

# The ratings and records that cached figures may hold, about 35 bytes each. The last figures always stay.
_MOST_HELD = 3_000_000
# The number assumed for figures without `held`.
_USUAL = 2_000
# After more events, figures count as changed without a search for events of their run.
_MOST_EVENTS = 10_000
# After changes of more records, ratings are loaded again.
_MOST_RECORDS = 2_000
# The head of the chain, the last count of the records, whether it is complete, and whether the chain
# continues from a position, with the records of the run's later events (null for an event without one). After
# a restored backup, the position may have another seal. The later positions are a list: with a range of any
# length, PostgreSQL would keep no plan, or one that reads all events of the run.
_LOOK = f"""
    SELECT head.position, head.hash, (
        SELECT max(stratum_count.id) FROM stratum_count JOIN stratum ON stratum.id = stratum_id
        WHERE run_id = %(run)s
    ), ({IS_COUNTED}), head.position - %(position)s <= %(most)s
    AND EXISTS (SELECT FROM audit_seal WHERE position = %(position)s AND hash = %(hash)s), (
        SELECT array_agg(DISTINCT evaluation_id)
        FROM audit_seal JOIN audit_event ON audit_event.id = event_id
        WHERE position = ANY(ARRAY(
            SELECT generate_series(
                %(position)s + 1,
                CASE WHEN %(position)s > 0 AND head.position - %(position)s <= %(most)s THEN head.position END
            )
        )) AND (audit_event.run_id = %(run)s OR audit_event.run_id IS NULL AND action = 'import context')
    )
    FROM (SELECT position, hash FROM audit_seal ORDER BY position DESC LIMIT 1) AS head
"""  # noqa: S608 (constants)
_epochs = count(1)


class _Change(NamedTuple):
    """A change of a run."""

    #: The end of the audit log when it was noticed.
    position: int
    #: The keys of the changed records; None if others may have changed.
    records: frozenset[int] | None


class _Seen(NamedTuple):
    """The end of the audit log when a run was last looked at."""

    position: int
    hash: bytes
    #: A number for each continuous stretch of the log that this process has followed.
    epoch: int
    #: The changes of the run in it. None comes first.
    changes: tuple[_Change, ...]


class _State(NamedTuple):
    """The state of a run."""

    seen: _Seen
    #: The last count of the records, and whether it is complete.
    counts: Hashable

    @property
    def whole(self) -> Hashable:
        """A value that differs between all states."""
        changes = self.seen.changes
        return self.seen.epoch, changes[-1].position if changes else 0, self.counts

    @property
    def of_counts(self) -> Hashable:
        """A value that differs between counts of the records."""
        return self.seen.epoch, self.counts

    @property
    def of_records(self) -> Hashable:
        """A value that differs between states with an event without a record in between, or another count."""
        first = self.seen.changes[0] if self.seen.changes else None
        return self.seen.epoch, first.position if first and first.records is None else 0, self.counts

    def changed_since(self, earlier: "_State") -> frozenset[int] | None:
        """Return the records that changed since an earlier state; None if others may have changed."""
        if earlier.seen.epoch != self.seen.epoch:
            return None
        found: set[int] = set()
        for change in self.seen.changes:
            if change.position > earlier.seen.position:
                if change.records is None:
                    return None
                found |= change.records
        return frozenset(found)


class _Entry(NamedTuple):
    state: Any
    held: int
    value: Any


class _Cache:
    """The figures of this process, the least recently used first."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.seen: dict[int, _Seen] = {}
        self.entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def find(self, key: Hashable) -> _Entry | None:
        with self.lock:
            if found := self.entries.get(key):
                self.entries.move_to_end(key)
            return found

    def add(self, key: Hashable, state: object, value: Any) -> None:
        with self.lock:
            self.entries[key] = _Entry(state, getattr(value, "held", _USUAL), value)
            self.entries.move_to_end(key)
            held = sum(one.held for one in self.entries.values())
            while held > _MOST_HELD and len(self.entries) > 1:
                held -= self.entries.popitem(last=False)[1].held


_cache = _Cache()


def cache_figures(compute: _OfScope[_P, _T]) -> _OfScope[_P, _T]:
    """Decorate a function that computes figures from the ratings, decisions and records of a run alone.

    Its arguments are hashable, and nobody changes its result, which may state how much it holds as `held`.
    Within a transaction that may have changed the run itself, it always computes.
    """
    return _decorate(compute, lambda scope: _part(scope.run, "whole"))


def cache_counts(compute: _OfScope[_P, _T]) -> _OfScope[_P, _T]:
    """Do the same for a function that reads the counts of a run's records alone."""
    return _decorate(compute, lambda scope: _part(scope.run, "of_counts"))


def cache_by_record(
    load_again: Callable[Concatenate[_T, frozenset[int], JudgeScope, _P], _T],
) -> Callable[[_OfScope[_P, _T]], _OfScope[_P, _T]]:
    """Do the same for a function that loads rows of records. `load_again` loads those of some again."""

    def renew(
        entry: _Entry, state: _State, scope: JudgeScope, /, *args: _P.args, **options: _P.kwargs
    ) -> _T | None:
        records = state.changed_since(entry.state)
        if records is None:
            return None
        return load_again(entry.value, records, scope, *args, **options) if records else entry.value

    return lambda compute: _decorate(compute, lambda scope: _look(scope.run), renew)


def cache_records(
    compute: Callable[Concatenate[tuple[JudgeScope, ...], _P], _T],
) -> Callable[Concatenate[tuple[JudgeScope, ...], _P], _T]:
    """Do the same for a function of several scopes that reads of records what no decision changes."""
    return _decorate(compute, lambda scopes: _parts(scopes, "of_records"))


def cache_comparison(
    compute: Callable[Concatenate[tuple[JudgeScope, ...], _P], _T],
) -> Callable[Concatenate[tuple[JudgeScope, ...], _P], _T]:
    """Do the same as `cache_figures` for a function of several scopes, which may read the rows of runs."""

    def look(scopes: tuple[JudgeScope, ...]) -> tuple[object, ...] | None:
        states = _parts(scopes, "whole")
        # The row of a run may be older than its state.
        rows = ((run.name, run.rubric, run.blind_share) for run in (scope.run for scope in scopes))
        return None if states is None else (*states, *rows)

    return _decorate(compute, look)


def _part(run: Run, name: _PartName) -> Hashable:
    """Return a part of the state of a run; None before the first sealed event."""
    state = _look(run)
    return getattr(state, name) if state else None


def _parts(scopes: tuple[JudgeScope, ...], name: _PartName) -> tuple[Hashable, ...] | None:
    """Return a part of the states of several runs; None if one of them has no sealed event."""
    states = tuple(_part(scope.run, name) for scope in scopes)
    return None if None in states else states


def _decorate(
    compute: Callable[Concatenate[_F, _P], _T],
    look: Callable[[_F], _S | None],
    renew: Callable[Concatenate[_Entry, _S, _F, _P], _T | None] | None = None,
) -> Callable[Concatenate[_F, _P], _T]:
    """Keep the results of `compute`. `renew` derives one of a changed state from that of an earlier state."""

    @wraps(compute)
    def cached(scope: _F, /, *args: _P.args, **options: _P.kwargs) -> _T:
        # Read before the figures: a later change then makes another state.
        state = None if connection.in_atomic_block and not only_reads() else look(scope)
        if state is None:
            return compute(scope, *args, **options)
        key = compute, scope, args, tuple(options.items())
        known = _cache.find(key)
        if known and known.state == state:
            return cast(_T, known.value)
        value = renew(known, state, scope, *args, **options) if known and renew else None
        if value is None:
            value = compute(scope, *args, **options)
        _cache.add(key, state, value)
        return value

    return cached


@loads
def _look(run: Run) -> _State | None:
    """Return the state of the run; None before the first sealed event."""
    before = _cache.seen.get(run.pk, _Seen(0, b"", 0, ()))
    values: dict[str, Any] = {
        "run": run.pk,
        "position": before.position,
        "hash": before.hash,
        "most": _MOST_EVENTS,
    }
    with prepared_statements():
        found = fetch_one(_LOOK, values)
    if found is None:
        return None
    position, sealed, *counts, is_continued, records = found
    if is_continued:
        epoch, changes = before.epoch, _with(before.changes, position, records or ())
    else:
        epoch, changes = next(_epochs), ()
    seen = _cache.seen[run.pk] = _Seen(position, bytes(sealed), epoch, changes)
    return _State(seen, tuple(counts))


def _with(
    changes: tuple[_Change, ...], position: int, records: Collection[int | None]
) -> tuple[_Change, ...]:
    """Append the records of new events, if there are any."""
    if not records:
        return changes
    known = sum(len(change.records or ()) for change in changes)
    if None in records or known + len(records) > _MOST_RECORDS:
        return (_Change(position, None),)
    return (*changes, _Change(position, frozenset(cast("Collection[int]", records))))
