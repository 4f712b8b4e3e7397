"""Rubrics as TOML and JSON, with every problem by its place."""

from typing import Any

import orjson
import pytest
from hypothesis import given

from reviews.records.rubric import Cause, Criterion, Rubric, VerdictRule
from reviews.records.rubric_file import (
    RubricError,
    format_rubric,
    parse_rubric,
    rubric_from_json,
)
from reviews.records.scales import PairwiseScale, RangeScale, ValueScale
from tests.support.rubric_strategies import RUBRICS

WHOLE = b"""
verdict = "worst"
scale = { kind = "integer", min = 1, max = 5, pass_from = 4, partial_from = 3 }
causes = ["Typo", { title = "Too strict", directions = ["raised"], needs = ["reference"] }]

[[criteria]]
name = "rigor"
title = "Rigor"
description = \"\"\"
Are all steps **justified**?
\"\"\"
weight = 2

[[criteria]]
name = "errors"
required = false
scale = { kind = "integer", min = 0, max = 20, lower_is_better = true }

[[criteria]]
name = "confidence"
scale = { kind = "number", min = 0, max = 1, step = 0.05, pass_from = 0.5 }

[[criteria]]
name = "style"
[criteria.scale]
kind = "values"
values = ["good", 3, true, "bad"]
pass_from = 3
partial_from = true
unranked = ["N/A"]

[[criteria]]
name = "hallucinates"
scale = { kind = "boolean", best = false }

[[criteria]]
name = "better"
scale = { kind = "pairwise", a = "model_a", b = "model_b", tie = "tie", both_bad = "tie (bothbad)" }

[[criteria]]
name = "safe"
scale = "boolean"
"""
READ = Rubric(
    (
        Criterion("rigor", "Rigor", "Are all steps **justified**?\n", weight=2),
        Criterion("errors", is_required=False, scale=RangeScale(0, 20, lower_is_better=True)),
        Criterion("confidence", scale=RangeScale(0, 1, is_integer=False, step=0.05, pass_from=0.5)),
        Criterion("style", scale=ValueScale(("good", 3, True, "bad"), 3, True, ("N/A",))),
        Criterion("hallucinates", scale=ValueScale((False, True), pass_from=False)),
        Criterion("better", scale=PairwiseScale("model_a", "model_b", "tie", "tie (bothbad)")),
        Criterion("safe", scale=ValueScale((True, False), pass_from=True)),
    ),
    RangeScale(1, 5, pass_from=4, partial_from=3),
    VerdictRule("worst"),
    (Cause("Typo"), Cause("Too strict", ("raised",), ("reference",))),
)


