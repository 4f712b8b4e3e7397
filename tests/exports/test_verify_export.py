"""Comparison of an export with its original: only human decisions may differ."""

from functools import partial
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.exports.verify_export import SHOWN_PROBLEMS, Comparison, compare
from reviews.records.line_splice import splice
from reviews.records.schema import HUMAN_FIELDS, Limits
from tests.support.json_texts import json_texts
from tests.support.lines import file_of, line

DECISION: dict[str, Any] = {
    "human_review_status": "Completed",
    "human_reviewer_id": "ana",
    "human_review_timestamp": "2026-11-20T09:30:00.000000Z",
    "human_corrected_scores": {"Clarity": {"score": "No", "justification": "x"}},
    "human_review_comments": None,
}
BOM = b"\xef\xbb\xbf"
A, B, C = line("eval_a"), line("eval_b"), line("eval_c")


def compared(original: bytes, exported: bytes, limits: Limits = Limits()) -> Comparison:  # noqa: B008 (immutable)
    return compared_to_all([original], exported, limits)


def compared_to_all(originals: list[bytes], exported: bytes, limits: Limits = Limits()) -> Comparison:  # noqa: B008
    return compare([partial(BytesIO, original) for original in originals], BytesIO(exported), limits)


class TestVerified:
    def test_identical_export_is_valid(self) -> None:
        result = compared(file_of(A, b"", B), file_of(A, b"", B))
        assert (result.holds, result.identical, result.changed, result.left_out) == (True, 3, 0, 0)

    def test_changed_human_values_are_valid(self) -> None:
        result = compared(file_of(A, B, C), file_of(A, splice(B, DECISION), C))
        assert (result.holds, result.identical, result.changed) == (True, 2, 1)
        assert result.changed_keys == [name for name in HUMAN_FIELDS if name != "human_review_comments"]

    def test_added_human_keys_are_valid(self) -> None:
        short = line(**{name: ... for name in HUMAN_FIELDS if name != "human_review_status"})
        result = compared(file_of(short), file_of(splice(short, DECISION)))
        assert (result.holds, result.changed, result.changed_keys) == (True, 1, list(HUMAN_FIELDS))

    def test_repeated_human_keys_are_valid(self) -> None:
        twice = line(human_review_status=b'"Pending", "human_review_status": "Needs Review"')
        result = compared(file_of(twice), file_of(splice(twice, DECISION)))
        assert (result.holds, result.changed) == (True, 1)

    @pytest.mark.slow
    @given(
        st.dictionaries(st.sampled_from(HUMAN_FIELDS[1:4]), st.sampled_from([..., None])),
        json_texts,
        st.booleans(),
    )
    def test_any_splice_is_valid(self, missing: dict[str, Any], extra: str, tight: bool) -> None:
        original = line(**missing, x=extra.encode())
        if tight:
            original = original.replace(b'", "', b'","')
        result = compared(original, splice(original, DECISION))
        assert (result.holds, result.changed) == (True, 1)

    def test_omitted_invalid_lines_are_valid(self) -> None:
        original = file_of(b"no record", A, line("eval_b", task_id=True), A, b'{"cut')
        result = compared(original, file_of(A))
        assert (result.holds, result.identical, result.left_out) == (True, 1, 4)

    def test_kept_invalid_lines_are_valid(self) -> None:
        original = file_of(b"no record", A, b'{"cut')
        result = compared(original, file_of(b"no record", splice(A, DECISION), b'{"cut'))
        assert (result.holds, result.identical, result.changed, result.left_out) == (True, 2, 1, 0)

    def test_limits_of_the_import_decide_what_is_a_record(self) -> None:
        long = line("x" * 600)
        export = file_of(A, splice(long, DECISION))
        assert compared(file_of(A, long), export, Limits(id_bytes=600)).holds
        assert not compared(file_of(A, long), export).holds
        assert compared(file_of(A, long), file_of(A)).left_out == 1

    def test_byte_order_mark_before_a_changed_line_is_valid(self) -> None:
        assert compared(BOM + file_of(A, B), BOM + file_of(splice(A, DECISION), B)).holds
        assert compared(BOM + file_of(b"no record", B), BOM + file_of(B)).holds

    def test_two_empty_files_are_valid(self) -> None:
        assert compared(b"", b"").holds


class TestDifferences:
    @pytest.mark.parametrize(
        "tampered",
        [
            A.replace(b'"4711"', b'"4712"'),
            A.replace(b'": ', b'":', 1),
            A.replace(b", ", b",", 1),
            A[:-1] + b', "note": 1}',
            A[:-1] + b" }",
            A + b"\r",
            A.replace(b', "human_reviewer_id": null', b""),
            A.replace(b'"human_reviewer_id"', b'"human_reviewer_Id"'),
            A.replace(b', "human_reviewer_id": null', b"").replace(b"{", b'{"human_reviewer_id": null, ', 1),
            splice(A, DECISION).replace(b'"Pass"', b'"Fail"'),
        ],
    )
    def test_any_other_difference_is_invalid(self, tampered: bytes) -> None:
        result = compared(file_of(A, B), file_of(tampered, B))
        sentence = "line 1 of the export differs from line 1 of the original in more than human_* values"
        assert (result.problems, result.identical) == ([sentence], 1)

    def test_missing_last_line_end_is_invalid(self) -> None:
        assert not compared(file_of(A), A).holds

    @pytest.mark.parametrize(
        ("exported", "problem"),
        [
            (file_of(A, C), "line 2 of the original (eval_b) is not in its place in the export"),
            (file_of(B, A, C), "line 1 of the original (eval_a) is not in its place in the export"),
            (file_of(A, b"", B, C), "line 2 of the original (eval_b) is not in its place in the export"),
            (file_of(A, B, C, A), "line 4 of the export is not in the original"),
            (b"", "line 1 of the original (eval_a) is not in its place in the export"),
        ],
    )
    def test_missing_and_additional_lines_are_invalid(self, exported: bytes, problem: str) -> None:
        assert compared(file_of(A, B, C), exported).problems[0] == problem

    def test_missing_blank_line_is_invalid(self) -> None:
        result = compared(file_of(A, b"", B), file_of(A, B))
        assert result.problems == ["line 2 of the original is blank and missing in the export"]

    @pytest.mark.parametrize(("one", "other"), [(BOM, b""), (b"", BOM)])
    def test_different_byte_order_mark_is_invalid(self, one: bytes, other: bytes) -> None:
        result = compared(one + file_of(A), other + file_of(A))
        assert result.problems == ["one of the files begins with a byte order mark, the other does not"]

    def test_first_problems_are_listed_and_all_are_counted(self) -> None:
        original = file_of(*(line(f"eval_{number}") for number in range(100)))
        result = compared(original, b"")
        assert (len(result.problems), result.problem_count) == (SHOWN_PROBLEMS, 100)


def test_changed_lines_are_counted_by_key() -> None:
    changed = [splice(A, {"human_review_comments": "a"}), splice(B, {"human_review_comments": "b"})]
    result = compared(file_of(A, B), file_of(*changed))
    assert (result.changed, result.changed_keys) == (2, ["human_review_comments"])
    assert result.keys["human_review_comments"] == 2
