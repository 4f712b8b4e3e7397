"""Hypothesis strategies for JSON text in any valid spelling."""

import json

from hypothesis import strategies as st

# Excludes lone surrogates, which are not valid text. JSON escapes line feeds.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
strings = st.builds(json.dumps, texts, ensure_ascii=st.booleans())
numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,4})?", fullmatch=True)
scalars = (
    strings | numbers | st.sampled_from(["true", "false", "null", r'"\/"', r'"\u0000"', r'"\ud83d\ude00"'])
)
spaces = st.sampled_from(["", " ", "  ", "\t", "\r"])


def _enclosed(parts: list[str], space: str, brackets: str) -> str:
    return brackets[0] + space + f"{space},{space}".join(parts) + space + brackets[1]


def arrays(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(_enclosed, st.lists(values, max_size=3), spaces, st.just("[]"))


def objects(values: st.SearchStrategy[str], keys: st.SearchStrategy[str] = strings) -> st.SearchStrategy[str]:
    """Objects with keys from `keys` (verbatim), possibly with duplicates."""
    members = st.builds("{}{}:{}{}".format, keys, spaces, spaces, values)
    return st.builds(_enclosed, st.lists(members, max_size=5), spaces, st.just("{}"))


json_texts = st.recursive(scalars, lambda inner: arrays(inner) | objects(inner), max_leaves=8)
