"""The search field of a list, the chips of its active filters, and the menu that adds one.

The page has the menu only after it was opened, because most requests do not use it.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from django.http import QueryDict

from reviews.accounts.permissions import people_in, people_with_role
from reviews.database.compiled_queries import CompiledQuery
from reviews.database.statements import prepared_statements
from reviews.judge.figure_cache import cache_records
from reviews.judge.loading import why_not_counted
from reviews.judge.scope import JudgeScope
from reviews.models import Run, User
from reviews.queue.progress import Progress
from reviews.search import facets, filter_options, listing, query_text
from reviews.search.filter_options import FilterOption
from reviews.search.filters import DUE, FILTERS, NOBODY, Filters
from reviews.search.listing import RecordList

_EVERYBODY = CompiledQuery(lambda: people_with_role().only("username", "first_name", "last_name"))
# The parameter with the text of the search field.
FIND = "find"
# The parameter that shows the menu.
MENU = "menu"
# The filters that can be named in the search field.
NAMES = tuple(name for name in FILTERS if name != "q")
MAX_SHOWN = 30


class Chip(NamedTuple):
    """An active filter."""

    title: str
    #: The value as shown.
    text: str
    #: The query string without this filter.
    without: str


class MenuOption(NamedTuple):
    """A value that can be added as a filter."""

    title: str
    #: The number of records in the run; None if it is not counted, or hidden.
    records: int | None
    #: The query string with this filter.
    query: str


class MenuFilter(NamedTuple):
    """A filter in the menu, with the values that are not chosen yet."""

    name: str
    title: str
    #: "choose", or the type of an input.
    kind: str
    options: tuple[MenuOption, ...]
    #: The number of values that are not shown.
    more: int


class Finder(NamedTuple):
    """The filters of a list on its page."""

    #: The text of the search field.
    text: str
    #: Sentences about text that was not understood.
    problems: tuple[str, ...]
    chips: tuple[Chip, ...]
    #: The query string of the list with its menu.
    menu_query: str
    #: The active filters as hidden fields of a form, without the words of the search field.
    kept: tuple[tuple[str, str], ...]


class RunValues(NamedTuple):
    """The values that occur in the records of a run."""

    #: By the name of their filter.
    options: dict[str, list[FilterOption]]
    #: The numbers of records by filter and value, for filters that are counted.
    counts: dict[str, dict[str, int]]


class EnteredFilters(NamedTuple):
    """A list, the text of its search field, and sentences about invalid input."""

    view: RecordList
    text: str
    problems: list[str]


def read(run: Run, reader: User, sent: QueryDict) -> EnteredFilters:
    """Read a query string, with the filters in the text of the search field."""
    query = sent.copy()
    query.pop(MENU, None)
    text = " ".join(query.pop(FIND, []))
    offered = {}
    if ":" in text:
        offered = _fixed() | _values_in(run).options
    found = query_text.parse(
        text,
        username=reader.username,
        values_of=lambda name: [option.value for option in offered.get(name, [])],
    )
    for name, value in found.pairs:
        query.appendlist(name, value)
    view = RecordList.parse(query)
    return EnteredFilters(view, text, [*found.problems, *view.problems])


def finder(run: Run, entered: EnteredFilters) -> Finder:
    view = entered.view
    words = view.filters.values_of("q")
    in_field = words if len(words) == 1 else []
    others = [pair for pair in view.filters.values if pair[1] not in in_field or pair[0] != "q"]
    return Finder(
        text=entered.text if entered.problems else query_text.format_words(in_field),
        problems=tuple(entered.problems),
        chips=tuple(_chips(run, view, others)),
        menu_query="&".join(filter(None, [view.query(), f"{MENU}=open"])),
        kept=tuple(others),
    )


def menu(run: Run, progress: Progress, view: RecordList) -> tuple[MenuFilter, ...]:
    values = _values_in(run)
    offered, counts = _offered(run, values), _counts(run, values, progress)
    return tuple(
        _menu_filter(
            name, view.filters, view.sort, *_left(view.filters.values_of(name), options, counts.get(name, {}))
        )
        for name in NAMES
        if (options := offered.get(name, [])) or FILTERS[name].typed
    )


def _fixed() -> dict[str, list[FilterOption]]:
    return {
        name: [FilterOption(value, title) for value, title in known.options.items()]
        for name, known in FILTERS.items()
        if known.options
    }


def _values_in(run: Run) -> RunValues:
    """Load the values that occur in a run, and keep them if it is completely counted.

    They change with an import, a new rubric and the job that indexes, but not with decisions.
    """
    if why_not_counted(run):
        return RunValues(filter_options.facet_options(run, *facets.WITH_OPTIONS), {})
    return _counted_values((JudgeScope(run),))


@cache_records
def _counted_values(scopes: tuple[JudgeScope, ...]) -> RunValues:
    [scope] = scopes
    options = filter_options.facet_options(scope.run, *facets.WITH_OPTIONS)
    return RunValues(options, filter_options.option_counts(scope.run))


def _counts(run: Run, values: RunValues, progress: Progress) -> dict[str, dict[str, int]]:
    """Return the numbers of records that the page may show, by filter and value."""
    return {"status": listing.status_sizes(progress)} | filter_options.without_hidden_counts(
        run, values.counts
    )


def _offered(run: Run, values: RunValues) -> dict[str, list[FilterOption]]:
    people = [FilterOption(person.username, person.name) for person in _people(run)]
    return (
        _fixed()
        | values.options
        | {
            "decided-by": [FilterOption(name, name) for name in filter_options.decided_by_names(run)],
            "assigned-to": [FilterOption(NOBODY, NOBODY), *people],
            "claimed-by": people,
            "due": [FilterOption(value, title) for value, title in DUE.items()],
        }
    )


def _people(run: Run) -> Iterable[User]:
    """Return the people who may see a run, by username."""
    if run.is_restricted:
        return people_in(run)
    with prepared_statements():
        return _EVERYBODY.rows()


def _chips(run: Run, view: RecordList, pairs: list[tuple[str, str]]) -> list[Chip]:
    """Return the chips of filters. A status is a tab already."""
    is_tab = len(view.filters.values_of("status")) == 1
    shown = [pair for pair in pairs if pair[0] != "status" or not is_tab]
    if not shown:
        return []
    offered = _offered(run, _values_in(run))
    titles = {(name, one.value): one.title for name, options in offered.items() for one in options}
    return [
        Chip(FILTERS[pair[0]].title, titles.get(pair, pair[1]), view.query(view.filters.without(pair)))
        for pair in shown
    ]


def _left(
    chosen: list[str], offered: list[FilterOption], counts: dict[str, int]
) -> tuple[tuple[tuple[FilterOption, int | None], ...], int]:
    """Return the first values that are not chosen, with their numbers of records, and count the others."""
    left = [option for option in offered if option.value not in chosen]
    shown = tuple((option, counts.get(option.value)) for option in left[:MAX_SHOWN])
    return shown, len(left) - len(shown)


@lru_cache(maxsize=512)
def _menu_filter(
    name: str, filters: Filters, sort: str, offered: tuple[tuple[FilterOption, int | None], ...], more: int
) -> MenuFilter:
    view = RecordList(filters, sort)
    options = tuple(
        MenuOption(option.title, records, view.query(filters.with_added(name, option.value)))
        for option, records in offered
    )
    return MenuFilter(name, FILTERS[name].title, FILTERS[name].typed or "choose", options, more)
