"""Invalid and hostile rubric files: every problem has its place."""

import datetime as dt
import json
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records.rubric_file import (
    MAX_BYTES,
    Problem,
    RubricError,
    format_rubric,
    parse_rubric,
    rubric_from_json,
)
from tests.support.rubric_strategies import JSON


def problems_of(data: Any) -> list[tuple[str, str]]:
    with pytest.raises(RubricError) as wrong:
        rubric_from_json(data)
    assert all(isinstance(problem, Problem) for problem in wrong.value.problems)
    return [(place, reason) for place, reason in wrong.value.problems]


def problems_of_file(toml: bytes) -> list[tuple[str, str]]:
    with pytest.raises(RubricError) as wrong:
        parse_rubric(toml)
    return [(place, reason) for place, reason in wrong.value.problems]


def problems_of_scale(**members: Any) -> list[tuple[str, str]]:
    return problems_of({"scale": members})


SCALE_KINDS = "This must be one of values, boolean, integer, number, pairwise."


class TestProblems:
    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            ([], ("rubric", "This is an array, but takes a table.")),
            (None, ("rubric", "This is null, but takes a table.")),
            ("worst", ("rubric", "This is a string, but takes a table.")),
            ({"rule": {}}, ("rubric.rule", "This is not one of verdict, scale, criteria, causes.")),
            ({"criteria": {"a": 1}}, ("criteria", "This is an object, but takes a list.")),
            ({"criteria": ["a"]}, ("criteria[1]", "This is a string, but takes a table.")),
            (
                {"criteria": [{"name": "a", "scores": []}]},
                (
                    "criteria[1].scores",
                    "This is not one of name, title, description, required, weight, scale.",
                ),
            ),
            ({"criteria": [{"name": 5}]}, ("criteria[1].name", "This is a number, but takes a text.")),
            (
                {"criteria": [{"name": "a", "required": 1}]},
                ("criteria[1].required", "This is a number, but takes true or false."),
            ),
            (
                {"criteria": [{"name": "a", "weight": True}]},
                ("criteria[1].weight", "This is a boolean, but takes a number."),
            ),
            (
                {"criteria": [{"name": "a", "weight": -1}]},
                ("criteria[1].weight", "A weight is a number from 0 to 1,000."),
            ),
            (
                {"criteria": [{"name": "a", "weight": 1001}]},
                ("criteria[1].weight", "A weight is a number from 0 to 1,000."),
            ),
            ({"criteria": [{"name": "a", "scale": []}]}, ("criteria[1].scale.kind", SCALE_KINDS)),
            (
                {"criteria": [{"name": "a"}, {"name": "b", "scale": {"kind": "values", "values": ["x"]}}]},
                ("criteria[2].scale.values", "A scale has 2 to 15 values, not 1."),
            ),
            ({"criteria": [{}]}, ("criteria[1]", "A name has 1 to 200 characters, all of them printable.")),
            (
                {"criteria": [{"name": " "}]},
                ("criteria[1]", "A name has 1 to 200 characters, all of them printable."),
            ),
            (
                {"criteria": [{"name": "a" * 201}]},
                ("criteria[1]", "A name has 1 to 200 characters, all of them printable."),
            ),
            ({"criteria": [{"name": "a"}, {"name": "a"}]}, ("criteria", "“a” is listed twice.")),
            (
                {"criteria": [{"name": str(number)} for number in range(101)]},
                ("criteria", "A run has at most 100 criteria, not 101."),
            ),
            (
                {"criteria": [{"name": "a", "title": "x\n"}]},
                ("criteria[1].title", "A title has at most 200 characters, all of them printable."),
            ),
            *(
                (
                    {"criteria": [{"name": "a", "description": text}]},
                    (
                        "criteria[1].description",
                        "A description has at most 10,000 characters, and no null or lone surrogate.",
                    ),
                )
                for text in ("x" * 10_001, "\0", "\ud83d")
            ),
            ({"scale": None, "verdict": 5}, ("verdict", "This is a number, but takes a table.")),
            ({"verdict": "best"}, ("verdict.rule", "This must be one of worst, mean, weighted, none.")),
            (
                {"verdict": {"rule": ["mean"]}},
                ("verdict.rule", "This must be one of worst, mean, weighted, none."),
            ),
            ({"verdict": {"rule": "mean"}}, ("verdict.pass_from", "Enter the lowest mean that passes.")),
            (
                {"verdict": {"rule": "mean", "pass_from": "4"}},
                ("verdict.pass_from", "This is a string, but takes a number."),
            ),
            (
                {"verdict": {"rule": "mean", "pass_from": 1, "partial_from": 2}},
                ("verdict.partial_from", "The lowest mean of a Partial cannot be above that of a Pass."),
            ),
            (
                {"verdict": {"pass": 1}},
                ("verdict.pass", "This is not one of rule, pass_from, partial_from."),
            ),
            ({"scale": "grades"}, ("scale.kind", SCALE_KINDS)),
            ({"scale": {"kind": ["values"]}}, ("scale.kind", SCALE_KINDS)),
            ({"scale": {"kind": {}}}, ("scale.kind", SCALE_KINDS)),
            ({"scale": {}}, ("scale.kind", SCALE_KINDS)),
            (
                {"scale": {"kind": "boolean", "best": "yes"}},
                ("scale.best", "This is a string, but takes true or false."),
            ),
            (
                {"scale": {"kind": "values", "values": ["a", None]}},
                ("scale.values", "This is an array, but takes a list of numbers, true, false and texts."),
            ),
            (
                {"scale": {"kind": "values", "values": "ab"}},
                ("scale.values", "This is a string, but takes a list of numbers, true, false and texts."),
            ),
            (
                {"scale": {"kind": "values", "values": ["a", "b"], "pass_from": ["a"]}},
                ("scale.pass_from", "This is an array, but takes a number, true, false or a text."),
            ),
            (
                {"scale": {"kind": "integer", "min": 0, "max": 5, "step": 1}},
                (
                    "scale.step",
                    "This is not one of kind, min, max, pass_from, partial_from, lower_is_better.",
                ),
            ),
            (
                {"scale": {"kind": "number", "min": float("nan"), "max": 1}},
                ("scale.min", "This is a number, but takes a number."),
            ),
            ({"causes": "Typo"}, ("causes", "This is a string, but takes a list.")),
            ({"causes": [5]}, ("causes[1]", "This is a number, but takes a table.")),
            ({"causes": ["Typo", "TYPO"]}, ("causes", "“typo” is listed twice.")),
            ({"causes": [""]}, ("causes[1]", "A name has 1 to 60 characters, all of them printable.")),
            (
                {"causes": [str(number) for number in range(21)]},
                ("causes", "A run has at most 20 causes, not 21."),
            ),
            (
                {"causes": [{"title": "Typo", "directions": ["up"]}]},
                ("causes[1].directions", "This is an array, but takes a list of raised, lowered, same."),
            ),
            (
                {"causes": [{"title": "Typo", "needs": [{}]}]},
                ("causes[1].needs", "This is an array, but takes a list of reference, verifier."),
            ),
        ],
    )
    def test_problem_has_its_place_and_reason(self, data: Any, problem: tuple[str, str]) -> None:
        assert problems_of(data) == [problem]

    @pytest.mark.parametrize("limit", ["1", True, [1], float("inf"), float("-inf"), 10**18])
    def test_limit_must_be_a_number_in_range(self, limit: Any) -> None:
        assert {place for place, _ in problems_of_scale(kind="integer", min=0, max=limit)} == {"scale.max"}

    def test_missing_limits_are_named(self) -> None:
        assert problems_of_scale(kind="number") == [
            ("scale.min", "This is missing."),
            ("scale.max", "This is missing."),
        ]
        assert problems_of_scale(kind="number", max=0) == [("scale.min", "This is missing.")]

    def test_wrong_types_are_reported_together(self) -> None:
        data = {
            "scale": {"kind": "values", "values": 5, "colour": "red"},
            "criteria": [{"name": []}, {"name": "b", "weight": "2", "scale": "x"}, None],
            "verdict": {"rule": "mean", "pass_from": {}},
            "causes": [None],
            "title": "x",
        }
        assert {place for place, _ in problems_of(data)} == {
            "rubric.title",
            "criteria[1].name",
            "criteria[2].weight",
            "criteria[2].scale.kind",
            "criteria[3]",
            "scale.colour",
            "scale.values",
            "verdict.pass_from",
            "causes[1]",
        }

    def test_wrong_values_are_reported_together(self) -> None:
        data = {
            "scale": {"kind": "values", "values": ["a", "a"], "pass_from": "c"},
            "criteria": [
                {"name": ""},
                {"name": "b", "weight": 2000, "scale": {"kind": "integer", "min": 1, "max": 0}},
            ],
            "verdict": {"rule": "mean"},
            "causes": ["", "x" * 61],
        }
        assert [place for place, _ in problems_of(data)] == [
            "scale.values",
            "scale.pass_from",
            "verdict.pass_from",
            "criteria[1]",
            "criteria[2].weight",
            "criteria[2].scale.max",
            "causes[1]",
            "causes[2]",
        ]

    def test_error_lists_places_and_reasons(self) -> None:
        with pytest.raises(
            RubricError, match=r"^scale\.kind: This must be .*\. verdict\.rule: This must be "
        ) as wrong:
            rubric_from_json({"verdict": "x", "scale": "y"})
        assert len(wrong.value.problems) == 2


