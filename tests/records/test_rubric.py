"""Rubrics: levels of scores, and the verdict that scores result in."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records.rubric import VERDICT_OF_LEVEL, Cause, Criterion, Rubric, VerdictRule
from reviews.records.scales import YES_PARTIAL_NO, Level, PairwiseScale, RangeScale, ValueScale
from tests.support.rubric_strategies import JSON, RUBRICS
from tests.support.rubrics import rubric_of

GRADES = rubric_of(scale=ValueScale(("Good", 1, True, "Fair", "Poor", "1", 0), True, "Fair", ("N/A",)))
FIVE = RangeScale(1, 5)
MEAN = rubric_of(scale=FIVE, rule=VerdictRule("mean", 4, 2.5))
MIXED = Rubric(
    (
        Criterion("clarity"),
        Criterion("rigor", scale=RangeScale(1, 10, pass_from=7, partial_from=4)),
        Criterion("safe", scale=ValueScale((True, False), pass_from=True)),
        Criterion("better", scale=PairwiseScale()),
        Criterion("tone", is_required=False, scale=ValueScale(("warm", "cold"))),
    )
)


def verdict_of(rubric: Rubric, scores: list[Any]) -> str | None:
    return rubric.aggregate({f"criterion {place}": score for place, score in enumerate(scores)})


class TestRubric:
    def test_default_rubric_has_no_criteria_and_the_usual_scale(self) -> None:
        assert Rubric().scale.buttons == ("Yes", "Partial", "No")
        assert Rubric().rule == VerdictRule("worst")
        assert [cause.word for cause in Rubric().causes] == [
            *(
                "too strict",
                "too lenient",
                "misread the answer",
                "calculation error",
                "missed a step",
                "hallucinated fact",
            ),
            *("right score, wrong reasoning", "wrong reference", "verifier error", "unclear rubric", "other"),
        ]

    def test_unlisted_criterion_has_the_scale_of_the_rubric(self) -> None:
        assert MIXED.criterion("new_one") == Criterion("new_one")
        assert MIXED.scale_of("new_one") == MIXED.scale
        assert (MIXED.title("new_one"), MIXED.level("new_one", "Yes")) == ("New one", "yes")

    def test_title_replaces_the_name_on_pages(self) -> None:
        assert Rubric((Criterion("a_b", "Steps"),)).title("a_b") == "Steps"
        assert Rubric((Criterion("a_b"),)).title("a_b") == "A b"

    def test_criterion_has_its_own_scale(self) -> None:
        assert [
            MIXED.level("clarity", "Partial"),
            MIXED.level("rigor", 8),
            MIXED.level("safe", False),
            MIXED.level("better", "A"),
            MIXED.level("tone", "warm"),
            MIXED.level("rigor", "Yes"),
        ] == ["partial", "yes", "no", None, None, None]

    def test_cause_is_found_by_its_word(self) -> None:
        assert Rubric().cause("calculation error") == Cause("Calculation error")
        assert Rubric().cause("Calculation error") is None

    def test_fingerprint_differs_for_every_change(self) -> None:
        others = [
            Rubric(),
            MIXED,
            replace(MIXED, criteria=MIXED.criteria[::-1]),
            replace(MIXED, scale=FIVE),
            replace(MIXED, rule=VerdictRule("none")),
            replace(MIXED, causes=()),
            replace(MIXED, criteria=(replace(MIXED.criteria[0], weight=0), *MIXED.criteria[1:])),
            replace(MIXED, criteria=(replace(MIXED.criteria[0], is_required=False), *MIXED.criteria[1:])),
            replace(MIXED, criteria=(replace(MIXED.criteria[0], description="?"), *MIXED.criteria[1:])),
            replace(MIXED, scale=ValueScale((1, 0))),
            replace(MIXED, scale=ValueScale((True, False))),
        ]
        assert len({rubric.fingerprint for rubric in others}) == len(others)
        assert Rubric().fingerprint == Rubric().fingerprint


class TestWorstRule:
    @pytest.mark.parametrize(
        ("scores", "verdict"),
        [
            (["Yes", "Yes"], "Pass"),
            (["Yes", "Partial", "Yes"], "Partial"),
            (["Partial", "No", "Yes"], "Fail"),
            (["No"], "Fail"),
            ([" yes ", "YES"], "Pass"),
            (["partial", "Yes"], "Partial"),
        ],
    )
    def test_worst_score_decides(self, scores: list[str], verdict: str) -> None:
        assert verdict_of(Rubric(), scores) == verdict

    @pytest.mark.parametrize(
        "scores",
        [[], [""], ["Yes", ""], ["No", None], ["Yes", 3], [True], ["Yes", "Maybe"], [["Yes"]], [{"a": "No"}]],
    )
    def test_verdict_is_none_without_scores_or_with_an_unknown_one(self, scores: list[Any]) -> None:
        assert verdict_of(Rubric(), scores) is None

    @pytest.mark.parametrize(
        ("scores", "verdict"),
        [
            ({"a": {"score": "No"}, "b": {"score": "Yes", "justification": "So."}}, "Fail"),
            ({"a": "Yes", "b": "Partial"}, "Partial"),
            ({"a": {"justification": "No score."}}, None),
            ({}, None),
            (None, None),
        ],
    )
    def test_verdict_reads_parsed_rubric_scores(self, scores: Any, verdict: str | None) -> None:
        assert Rubric().verdict(scores) == verdict

    @pytest.mark.parametrize(
        ("scores", "verdict"),
        [
            (["good", "Good "], "Pass"),
            (["Good", "Fair"], "Partial"),
            (["Poor", "Good"], "Fail"),
            ([1], "Pass"),
            ([1.0], "Pass"),
            (["1"], "Fail"),
            ([True], "Pass"),
            ([0], "Fail"),
            ([False], None),
            (["Yes"], None),
        ],
    )
    def test_verdict_distinguishes_json_types(self, scores: list[Any], verdict: str | None) -> None:
        assert verdict_of(GRADES, scores) == verdict

    @pytest.mark.parametrize(
        ("scores", "verdict"),
        [
            ({"clarity": "Yes", "rigor": 7, "safe": True}, "Pass"),
            ({"clarity": "Yes", "rigor": "4", "safe": True}, "Partial"),
            ({"clarity": "Yes", "rigor": 9, "safe": False}, "Fail"),
            ({"clarity": "Yes", "rigor": 11}, None),
            ({"clarity": 9}, None),
        ],
    )
    def test_criteria_with_different_scales_make_one_verdict(
        self, scores: dict[str, Any], verdict: str | None
    ) -> None:
        assert MIXED.aggregate(scores) == verdict

    def test_verdict_skips_preferences_and_values_without_a_rank(self) -> None:
        assert MIXED.aggregate({"clarity": "Yes", "better": "B"}) == "Pass"
        assert MIXED.aggregate({"better": "B"}) is None
        assert verdict_of(GRADES, ["Fair", "n/a"]) == "Partial"
        assert verdict_of(GRADES, ["N/A", "N/A"]) is None

    def test_missing_preference_is_not_skipped(self) -> None:
        assert MIXED.aggregate({"clarity": "Yes", "better": None}) is None

    def test_score_without_a_level_prevents_a_verdict(self) -> None:
        assert MIXED.aggregate({"clarity": "Yes", "tone": "warm"}) is None

    def test_optional_criterion_may_be_absent(self) -> None:
        assert MIXED.aggregate({"clarity": "Yes", "rigor": 7, "safe": True, "better": "A"}) == "Pass"


class TestMeanRule:
    @pytest.mark.parametrize(
        ("scores", "verdict"),
        [
            ([4], "Pass"),
            ([5, 3], "Pass"),
            ([5, 2.9], "Partial"),
            ([1, 4], "Partial"),
            ([2, 2.9], "Fail"),
            (["5", 3], "Pass"),
        ],
    )
    def test_mean_is_compared_with_thresholds(self, scores: list[Any], verdict: str) -> None:
        assert verdict_of(MEAN, scores) == verdict

    @pytest.mark.parametrize(
        "scores", [[], [4, None], [4, "four"], [4, True], [4, "Yes"], [4, 6], [float("nan")], [[4]]]
    )
    def test_mean_is_none_without_numbers_of_the_scale(self, scores: list[Any]) -> None:
        assert verdict_of(MEAN, scores) is None

    def test_mean_counts_zero(self) -> None:
        rubric = rubric_of(scale=RangeScale(0, 1), rule=VerdictRule("mean", 0.5))
        assert verdict_of(rubric, [0, 0, 1]) == "Fail"
        assert verdict_of(rubric, [0]) == "Fail"
        assert verdict_of(rubric_of(scale=RangeScale(0, 1), rule=VerdictRule("mean", 0)), [0]) == "Pass"

    @pytest.mark.parametrize("score", [place / 100 for place in range(1, 100)])
    def test_mean_of_equal_scores_is_that_score(self, score: float) -> None:
        rubric = rubric_of(scale=RangeScale(0, 1, is_integer=False), rule=VerdictRule("mean", score))
        assert verdict_of(rubric, [score] * 3) == verdict_of(rubric, [score] * 7) == "Pass"

    def test_values_count_by_rank(self) -> None:
        rubric = rubric_of(rule=VerdictRule("mean", 0.75, 0.5))
        assert [
            verdict_of(rubric, scores) for scores in (["Yes", "Partial"], ["Partial"], ["No", "Yes", "No"])
        ] == [
            *("Pass", "Partial", "Fail"),
        ]

    def test_mean_skips_values_without_a_rank(self) -> None:
        scale = ValueScale(("Yes", "No"), "Yes", unranked=("N/A",))
        rubric = rubric_of(scale=scale, rule=VerdictRule("mean", 1))
        assert verdict_of(rubric, ["Yes", "N/A"]) == "Pass"
        assert verdict_of(rubric, ["N/A"]) is None

    def test_mean_without_partial_passes_or_fails(self) -> None:
        rubric = replace(MEAN, rule=VerdictRule("mean", 4))
        assert [verdict_of(rubric, [score]) for score in (4, 3, 1)] == ["Pass", "Fail", "Fail"]

    @pytest.mark.parametrize(
        ("score", "level"), [(5, "yes"), (3, "partial"), (1, "no"), (6, None), (True, None)]
    )
    def test_score_without_levels_has_the_level_of_a_mean(self, score: Any, level: Level | None) -> None:
        assert MEAN.level("a", score) == level

    def test_levels_of_the_scale_precede_those_of_the_mean(self) -> None:
        rubric = replace(MEAN, scale=replace(FIVE, pass_from=5))
        assert (rubric.level("a", 4), rubric.aggregate({"a": 4})) == ("no", "Pass")


class TestWeightedRule:
    rubric = Rubric(
        (Criterion("a", weight=3), Criterion("b"), Criterion("c", weight=0)),
        FIVE,
        VerdictRule("weighted", 4, 3),
    )

    @pytest.mark.parametrize(
        ("scores", "verdict"),
        [
            ({"a": 5, "b": 1}, "Pass"),
            ({"a": 1, "b": 5}, "Fail"),
            ({"a": 4, "b": 3}, "Partial"),
            ({"a": 5, "c": 1}, "Pass"),
            ({"a": 5, "unlisted": 1}, "Pass"),
            ({"c": 5}, None),
            ({"a": 5, "c": "?"}, None),
        ],
    )
    def test_weights_count_in_the_weighted_mean(self, scores: dict[str, Any], verdict: str | None) -> None:
        assert self.rubric.aggregate(scores) == verdict

    def test_plain_mean_ignores_weights(self) -> None:
        plain = replace(self.rubric, rule=VerdictRule("mean", 4, 3))
        assert plain.aggregate({"a": 5, "b": 1, "c": 3}) == "Partial"
        assert [plain.weight(name) for name in plain.names] == [1, 1, 1]
        assert [self.rubric.weight(name) for name in (*plain.names, "d")] == [3, 1, 0, 1]


class TestNoRule:
    def test_rule_none_gives_no_verdict_but_levels(self) -> None:
        rubric = rubric_of(rule=VerdictRule("none"))
        assert verdict_of(rubric, ["No", "Yes"]) is None
        assert rubric.level("a", "No") == "no"


class TestVerdictRule:
    @pytest.mark.parametrize(
        ("rule", "problems"),
        [
            (VerdictRule(), []),
            (VerdictRule("none"), []),
            (VerdictRule("worst", 1, 2), []),
            (VerdictRule("mean", 0, 0), []),
            (VerdictRule("mean"), [("pass_from", "Enter the lowest mean that passes.")]),
            (VerdictRule("weighted", None, 2), [("pass_from", "Enter the lowest mean that passes.")]),
            (
                VerdictRule("mean", 2, 3),
                [("partial_from", "The lowest mean of a Partial cannot be above that of a Pass.")],
            ),
        ],
    )
    def test_problems_have_their_place(self, rule: VerdictRule, problems: list[tuple[str, str]]) -> None:
        assert [*rule.problems()] == problems

    def test_rule_json_has_thresholds_only_of_means(self) -> None:
        assert VerdictRule("worst", 1, 2).as_json() == {"rule": "worst"}
        assert VerdictRule("mean", 0).as_json() == {"rule": "mean", "pass_from": 0}
        assert VerdictRule("weighted", 4, 0).as_json() == {
            "rule": "weighted",
            "pass_from": 4,
            "partial_from": 0,
        }


@pytest.mark.slow
@given(RUBRICS, st.data())
def test_verdict_follows_from_the_levels_or_the_mean(rubric: Rubric, data: st.DataObject) -> None:
    names = st.sampled_from([*rubric.names, "another"])
    scores = data.draw(
        st.lists(names, unique=True).flatmap(
            lambda chosen: st.fixed_dictionaries(
                {
                    name: st.sampled_from([*rubric.scale_of(name).buttons, 0, 1, "Yes", None])
                    for name in chosen
                }
            )
        )
    )
    counted = {name: score for name, score in scores.items() if not rubric.scale_of(name).is_skipped(score)}
    levels = {rubric.level(name, score) for name, score in counted.items()}
    amounts = {name: rubric.scale_of(name).amount(score) for name, score in counted.items()}
    weights = {name: Fraction(rubric.weight(name)) for name in counted}
    verdict = rubric.aggregate(scores)
    if not counted or rubric.rule.kind == "none":
        assert verdict is None
    elif rubric.rule.kind == "worst":
        worst = next((level for level in ("no", "partial", "yes") if level in levels), None)
        assert verdict == (None if None in levels or worst is None else VERDICT_OF_LEVEL[worst])
    elif None in amounts.values() or not sum(weights.values()):
        assert verdict is None
    else:
        total = sum(Fraction(amount or 0) * weights[name] for name, amount in amounts.items())
        mean = float(total / sum(weights.values()))
        near = {mean + share * max(1, abs(mean)) for share in (-1e-8, 0, 1e-8)}
        assert verdict in {VERDICT_OF_LEVEL[rubric.rule.level(close)] for close in near}


@pytest.mark.slow
@given(RUBRICS, st.dictionaries(st.text(), JSON))
def test_any_scores_can_be_aggregated(rubric: Rubric, scores: dict[str, Any]) -> None:
    scores |= dict.fromkeys(rubric.names, next(iter(scores.values()), None))
    assert rubric.aggregate(scores) in {"Pass", "Partial", "Fail", None}
    assert rubric.verdict(scores) in {"Pass", "Partial", "Fail", None}
    assert json.dumps([rubric.level(name, score) for name, score in scores.items()])


def test_rubric_has_a_verdict_by_levels_or_by_a_mean() -> None:
    words = ValueScale(("good", "bad"))
    assert Rubric().has_verdict
    assert not Rubric(rule=VerdictRule("none")).has_verdict
    assert not Rubric(scale=words).has_verdict
    assert Rubric(scale=words, rule=VerdictRule("mean", 1)).has_verdict
    assert Rubric((Criterion("a", scale=YES_PARTIAL_NO),), words).has_verdict
