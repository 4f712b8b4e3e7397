r"""Texts into words to search by, and what people type into a query for them.

Words are runs of letters and digits, whatever stands between them, so that `\frac{1}{2}` has three and an id
can be found by any of its parts. PostgreSQL's own parser takes `o1-mini` for a phrase and `<b>` for nothing.
"""

import re
from collections.abc import Iterable
from itertools import chain, islice

# Before a word of a name. No word begins so.
_NAME_MARK = "_"
# A tsvector takes no more than 1 MiB in all. Beyond these a text is searched by its beginning.
MAX_WORDS = 3000
MAX_WORD_LENGTH = 64
MAX_CHARACTERS = 200_000
MAX_TERMS = 20
# Shorter beginnings would fit too many words to be looked up quickly.
MIN_PREFIX_LENGTH = 3

_WORD = re.compile(r"[^\W_]+")


def distinct_words(texts: Iterable[str]) -> list[str]:
    """The distinct words of some texts, in lower case, in the order they come."""
    found = chain.from_iterable(_WORD.finditer(text[:MAX_CHARACTERS].casefold()) for text in texts)
    distinct = dict.fromkeys(match[0][:MAX_WORD_LENGTH] for match in found)
    return list(islice(distinct, MAX_WORDS))


def name_words(texts: Iterable[str]) -> list[str]:
    """The words of names, marked as such: they are found by `query` with `in_names` only."""
    return [f"{_NAME_MARK}{word}" for word in distinct_words(texts)]


def tsquery(text: str, *, in_names: bool = False) -> str:
    """A tsquery for records that have all words of the text, or words that begin so; empty for no words."""
    before = _NAME_MARK if in_names else ""
    return " & ".join(_term(word, before) for word in distinct_words([text])[:MAX_TERMS])


def _term(word: str, before: str) -> str:
    return f"'{before}{word}':*" if len(word) >= MIN_PREFIX_LENGTH else f"'{before}{word}'"
