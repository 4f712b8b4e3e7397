"""Keep the order of a record's criteria in its file, which PostgreSQL's jsonb does not keep.

jsonb orders the keys of an object by their length in bytes, then by their bytes.
"""

from collections.abc import Iterable
from functools import lru_cache


def encode_order(names: Iterable[str]) -> str | None:
    """Return the value of `Evaluation.criteria_order` for criteria in the order of the file.

    It has the place of each criterion in the order of jsonb, separated by spaces, or None if
    both orders are the same.
    """
    return _encoded(tuple(names))


# The records of a file have few different orders.
@lru_cache(maxsize=100)
def _encoded(in_file: tuple[str, ...]) -> str | None:
    stored = stored_order(in_file)
    if [*in_file] == stored:
        return None
    places = {name: place for place, name in enumerate(stored)}
    return " ".join(str(places[name]) for name in in_file)


def in_file_order(names: Iterable[str], order: str | None) -> list[str]:
    """Return the criteria in the order of the file. Without a value, they stay in their order."""
    if order is None:
        return list(names)
    stored = stored_order(names)
    return [stored[int(place)] for place in order.split()]


def stored_order(names: Iterable[str]) -> list[str]:
    """Sort names as jsonb does."""

    def key(name: str) -> tuple[int, bytes]:
        text = name.encode()
        return len(text), text

    return sorted(names, key=key)
