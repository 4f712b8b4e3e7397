"""Pages of records that are reviewed blind."""

from typing import Any

from reviews.models import Evaluation, Run
from tests.support.factories import EvaluationFactory
from tests.support.pages import filled_in

SCORES = {
    "clarity": {"score": "Yes", "justification": "Praises the steps."},
    "depth": {"score": "No", "justification": "Ends with the wrong sign."},
    "style": {"score": "Excellent", "justification": ""},
}


def entered(page: Any, *scores: str, **changes: Any) -> dict[str, str]:
    """Return the fields that a browser posts from the form on a page, with the given scores."""
    posted = filled_in(page) | {"active_ms": "4000"}
    posted |= {f"criteria-{number}-score": score for number, score in enumerate(scores)}
    return posted | {key.replace("__", "-"): value for key, value in changes.items()}


def make(run: Run, **other: Any) -> Evaluation:
    """Create a record whose judge's output a blind reviewer may not see."""
    values: dict[str, Any] = {
        "task_id": "7",
        "model_id": "o1",
        "parsed_rubric_scores": SCORES,
        "aggregated_score": "Fail",
        "judge_prompt_template_path": "prompts/secret.txt",
        "raw_judge_output": {"raw_content": "Raw words of the judge"},
        "review_reasons": ["The verdict is thin."],
        "parsing_error": "JSON was broken",
        "structured_model_response": {"response": {"steps": ["Add six."], "final_answer": "54"}},
        "structured_ideal_response": {"response": {"final_answer": "60"}},
        "verification_message": "Verification (String): Mismatch (Extracted: '54', Correct: '60').",
    }
    return EvaluationFactory.create(run=run, **(values | other))
