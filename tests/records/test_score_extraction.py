"""Score extraction from raw judge output, without inventing scores."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records.score_extraction import (
    MAX_CHARACTERS,
    MAX_NAME,
    STEPS,
    Extraction,
    Proposal,
    Repair,
    extract_scores,
    raw_text,
)

CRITERIA = {
    "correctness": {"score": "No", "justification": r"The answer is \(\frac{1}{2}\), not \(\theta\)."},
    "completeness": {"score": "Partial", "justification": 'Step 2 says "clearly".\nIt is not clear.'},
    "accuracy": {"score": "Yes", "justification": "Zwölf ∞ 😀"},
}
NOTHING = Extraction()


def read(text: str) -> Extraction:
    return extract_scores({"raw_content": text})


def criteria(found: Extraction) -> dict[str, dict[str, Any]]:
    by_name = {
        proposal.criterion: {"score": proposal.score, "justification": proposal.justification}
        for proposal in found.proposals
    }
    assert len(by_name) == len(found.proposals)
    return by_name


def scores(found: Extraction) -> dict[str, Any]:
    return {criterion: judged["score"] for criterion, judged in criteria(found).items()}


def only(found: Extraction) -> Proposal:
    assert len(found.proposals) == 1
    return found.proposals[0]


def steps_of(proposal: Proposal) -> tuple[str, ...]:
    return tuple(repair.step for repair in proposal.repairs)


def fenced(value: Any) -> str:
    return "```json\n" + json.dumps(value, indent=2, ensure_ascii=False) + "\n```"


@pytest.fixture
def outputs(sample: bytes) -> list[dict[str, str]]:
    """Return the raw judge outputs of a sample."""
    return [json.loads(line)["raw_judge_output"] for line in sample.splitlines()]


class TestSampleOutput:
    def test_sample_output_gives_four_scores_per_record(self, outputs: list[dict[str, str]]) -> None:
        assert [len(extract_scores(output).proposals) for output in outputs] == [4] * 75
        words = {proposal.score for output in outputs for proposal in extract_scores(output).proposals}
        assert words == {"Yes", "No"}

    def test_extraction_agrees_with_a_strict_parser(self, outputs: list[dict[str, str]]) -> None:
        same = 0
        for output in outputs:
            block = output["raw_content"].removeprefix("```json").removesuffix("```")
            try:
                strict = json.loads(block)
            except json.JSONDecodeError:
                assert "backslash" in extract_scores(output).steps
            else:
                assert criteria(extract_scores(output)) == strict
                assert extract_scores(output).steps == ("fence", "unwrap")
                same += 1
        assert same == 71

    def test_extraction_keeps_latex(self, outputs: list[dict[str, str]]) -> None:
        found = [proposal for output in outputs for proposal in extract_scores(output).proposals]
        assert not any(character < " " for proposal in found for character in proposal.justification)
        mended = [proposal for proposal in found if proposal.repairs]
        assert len(mended) == 7
        assert all("\\" in proposal.justification for proposal in mended)

    def test_extraction_gives_the_span_of_each_criterion(self, outputs: list[dict[str, str]]) -> None:
        for output in outputs:
            for proposal in extract_scores(output).proposals:
                part = raw_text(output)[slice(*proposal.span)]
                assert part.startswith(f'"{proposal.criterion}": {{')
                assert part.endswith("}")
                if not proposal.repairs:
                    own = json.loads("{" + part + "}")[proposal.criterion]
                    assert own == {"score": proposal.score, "justification": proposal.justification}


class TestShapes:
    """The criteria are the same in each layout."""

    @pytest.mark.parametrize(
        ("text", "steps"),
        [
            pytest.param(json.dumps({"evaluation": CRITERIA}), (), id="as they belong"),
            pytest.param(fenced({"evaluation": CRITERIA}), ("fence",), id="in a fence"),
            pytest.param(
                "Here is $\\sqrt{2}$:\n" + json.dumps({"evaluation": CRITERIA}) + "\nThat is all {I} say.",
                ("fence",),
                id="between other text",
            ),
            pytest.param(json.dumps(CRITERIA), ("unwrap",), id="without a wrapper"),
            pytest.param(json.dumps({"assessment": CRITERIA}), ("unwrap",), id="in another wrapper"),
            pytest.param(json.dumps({"a": {"b": {"c": CRITERIA}}}), ("unwrap",), id="in three wrappers"),
            pytest.param(json.dumps({"evaluation": CRITERIA, "verdict": "Fail"}), (), id="beside a verdict"),
            pytest.param(
                json.dumps({"evaluation": {"score": "Fail", **CRITERIA}}), ("unwrap",), id="beside a total"
            ),
            pytest.param(
                fenced({"evaluation": CRITERIA}) + "\n\n" + fenced({"evaluation": CRITERIA}),
                ("fence",),
                id="twice",
            ),
        ],
    )
    def test_known_shapes_are_read(self, text: str, steps: tuple[str, ...]) -> None:
        found = read(text)
        assert criteria(found) == CRITERIA
        assert found.steps == steps
        assert {proposal.repairs for proposal in found.proposals} == {()}

    def test_list_of_criteria_is_read(self) -> None:
        rows = [{"Criterion": name, **judged} for name, judged in CRITERIA.items()]
        found = read(json.dumps({"evaluation": rows}))
        assert criteria(found) == CRITERIA
        assert found.steps == ("key case",)
        assert {steps_of(proposal) for proposal in found.proposals} == {("key case",)}

    @pytest.mark.parametrize(
        "judged",
        [
            {"Score": "No", "Justification": "Off by one."},
            {"SCORE": "No", "justification": "Off by one."},
            {"score": "No", "reason": "Off by one."},
            {"score": "No", "Rationale": "Off by one."},
        ],
    )
    def test_keys_can_be_spelled_differently(self, judged: dict[str, str]) -> None:
        found = read(json.dumps({"evaluation": {"accuracy": judged}}))
        assert only(found)[:3] == ("accuracy", "No", "Off by one.")
        assert found.steps == steps_of(only(found)) == ("key case",)

    def test_last_occurrence_of_a_criterion_counts(self) -> None:
        found = read(fenced(CRITERIA) + "\nOn reflection:\n" + fenced({"accuracy": {"score": "Partial"}}))
        assert scores(found) == {"correctness": "No", "completeness": "Partial", "accuracy": "Partial"}
        assert [proposal.repairs for proposal in found.proposals] == [
            (),
            (),
            (Repair("repetition", "Yes", "Partial"),),
        ]

    @pytest.mark.parametrize("score", ["Yes", "partially", 3, 2.5, 0, True, False])
    def test_score_keeps_its_type(self, score: str | float) -> None:
        proposed = only(read(json.dumps({"accuracy": {"score": score, "justification": ""}}))).score
        assert (proposed, type(proposed)) == (score, type(score))

    def test_justification_that_is_no_text_becomes_json(self) -> None:
        text = json.dumps({"accuracy": {"score": "No", "justification": ["sign", "limit"]}})
        assert only(read(text)).justification == '["sign", "limit"]'

    def test_line_breaks_in_strings_are_accepted(self) -> None:
        found = read('{"accuracy": {"score": "No", "justification": "a\nb"}}')
        assert only(found).justification == "a\nb"
        assert found.steps == ("unwrap",)


YES, NO = ({"score": score, "justification": f"It is {score}."} for score in ("Yes", "No"))


class TestGroups:
    """Criteria with the same name in different groups are all proposed."""

    @pytest.mark.parametrize(
        ("value", "names"),
        [
            pytest.param(
                {"proof": {"rigor": YES, "style": YES}, "answer": {"rigor": NO}},
                ["proof.rigor", "style", "answer.rigor"],
                id="two groups",
            ),
            pytest.param(
                {"evaluation": {"proof": {"rigor": YES}, "answer": {"rigor": NO}}},
                ["proof.rigor", "answer.rigor"],
                id="in a wrapper",
            ),
            pytest.param(
                {"rigor": YES, "answer": {"rigor": NO}},
                ["rigor", "answer.rigor"],
                id="in a group and in none",
            ),
            pytest.param(
                {"a": {"x": {"rigor": YES}, "y": {"rigor": NO}}, "b": {"style": YES}},
                ["a.x.rigor", "a.y.rigor", "style"],
                id="groups of groups",
            ),
            pytest.param(
                {"proof": [{"criterion": "rigor", **YES}], "answer": [{"criterion": "rigor", **NO}]},
                ["proof.rigor", "answer.rigor"],
                id="lists",
            ),
            pytest.param(
                [{"name": "proof", "scores": {"rigor": YES}}, {"name": "answer", "scores": {"rigor": NO}}],
                ["proof.scores.rigor", "answer.scores.rigor"],
                id="a list of groups",
            ),
            pytest.param(
                {
                    "proof": {"rigor": {"score": "Yes", "justification": 'Of "}" and {.'}},
                    "answer": {"rigor": NO},
                },
                ["proof.rigor", "answer.rigor"],
                id="brackets in texts",
            ),
        ],
    )
    def test_equal_names_have_their_groups(self, value: Any, names: list[str]) -> None:
        found = read("So {I} say:\n" + fenced(value))
        assert list(scores(found)) == names
        rigor = [proposal for proposal in found.proposals if proposal.criterion.endswith("rigor")]
        assert [proposal.score for proposal in rigor] == ["Yes", "No"]
        assert not any("repetition" in steps_of(proposal) for proposal in found.proposals)

    def test_groups_of_broken_text_are_known(self) -> None:
        text = json.dumps({"evaluation": {"proof": {"rigor": YES}, "answer": {"rigor": NO, "style": NO}}})
        assert list(scores(read(text[: text.index("style") + 20]))) == ["proof.rigor", "answer.rigor"]
        assert list(scores(read(text.replace('"Yes", ', '"Yes" ')))) == [
            "proof.rigor",
            "answer.rigor",
            "style",
        ]

    def test_groups_of_a_broken_draft_end_with_it(self) -> None:
        draft = json.dumps({"evaluation": {"proof": {"rigor": NO, "style": NO}}})
        found = read(
            draft[: draft.index("style") + 5] + "\n```\nAgain:\n" + fenced({"proof": {"rigor": YES}})
        )
        assert scores(found) == {"rigor": "Yes"}
        assert found.steps[-1] == "repetition"

    def test_repetition_in_a_list_is_noted(self) -> None:
        found = only(read(json.dumps([{"criterion": "rigor", **YES}, {"criterion": "rigor", **NO}])))
        assert (found.score, found.repairs[-1]) == ("No", Repair("repetition", "Yes", "No"))

    def test_score_that_was_repeated_needs_no_note(self) -> None:
        assert only(read(fenced({"rigor": YES}) + fenced({"rigor": YES}))).repairs == ()


class TestLatex:
    def test_span_counts_in_the_original_text_with_latex(self) -> None:
        text = (
            r'{"first": {"score": "Yes", "justification": "\frac{1}{2} \(x\)\nuse \neq, \\beta"},'
            r' "second": {"score": "No", "justification": "plain"}}'
        )
        first, second = read(text).proposals
        assert first.justification == "\\frac{1}{2} \\(x\\)\nuse \\neq, \\beta"
        assert (steps_of(first), second.repairs) == (("backslash",), ())
        assert text[slice(*first.span)].endswith('beta"}')
        assert text[slice(*second.span)] == '"second": {"score": "No", "justification": "plain"}'

    def test_criterion_name_can_contain_latex(self) -> None:
        assert only(read(r'{"value of \theta": {"score": "No"}}')).criterion == r"value of \theta"


class TestDamage:
    def test_truncation_anywhere_invents_nothing(self) -> None:
        text = fenced({"evaluation": CRITERIA})
        for end in range(len(text)):
            found = read(text[:end])
            for proposal in found.proposals:
                whole = CRITERIA[proposal.criterion]
                assert proposal.score == whole["score"]
                assert whole["justification"].startswith(proposal.justification.rstrip("\\ "))
                assert (
                    steps_of(proposal) == ("truncation",) or proposal.justification == whole["justification"]
                )
            if found.proposals and end < text.rindex("}"):
                assert "truncation" in found.steps

    def test_truncation_keeps_preceding_criteria(self) -> None:
        text = fenced({"evaluation": CRITERIA})
        found = read(text[: text.index("Zwölf") + 3])
        assert [steps_of(proposal) for proposal in found.proposals] == [(), (), ("truncation",)]
        assert found.proposals[2].justification == "Zwö"

    def test_truncated_score_is_ignored(self) -> None:
        assert read('{"accuracy": {"score": "Part') == NOTHING
        assert read('{"accuracy": {"score": 1') == NOTHING
        assert read('{"accuracy": {"score":') == NOTHING

    @pytest.mark.parametrize(
        ("judged", "justification"),
        [
            ('{"score": "No" "justification": "No comma."}', "No comma."),
            ('{"score": "No", "justification": "A comma.",}', "A comma."),
            ('{"score": "No", "justification": "It says "54" here."}', 'It says "54" here.'),
            ('{"score": No, "justification": "No quotes."}', "No quotes."),
        ],
    )
    def test_broken_criterion_is_repaired_alone(self, judged: str, justification: str) -> None:
        around = '{"score": "Yes", "justification": "Fine."}'
        text = f'{{"evaluation": {{"first": {around}, "second": {judged}, "third": {around}}}}}'
        found = read(text)
        assert [proposal[:3] for proposal in found.proposals] == [
            ("first", "Yes", "Fine."),
            ("second", "No", justification),
            ("third", "Yes", "Fine."),
        ]
        assert [steps_of(proposal) for proposal in found.proposals] == [(), ("truncation",), ()]
        assert text[slice(*found.proposals[1].span)] == f'"second": {judged.rstrip(",")}'
        assert found.steps == ("truncation",)

    def test_unclosed_criterion_does_not_contain_the_next(self) -> None:
        found = read(
            '{"evaluation": {"first": {"score": "No", "justification": "Open.",'
            ' "second": {"score": "Yes", "justification": "Fine."}}}'
        )
        assert scores(found) == {"first": "No", "second": "Yes"}
        assert found.steps == ("truncation",)

    def test_brace_in_a_string_is_ignored(self) -> None:
        text = json.dumps(
            {"evaluation": {"a {": {"score": "No"}, "note": "an open {", "b": {"score": "Yes"}}}
        )
        assert scores(read(text)) == {"a {": "No", "b": "Yes"}
        assert read(text).steps == ()

    def test_brace_before_the_criteria_is_ignored(self) -> None:
        found = read('I choose from {"Yes", "No"}.\n' + fenced({"evaluation": CRITERIA}))
        assert criteria(found) == CRITERIA
        assert "truncation" not in found.steps

    def test_fence_after_truncation_is_not_part_of_the_criterion(self) -> None:
        found = read('```json\n{"accuracy": {"score": "No", "justification": "It stops\n```\nSorry.')
        assert only(found).justification == "It stops"


class TestRepairs:
    """Each repair lists the original text and its replacement."""

    @pytest.mark.parametrize(
        ("text", "repair"),
        [
            pytest.param(
                r'{"a": {"score": "No", "justification": "It is \frac{1}{2} \(x\), no more."}}',
                Repair("backslash", r"\frac{1}{2} ", r"\\frac{1}{2} "),
                id="LaTeX",
            ),
            pytest.param(
                '{"evaluation": [{"Criterion": "a", "Score": "No", "Reason": "x"}]}',
                Repair("key case", '"Criterion", "Score", "Reason"', '"a", "score", "justification"'),
                id="keys",
            ),
            pytest.param(
                '{"a": {"score": "No" "justification": "x"}}',
                Repair(
                    "truncation",
                    '{"score": "No" "justification": "x"}}',
                    '{"score": "No", "justification": "x"}',
                ),
                id="a missing comma",
            ),
            pytest.param(
                '{"a": {"score": "No", "justification": "It stops in the middle of a',
                Repair("truncation", '…: "It stops in the middle of a', '…: "It stops in the middle of a"}'),
                id="a cut",
            ),
        ],
    )
    def test_repair_shows_text_before_and_after(self, text: str, repair: Repair) -> None:
        assert repair.before.strip("…") in text or repair.step == "key case"
        assert only(read(text)).repairs == (repair,)

    def test_repairs_are_in_the_order_of_steps(self) -> None:
        found = only(read(r'{"a": {"Score": "No", "justification": "\theta grows'))
        assert steps_of(found) == ("key case", "backslash", "truncation")

    def test_repair_excerpt_begins_at_the_criterion(self) -> None:
        text = r'{"a": {"score": "No", "comment": "\(x\)"}, "b": {"score": "No", "comment": "of \pi"}}'
        found = read(text).proposals
        assert [proposal.repairs[1].before for proposal in found] == [r"\(x", r"\pi"]


class TestInvention:
    @pytest.mark.parametrize(
        "judged",
        [
            '{"justification": "I cannot say."}',
            '{"score": null, "justification": "I cannot say."}',
            '{"score": "", "justification": "I cannot say."}',
            '{"score": " ", "justification": "I cannot say."}',
            '{"score": ["Yes"], "justification": "I cannot say."}',
            '{"score": {"score": "Yes"}, "justification": "I cannot say."}',
            '{"score": {"value": "Yes"}, "justification": "I cannot say."}',
            '{"score": NaN, "justification": "I cannot say."}',
            '{"score": 1e999, "justification": "I cannot say."}',
            '{"score": 99999999999999999999, "justification": "I cannot say."}',
            '{"score": "Yes" or "No", "justification": "I cannot say."}',
            '"Yes"',
        ],
    )
    def test_missing_score_is_not_invented(self, judged: str) -> None:
        text = f'{{"evaluation": {{"first": {judged}, "second": {{"score": "No", "justification": "x"}}}}}}'
        assert scores(read(text)) == {"second": "No"}

    def test_criterion_without_a_name_is_ignored(self) -> None:
        assert read('{"score": "Yes", "justification": "All is well."}') == NOTHING
        assert read('{" ": {"score": "Yes"}}') == NOTHING

    def test_unstorable_characters_are_replaced(self) -> None:
        found = only(read(r'{"a\u0000b": {"score": "Y\u0000", "justification": "\ud800 and 😀"}}'))
        assert found[:3] == ("a\ufffdb", "Y\ufffd", "\ufffd and 😀")


class TestRawText:
    def test_raw_text_is_the_raw_content(self) -> None:
        assert raw_text({"raw_content": "said", "model": "gpt-4o"}) == "said"

    def test_raw_text_is_any_other_text(self) -> None:
        output = {"choices": [{"message": {"content": fenced(CRITERIA)}}], "model": "gpt-4o", "tokens": 12}
        assert raw_text(output) == fenced(CRITERIA) + "\n\ngpt-4o"
        assert criteria(extract_scores(output)) == CRITERIA

    def test_raw_text_prefers_text_with_criteria(self) -> None:
        output = {"content": fenced(CRITERIA), "moderation": {"score": 0.01}}
        assert raw_text(output) == fenced(CRITERIA)

    def test_raw_text_is_the_object_if_it_has_the_criteria(self) -> None:
        output = {"evaluation": CRITERIA}
        found = extract_scores(output)
        assert json.loads(raw_text(output)) == output
        assert criteria(found) == CRITERIA
        assert found.steps == ()
        assert raw_text(output)[slice(*found.proposals[0].span)].startswith('"correctness": {')

    @pytest.mark.parametrize("output", [{}, {"raw_content": ""}, {"raw_content": None}, {"tokens": 12}])
    def test_raw_text_can_be_empty(self, output: dict[str, Any]) -> None:
        assert extract_scores(output) == NOTHING


class TestGarbage:
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("I would give it full marks.", id="prose"),
            pytest.param("\0\0{\0", id="NUL"),
            pytest.param('{"a": "' + "\n  " * 50_000, id="line breaks"),
        ],
    )
    def test_garbage_gives_no_proposals(self, text: str) -> None:
        assert read(text) == NOTHING

    @pytest.mark.parametrize("output", [None, 7, "text", b"bytes", [], object()])
    def test_text_without_an_object_gives_no_proposals(self, output: Any) -> None:
        assert extract_scores(output) == NOTHING

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param('{"a":' * 40_000, id="deep objects"),
            pytest.param('{"a":' + "[" * 100_000, id="deep arrays"),
            pytest.param('{"' * 100_000, id="openings"),
            pytest.param('{"a": "' * 30_000, id="strings that do not end"),
            pytest.param('{"a": [' * 30_000, id="objects in arrays"),
            pytest.param(json.dumps(CRITERIA) + " " * MAX_CHARACTERS, id="too long"),
            pytest.param(json.dumps({f"c {n}": {"score": "Yes"} for n in range(1_000)}), id="objects"),
            pytest.param(f'{{"a": {{"score": "Yes", "x": {"[" * 5_000}', id="a deep member"),
            pytest.param(
                f'{{"a": {{"score": "Yes", "x": {"[" * 600}{"]" * 600}}}}}',
                id="a member below the limit of Python",
            ),
        ],
    )
    def test_text_beyond_its_budget_is_too_long(self, text: str) -> None:
        assert read(text) == Extraction(is_too_long=True)

    @pytest.mark.slow
    def test_long_cut_justification_is_read(self) -> None:
        found = read('{"a": {"score": "Yes", "justification": "' + '\\"' * 100_000)
        assert only(found)[:3] == ("a", "Yes", '"' * 100_000)

    def test_excessively_long_name_or_score_is_ignored(self) -> None:
        long = "x" * (MAX_NAME + 1)
        assert read(json.dumps({long: {"score": "Yes"}, "a": {"score": long}})) == NOTHING

    @pytest.mark.slow
    def test_excessively_nested_text_gives_no_proposals(self) -> None:
        output: dict[str, Any] = {"score": "Yes"}
        for _ in range(100_000):
            output = {"a": output}
        assert extract_scores(output) == NOTHING


PIECES = st.sampled_from(
    [
        *("{", "}", "[", "]", '"', ":", ",", " ", "\n", "\\", "```", "```json\n", "'", "\0", "\ud800"),
        *('"score"', '"Score": ', '"justification": ', '"a": {', '"b c"', '"criterion": "x"'),
        *('"Yes"', '"Partial', "No", "3", "2.5", "-7", "true", "null", "NaN", r"\frac"),
        *('{"score": "Yes"', '"x": {"score": "No", "justification": "so"}', ', "justification": "because'),
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_text_gives_only_scores_that_it_contains(text: str) -> None:
    found = read(text)
    assert set(found.steps) <= set(STEPS)
    for proposal in found.proposals:
        part = text[slice(*proposal.span)]
        spelled = proposal.score if isinstance(proposal.score, str) else json.dumps(proposal.score)
        assert part.replace("\0", "\ufffd").replace("\ud800", "\ufffd").find(spelled) >= 0 or "\\" in part
        assert set(steps_of(proposal)) <= set(found.steps)
        repaired = [text for repair in proposal.repairs for text in repair]
        "".join([*proposal[:1], *proposal[2:3], *repaired]).encode()
        assert all(len(shown) <= 150 for shown in repaired)


PLAIN = st.text(st.characters(exclude_categories=["Cc", "Cs"]))
NAMES = PLAIN.filter(lambda name: name.strip().lower() not in {"", "score", "evaluation"})
JUDGED = st.fixed_dictionaries(
    {"score": PLAIN.filter(str.strip) | st.integers(-(10**6), 10**6) | st.booleans(), "justification": PLAIN}
)


@given(st.dictionaries(NAMES, JUDGED, min_size=1, max_size=6), st.booleans(), st.sampled_from([None, 2]))
@pytest.mark.slow
def test_encoded_json_is_read_back(
    written: dict[str, dict[str, Any]], is_ascii: bool, indent: int | None
) -> None:
    text = json.dumps({"evaluation": written}, ensure_ascii=is_ascii, indent=indent)
    found = read(text)
    assert criteria(found) == written
    assert found.steps == ()
    for proposal in found.proposals:
        assert json.loads("{" + text[slice(*proposal.span)] + "}") == {
            proposal.criterion: written[proposal.criterion]
        }
