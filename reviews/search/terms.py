r"""Texts into words to search by, and what people type into a query for them.

Words are runs of letters and digits, whatever stands between them, so that `\frac{1}{2}` has three and an id
can be found by any of its parts. PostgreSQL's own parser takes `o1-mini` for a phrase and `<b>` for nothing.
"""

import re
from collections.abc import Iterable
from itertools import chain, islice

# Before a word of a name. No word begins so.
_NAME = "_"
# A tsvector takes no more than 1 MiB in all. Beyond these a text is searched by its beginning.
MOST_WORDS = 3000
LONGEST_WORD = 64
MOST_CHARACTERS = 200_000
MOST_TERMS = 20
# Shorter beginnings would fit too many words to be looked up quickly.
SHORTEST_BEGINNING = 3

_WORD = re.compile(r"[^\W_]+")


def words_of(texts: Iterable[str]) -> list[str]:
    """The distinct words of some texts, in lower case, in the order they come."""
    found = chain.from_iterable(_WORD.finditer(text[:MOST_CHARACTERS].casefold()) for text in texts)
    distinct = dict.fromkeys(match[0][:LONGEST_WORD] for match in found)
    return list(islice(distinct, MOST_WORDS))


def names_in(texts: Iterable[str]) -> list[str]:
    """The words of names, marked as such: they are found by `query` with `in_names` only."""
    return [f"{_NAME}{word}" for word in words_of(texts)]


def query(text: str, *, in_names: bool = False) -> str:
    """A tsquery for records that have all words of the text, or words that begin so; empty for no words."""
    before = _NAME if in_names else ""
    return " & ".join(_term(word, before) for word in words_of([text])[:MOST_TERMS])


def _term(word: str, before: str) -> str:
    return f"'{before}{word}':*" if len(word) >= SHORTEST_BEGINNING else f"'{before}{word}'"