MEMBERS = (
    *("values", "unranked", "best", "min", "max", "step", "pass_from", "partial_from", "lower_is_better"),
    *("a", "b", "tie", "both_bad"),
)


class TestHostileFiles:
    @pytest.mark.parametrize(
        ("toml", "reason"),
        [
            (b"x" * (MAX_BYTES + 1), "The file is longer than 262,144 bytes."),
            (b"a = '\xff'", "The file is not UTF-8: byte 6."),
            ("criteria = []".encode("utf-16"), "The file is not UTF-8: byte 1."),
            (b"a = ", "The file is not TOML: "),
            (b"{}", "The file is not TOML: "),
            (b"a = 1\na = 2", "The file is not TOML: "),
            (b"a = " + b"[" * 20_000, "The file is not TOML: "),
            (b"a = '\0'", "The file is not TOML: "),
            (rb'a = "\ud800"', "The file is not TOML: "),
        ],
    )
    def test_file_that_is_no_toml_is_refused(self, toml: bytes, reason: str) -> None:
        [(place, found)] = problems_of_file(toml)
        assert place == "rubric"
        assert found.startswith(reason)
        assert len(found) < 300

    @pytest.mark.parametrize(
        "toml",
        [
            b"scale = { kind = 'number', min = nan, max = 1 }",
            b"scale = { kind = 'number', min = 0, max = inf }",
            b"scale = { kind = 'number', min = 0, max = 1" + b"0" * 4000 + b" }",
            b"scale = { kind = 'number', min = 2020-01-01, max = 1 }",
            b"verdict = 10:00:00",
            b"criteria = [{ name = 1979-05-27T07:32:00Z }]",
        ],
    )
    def test_toml_that_json_cannot_express_is_refused(self, toml: bytes) -> None:
        assert problems_of_file(toml)

    def test_date_is_not_a_value(self) -> None:
        assert problems_of_scale(kind="values", values=["a", dt.date(2026, 1, 1)])

    @given(st.binary(max_size=200))
    def test_any_bytes_give_a_rubric_or_problems(self, toml: bytes) -> None:
        with suppress(RubricError):
            rubric = parse_rubric(toml)
            assert parse_rubric(format_rubric(rubric).encode()) == rubric

    @pytest.mark.slow
    @given(
        st.fixed_dictionaries(
            {},
            optional={
                "verdict": JSON
                | st.fixed_dictionaries({"rule": JSON, "pass_from": JSON, "partial_from": JSON}),
                "scale": JSON,
                "criteria": JSON | st.lists(JSON),
                "causes": JSON | st.lists(JSON | st.fixed_dictionaries({"title": JSON, "directions": JSON})),
            },
        )
        | JSON
    )
    def test_any_json_gives_a_rubric_or_problems(self, data: Any) -> None:
        check_readable(data)

    @pytest.mark.slow
    @given(
        st.sampled_from(["values", "boolean", "integer", "number", "pairwise"]),
        st.dictionaries(
            st.sampled_from(MEMBERS),
            JSON | st.floats() | st.integers() | st.lists(st.text() | st.integers() | st.booleans()),
        ),
        JSON,
    )
    def test_any_scale_gives_a_rubric_or_problems(
        self, kind: str, members: dict[str, Any], name: Any
    ) -> None:
        check_readable({"criteria": [{"name": name, "scale": {"kind": kind, **members}}]})
        check_readable({"scale": {"kind": kind, **members}})


def check_readable(data: Any) -> None:
    """Check that data are refused with places and reasons, or make a rubric that can be stored."""
    problems: list[Problem] = []
    try:
        rubric = rubric_from_json(data)
    except RubricError as error:
        problems = error.problems
    else:
        assert rubric_from_json(json.loads(json.dumps(rubric.as_json(), allow_nan=False))) == rubric
        assert orjson.dumps(rubric.as_json())
    assert all(problem.place and problem.reason.endswith(".") for problem in problems)
