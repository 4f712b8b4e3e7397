"""Splicing replaces values in a line of any spelling, and keeps every other byte."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records.line_splice import NotAnObject, members, splice
from reviews.records.schema import HUMAN_FIELDS
from tests.support.json_texts import json_texts, objects, strings

DECISION: dict[str, Any] = {
    "human_review_status": "Completed",
    "human_reviewer_id": "ana",
    "human_review_timestamp": "2026-11-20T09:30:00.000000Z",
    "human_corrected_scores": {"Clarity": {"score": "No", "justification": "√2 ≠ 1"}},
    "human_review_comments": None,
}
human_keys = st.sampled_from([json.dumps(name) for name in HUMAN_FIELDS])
plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab"), inner, max_size=2),
    max_leaves=4,
)
decisions = st.dictionaries(st.sampled_from(HUMAN_FIELDS), plain_values)

# The human_* keys as most lines have them, and texts that look like them.
USUAL_END = [f'"{name}": null' for name in HUMAN_FIELDS]
tricky_members = st.lists(
    st.sampled_from(
        [
            r'"note": "the key \"human_review_status\": null, \"human_reviewer_id\": null"',
            '"note": "ends with human_review_status"',
            '"human_review_status": "Needs Review"',
            '"human_review": {"human_review_status": null, "human_reviewer_id": null}',
            '"inner": [{"human_review_status": null}]',
            r'"human\u005freviewer_id": 7',
            r'"\u0068uman_reviewer_id": {"a": "}"}',
            '"human_corrected_scores": {"Clarity": {"score": "Yes"}}',
            r'"caf\u00e9": "\\"',
            '"created_at": "2025-04-12T01:55:23Z"',
        ]
    ),
    max_size=3,
)
spacings = st.sampled_from([(", ", ""), (",", "\r"), (" ,\t", " ")])


def pairs(text: bytes) -> Any:
    """JSON with its objects as lists of pairs, in order and with duplicates, and numbers as spelled."""
    return json.loads(text, object_pairs_hook=list, parse_int=str, parse_float=str)


def without_values(line: bytes, keys: set[str]) -> list[bytes]:
    """Split a line at the values of the given keys and drop the values."""
    parts, position = [], 0
    for member in members(line):
        if member.key in keys:
            parts.append(line[position : member.start])
            position = member.end
    return [*parts, line[position:]]


class TestMembers:
    @pytest.mark.slow
    @given(objects(json_texts))
    def test_members_match_a_json_parser(self, text: str) -> None:
        line = text.encode()
        read = [(member.key, pairs(line[member.start : member.end])) for member in members(line)]
        assert read == pairs(line)

    @given(objects(json_texts))
    @pytest.mark.slow
    def test_member_keys_are_at_their_spans(self, text: str) -> None:
        line = text.encode()
        assert all(json.loads(line[one.key_start : one.key_end]) == one.key for one in members(line))

    @pytest.mark.parametrize(
        "line", [b"[1]", b'"{}"', b"7", b"", b'{"a": 1', b'{"a"', b'{"a": [1', b'{"a": "']
    )
    def test_members_of_an_incomplete_object_are_refused(self, line: bytes) -> None:
        with pytest.raises(NotAnObject):
            list(members(line))


class TestSplice:
    @given(objects(json_texts, keys=human_keys | strings), decisions)
    @pytest.mark.slow
    def test_spliced_values_are_read_by_every_parser(self, text: str, values: dict[str, Any]) -> None:
        before, after = pairs(text.encode()), pairs(splice(text.encode(), values))
        written = {key: pairs(json.dumps(value).encode()) for key, value in values.items()}
        kept = [(key, written.get(key, value)) for key, value in before]
        present = {key for key, _ in before}
        assert after == kept + [(key, value) for key, value in written.items() if key not in present]

    @pytest.mark.slow
    @given(objects(json_texts, keys=human_keys | strings), decisions)
    def test_bytes_around_spliced_values_are_kept(self, text: str, values: dict[str, Any]) -> None:
        line = text.encode()
        present = {member.key for member in members(line)} & set(values)
        result = splice(line, {key: values[key] for key in present})
        assert without_values(result, present) == without_values(line, present)

    @pytest.mark.slow
    @given(objects(json_texts), decisions)
    def test_missing_keys_are_appended_at_the_end(self, text: str, values: dict[str, Any]) -> None:
        line = text.encode()
        found = list(members(line))
        end = found[-1].end if found else line.index(b"{") + 1
        result = splice(line, values)
        assert result.startswith(line[:end])
        assert result.endswith(line[end:])

    @pytest.mark.slow
    @given(objects(json_texts, keys=human_keys | strings), decisions)
    def test_splicing_is_idempotent(self, text: str, values: dict[str, Any]) -> None:
        once = splice(text.encode(), values)
        assert splice(once, values) == once

    @given(tricky_members, st.permutations(USUAL_END) | st.just(USUAL_END), tricky_members, spacings)
    def test_fast_path_finds_only_top_level_keys_at_the_end(
        self, first: list[str], usual: list[str], last: list[str], spacing: tuple[str, str]
    ) -> None:
        between, end = spacing
        line = f"{{{between.join([*first, *usual, *last])}}}{end}".encode()
        before, after = pairs(line), pairs(splice(line, DECISION))
        written = {key: pairs(json.dumps(value).encode()) for key, value in DECISION.items()}
        assert after == [(key, written.get(key, value)) for key, value in before]
        assert without_values(splice(line, DECISION), set(DECISION)) == without_values(line, set(DECISION))

    def test_duplicate_key_is_replaced_each_time(self) -> None:
        line = b'{"human_reviewer_id": "bo", "x": 1, "human_reviewer_id": null}'
        result = splice(line, {"human_reviewer_id": "ana"})
        assert result == b'{"human_reviewer_id": "ana", "x": 1, "human_reviewer_id": "ana"}'

    def test_key_spelled_with_escapes_is_replaced(self) -> None:
        line = rb'{"human\u005freviewer_id": null}'
        assert splice(line, {"human_reviewer_id": "ana"}) == rb'{"human\u005freviewer_id": "ana"}'

    def test_nested_key_of_the_same_name_is_kept(self) -> None:
        line = b'{"extra": {"human_reviewer_id": 1, "b": "}"}, "human_reviewer_id": null}'
        result = splice(line, {"human_reviewer_id": "ana"})
        assert result == b'{"extra": {"human_reviewer_id": 1, "b": "}"}, "human_reviewer_id": "ana"}'

    def test_appended_keys_use_the_spacing_of_the_line(self) -> None:
        values = {"human_reviewer_id": "ana", "human_corrected_scores": {"A": [1, 2]}}
        wide = splice(b'{ "x": 1, "y": 2 }\r', values)
        tight = splice(b'{"x":1,"y":2}', values)
        assert wide == (
            b'{ "x": 1, "y": 2, "human_reviewer_id": "ana", "human_corrected_scores": {"A": [1, 2]} }\r'
        )
        assert tight == b'{"x":1,"y":2,"human_reviewer_id":"ana","human_corrected_scores":{"A":[1,2]}}'

    def test_keys_are_appended_to_an_empty_object(self) -> None:
        assert splice(b"{ }", {"a": 1, "b": 2}) == b'{"a": 1, "b": 2 }'

    def test_ascii_line_stays_ascii(self) -> None:
        scores = {"human_corrected_scores": DECISION["human_corrected_scores"]}
        assert splice(b'{"x": "a"}', scores).isascii()
        assert "√2 ≠ 1".encode() in splice('{"x": "é"}'.encode(), scores)

    @pytest.mark.parametrize(
        ("spelled", "value"),
        [
            (rb'"\u0061na"', "ana"),
            (b'{"B": 1.10, "A": 2}', {"A": 2, "B": 1.1}),
            (b"null", None),
        ],
    )
    def test_equal_value_keeps_its_bytes(self, spelled: bytes, value: Any) -> None:
        line = b'{"x": %b}' % spelled
        assert splice(line, {"x": value}) == line

    @pytest.mark.parametrize(("spelled", "value"), [(b"1", True), (b"1.0", 1), (b"0", False), (b'"1"', 1)])
    def test_value_of_another_type_is_replaced(self, spelled: bytes, value: Any) -> None:
        assert splice(b'{"x": %b}' % spelled, {"x": value}) == b'{"x": %b}' % json.dumps(value).encode()

    def test_number_that_python_cannot_parse_is_replaced(self) -> None:
        assert splice(b'{"x": [%b]}' % (b"9" * 5000), {"x": None}) == b'{"x": null}'
