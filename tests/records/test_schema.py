"""A line is parsed into typed fields, or refused with field and reason."""

import datetime as dt
import json
from typing import Any

import pytest
from hypothesis import given

from reviews.models import Evaluation
from reviews.records.schema import FIELDS, Limits, LineError, Record, parse_line
from tests.support.json_texts import json_texts, objects
from tests.support.lines import RECORD, line

OPTIONAL = {
    "task_id",
    "model_id",
    "response_id",
    "ideal_response_id",
    "aggregated_score",
    "final_answer_verified",
    "verification_message",
    "structured_model_response",
    "structured_ideal_response",
    "parsing_error",
    "human_reviewer_id",
    "human_review_timestamp",
    "human_corrected_scores",
    "human_review_comments",
}


def refusal(text: bytes, limits: Limits = Limits()) -> tuple[str, str]:  # noqa: B008 (immutable)
    """Return field and reason of the error for an invalid line."""
    with pytest.raises(LineError) as error:
        parse_line(text, limits)
    return error.value.field, error.value.reason


class TestFields:
    def test_each_of_23_fields_is_a_column(self) -> None:
        columns = {field.name for field in Evaluation._meta.get_fields()}
        assert len(FIELDS) == 23
        assert {*FIELDS, "extra", "task_context"} == set(Record._fields) <= columns

    def test_fields_have_the_values_of_the_line(self) -> None:
        read = parse_line(line())._asdict()
        created_at = dt.datetime(2025, 4, 12, 1, 55, 23, 111185, tzinfo=dt.UTC)
        others: dict[str, Any] = {"extra": {}, "task_context": None}
        assert read == {"evaluation_id": "eval_1", **RECORD, "created_at": created_at, **others}

    @pytest.mark.parametrize("name", sorted(OPTIONAL))
    @pytest.mark.parametrize("value", [..., None])
    def test_optional_field_can_be_missing_or_null(self, name: str, value: Any) -> None:
        assert getattr(parse_line(line(**{name: value})), name) is None

    @pytest.mark.parametrize("name", sorted(set(RECORD) - OPTIONAL))
    def test_missing_or_null_required_field_is_named(self, name: str) -> None:
        assert refusal(line(**{name: ...})) == (name, "is missing")
        assert refusal(line(**{name: None})) == (name, "is null, but the field is required")

    def test_all_missing_and_null_fields_are_named_at_once(self) -> None:
        lacking = line(judge_llm_model=..., raw_judge_output=..., created_at=None)
        assert refusal(lacking) == (
            "judge_llm_model",
            "is missing; also missing: raw_judge_output, created_at (null)",
        )

    @pytest.mark.parametrize("name", sorted(set(FIELDS) - {"evaluation_id"}))
    def test_field_of_the_wrong_type_is_named(self, name: str) -> None:
        wrong = [1] if name != "review_reasons" else {}
        field, reason = refusal(line(**{name: wrong}))
        assert field == name
        assert reason.startswith(("is an array, but takes ", "is an object, but takes "))

    def test_unknown_fields_are_kept_in_extra(self) -> None:
        assert parse_line(line(run="a", notes=[1, {"x": None}])).extra == {
            "run": "a",
            "notes": [1, {"x": None}],
        }


class TestIds:
    @pytest.mark.parametrize(
        "spelled",
        ["5500", "0", "-0", "-7", "1.10", "1E5", "1e+05", "18446744073709551616", "1e5000", "9" * 512],
    )
    def test_numeric_id_is_text_as_spelled(self, spelled: str) -> None:
        assert parse_line(line(task_id=spelled.encode())).task_id == spelled

    def test_duplicate_id_counts_as_in_a_json_parser(self) -> None:
        twice = line(task_id=b'1.0, "task_id": 2.0')
        assert parse_line(twice).task_id == "2.0"

    @pytest.mark.parametrize("value", [True, [1], {"a": 1}])
    def test_id_is_text_or_a_number(self, value: Any) -> None:
        field, reason = refusal(line(response_id=value))
        assert (field, reason.split(", ")[1]) == ("response_id", "but takes a string or a number")

    @pytest.mark.parametrize("value", ["", "  ", "\\u00a0"])
    def test_evaluation_id_is_not_blank(self, value: str) -> None:
        assert refusal(line(b'"%b"' % value.encode())) == ("evaluation_id", "is empty")

    @pytest.mark.parametrize("name", ["evaluation_id", "task_id", "model_id", "judge_llm_model"])
    def test_id_length_is_measured_in_utf_8_bytes(self, name: str) -> None:
        fields = {"evaluation_id": "eval_1", name: "é" * 20}
        assert getattr(parse_line(line(**fields), Limits(id_bytes=40)), name) == "é" * 20
        reason = "is longer than 39 bytes (COGNIREVIEW_MAX_ID_BYTES)"
        assert refusal(line(**fields), Limits(id_bytes=39)) == (name, reason)


