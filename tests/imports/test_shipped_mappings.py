"""The shipped mappings read files of their tools."""

import json
from typing import Any

import pytest

from cognireview.environment import BASE_DIR
from reviews.imports.recognition import recognise_tool
from reviews.imports.shipped_mappings import BY_NAME, FOLDER, SHIPPED
from reviews.records.mapping import Outside
from reviews.records.rubric import Rubric
from reviews.records.schema import Record
from reviews.records.translation import read_line
from tests.records.test_mapping import PROMPTFOO
from tests.support import judge_files
from tests.tools.versions import VERSIONS

RECEIVED_AT = "2026-11-22T08:00:00+00:00"
PAGE = (BASE_DIR / "docs" / "mapping.md").read_text()


def records(name: str, lines: list[bytes], document: Any = None) -> list[Record]:
    """Read lines with the shipped mapping, which must be the one that they are recognised as."""
    found = recognise_tool(b"\n".join(lines))
    assert found is not None
    assert found.shipped is BY_NAME[name]
    mapping = found.shipped.read().of_import(Outside(received_at=RECEIVED_AT, document=document))
    return [read_line(one, mapping=mapping) for one in lines]


def scores(record: Record) -> dict[str, Any]:
    return {name: score["score"] for name, score in record.parsed_rubric_scores.items()}


def test_every_shipped_mapping_is_on_the_page() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {shipped.name for shipped in SHIPPED}
    for shipped in SHIPPED:
        assert (
            f"| [`{shipped.name}`](../reviews/imports/mappings/{shipped.name}.toml) | {shipped.title} |"
            in PAGE
        )


@pytest.mark.parametrize("tool", VERSIONS)
def test_tested_versions_are_on_the_page(tool: str) -> None:
    names = {"inspect-ai": "Inspect AI", "promptfoo": "promptfoo", "deepeval": "DeepEval"}
    first, second = VERSIONS[tool]
    assert f"Tested with {names.get(tool, tool)} {first} and {second}." in PAGE


@pytest.mark.parametrize("name", sorted(BY_NAME.keys() - {"inspect-ai"}))
def test_shipped_mapping_declares_scales(name: str) -> None:
    # The values of Inspect differ between scorers, so they are inferred.
    mapping = BY_NAME[name].read()
    assert mapping.rubric is not None
    assert mapping.rubric != Rubric()


def test_mt_bench_single_keeps_integer_and_decimal_ratings() -> None:
    read = records("mt-bench", judge_files.mt_bench_lines().splitlines())
    assert [scores(record) for record in read] == [{"Rating": rating} for rating in judge_files.RATINGS]
    assert [record.review_reasons for record in read] == [
        [],
        [],
        [],
        ["The judge gave no rating"],
    ]


def test_mt_bench_single_shows_the_question_and_the_answer() -> None:
    first, second, *_ = records("mt-bench", judge_files.mt_bench_lines().splitlines())
    assert first.task_context == {"prompt": "Name the capital of France."}
    assert first.structured_model_response == "It is Paris."
    talk = "### User:\nIs 91 a prime number?\n\n### Assistant A:\nNo: 7 times 13 is 91."
    assert second.task_context == {"prompt": talk}


def test_mt_bench_pair_has_the_winners_of_both_orders() -> None:
    read = records("mt-bench-pair", judge_files.mt_bench_pair_lines().splitlines())
    assert [tuple(scores(record).values()) for record in read] == list(judge_files.WINNERS)
    assert read[0].evaluation_id == "mt-bench-pair/81/parrot-7b/magpie-13b/offline-judge/1"
    assert [record.needs_human_review for record in read] == [False, True, True, True]


def test_mt_bench_pair_shows_both_answers() -> None:
    first, *_ = records("mt-bench-pair", judge_files.mt_bench_pair_lines().splitlines())
    assert first.task_context == {
        "prompt": "Name the capital of France.",
        "responses": [
            {"name": "parrot-7b", "response": "It is Paris."},
            {"name": "magpie-13b", "response": "I would rather not say."},
        ],
    }


