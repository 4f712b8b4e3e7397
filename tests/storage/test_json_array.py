"""Conversion of a JSON array to lines with the original bytes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.storage.json_array import ArrayError, array_lines


def elements(text: bytes, *, block: int = 1024) -> bytes:
    """Return the elements of an array that is read in blocks of that size."""
    assert text.startswith(b"[")
    return b"".join(array_lines(blocks_of(text[1:], block)))


def blocks_of(text: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


# Blocks have up to 20 bytes, so longer texts would add no cases.
texts = st.text(max_size=25)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
records = st.lists(st.dictionaries(texts, values, max_size=3), max_size=4)


class TestElements:
    def test_array_elements_become_lines(self) -> None:
        assert elements(b'[{"a":1}, {"b":[2,3]}]') == b'{"a":1}\n{"b":[2,3]}\n'

    def test_array_elements_keep_their_spelling(self) -> None:
        odd = rb'{"b" :1.10,"a":  1E5, "a":"\/\u00e9"}'
        assert elements(b"[" + odd + b"]") == odd + b"\n"

    def test_strings_may_contain_json_syntax(self) -> None:
        odd = rb'{"a":"},{ [\" ]\\","b\\":"\\\""}'
        assert elements(b"[" + odd + b"," + odd + b"]") == (odd + b"\n") * 2

    def test_pretty_printed_elements_equal_compact_ones(self) -> None:
        records = [{"a": [1, {"b": "x, \n y"}], "c": {}}, {"a": []}]
        expected = b"".join(json.dumps(record).encode() + b"\n" for record in records)
        pretty = json.dumps(records, indent=2).encode()
        assert elements(pretty) == elements(pretty.replace(b"\n", b"\r\n")) == expected

    @given(records, st.sampled_from([None, 0, 3]), st.integers(1, 20))
    def test_elements_do_not_depend_on_layout_and_blocks(
        self, records: list[Any], indent: int | None, block: int
    ) -> None:
        expected = b"".join(json.dumps(record).encode() + b"\n" for record in records)
        assert elements(json.dumps(records, indent=indent).encode(), block=block) == expected

    def test_invalid_elements_become_lines(self) -> None:
        assert elements(b'[{"a":nonsense}, {"b":1} {"c":2}, 7]') == b'{"a":nonsense}\n{"b":1} {"c":2}\n7\n'

    @pytest.mark.parametrize("block", [1, 2, 1024])
    def test_line_break_in_a_string_stays_one_invalid_line(self, block: int) -> None:
        [line, end] = elements(b'[{"a":"x\ny\\\nz"}]', block=block).split(b"\n")
        assert (line, end) == (b'{"a":"x\ry\\\rz"}', b"")
        with pytest.raises(ValueError, match="Invalid control character"):
            json.loads(line)

    def test_missing_elements_become_blank_lines_except_the_last(self) -> None:
        assert elements(b'[,{"a":1},]') == b'\n{"a":1}\n'

    @pytest.mark.parametrize("text", [b"[]", b"[ \n ]\n", b"[\r\n]\r\n"])
    def test_empty_array_has_no_lines(self, text: bytes) -> None:
        assert elements(text) == b""


class TestArray:
    @pytest.mark.parametrize(
        ("text", "element"), [(b"[", 1), (b'[{"a":1}', 1), (b'[{"a":1},', 2), (b'[{"a":1},{"b":"]', 2)]
    )
    def test_truncated_array_is_refused_with_its_element(self, text: bytes, element: int) -> None:
        with pytest.raises(ArrayError, match=f"breaks off in element {element}\\."):
            elements(text)

    def test_array_with_trailing_text_is_refused(self) -> None:
        with pytest.raises(ArrayError, match="a JSON array of 2 elements with text after it"):
            elements(b'[{"a":1},{"b":2}]\n[{"c":3}]')

    def test_array_is_never_in_memory_as_a_whole(self) -> None:
        blocks = array_lines(iter([b'{"a":"', b"x" * 1000, b"y" * 1000, b'"}]']))
        assert [len(block) for block in blocks] == [6, 1000, 1000, 3]