class TestTimestamps:
    @pytest.mark.parametrize(
        ("spelled", "meant"),
        [
            ("2025-04-12T01:55:23.111185Z", "2025-04-12T01:55:23.111185+00:00"),
            ("2025-04-12 01:55:23", "2025-04-12T01:55:23+00:00"),
            ("2025-04-12T01:55", "2025-04-12T01:55:00+00:00"),
            ("2025-04-12t01:55:23z", "2025-04-12T01:55:23+00:00"),
            ("2025-04-12T01:55:23,5Z", "2025-04-12T01:55:23.500000+00:00"),
            ("2025-04-12T01:55:23.123456789Z", "2025-04-12T01:55:23.123456+00:00"),
            ("2025-04-12T01:55:23+02:00", "2025-04-11T23:55:23+00:00"),
            ("2025-04-12T01:55:23-0530", "2025-04-12T07:25:23+00:00"),
            ("2025-04-12T01:55:23+02", "2025-04-11T23:55:23+00:00"),
            ("1900-01-01T00:00:00Z", "1900-01-01T00:00:00+00:00"),
            ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999+00:00"),
        ],
    )
    def test_iso_8601_timestamp_is_converted_to_utc(self, spelled: str, meant: str) -> None:
        assert parse_line(line(created_at=spelled)).created_at.isoformat() == meant

    @pytest.mark.parametrize(
        "spelled",
        [
            "",
            "now",
            "infinity",
            "2025-04-12",
            "10000-01-01T00:00:00Z",
            "-0044-03-15T00:00:00Z",
            "20250412T015523Z",
            "2025-02-29T00:00:00Z",
            "2025-04-12T25:00:00Z",
            "2025-04-12T01:55:60Z",
            "0000-01-01T00:00:00Z",
            "9999-12-31T23:59:59-05:00",
            "٢٠٢٥-04-12T01:55:23Z",
            "2025-04-12T01:55:23 Europe/Berlin",
        ],
    )
    def test_other_timestamp_is_refused(self, spelled: str) -> None:
        field, reason = refusal(line(created_at=spelled))
        assert (field, reason.split(", ")[-1]) == ("created_at", "but takes a date and time in ISO 8601")

    def test_ancient_timestamp_is_refused(self) -> None:
        reason = "is in the year 1899, before 1900"
        assert refusal(line(created_at="1899-12-31T23:59:59Z")) == ("created_at", reason)


class TestEnumerations:
    @pytest.mark.parametrize("word", ["Needs Review", "Pending", "Not Required", "Completed", "Reviewed"])
    def test_known_status_is_accepted(self, word: str) -> None:
        assert parse_line(line(human_review_status=word)).human_review_status == word

    def test_unknown_status_is_refused_with_the_known_ones(self) -> None:
        reason = "is 'Done', but takes one of Needs Review, Pending, Not Required, Completed, Reviewed"
        assert refusal(line(human_review_status="Done")) == ("human_review_status", reason)

    def test_known_verdict_is_accepted(self) -> None:
        reason = "is 'pass', but takes one of Pass, Fail, Partial"
        assert refusal(line(aggregated_score="pass")) == ("aggregated_score", reason)

    def test_long_unknown_status_is_shortened_in_the_error(self) -> None:
        _, reason = refusal(line(human_review_status="x" * 10_000))
        assert len(reason) < 200
        _, reason = refusal(line(parsed_rubric_scores={"x" * 10_000: "Yes"}))
        assert len(reason) < 200