def test_mt_bench_pair_shows_both_conversations() -> None:
    pair = json.loads(judge_files.mt_bench_pair_lines().splitlines()[0])
    frame = "<|The Start of Assistant {0}'s Conversation with User|>\nHi {0}\n<|The End of Assistant {0}'s"
    pair["g1_user_prompt"] = frame.format("A") + " …|>\n" + frame.format("B")
    [record] = records("mt-bench-pair", [json.dumps(pair).encode()])
    assert record.task_context is not None
    assert [one["response"] for one in record.task_context["responses"]] == ["Hi A", "Hi B"]


def test_mt_bench_pair_reads_lines_without_a_turn() -> None:
    pair = json.loads(judge_files.mt_bench_pair_lines().splitlines()[0])
    del pair["turn"]
    [record] = records("mt-bench-pair", [json.dumps(pair).encode()])
    assert record.evaluation_id.endswith("/offline-judge/1")


def test_alpaca_eval_keeps_decimal_preferences() -> None:
    lines = [json.dumps(one).encode() for one in json.loads(judge_files.alpaca_eval_array())]
    read = records("alpaca-eval", lines)
    assert [scores(record) for record in read] == [
        {"Preference": 1.0},
        {"Preference": 1.9999861},
        {"Preference": 1.5},
        {},
    ]
    assert [record.review_reasons for record in read] == [
        [],
        [],
        ["The judge is undecided"],
        ["The judge has no preference"],
    ]
    assert len({record.evaluation_id for record in read}) == 4
    assert read[1].task_context == {
        "prompt": "Is 91 a prime number? (1)",
        "responses": [
            {"name": "magpie-13b", "response": "I would rather not say."},
            {"name": "parrot-7b", "response": "No: 7 times 13 is 91."},
        ],
    }


@pytest.mark.parametrize(
    ("provider", "judge"),
    [
        (None, "promptfoo assertions"),
        ("openai:gpt-4.1", "openai:gpt-4.1"),
        ({"id": "openai:o3"}, "openai:o3"),
    ],
)
def test_promptfoo_names_the_judge_of_the_first_graded_assertion(provider: Any, judge: str) -> None:
    result = json.loads(PROMPTFOO)
    result["gradingResult"]["componentResults"][1]["assertion"]["provider"] = provider
    [record] = records("promptfoo", [json.dumps(result).encode()])
    assert record.judge_llm_model == judge


def test_promptfoo_reads_a_test_that_could_not_run() -> None:
    result = json.loads(PROMPTFOO) | {"error": "No key", "gradingResult": None, "response": None}
    [record] = records("promptfoo", [json.dumps(result).encode()])
    assert (record.parsing_error, record.review_reasons) == ("No key", ["The test could not run"])
    assert record.parsed_rubric_scores == {}


def test_promptfoo_reads_a_test_without_assertions() -> None:
    result = json.loads(PROMPTFOO)
    result["gradingResult"] = {"pass": True, "componentResults": []}
    for success in (True, False):
        [record] = records("promptfoo", [json.dumps(result | {"success": success}).encode()])
        assert scores(record) == {"success": success}


def test_promptfoo_names_a_group_of_assertions() -> None:
    result = json.loads(PROMPTFOO)
    del result["gradingResult"]["componentResults"][0]["assertion"]
    [record] = records("promptfoo", [json.dumps(result).encode()])
    assert scores(record) == {"assertions": True, "llm-rubric": False, "llm-rubric (2)": False}


INSPECT = {
    "id": "france",
    "epoch": 1,
    "input": "What is the capital of France?",
    "target": ["Paris", "paris"],
    "messages": [{"role": "user", "content": "What is the capital of France?"}] * 2,
    "output": {"model": "mockllm/model", "completion": "It is Paris."},
    "uuid": "u-1",
}


@pytest.mark.parametrize("value", ["C", 0, 0.5, True, False])
def test_inspect_keeps_the_type_of_a_score(value: Any) -> None:
    sample = INSPECT | {"scores": {"quality": {"value": value, "explanation": "So."}}}
    [record] = records("inspect-ai", [json.dumps(sample).encode()])
    assert json.dumps(scores(record)["quality"]) == json.dumps(value)
    assert record.task_context == {"prompt": "What is the capital of France?"}
    assert (record.structured_model_response, record.structured_ideal_response) == (
        "It is Paris.",
        '["Paris", "paris"]',
    )


