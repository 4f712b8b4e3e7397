"""Follow the records that are to be scored blind: assigned, locked in, changed, escalated, closed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal, NamedTuple, Self

import numpy as np
from django.db import connection
from django.db.models import Aggregate, BinaryField, Exists, OuterRef, Q, QuerySet

from cognireview.types.estimates import Part
from cognireview.types.report_parts import Bounds, Funnel
from reviews.database.pagination import Page, page_by_key
from reviews.judge.accuracy import JudgeVsHuman
from reviews.judge.cells import load_strata
from reviews.judge.figure_cache import cache_by_record, cache_figures
from reviews.judge.ratings import Keys, RatingBatch, load_verdicts
from reviews.judge.scope import JudgeScope
from reviews.models import Escalation, Evaluation, IndependentReview, Rating
from reviews.models.evaluations import EvaluationQuerySet
from reviews.records.wording import counted, percent
from reviews.search.hidden_records import hidden_from_all

DEFINITIONS = {
    "assigned": "How many records are scored without the judge's scores in view. The accuracy of the run "
    "rests on them.\n\n"
    "Flagged and sampled records that are to be scored blind, were scored blind, or were closed before: they "
    "are in the blind share and have a response to read.",
    "locked_in": "How many assigned records somebody has scored blind. Figures count these scores, whatever "
    "became of the record.\n\n"
    "Assigned records that somebody scored before the judge's scores were shown.",
    "changed": "How often reviewers changed their verdict once they saw the judge's. Figures count the "
    "verdict before the change.\n\n"
    "Locked-in records on which a reviewer submitted another verdict after the judge's scores were shown.",
    "escalated": "How many of the scored records went to a lead. Their blind scores still count.\n\n"
    "Locked-in records that somebody escalated without withdrawing it, or on which reviewers disagreed.",
    "closed": "How many records nobody could judge. They leave a gap in the figures unless they were scored "
    "before.\n\n"
    "Records that a lead closed because nobody could judge them, locked in or not.",
    "bounds": "How far blind review is, and what became of the scored records. The bounds show how much the "
    "missing records could change the accuracy.\n\n"
    "The bounds are the accuracy over the whole run if the judge were wrong, or right, on all records like "
    "those that are assigned but not locked in (Manski 1989, Journal of Human Resources 24:343).",
}
PAGE_SIZE = 50
_KEYS_OF_A_RATING, _NO_KEYS = 4, np.zeros(0, dtype=np.int64)
#: The numbers of the funnel whose records `list_records` lists. The others count ratings: see `drilldown`.
ListedState = Literal["assigned", "closed"]

_SCORED = """
    SELECT is_flagged, string_agg(int8send(evaluation_id), '')
    FROM blind_scores JOIN stratum ON stratum.id = stratum_id
    WHERE stratum_id = ANY(%(strata)s) AND (is_flagged OR is_sampled)
      AND (%(records)s::bigint[] IS NULL OR evaluation_id = ANY(%(records)s))
    GROUP BY is_flagged
