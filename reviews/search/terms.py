r"""Split texts into search terms, and turn search input into queries.

A word is a sequence of letters and digits, so `\frac{1}{2}` has three words, and any part of an id finds it.
PostgreSQL's own parser treats `o1-mini` as a phrase and ignores `<b>`.
"""

import re
from collections.abc import Iterable, Iterator
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
_ASCII = bytes(range(128))
# ASCII letters in lower case and digits. Any other byte separates words.
_ASCII_WORDS = bytes(code if bytes([code]).isalnum() else ord(" ") for code in range(256)).lower()
# The same, and bytes beyond ASCII.
_SEPARATED = _ASCII_WORDS[:128] + bytes(range(128, 256))


def distinct_words(texts: Iterable[str]) -> list[str]:
    """Return the distinct words of the texts in lower case, in order of appearance."""
    return [word.decode() for word in _shortened(_split(texts))]


def encoded_words(texts: Iterable[str]) -> set[bytes]:
    """Return the words of `distinct_words` in UTF-8, without their order, which takes half the time."""
    words = _split(texts)
    distinct = set(words)
    if len(distinct) > MAX_WORDS or max(map(len, distinct), default=0) > MAX_WORD_LENGTH:
        return set(_shortened(words))
    return distinct


def _shortened(words: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the first `MAX_WORDS` distinct words, of `MAX_WORD_LENGTH` characters at most."""
    return islice(dict.fromkeys(word.decode()[:MAX_WORD_LENGTH].encode() for word in words), MAX_WORDS)


def _split(texts: Iterable[str]) -> list[bytes]:
    """Return the words of the texts in lower case and UTF-8, in order of appearance, with repetitions."""
    given = [*texts]
    joined = "\n".join(given)
    if len(joined) > MAX_CHARACTERS:
        joined = "\n".join([text[:MAX_CHARACTERS] for text in given])
    text = joined.encode(errors="replace")
    # Several times as fast as the expression, which only letters and digits beyond ASCII need. Most other
    # characters there are dashes and quotation marks.
    if joined.isascii() or not _words(text.translate(None, _ASCII)):
        return text.translate(_ASCII_WORDS).split()
    return [*chain.from_iterable(map(_split_part, text.translate(_SEPARATED).split()))]


def _split_part(part: bytes) -> list[bytes]:
    return [part] if part.isascii() else _words(part)


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
