r"""Split texts into search terms, and turn search input into queries.

A word is a sequence of letters and digits, so `\frac{1}{2}` has three words, and any part of an id finds it.
PostgreSQL's own parser treats `o1-mini` as a phrase and ignores `<b>`.
"""

import re
from collections.abc import Iterable
from itertools import chain, islice

# Prefix of words in names, which are indexed with it only. No other word starts with it.
NAME_MARK = "_"
# A tsvector is limited to 1 MiB. Only the beginning of a longer text is searchable.
MAX_WORDS = 3000
MAX_WORD_LENGTH = 64
MAX_CHARACTERS = 200_000
MAX_TERMS = 20
# Shorter prefixes would match too many words to be fast.
MIN_PREFIX_LENGTH = 3

_WORD = re.compile(r"[^\W_]+")
# ASCII letters in lower case, digits, and bytes beyond ASCII. Any other byte separates words.
_SEPARATED = bytes(code if code > 127 or chr(code).isalnum() else ord(" ") for code in range(256)).lower()


def distinct_words(texts: Iterable[str]) -> list[str]:
    """Return the distinct words of the texts in lower case, in order of appearance."""
    return [word.decode() for word in distinct_encoded_words(texts)]


def distinct_encoded_words(texts: Iterable[str]) -> list[bytes]:
    """Return the words of `distinct_words` in UTF-8, which takes less time."""
    given = [*texts]
    joined = "\n".join(given)
    if len(joined) > MAX_CHARACTERS:
        joined = "\n".join([text[:MAX_CHARACTERS] for text in given])
    # Several times as fast as the expression, which the few words beyond ASCII need.
    parts = dict.fromkeys(joined.encode(errors="replace").translate(_SEPARATED).split())
    if not joined.isascii():
        parts = _split_beyond_ascii(parts)
    if max(map(len, parts), default=0) > MAX_WORD_LENGTH:
        parts = dict.fromkeys(part.decode()[:MAX_WORD_LENGTH].encode() for part in parts)
    return list(islice(parts, MAX_WORDS))


def _split_beyond_ascii(parts: dict[bytes, None]) -> dict[bytes, None]:
    """Split the parts with characters beyond ASCII, most of which are only dashes and quotation marks."""
    beyond = {part: _words(part) for part in parts if not part.isascii()}
    if any(beyond.values()):
        return dict.fromkeys(chain.from_iterable(beyond.get(part, (part,)) for part in parts))
    for part in beyond:
        del parts[part]
    return parts


def _words(part: bytes) -> list[bytes]:
    return [word.encode() for word in _WORD.findall(part.decode().casefold())]


def searched_words(text: str) -> list[str]:
    """Return the words of a text that a search for it requires."""
    return distinct_words([text])[:MAX_TERMS]


def tsquery(text: str, *, in_names: bool = False) -> str:
    """Return a tsquery for records with all words of the text, or with words that start with them.

    The words are sought in names and other texts, or only in names. Empty if the text has no words.
    """
    return " & ".join(_term(word, in_names=in_names) for word in searched_words(text))


def _term(word: str, *, in_names: bool) -> str:
    prefix = ":*" if len(word) >= MIN_PREFIX_LENGTH else ""
    in_name = f"'{NAME_MARK}{word}'{prefix}"
    return in_name if in_names else f"('{word}'{prefix} | {in_name})"
