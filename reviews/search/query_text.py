"""The text of the search field: words to search for, and filters such as `model:o1 score:rigor=No`."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from reviews.records.wording import abbreviate
from reviews.search.filters import FILTERS

MAX_LENGTH = 2_000
# Stands for the reader's own username in filters by person.
ME = "me"
# Shorter names of filters.
_ALIASES = {"assigned": "assigned-to", "claimed": "claimed-by", "decided": "decided-by"}
# A filter, or a word or quoted words to search for. A value may be quoted in part: score:"Final answer"=No.
_TERM = re.compile(r'(?P<name>[^\s":]+):(?P<value>(?:"[^"]*"?|[^\s"])*)|(?P<text>"[^"]*"?|[^\s"]+)')

#: Return the known values of a filter in the run.
ValuesOf = Callable[[str], Iterable[str]]


class QueryText(NamedTuple):
    #: (filter, value) pairs. Words to search for are one value of `q`.
    pairs: list[tuple[str, str]]
    #: Sentences about terms that are no filter. They were left out.
    problems: list[str]


def parse(text: str, *, username: str, values_of: ValuesOf) -> QueryText:
    """Parse the text of the search field.

    A value may differ in case from the value that it means, have underscores for spaces, or be part of it:
    then all values that contain it are selected. A value that nothing resembles stays as it is.
    """
    pairs: list[tuple[str, str]] = []
    words: list[str] = []
    problems = []
    if len(text) > MAX_LENGTH:
        problems.append(f"Enter at most {MAX_LENGTH:,} characters.")
        text = ""
    for found in _TERM.finditer(text):
        name = (found["name"] or "").lower()
        name, value = _ALIASES.get(name, name), (found["value"] or "").replace('"', "").strip()
        if not found["name"]:
            words.append(found["text"].strip('"'))
        elif name not in FILTERS:
            problems.append(_unknown(found["name"], found[0]))
        elif not value:
            problems.append(f"Enter a value after “{name}:”.")
        elif name == "q":
            words.append(value)
        elif FILTERS[name].is_person and value.lower() == ME:
            pairs.append((name, username))
        else:
            pairs += [(name, one) for one in _resembling(value, [*values_of(name)])]
    if sought := " ".join(filter(None, map(str.strip, words))):
        pairs.append(("q", sought))
    return QueryText(pairs, problems)


def format_words(texts: Iterable[str]) -> str:
    """Return the text of the search field for searched words. `parse` gives back the same words."""
    return " ".join(f'"{text}"' if ":" in text else text for text in texts)


def _unknown(name: str, term: str) -> str:
    shown = abbreviate(name, 40)
    quoted = (
        f' To search for the text, put it in quotes: "{term}".' if len(term) <= 60 and '"' not in term else ""
    )
    return f"“{shown}” is not a filter. Filters: {', '.join(one for one in FILTERS if one != 'q')}.{quoted}"


def _resembling(value: str, known: list[str]) -> list[str]:
    """Return the known value that is meant, or else those that begin with it, or those that contain it."""
    folded = {one: _fold(one) for one in known}
    wanted = _fold(value)
    for matches in (str.__eq__, str.startswith, str.__contains__):
        if found := [one for one, text in folded.items() if matches(text, wanted)]:
            return found
    return [*_by_parts(value, folded)] or [value]


def _by_parts(value: str, folded: dict[str, str]) -> Iterator[str]:
    """Yield values such as "Rigor of the proof=No" for "rigor=no"."""
    criterion, separator, score = _fold(value).rpartition("=")
    for one, text in folded.items():
        its_criterion, _, its_score = text.rpartition("=")
        if separator and criterion in its_criterion and score == its_score:
            yield one


def _fold(text: str) -> str:
    return text.casefold().replace("_", " ")
