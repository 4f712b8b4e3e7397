"""Files in the format of the CogniBench pipeline: a generated one, and the public sample if available.

In both, 75 records of 5 models on 15 tasks were flagged because the judge's output failed to parse: 71 lack
the key "evaluation", 4 have LaTeX with single backslashes. 49 answers were verified against an empty
reference answer, and the judge accepts 11 of them. From the other 26 responses no answer was extracted.
"""

import json
from typing import Any

import pytest

from cognireview.environment import BASE_DIR
from tests.support.lines import file_of, line

PUBLIC = BASE_DIR.parent / "shared" / "data" / "cognibench-sample-75.jsonl"
MODELS = ("o1", "o1-mini", "gpt-4o", "deepseek-v3", "claude")
CRITERIA = (
    "correctness_of_final_answer",
    "completeness_of_steps",
    "accuracy_of_intermediate_results",
    "validity_of_assumptions",
)
# Record number -> positions of justifications with LaTeX.
WITH_LATEX = {3: (3,), 20: (0, 1), 41: (1, 2), 60: (2, 3)}
# Numbers of the records whose answer the judge accepts, and of those without an extracted answer.
ACCEPTED = range(13)
SKIPPED = (0, 1, *range(51, 75))


def generated() -> bytes:
    """Return a file with the structure and the counts of the public sample."""
    return file_of(*(_record(number) for number in range(75)))


def public() -> bytes:
    return PUBLIC.read_bytes()


SAMPLES = [
    pytest.param(generated, id="generated"),
    pytest.param(
        public,
        id="public",
        marks=[
            pytest.mark.public_sample,
            pytest.mark.skipif(not PUBLIC.exists(), reason="the public sample is not available"),
        ],
    ),
]


def _record(number: int) -> bytes:
    block = json.dumps({name: _entry(number, place) for place, name in enumerate(CRITERIA)}, indent=2)
    error = "Parsed JSON is missing the required top-level key: 'evaluation'."
    if number in WITH_LATEX:
        block = block.replace("\\\\", "\\")
        error = _escape_error(block)
    return line(
        f"eval_{number:08}",
        task_id=5491 + number // len(MODELS),
        model_id=MODELS[number % len(MODELS)],
        response_id=None,
        ideal_response_id=None,
        judge_llm_model="gpt-4o",
        raw_judge_output={"raw_content": f"```json\n{block}\n```"},
        parsed_rubric_scores={},
        aggregated_score=None,
        **_verification(number),
        review_reasons=[f"LLM response parsing failed: {error}"],
        structured_model_response=None,
        structured_ideal_response=None,
        parsing_error=error,
    )


def _entry(number: int, place: int) -> dict[str, str]:
    is_accepted = number in ACCEPTED or place > 0
    latex = r" It uses \(x^2 = 1\)." if place in WITH_LATEX.get(number, ()) else ""
    return {
        "score": "Yes" if is_accepted else "No",
        "justification": f"Record {number} was looked at.{latex}",
    }


def _verification(number: int) -> dict[str, Any]:
    if number in SKIPPED:
        return {
            "final_answer_verified": None,
            "verification_message": "Verification skipped: Extracted answer was None.",
        }
    return {
        "final_answer_verified": False,
        "verification_message": f"Verification (String): Mismatch (Extracted: '{number}', Correct: '').",
    }


def _escape_error(block: str) -> str:
    try:
        json.loads(block)
    except json.JSONDecodeError as error:
        return f"Invalid JSON format in extracted block: {error}."
    raise AssertionError(block)