class TestRead:
    def test_whole_rubric_is_read_from_toml(self) -> None:
        assert parse_rubric(WHOLE) == READ

    @pytest.mark.parametrize("empty", [{}, {"criteria": [], "scale": None, "verdict": None, "causes": None}])
    def test_empty_data_give_the_default_rubric(self, empty: dict[str, Any]) -> None:
        assert rubric_from_json(empty) == parse_rubric(b"") == Rubric()

    def test_rubric_can_have_no_causes(self) -> None:
        assert parse_rubric(b"causes = []").causes == ()

    def test_rule_can_be_a_word(self) -> None:
        assert parse_rubric(b"verdict = 'none'").rule == VerdictRule("none")

    @pytest.mark.parametrize(
        ("data", "scale"),
        [
            ("pairwise", PairwiseScale()),
            ({"kind": "pairwise", "both_bad": "bad"}, PairwiseScale(both_bad="bad")),
            ({"kind": "pairwise", "a": 1, "b": 2}, PairwiseScale(1, 2, None)),
            ({"kind": "pairwise", "a": 1, "b": 0, "tie": False}, PairwiseScale(1, 0, tie=False)),
            ({"kind": "boolean"}, ValueScale((True, False), pass_from=True)),
            ({"kind": "values", "values": [True, False]}, ValueScale((True, False))),
            ({"kind": "number", "min": 0, "max": 1.0}, RangeScale(0, 1, is_integer=False)),
            (
                {"kind": "integer", "min": -1, "max": 1, "pass_from": 0, "partial_from": None},
                RangeScale(-1, 1, pass_from=0),
            ),
            (
                {"kind": "integer", "min": 0, "max": 9, "partial_from": 0, "pass_from": 0},
                RangeScale(0, 9, pass_from=0, partial_from=0),
            ),
        ],
    )
    def test_scale_has_defaults(self, data: Any, scale: Any) -> None:
        read = rubric_from_json({"scale": data})
        assert read.scale == scale
        assert rubric_from_json(read.as_json()) == read

    def test_weight_can_be_zero(self) -> None:
        assert rubric_from_json({"criteria": [{"name": "a", "weight": 0}]}).weight("a") == 1
        [criterion] = rubric_from_json({"criteria": [{"name": "a", "weight": 0}]}).criteria
        assert criterion.weight == 0

    def test_values_keep_their_json_type(self) -> None:
        values = [5, "5", True, 2.5, 0, False]
        read = rubric_from_json({"scale": {"kind": "values", "values": values}})
        assert repr(read.scale.buttons) == repr(tuple(values))
        assert repr(parse_rubric(format_rubric(read).encode()).scale) == repr(read.scale)

    def test_line_ends_of_a_browser_become_newlines(self) -> None:
        read = rubric_from_json({"criteria": [{"name": "a", "description": "One\r\nTwo"}]})
        assert read.criteria[0].description == "One\nTwo"


class TestRoundTrip:
    @pytest.mark.slow
    @given(RUBRICS)
    def test_rubric_survives_json(self, rubric: Rubric) -> None:
        assert rubric_from_json(rubric.as_json()) == rubric
        read = rubric_from_json(orjson.loads(orjson.dumps(rubric.as_json())))
        assert read == rubric
        assert rubric_from_json(read.as_json()).fingerprint == read.fingerprint

    @pytest.mark.slow
    @given(RUBRICS)
    def test_rubric_survives_toml(self, rubric: Rubric) -> None:
        read = parse_rubric(format_rubric(rubric).encode())
        assert read == rubric
        assert format_rubric(read) == format_rubric(parse_rubric(format_rubric(read).encode()))

    def test_formatted_rubric_is_readable(self) -> None:
        text = format_rubric(READ)
        assert parse_rubric(text.encode()) == READ
        assert 'description = """\nAre all steps **justified**?\n"""' in text

    @pytest.mark.parametrize(
        "text", ['"""', "\\", "a\tb\n", "\n", "'''\n\"\"\"\\\n", "\x01\x7f\x85\u2028\n", "$x$\r"]
    )
    def test_any_description_survives_toml(self, text: str) -> None:
        rubric = Rubric((Criterion("a", description=text),))
        assert parse_rubric(format_rubric(rubric).encode()) == rubric


def test_limits_of_a_mean_are_dropped_with_another_rule() -> None:
    assert rubric_from_json({"verdict": {"rule": "worst", "partial_from": 0}}) == Rubric()


def test_weighted_mean_is_read_with_its_limits() -> None:
    data = {"verdict": {"rule": "weighted", "pass_from": 4, "partial_from": 2.5}}
    assert rubric_from_json(data) == Rubric(rule=VerdictRule("weighted", 4, 2.5))


def test_mean_of_numbers_of_which_lower_ones_are_better_is_refused() -> None:
    errors = {"kind": "integer", "min": 0, "max": 20, "lower_is_better": True}
    rule = {"rule": "mean", "pass_from": 4}
    with pytest.raises(RubricError) as refused:
        rubric_from_json({"verdict": rule, "criteria": [{"name": "errors", "scale": errors}]})
    sentence = "A mean needs scales on which higher numbers are better."
    assert refused.value.problems == [("verdict.rule", sentence)]
