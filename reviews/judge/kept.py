"""Keep figures of runs in the memory of the process, until an event of the run may have changed them.

Each transaction that changes a run writes an audit event, and events are sealed in the order of their
commits. So figures stay right as long as no event of their run has been sealed since they were computed. A
job counts records without an event, so the counts have a number of their own.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

from django.db import connection

from reviews.judge.loading import loads
from reviews.judge.scope import JudgeScope
from reviews.models import Run
from reviews.search import strata

_T = TypeVar("_T")
_P = ParamSpec("_P")

# The ratings and records that kept figures may hold, about 35 bytes each. The last figures always stay.
_MOST_HELD = 3_000_000
# The number assumed for figures without `held`.
_USUAL = 2_000
# After more events, figures count as changed without a search for events of their run.
_MOST_EVENTS = 10_000
# The head of the chain, the last count of the records, and whether no event of the run was sealed since a
# position. After a restored backup, the position may have another seal.
_LOOK = """
    SELECT head.position, head.hash, (
        SELECT max(stratum_count.id) FROM stratum_count JOIN stratum ON stratum.id = stratum_id
        WHERE run_id = %(run)s
    ), head.position - %(position)s <= %(most)s
    AND EXISTS (SELECT FROM audit_seal WHERE position = %(position)s AND hash = %(hash)s)
    AND NOT EXISTS (
        SELECT FROM audit_seal JOIN audit_event ON audit_event.id = event_id
        WHERE position > %(position)s AND audit_event.run_id = %(run)s
    )
    FROM (SELECT position, hash FROM audit_seal ORDER BY position DESC LIMIT 1) AS head
"""


class _Seen(NamedTuple):
    """The end of the audit log when a run was last looked at."""

    position: int
    hash: bytes
    #: The hash when this process last noticed a change of the run.
    changed: bytes


class _Figures(NamedTuple):
    version: Hashable
    held: int
    value: Any


class _Memory:
    """The figures that this process keeps, the least recently used first."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.seen: dict[int, _Seen] = {}
        self.figures: OrderedDict[Hashable, _Figures] = OrderedDict()

    def find(self, key: Hashable, version: Hashable) -> _Figures | None:
        with self.lock:
            found = self.figures.get(key)
            if found is None or found.version != version:
                return None
            self.figures.move_to_end(key)
            return found

    def keep(self, key: Hashable, figures: _Figures) -> None:
        with self.lock:
            self.figures[key] = figures
            self.figures.move_to_end(key)
            held = sum(one.held for one in self.figures.values())
            while held > _MOST_HELD and len(self.figures) > 1:
                held -= self.figures.popitem(last=False)[1].held


_memory = _Memory()


def keeps_figures(
    compute: Callable[Concatenate[JudgeScope, _P], _T],
) -> Callable[Concatenate[JudgeScope, _P], _T]:
    """Decorate a function that computes figures from the ratings, decisions and records of a run alone.

    Its arguments are hashable, and nobody changes its result, which may state how much it holds as `held`.
    Within a transaction, which may have changed the run itself, it always computes.
    """

    @wraps(compute)
    def keeping(scope: JudgeScope, /, *args: _P.args, **options: _P.kwargs) -> _T:
        version = None if connection.in_atomic_block else _version(scope.run)
        if version is None:
            return compute(scope, *args, **options)
        key = compute, scope, args, tuple(options.items())
        if known := _memory.find(key, version):
            return cast(_T, known.value)
        value = compute(scope, *args, **options)
        _memory.keep(key, _Figures(version, getattr(value, "held", _USUAL), value))
        return value

    return keeping


def forget_figures() -> None:
    """Forget all figures."""
    with _memory.lock:
        _memory.figures.clear()
        _memory.seen.clear()


@loads
def _version(run: Run) -> Hashable:
    """Return a value that differs between states of the run; None before the first sealed event.

    Read before the figures: a later change then makes another version.
    """
    before = _memory.seen.get(run.pk, _Seen(0, b"", b""))
    unknown = strata.why_not_counted(run)
    values: dict[str, Any] = {
        "run": run.pk,
        "position": before.position,
        "hash": before.hash,
        "most": _MOST_EVENTS,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LOOK, values)
        found = cursor.fetchone()
    if found is None:
        return None
    position, sealed, counted, is_unchanged = found
    changed = before.changed if is_unchanged else bytes(sealed)
    _memory.seen[run.pk] = _Seen(position, bytes(sealed), changed)
    return changed, counted, unknown