class TestLines:
    @pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
    def test_line_is_parsed_with_any_line_end(self, end: bytes) -> None:
        assert parse_line(line() + end).evaluation_id == "eval_1"

    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            (b"[]", "an array"),
            (b"7", "a number"),
            (b'"a"', "a string"),
            (b"null", "null"),
            (b"true", "a boolean"),
        ],
    )
    def test_line_that_is_no_object_is_refused_with_its_type(self, text: bytes, kind: str) -> None:
        assert refusal(text) == ("", f"is not a JSON object but {kind}")

    def test_nesting_is_limited(self) -> None:
        limits = Limits(nesting=20)
        deepest = line(raw_judge_output=b'{"a": %b1%b}' % (b"[" * 18, b"]" * 18))
        assert parse_line(deepest, limits)
        too_deep = line(raw_judge_output=b'{"a": %b1%b}' % (b"[" * 19, b"]" * 19))
        assert refusal(too_deep, limits) == ("", "is nested deeper than 20 (COGNIREVIEW_MAX_NESTING)")

    @pytest.mark.parametrize("depth", [500, 2_000, 100_000])
    def test_line_nested_beyond_the_parser_is_refused(self, depth: int) -> None:
        field, reason = refusal(line(x=b"[" * depth + b"]" * depth))
        assert not field
        assert reason.startswith("is nested ")
        assert reason.endswith("(COGNIREVIEW_MAX_NESTING)")

    def test_adjacent_brackets_are_not_nesting(self) -> None:
        assert parse_line(line(x=[[] for _ in range(1000)], y="[" * 1000)).extra["y"] == "[" * 1000

    def test_line_length_is_limited(self) -> None:
        length = len(line())
        assert parse_line(line(), Limits(line_bytes=length))
        reason = f"is longer than {length - 1:,} bytes (COGNIREVIEW_MAX_LINE_BYTES)"
        assert refusal(line(), Limits(line_bytes=length - 1)) == ("", reason)


class TestValues:
    def test_line_of_too_many_values_is_refused(self) -> None:
        many = b"[" + b"{}," * 400_000 + b"0]"
        for spelled in (many, b'["%b", %b]' % (b"x" * 1_000_000, b"[" + b"0," * 1_100_000 + b"0]")):
            with pytest.raises(LineError, match=r"holds more than 1,000,000 values"):
                parse_line(line(x=many + b' , "y": ' + many if spelled is many else spelled))

    @pytest.mark.slow
    def test_commas_in_text_are_no_values(self) -> None:
        assert parse_line(line(parsing_error='[{",\\' * 500_000)).parsing_error


class TestUnstorableValues:
    def test_nul_is_stored_as_the_replacement_character(self) -> None:
        read = parse_line(line(rb'"a\u0000b"', parsing_error=b'"\\u0000"', x=rb'{"\u0000": ["\u0000"]}'))
        assert (read.evaluation_id, read.parsing_error) == ("a\ufffdb", "\ufffd")
        assert read.extra == {"x": {"\ufffd": ["\ufffd"]}}

    def test_escaped_spelling_of_nul_is_kept(self) -> None:
        assert parse_line(line(parsing_error=rb'"\\u0000"')).parsing_error == r"\u0000"

    @pytest.mark.parametrize(
        "spelled", ["18446744073709551616", "-9223372036854775809", "9" * 5000, "1e5000"]
    )
    def test_number_beyond_64_bits_becomes_text(self, spelled: str) -> None:
        assert parse_line(line(x=b"[%b]" % spelled.encode())).extra == {"x": [spelled]}

    @pytest.mark.parametrize("number", [2**64 - 1, -(2**63), 10**18, 0.1, 1e300])
    def test_number_within_64_bits_stays_a_number(self, number: float) -> None:
        assert parse_line(line(x=number)).extra == {"x": number}

    @pytest.mark.slow
    @given(objects(json_texts))
    def test_parsed_line_has_no_unstorable_value(self, extra: str) -> None:
        stored = json.dumps(parse_line(line(x=extra.encode())).extra, ensure_ascii=False, allow_nan=False)
        assert "\\u0000" not in stored
        assert stored.encode()
