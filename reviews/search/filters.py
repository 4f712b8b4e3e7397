"""Filters of a run's records: parse them from a query string, and turn them into a database condition.

`?model=o1&model=gpt-4o&status=waiting` selects the waiting records of either model: values of one filter are
joined by OR, different filters by AND.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Literal, NamedTuple, Self

from django.db.models import F, Q
from django.http import QueryDict
from django.utils.http import urlencode

from reviews import days
from reviews.days import midnight, next_midnight, read_day
from reviews.models import Import, Run, User
from reviews.models.evaluations import CLAIMED_IN_QUEUE, DONE, ESCALATED, IN_QUEUE, NOT_FLAGGED, WAITING
from reviews.records.schema import EARLIEST_YEAR, VERDICTS
from reviews.records.wording import abbreviate, printable, quoted
from reviews.search import facets, hidden_records, terms

MAX_VALUES = 50
NOBODY = "nobody"
# Parameters of a list that are not filters.
LIST_PARAMETERS = ("sort", "after")

STATUSES = {
    "waiting": WAITING,
    "claimed": CLAIMED_IN_QUEUE,
    "escalated": ESCALATED,
    "done": DONE,
    "not-required": NOT_FLAGGED,
    "outdated": Q(is_outdated=True),
}


#: What may be hidden of a record: the output of the judge and its verifier, and whether it has flag reasons,
#: which a record of a random sample has not.
Revealed = Literal["judge output", "flag reasons"]
_JUDGE: tuple[Revealed, ...] = ("judge output",)


class _InvalidValue(Exception):
    """The value is not valid for the filter; the message is a sentence."""


class Filter(NamedTuple):
    """A filter of lists, pages, saved views and the API."""

    #: The label for people.
    title: str
    #: The condition for one canonical value. None if records are found by facets only.
    condition: Callable[[str], Q] | None = None
    #: The possible values with their labels. Empty if they depend on the run.
    options: Mapping[str, str] = {}
    #: The type of the input for a value that people type; empty if they choose one of the values that occur.
    typed: Literal["", "text", "date"] = ""
    #: Whether its values are usernames, and so may be "me" in the search field.
    is_person: bool = False
    #: Return the canonical value of an input. Raises `_InvalidValue`.
    parse: Callable[[str], str] = str
    #: Whether `indexing` stores the values of each record as facets.
    is_facet: bool = False
    #: Hidden facts about a record that finding it by the filter reveals.
    reveals: tuple[Revealed, ...] = ()
    #: The condition for one canonical value, if it depends on the run.
    in_run: Callable[[str, Run], Q] | None = None

    @property
    def is_facet_only(self) -> bool:
        return not self.condition and not self.in_run


def _equals(column: str) -> Callable[[str], Q]:
    return lambda value: Q(**{column: value})


def _parse_day(text: str) -> str:
    try:
        return read_day(text).isoformat()
    except ValueError as error:
        raise _InvalidValue(str(error)) from None


def _by_day(title: str, condition: str, bound: Callable[[dt.date], dt.datetime]) -> Filter:
    """Return the filter by the moment at which a day begins or ends."""
    return Filter(title, lambda day: Q(**{condition: bound(read_day(day))}), parse=_parse_day, typed="date")


def _parse_moment(text: str) -> str:
    try:
        moment = dt.datetime.fromisoformat(text)
        if EARLIEST_YEAR <= moment.year < dt.MAXYEAR and moment.tzinfo:
            return moment.astimezone(dt.UTC).isoformat()
    except ValueError:
        pass
    raise _InvalidValue(f"{_quoted(text)} is not a time. Write it as 2026-11-21T09:30:00Z.")


def _updated_since(moment: str, run: Run) -> Q:
    """The condition for records that have changed since, or that came with a file since."""
    since = dt.datetime.fromisoformat(moment)
    # Keys instead of a subquery: PostgreSQL then finds both kinds by their indexes.
    imported = Import.objects.filter(run=run.pk, finished_at__gte=since).values_list("pk", flat=True)
    return Q(updated_at__gte=since) | Q(first_import__in=list(imported))


def _assigned_to(name: str) -> Q:
    return Q(assigned_to=None) if name == NOBODY else Q(assigned_to__username=name)


def _due(word: str, run: Run) -> Q:
    """The condition on the due date of records in the queue: their own, or that of the run."""
    today = days.today()
    if word == "none":
        return Q(due_on=None) if run.due_on is None else Q(pk__in=())
    first, end = dt.date.min, today  # the days from the first one until before the end
    if word == "week":
        end = today + dt.timedelta(days=7)
    elif word != "overdue":
        first = today + _DUE_DAYS[word] if word in _DUE_DAYS else dt.date.fromisoformat(word)
        end = first + dt.timedelta(days=1)
    is_due = Q(due_on__gte=first, due_on__lt=end)
    if run.due_on and first <= run.due_on < end:
        is_due |= Q(due_on=None)
    return IN_QUEUE & is_due


def _parse_due(text: str) -> str:
    if text in DUE:
        return text
    try:
        return _parse_day(text)
    except _InvalidValue:
        raise _InvalidValue(f"{_quoted(text)} is neither a date nor one of: {', '.join(DUE)}.") from None


def _verdict(word: str) -> Q:
    """The condition while some records are not indexed. Their extracted scores have no verdict yet."""
    read = Q(aggregated_score=None, facets__keys__contains=[facets.facet_key("verdict", word)])
    return read if word == facets.NO_VERDICT else Q(aggregated_score=word) | read


def _parse_search(text: str) -> str:
    if not terms.tsquery(text):
        raise _InvalidValue(f"“{text}” contains no word to search for.")
    return text


def _has_words(text: str, common: frozenset[str] = frozenset()) -> Q:
    """The condition for records with the words of a search. `common` words are sought without their index."""
    words = terms.searched_words(text)
    rare = [word for word in words if word not in common]
    if len(rare) in {0, len(words)}:
        return Q(words__words__have=terms.tsquery(text))
    by_index = Q(words__words__have=terms.tsquery(" ".join(rare)))
    return by_index & Q(words__words__have_by_reading=terms.tsquery(text))


_STATUS_TITLES = {name: name.capitalize() for name in STATUSES} | {"not-required": "Not flagged"}
DUE = {
    "overdue": "overdue",
    "today": "today",
    "tomorrow": "tomorrow",
    "week": "within 7 days",
    "none": "no due date",
}
_DUE_DAYS = {"today": dt.timedelta(), "tomorrow": dt.timedelta(days=1)}
_VERIFIED = {
    "yes": "matches",
    "no": "does not match",
    "no reference": "no reference answer",
    "none": "not checked",
}
_CONTRADICTIONS = {
    "verdict": "verdict contradicts scores",
    "verifier": "score contradicts verifier",
    "justification": "No without a named error",
}
# By name, in the order of canonical query strings.
FILTERS: dict[str, Filter] = {
    "status": Filter("Status", STATUSES.__getitem__, _STATUS_TITLES),
    "q": Filter("Search", _has_words, parse=_parse_search),
    "task": Filter("Task", _equals("task_id"), typed="text"),
    "model": Filter("Model", _equals("model_id"), is_facet=True),
    "judge": Filter("Judge", _equals("judge_llm_model"), is_facet=True),
    "template": Filter("Prompt", _equals("judge_prompt_template_path"), is_facet=True),
    "verdict": Filter(
        "Verdict",
        _verdict,
        {**{word: word for word in VERDICTS}, facets.NO_VERDICT: "no verdict"},
        is_facet=True,
        reveals=_JUDGE,
    ),
    "score": Filter("Score", is_facet=True, reveals=_JUDGE),
    "reason": Filter("Flag reason", is_facet=True, reveals=("judge output", "flag reasons")),
    "verified": Filter("Final answer", options=_VERIFIED, is_facet=True, reveals=_JUDGE),
    "contradiction": Filter("Contradiction", options=_CONTRADICTIONS, is_facet=True, reveals=_JUDGE),
    "parse-error": Filter(
        "Parse error",
        lambda word: Q(parsing_error__isnull=word == "no"),
        {"yes": "yes", "no": "no"},
        is_facet=True,
        reveals=_JUDGE,
    ),
    "decided-by": Filter("Decided by", _equals("human_reviewer_id"), is_person=True),
    "assigned-to": Filter("Assigned to", _assigned_to, is_person=True),
    "due": Filter("Due", in_run=_due, parse=_parse_due),
    "claimed-by": Filter(
        "Claimed by", lambda name: STATUSES["claimed"] & Q(claimed_by__username=name), is_person=True
    ),
    "created-from": _by_day("Created from", "created_at__gte", midnight),
    "created-until": _by_day("Created until", "created_at__lt", next_midnight),
    "reviewed-from": _by_day("Reviewed from", "human_review_timestamp__gte", midnight),
    "reviewed-until": _by_day("Reviewed until", "human_review_timestamp__lt", next_midnight),
    "updated-since": Filter("Updated since", in_run=_updated_since, parse=_parse_moment),
}
_ORDER = {name: place for place, name in enumerate(FILTERS)}


@dataclass(frozen=True)
class Filters:
    """The selected values of filters."""

    #: (name, value) pairs in canonical order.
    values: tuple[tuple[str, str], ...] = ()
    #: Sentences about invalid input, which was ignored.
    problems: tuple[str, ...] = ()

    @classmethod
    def of(cls, values: Iterable[tuple[str, str]], problems: Iterable[str] = ()) -> Self:
        """Return filters with canonical values. Raises `KeyError` for a name that is not in `FILTERS`."""
        return cls(tuple(sorted(values, key=lambda pair: (_ORDER[pair[0]], pair[1]))), tuple(problems))

    @classmethod
    def parse(cls, query: "QueryDict | Mapping[str, str]") -> Self:
        """Parse the parameters of a query string. Empty ones are ignored."""
        pairs = query.lists() if isinstance(query, QueryDict) else [(name, [query[name]]) for name in query]
        found: set[tuple[str, str]] = set()
        problems = []
        for name, texts in pairs:
            for text in filter(None, map(str.strip, texts)):
                try:
                    if name not in LIST_PARAMETERS:
                        found.add((name, _parse_value(name, text)))
                except _InvalidValue as error:
                    problems.append(str(error))
        if len(found) > MAX_VALUES:
            problems.append(f"Use at most {MAX_VALUES} filters.")
            found = set()
        return cls.of(found, problems)

    @classmethod
    def from_query_string(cls, query_string: str) -> Self:
        return cls.parse(QueryDict(query_string[:_MAX_QUERY_LENGTH]))

    def condition(
        self,
        run: Run,
        reader: User | None,
        *,
        is_indexed: bool = False,
        common_words: frozenset[str] = frozenset(),
    ) -> Q:
        """Return the condition on `Evaluation` for the matching records that the reader may find.

        A filter by hidden values excludes the records that have them: see `hidden_records`. The condition is
        faster with `is_indexed`, if all records of the run are indexed, and with the `common_words` of a
        search, which are then not sought by their index.
        """
        condition = self._matching(run, common_words, is_indexed=is_indexed)
        if self.reveals("judge output"):
            condition &= ~hidden_records.hidden_from(reader, run)
        if self.reveals("flag reasons"):
            condition &= ~hidden_records.reason_hidden(run)
        if texts := self.values_of("q"):
            names = [Q(words__words__have=terms.tsquery(text, in_names=True)) for text in texts]
            condition &= ~hidden_records.hidden_from(reader, run) | reduce(or_, names)
        return condition

    def reveals(self, what: Revealed) -> bool:
        """Return whether somebody who finds a record by one of the filters learns this about it."""
        return any(what in FILTERS[name].reveals for name, _ in self.values)

    def _matching(self, run: Run, common_words: frozenset[str], *, is_indexed: bool) -> Q:
        condition, all_of = Q(), []
        for name in dict(self.values):
            one, values = FILTERS[name], self.values_of(name)
            if one.in_run:
                condition &= reduce(or_, (one.in_run(value, run) for value in values))
            elif name == "q":
                condition &= reduce(or_, (_has_words(value, common_words) for value in values))
            elif one.condition and not (one.is_facet and is_indexed):
                condition &= reduce(or_, map(one.condition, values))
            elif len(values) == 1:
                all_of.append(facets.facet_key(name, values[0]))
            else:
                keys = [facets.facet_key(name, value) for value in values]
                condition &= Q(facets__keys__overlap=keys, facets__run=F("run"))
        if all_of:
            condition &= Q(facets__keys__contains=all_of, facets__run=F("run"))
        return condition

    def values_of(self, name: str) -> list[str]:
        return [value for other, value in self.values if other == name]

    def without(self, *pairs: tuple[str, str]) -> Self:
        return replace(self, values=tuple(pair for pair in self.values if pair not in pairs))

    def with_only(self, name: str, value: str) -> Self:
        """Return these filters with one value for a filter, or without that filter if the value is empty."""
        others = [pair for pair in self.values if pair[0] != name]
        added = [(name, value)] if value else []
        return self.of(others + added, self.problems)

    def with_added(self, name: str, value: str) -> Self:
        """Return these filters and one more value of a filter."""
        return self.of({*self.values, (name, value)}, self.problems)

    @property
    def query_string(self) -> str:
        """The canonical query string; empty without filters."""
        return urlencode(self.values)

    @property
    def needs_index(self) -> bool:
        """Whether these filters miss records that are not indexed yet."""
        return any(name in {"q", "verdict"} or FILTERS[name].is_facet_only for name, _ in self.values)

    def __bool__(self) -> bool:
        return bool(self.values)


_MAX_QUERY_LENGTH = 10_000


def _parse_value(name: str, text: str) -> str:
    """Return the canonical value. Raises `_InvalidValue`."""
    known = FILTERS.get(name)
    if not known:
        raise _InvalidValue(f"Unknown filter {_quoted(name)}.")
    if len(text) > facets.MAX_VALUE_LENGTH or not _is_storable(text):
        raise _InvalidValue(f"{_quoted(text)} is not a valid value for {known.title.lower()}.")
    if known.options and text not in known.options:
        raise _InvalidValue(f"{_quoted(text)} is not one of: {', '.join(known.options)}.")
    return known.parse(text)


def _is_storable(text: str) -> bool:
    """Return whether PostgreSQL can store the text."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _quoted(text: str) -> str:
    return quoted(abbreviate(printable(text)))