@pytest.mark.parametrize(
    ("log", "judge"),
    [
        (
            {"model_roles": {"grader": {"model": "openai/gpt-4.1"}}, "scorers": [{"name": "qa"}]},
            "openai/gpt-4.1",
        ),
        ({"scorers": [{"name": "qa"}, {"name": "includes"}]}, "qa"),
        ({}, "Inspect scorers"),
    ],
)
def test_inspect_names_the_judge(log: dict[str, Any], judge: str) -> None:
    sample = [json.dumps(INSPECT | {"scores": None}).encode()]
    [record] = records("inspect-ai", sample, {"eval": {"model": "mockllm/model"} | log})
    assert (record.judge_llm_model, record.model_id) == (judge, "mockllm/model")


@pytest.mark.parametrize("value", [{"tone": 1}, [1, 2]])
def test_inspect_shows_a_score_of_several_values_as_json(value: Any) -> None:
    [record] = records("inspect-ai", [json.dumps(INSPECT | {"scores": {"all": {"value": value}}}).encode()])
    assert json.loads(scores(record)["all"]) == value


def test_inspect_shows_a_conversation() -> None:
    talk = [{"role": role, "content": role} for role in ("system", "user", "assistant", "user", "assistant")]
    long = INSPECT | {"messages": talk, "scores": None}
    listed = INSPECT | {"input": talk[:2], "scores": None}
    [first, second] = records("inspect-ai", [json.dumps(one).encode() for one in (long, listed)])
    assert first.task_context == {"prompt": "What is the capital of France?", "conversation": talk}
    assert second.task_context == {"conversation": talk[:2]}


SAMPLE = {
    "doc_id": 0,
    "doc": {"question": "What is the capital of France?"},
    "target": "Paris",
    "arguments": {
        "gen_args_0": {"arg_0": "Q: What is the capital of France?\nA:", "arg_1": {"until": ["\n"]}}
    },
    "resps": [["lol"]],
    "filtered_resps": ["lol"],
    "filter": "none",
    "metrics": ["exact_match", "f1"],
    "exact_match": 0.0,
    "f1": 0.25,
}


def test_lm_eval_reads_every_metric_by_its_name() -> None:
    [record] = records("lm-eval", [json.dumps(SAMPLE).encode()])
    assert scores(record) == {"exact_match": 0.0, "f1": 0.25}
    assert (record.structured_model_response, record.structured_ideal_response) == ("lol", "Paris")
    assert record.review_reasons == ["A metric is 0"]


def test_lm_eval_leaves_metrics_of_the_whole_task_out() -> None:
    sample = SAMPLE | {"metrics": ["bleu", "exact_match"], "bleu": ["Paris", "lol"], "exact_match": False}
    [record] = records("lm-eval", [json.dumps(sample).encode()])
    assert scores(record) == {"exact_match": False}


def test_lm_eval_leaves_metrics_without_a_value_out() -> None:
    sample = SAMPLE | {"metrics": ["f1", "exact_match", "missing"], "exact_match": None}
    [record] = records("lm-eval", [json.dumps(sample).encode()])
    assert scores(record) == {"f1": 0.25}


def test_lm_eval_shows_the_choices_of_a_question() -> None:
    choices = {
        f"gen_args_{n}": {"arg_0": "Q", "arg_1": f" {name}"} for n, name in enumerate(("Rome", "Paris"))
    }
    likelihoods = [["-0.5", "False"], ["-0.1", "True"]]
    sample = SAMPLE | {"arguments": choices, "filtered_resps": likelihoods, "metrics": ["acc"], "acc": 1.0}
    [record] = records("lm-eval", [json.dumps(sample).encode()])
    assert record.structured_model_response == {
        "choices": [" Rome", " Paris"],
        "log-likelihood and whether greedy": likelihoods,
    }
    assert not record.needs_human_review
