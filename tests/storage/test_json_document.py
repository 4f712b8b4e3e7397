"""The members of a list in a JSON document as lines, and the document from the lines."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records.schema import NO_LIMITS, Limits
from reviews.storage.errors import ImportRefused
from reviews.storage.json_document import (
    MemberCutter,
    NoList,
    Rejoiner,
    list_start,
    on_one_line,
)
from reviews.storage.source_text import SourceText, read_document
from tests.support.json_texts import json_texts

PATH = ("results", "results")
# JSON allows these bytes between tokens.
spaces = st.text(st.sampled_from(" \t\r\n"), max_size=4)
blocks_sizes = st.integers(1, 30)


def blocks_of(text: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def members(text: bytes, *, block: int = 1024) -> bytes:
    """Return the lines of a list that is read in blocks of that size."""
    assert text.startswith(b"[")
    cutter = MemberCutter()
    return b"".join(map(cutter.take, blocks_of(text[1:], block)))


def read(document: bytes, *path: str, block: int = 1024, limits: Limits = NO_LIMITS) -> tuple[bytes, Any]:
    """Return the lines of a document, and the document without its list."""
    text = SourceText(blocks_of(document, block), most=2**40, records=path, limits=limits)
    lines = b"".join(text)
    assert text.path is not None
    return lines, read_document(text.surroundings, text.path, limits)


def rejoined(document: bytes, *path: str, block: int) -> bytes:
    text = SourceText(blocks_of(document, block), most=2**40, records=path)
    rejoiner = Rejoiner()
    inside = b"".join(map(rejoiner.take, blocks_of(b"".join(text), block)))
    return text.surroundings.head + inside + text.surroundings.tail


@st.composite
def documents(draw: st.DrawFn) -> tuple[bytes, list[Any]]:
    """Draw a document with a list at `results.results`, and the values of its members."""
    values = draw(st.lists(json_texts, max_size=4))
    inside = ",".join(f"{draw(spaces)}{value}{draw(spaces)}" for value in values) or draw(spaces)
    outer, inner = draw(json_texts), draw(json_texts)
    key = draw(st.sampled_from(['"results"', r'"\u0072esults"']))
    parts = [
        draw(st.sampled_from(["\ufeff", ""])),
        '{"a":',
        outer,
        draw(spaces),
        f', {key}:{{"other" : [{{"results":[]}}],"results":',
        draw(spaces),
        f'[{inside}], "b":',
        inner,
        draw(spaces),
        "}}",
        draw(spaces),
    ]
    return "".join(parts).encode(), [json.loads(value) for value in values]


class TestMembers:
    def test_members_become_lines(self) -> None:
        assert members(b'[{"a":1}, {"b":[2,3]}]') == b'{"a":1}\n {"b":[2,3]}'

    def test_members_keep_their_spelling(self) -> None:
        odd = rb'{"b" :1.10,"a":  1E5, "a":"\/\u00e9"}'
        assert members(b"[" + odd + b"]") == odd

    def test_strings_may_contain_json_syntax(self) -> None:
        odd = rb'{"a":"},{ [\" ]\\","b\\":"\\\""}'
        assert members(b"[" + odd + b"," + odd + b"]") == odd + b"\n" + odd

    @pytest.mark.slow
    @given(documents(), blocks_sizes)
    def test_lines_are_the_members_and_give_back_every_byte(
        self, document: tuple[bytes, list[Any]], block: int
    ) -> None:
        text, values = document
        lines, around = read(text, *PATH)
        assert [json.loads(line) for line in lines.split(b"\n") if line] == values
        assert read(text, *PATH, block=block) == (lines, around)
        assert rejoined(text, *PATH, block=block) == text
        assert list(around["results"]) == ["other", "b"]

    @pytest.mark.slow
    @given(documents())
    def test_members_on_one_line_are_the_same_values(self, document: tuple[bytes, list[Any]]) -> None:
        lines = on_one_line(read(document[0], *PATH)[0])
        assert b"\r" not in lines
        assert [json.loads(line) for line in lines.split(b"\n") if line] == document[1]

    def test_pretty_printed_members_on_one_line_equal_compact_ones(self) -> None:
        records = [{"a": [1, {"b": "x, \n y"}], "c": {}}, {"a": []}]
        expected = b"\n".join(json.dumps(record).encode() for record in records)
        pretty = json.dumps(records, indent=2).encode()
        assert on_one_line(members(pretty)) == expected
        assert on_one_line(members(pretty.replace(b"\n", b"\r\n"))) == expected

    def test_invalid_members_become_lines(self) -> None:
        assert members(b'[{"a":nonsense}, {"b":1} {"c":2}, 7]') == b'{"a":nonsense}\n {"b":1} {"c":2}\n 7'

    @pytest.mark.parametrize("block", [1, 2, 1024])
    def test_line_break_in_a_string_stays_one_invalid_line(self, block: int) -> None:
        line = members(b'[{"a":"x\ny\\\nz"}]', block=block)
        assert line == b'{"a":"x\r y\\\r z"}'
        with pytest.raises(ValueError, match="Invalid control character"):
            json.loads(line)

    def test_missing_members_become_blank_lines(self) -> None:
        assert members(b'[,{"a":1},]') == b'\n{"a":1}\n'

    @pytest.mark.parametrize("text", [b"[]", b"[ \n ]\n", b"[\r\n]\r\n"])
    def test_empty_list_has_no_lines(self, text: bytes) -> None:
        assert members(text) == b""
        assert (
            rejoined(b'{"results": %b}' % text.strip(), "results", block=3)
            == b'{"results": %b}' % text.strip()
        )

    def test_member_is_never_in_memory_as_a_whole(self) -> None:
        cutter = MemberCutter()
        blocks = map(cutter.take, [b'{"a":"', b"x" * 1000, b"y" * 1000, b'"}]'])
        assert [len(block) for block in blocks] == [6, 1000, 1000, 2]

    @pytest.mark.parametrize("kept", [[0], [1], [2], [0, 2], []])
    def test_some_members_are_a_list_again(self, kept: list[int]) -> None:
        lines = members(b'[\n {"a": 0},\n {"a": 1} ,\n {"a": 2}\n]').split(b"\n")
        rejoiner = Rejoiner(only_some=True)
        # As an export writes them: each line with its line end, except for the last one of the file.
        blocks = [lines[index] + b"\n" * (index < 2) for index in kept]
        inside = b"".join(map(rejoiner.take, blocks))
        assert json.loads(b"[%b]" % inside) == [{"a": index} for index in kept]
        assert not inside[:1].isspace()


class TestListStart:
    @pytest.mark.parametrize(
        ("text", "path", "found"),
        [
            (b'{"a":[', ("a",), 6),
            (b'{"a":{"b":[', ("a", "b"), 11),
            (b'{"b":[1],"a":{"a":{"b":[2]},"b":[', ("a", "b"), 33),
            (b'{"a":{"b":1},"b":[', ("a", "b"), None),
            (b'{"a":1,"a":[', ("a",), 12),
            (b'{"x":"a","a":"b","b', ("b",), None),
            (b"", ("a",), None),
        ],
    )
    def test_list_is_found_by_its_keys(self, text: bytes, path: tuple[str, ...], found: int | None) -> None:
        assert list_start(text, path) == found

    @pytest.mark.parametrize(
        ("text", "end"), [(b'{"a":{}} {"a":[', 8), (b"[{", 1), (b"7", 1), (b"}", 1), (b'{"b":[]}', 8)]
    )
    def test_value_without_the_list_ends(self, text: bytes, end: int) -> None:
        with pytest.raises(NoList) as caught:
            list_start(text, ("a",))
        assert caught.value.end == end


class TestDocument:
    def test_document_is_read_without_its_list(self) -> None:
        lines, around = read(b'{"config":{"model":"m"},"results":{"n":1,"results":[{"a":1}]}}', *PATH)
        assert (lines, around) == (b'{"a":1}', {"config": {"model": "m"}, "results": {"n": 1}})

    @pytest.mark.parametrize(
        ("text", "element"), [(b"[{", 1), (b'[{"a":1}', 1), (b'[{"a":1},', 2), (b'[{"a":1},{"b":"]', 2)]
    )
    def test_truncated_list_is_refused_with_its_element(self, text: bytes, element: int) -> None:
        with pytest.raises(ImportRefused, match=f"its JSON array breaks off in element {element}\\."):
            read(text)
        with pytest.raises(ImportRefused, match=f"the list at `a` breaks off in element {element}\\."):
            read(b'{"a":' + text, "a")

    @pytest.mark.parametrize("tail", [b"", b',"b":1', b"}x", b"}{}", b',"b":nonsense}'])
    def test_document_that_is_no_json_after_its_list_is_refused(self, tail: bytes) -> None:
        with pytest.raises(ImportRefused, match="The JSON document around its list at `a` is not JSON"):
            read(b'{"a":[{"b":1}]' + tail, "a")

    def test_array_with_trailing_text_is_refused(self) -> None:
        with pytest.raises(ImportRefused, match="a JSON array of 2 elements with text after it"):
            read(b'[{"a":1},{"b":2}]\n[{"c":3}]')

    @pytest.mark.parametrize(
        "text",
        [
            b'{"a":{"b":[1]},"a":{"b":[2]}}',
            b'{"a":{"b":[1],"b":[2]}}',
            b'{"a":{"b":[1]},"a":2}',
        ],
    )
    def test_list_with_a_repeated_key_is_refused(self, text: bytes) -> None:
        with pytest.raises(ImportRefused, match=r"more than one value at `a\.b`"):
            read(text, "a", "b")

    def test_text_around_the_list_has_a_limit(self) -> None:
        limits = Limits(line_bytes=100)
        for text in (b'{"x":"%b","a":[]}' % (b"x" * 90), b'{"a":[],"x":"%b"}' % (b"x" * 90)):
            with pytest.raises(ImportRefused, match="more than 100 bytes outside its list"):
                read(text, "a", limits=limits)

    def test_deeply_nested_text_around_the_list_is_refused(self) -> None:
        with pytest.raises(ImportRefused, match="is nested"):
            read(b'{"a":[],"x":' + b"[" * 300 + b"]" * 300 + b"}", "a", limits=Limits())

    @pytest.mark.parametrize("block", [1, 1024])
    def test_document_without_the_list_is_refused_with_its_lists(self, block: int) -> None:
        document = json.dumps({"tests": [{"a": 1}, {"a": 2}]}, indent=1).encode()
        with pytest.raises(
            ImportRefused,
            match=r"without a list at `results.results`. It has a list of 2 objects at `tests`\.",
        ):
            SourceText(blocks_of(document, block), most=2**40, records=PATH)

    @pytest.mark.parametrize(
        "data",
        [
            b'{"a":1}\n{"results":{"results":[]}}\n',
            b'{"a":1}\n',
            b"",
            b"no JSON\n",
            b'{"results":{"results',
            b"{",
        ],
    )
    def test_other_files_are_lines(self, data: bytes) -> None:
        text = SourceText(blocks_of(data, 5), most=2**40, records=PATH)
        assert (text.path, b"".join(text)) == (None, data)