"""


class _PackedKeys(Aggregate):
    """All keys of a group as big-endian 64-bit integers. Takes hardly longer than to count them."""

    template, output_field = "string_agg(int8send(%(expressions)s), '')", BinaryField()


class _LockedIn(NamedTuple):
    records: int = 0
    ratings: int = 0


class AssignedRecord(NamedTuple):
    """A record that is to be scored blind."""

    #: Without the large columns.
    evaluation: Evaluation
    is_locked_in: bool


class _Counted(NamedTuple):
    """The funnel without bounds and sentences, and its records by flag."""

    funnel: Funnel
    locked_in: Mapping[bool, _LockedIn]
    missing: Mapping[bool, int]


def follow_records(scope: JudgeScope, compared: JudgeVsHuman) -> Funnel:
    """Count the records of a scope in each state. `compared` has the accuracy of its flagged and other parts.

    The filters by reviewer and date select ratings: without them, records without a rating are counted, too.
    """
    found = _count_records(scope)
    funnel = replace(found.funnel, bounds=_bounds(compared, found.locked_in, found.missing))
    return replace(funnel, sentences=[*_sentences(funnel)])


def _sentences(found: Funnel) -> Iterator[str]:
    if not found.assigned:
        yield "No record is to be scored blind."
        return
    assigned, ratings = counted(found.assigned, "record"), counted(found.ratings, "rating")
    are = "is" if found.locked_in == 1 else "are"
    yield f"{found.locked_in:,} of {assigned} assigned to blind review {are} locked in, by {ratings}."
    if found.missing and found.bounds:
        others = "the other one" if found.missing == 1 else f"the {found.missing:,} others"
        yield (
            f"The accuracy over the whole run would be {percent(found.bounds.low)} if the judge were wrong "
            f"on {others}, and {percent(found.bounds.high)} if it were right."
        )
    if found.outdated:
        ratings = counted(found.outdated, "rating no longer counts", "ratings no longer count")
        yield f"{ratings}: a file changed what was rated."


@cache_figures
def _count_records(scope: JudgeScope) -> _Counted:
    ratings = [one for one in load_verdicts(scope).batches if one.kind.is_representative]
    locked_in = _locked_in(ratings)
    # The filters by reviewer and date are about ratings.
    missing = _missing(replace(scope, reviewer=None, since=None, until=None)).counts
    funnel = Funnel(
        assigned=sum(one.records for one in locked_in.values()) + sum(missing.values()),
        locked_in=sum(one.records for one in locked_in.values()),
        changed=_changed(ratings),
        escalated=_escalated(scope, ratings),
        closed=_closed(scope).count(),
        ratings=sum(one.ratings for one in locked_in.values()),
        outdated=_outdated(scope, locked_in),
        sentences=[],
        bounds=None,
    )
    return _Counted(funnel, locked_in, missing)


def _locked_in(ratings: Sequence[RatingBatch]) -> dict[bool, _LockedIn]:
    """Return the locked-in records by flag."""
    found = {}
    for is_flagged in (True, False):
        if chosen := [batch for batch in ratings if batch.kind.cell.is_flagged == is_flagged]:
            found[is_flagged] = _LockedIn(_records(chosen), sum(batch.ratings for batch in chosen))
    return found


def _changed(ratings: Iterable[RatingBatch]) -> int:
    """Count the locked-in records with another verdict after the reveal."""
    return _records([one for one in ratings if one.final not in {None, one.kind.human or ""}])


def _records(ratings: Sequence[RatingBatch]) -> int:
    """Count the records of ratings. To sort their keys takes a seventh of the time of `np.unique`."""
    record = np.sort(np.concatenate([_NO_KEYS, *(batch.record for batch in ratings)]))
    return int(np.count_nonzero(np.diff(record, prepend=-1)))


def _blind_ratings(scope: JudgeScope) -> QuerySet[Rating]:
    """Return the blind ratings of a record of the scope."""
    return Rating.objects.filter(
        cell__criterion=None, cell__is_blind=True, cell__stratum__run=scope.run, evaluation=OuterRef("pk")
    )


def _closed(scope: JudgeScope) -> EvaluationQuerySet:
    """Return the records that a lead closed because nobody could judge them."""
    closed = Escalation.objects.filter(outcome=Escalation.Outcome.CLOSED, evaluation__run=scope.run)
    return scope.records().filter(pk__in=closed.values("evaluation"))


def _closed_unrated(scope: JudgeScope) -> EvaluationQuerySet:
    """Return the closed records that were to be scored blind, and have no blind rating."""
    shared = _closed(scope).filter(has_answer=True, blind_position__lt=scope.run.blind_share)
    represented = shared.filter(Q(needs_human_review=True) | Q(is_sampled=True))
    return represented.exclude(Exists(_blind_ratings(scope)))


@dataclass(frozen=True, eq=False)
class _Records:
    """The keys of records by flag, of which some have changed since they were loaded."""

    #: As they were loaded, sorted.
    loaded: Mapping[bool, Keys]
    #: The records that have changed since, and the keys of those among them.
    changed: frozenset[int] = frozenset()
    found: Mapping[bool, Keys] = field(default_factory=lambda: {True: _NO_KEYS, False: _NO_KEYS})

    @classmethod
    def from_packed(cls, rows: Iterable[tuple[bool, bytes]]) -> Self:
        """Return the records of rows with a flag and big-endian keys."""
        keys: dict[bool, list[Keys]] = {True: [_NO_KEYS], False: [_NO_KEYS]}
        for is_flagged, packed in rows:
            keys[is_flagged].append(np.frombuffer(packed, dtype=">i8").astype(np.int64))
        return cls({flag: np.sort(np.concatenate(parts)) for flag, parts in keys.items()})

    @property
    def held(self) -> int:
        """The number of ratings that take as much memory."""
        return sum(map(len, self.loaded.values())) // _KEYS_OF_A_RATING

    @property
    def counts(self) -> dict[bool, int]:
        changed = np.array(sorted(self.changed), dtype=np.int64)
        found = {}
        for flag, loaded in self.loaded.items():
            gone = np.searchsorted(loaded, changed, side="right") - np.searchsorted(loaded, changed)
            found[flag] = len(loaded) - int(gone.sum()) + len(self.found[flag])
        return found

    def replaced(self, records: frozenset[int], found: "_Records") -> "_Records":
        """Replace the keys of some records by those that were found among them."""
        some = np.array(sorted(records), dtype=np.int64)
        keys = {
            flag: np.concatenate([known[np.isin(known, some, invert=True)], found.loaded[flag]])
            for flag, known in self.found.items()
        }
        return _Records(self.loaded, self.changed | records, keys)


def _cached(find: Callable[[JudgeScope, Iterable[int] | None], _Records]) -> Callable[[JudgeScope], _Records]:
    """Decorate a function that finds records among some or all (None), to look at changed ones alone."""

    def update(found: _Records, records: frozenset[int], scope: JudgeScope) -> _Records:
        return found.replaced(records, find(scope, records))

    @cache_by_record(update)
    def load(scope: JudgeScope) -> _Records:
        return find(scope, None)

    return load


@_cached
def _missing(scope: JudgeScope, among: Iterable[int] | None) -> _Records:
    """Find the records to score blind that have no blind rating, among some records or all (None).

    Once a record is decided, it is hidden from nobody. So only ratings count that are not submitted, or that
    wait for another independent review.
    """
    is_given = Q() if among is None else Q(pk__in=among)
    waiting = IndependentReview.objects.filter(is_open=True, evaluation__run=scope.run)
    undecided = Rating.objects.filter(
        Q() if among is None else Q(evaluation__in=among),
        Q(final=None) | Q(evaluation__in=waiting.values("evaluation")),
        cell__criterion=None,
        cell__is_blind=True,
        cell__stratum__run=scope.run,
    )
    # PostgreSQL looks each record up in a hash table of the rated ones.
    unrated = scope.records().exclude(pk__in=undecided.values("evaluation"))
    hidden = [unrated.filter(condition) for condition in hidden_from_all(scope.run)]
    by_flag = (
        records.filter(is_given)
        .order_by()
        .values_list("needs_human_review")
        .annotate(packed=_PackedKeys("pk"))
        for records in (*hidden, _closed_unrated(scope))
    )
    return _Records.from_packed(chain.from_iterable(by_flag))


def list_records(scope: JudgeScope, state: ListedState, *, after: str = "") -> Page[AssignedRecord]:
    """Return a page of the records behind a number of the funnel. An invalid cursor gives the first page."""
    represented = Q(cell__stratum__is_flagged=True) | Q(cell__is_sampled=True)
    rated = _blind_ratings(scope).filter(represented, scope.rating_filters())
    records = _closed(scope) if state == "closed" else scope.records().filter(_is_assigned(scope, rated))
    found = records.select_related("run").annotate(is_locked_in=Exists(rated)).without_large_columns()
    page = page_by_key(found, after=after, size=PAGE_SIZE)
    return Page([AssignedRecord(one, vars(one)["is_locked_in"]) for one in page.rows], page.next_after)


def _is_assigned(scope: JudgeScope, rated: QuerySet[Rating]) -> Q:
    with_answer, answered_by_context = hidden_from_all(scope.run)
    closed = Q(pk__in=_closed_unrated(scope).values("pk"))
    unrated = (with_answer | answered_by_context) & ~Q(Exists(_blind_ratings(scope)))
    return Q(Exists(rated)) | unrated | closed


def _escalated(scope: JudgeScope, ratings: Iterable[RatingBatch]) -> int:
    """Count the locked-in records that went to a lead."""
    sent = Escalation.objects.filter(evaluation__run=scope.run).exclude(outcome=Escalation.Outcome.WITHDRAWN)
    keys = np.array(sent.values_list("evaluation", flat=True), dtype=np.int64)
    record = np.concatenate([_NO_KEYS, *(batch.record for batch in ratings)])
    return len(np.unique(record[np.isin(record, keys)]))


def _outdated(scope: JudgeScope, locked_in: Mapping[bool, _LockedIn]) -> int:
    """Count the locked-in scores without a rating. They cannot be filtered by reviewer, date or task."""
    if scope.rating_conditions[0] != "true":
        return 0
    return max(0, sum(_scored(scope).counts.values()) - sum(one.ratings for one in locked_in.values()))


@_cached
def _scored(scope: JudgeScope, among: Iterable[int] | None) -> _Records:
    """Return the record of each locked-in score, whether or not the score still counts."""
    values = {"strata": [*load_strata(scope)], "records": None if among is None else list(among)}
    with connection.cursor() as cursor:
        cursor.execute(_SCORED, values)
        return _Records.from_packed((is_flagged, bytes(packed)) for is_flagged, packed in cursor)


def _bounds(
    compared: JudgeVsHuman, locked_in: Mapping[bool, _LockedIn], missing: Mapping[bool, int]
) -> Bounds | None:
    whole = compared.headline
    if whole is None or whole.accuracy.value is None:
        return None
    low = high = records = 0.0
    parts: dict[bool, Part] = {True: "flagged", False: "unflagged"}
    for is_flagged, part in parts.items():
        size = compared.records[part]
        found = compared.find(None, "blind", part)
        if not size or found is None or found.accuracy.value is None:
            continue
        rated, absent = locked_in.get(is_flagged, _LockedIn()).records, missing.get(is_flagged, 0)
        known = rated / (rated + absent) if rated else 0.0
        low += size * known * found.accuracy.value
        high += size * (known * found.accuracy.value + 1 - known)
        records += size
    return Bounds(low / records, high / records) if records else None
