"""Expressions of mappings stay within their budget of steps and characters."""

import json
import tracemalloc

import pytest

from reviews.records import expressions, mapping
from reviews.records.expressions import ExpressionBudget, ExpressionError
from reviews.records.mapping import MappingError
from reviews.records.schema import Limits, LineError
from reviews.records.translation import translate
from tests.support.lines import line

LINE = line(text="x" * 400, words=["a", "b"], numbers=[1, 2, 3])
DATA = json.loads(LINE)
HOSTILE = (
    " | ".join(["[@,@]"] * 38),
    " | ".join(["[@,@][]"] * 38),
    " | ".join(["{a:@,b:@}"] * 30),
    " | ".join(["[@,@] | to_string(@)"] * 14),
    " | ".join(["[to_string(@)]"] * 20 + ["to_string(@)"]),
    " | ".join(["[@,@]"] * 14 + ["[*].to_string(@)", "join('', @)"]),
    " | ".join(["[@,@]"] * 13 + ["map(&[@,@,@,@], @)", "map(&[@,@,@,@], @)"]),
    "join(to_string(@), words) | [@,@,@,@,@,@,@,@] | join(to_string(@), @) | join(to_string(@), [@,@,@])",
    " | ".join(["numbers"] + ["[@,@,@,@,@,@,@,@,@][]"] * 3 + ["sort_by(@, &to_string([@,@,@,@]))"])
    + " | map(&join('', map(&to_string(@), [@,@,@])), @) | [@,@,@,@,@,@][]",
    " | ".join(["merge(@, {a: @, b: @})"] * 30),
    " | ".join(["[@,@][]"] * 12 + ["[?contains(to_string(@), 'x')]"] * 3),
    " | ".join(["[@,@][]"] * 16 + ["reverse(@)", "[::2]", "max_by(@, &to_string(@))"]),
)


class TestBudget:
    @pytest.mark.parametrize("expression", HOSTILE)
    def test_expression_that_multiplies_is_stopped(self, expression: str) -> None:
        budget = ExpressionBudget(len(LINE), Limits().line_bytes)
        expressions.compiled(expression)
        tracemalloc.start()
        with pytest.raises(ExpressionError, match="that a line of this size allows"):
            expressions.value(expression, DATA, budget)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 4 * 1024**2

    def test_budget_is_for_all_expressions_of_a_line(self) -> None:
        toml = (
            b"[fields]\nevaluation_id='evaluation_id'\njudge_llm_model='judge_llm_model'\n"
            b"judge_prompt_template_path='judge_llm_model'\ncreated_at='created_at'\n"
        )
        toml += b"[[criteria]]\nname=\"'a'\"\nscore='numbers[0]'\njustification='@'\n" * 200
        with pytest.raises(
            LineError, match="parsed_rubric_scores: has no value by the mapping: @: "
        ) as caught:
            translate(LINE, Limits(), mapping.parse_mapping(toml))
        assert "that a line of this size allows" in caught.value.reason

    @pytest.mark.slow
    def test_budget_grows_with_the_line(self) -> None:
        data = {"a": [{"b": "x" * 50, "c": [1, 2]}] * 20_000}
        budget = ExpressionBudget(len(json.dumps(data)), Limits().line_bytes)
        assert len(expressions.value("a[?b].{d: b, e: c} | [*].[d, e]", data, budget)) == 20_000


class TestStaticLimits:
    @pytest.mark.parametrize(
        ("expression", "reason"),
        [
            ("a" * 2_001, "is longer than 2,000 characters"),
            ("[" * 100 + "@" + "]" * 100, "is nested deeper than 50"),
            ("(" * 990 + "@" + ")" * 990, "is nested deeper than 50|is not valid JMESPath"),
            (" | ".join(["@"] * 60), "is nested deeper than 50"),
            ("a[", "is not valid JMESPath"),
        ],
    )
    def test_expression_beyond_the_limits_is_refused(self, expression: str, reason: str) -> None:
        with pytest.raises(ExpressionError, match=reason):
            expressions.compiled(expression)

    def test_mapping_with_too_many_criteria_is_refused(self) -> None:
        with pytest.raises(MappingError, match="criteria: has more than 200 tables"):
            mapping.parse_mapping(b"[[criteria]]\nname='a'\nscore='b'\n" * 201)

    def test_reason_of_a_refused_line_is_short(self) -> None:
        toml = (
            b"[fields]\nevaluation_id='evaluation_id'\njudge_llm_model='judge_llm_model'\n"
            b"judge_prompt_template_path='judge_llm_model'\ncreated_at='abs(%b)'\n" % (b"a" * 1_900)
        )
        with pytest.raises(LineError) as caught:
            translate(LINE, Limits(), mapping.parse_mapping(toml))
        assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize("expression", ["text > `5`", "numbers[?@ < 'a']"])
def test_comparison_of_a_text_with_a_number_is_named(expression: str) -> None:
    with pytest.raises(ExpressionError, match=r"^compares a text with a number, which have no order$"):
        expressions.value(expression, DATA, ExpressionBudget(len(LINE), Limits().line_bytes))
