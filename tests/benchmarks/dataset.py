"""Files of generated records of about 3.5 kB each, as large and as compressible as real ones."""

import json
import random
from pathlib import Path
from typing import Any

_CRITERIA = ("Problem Understanding", "Assumptions", "Logical Implications", "Results", "Rigor", "Conclusion")
_PROSE = """
    the series of terms converges on every compact set since each bound holds for all integers and no
    factor vanishes there — so that \\(\\frac{1}{n^2}\\) dominates, \\(\\int_0^{\\pi} f\\,dx\\) exists and
    the claim follows by induction from step two where limits were exchanged without proof
"""
_WORDS = _PROSE.split()


def write(path: Path, count: int, *, seed: int = 0) -> Path:
    """Write `count` records. The same count and seed always give the same bytes."""
    chance = random.Random(seed)
    with path.open("w", encoding="ascii") as file:
        for number in range(count):
            file.write(json.dumps(_record(chance, f"{seed}-{number:08d}", number)) + "\n")
    return path


def _record(chance: random.Random, evaluation_id: str, number: int) -> dict[str, Any]:
    scores = {
        name: {"score": chance.choice(("Yes", "No", "Partial")), "justification": _text(chance, 20)}
        for name in _CRITERIA
    }
    return {
        "evaluation_id": evaluation_id,
        "task_id": str(number // 7),
        "model_id": chance.choice(("model-a", "model-b", "model-c")),
        "response_id": f"response-{number}",
        "ideal_response_id": f"ideal-{number // 7}",
        "judge_llm_model": "judge-1",
        "judge_prompt_template_path": "prompts/judge-1.txt",
        "raw_judge_output": {"raw_content": json.dumps({"evaluation": scores})},
        "parsed_rubric_scores": scores,
        "aggregated_score": chance.choice(("Pass", "Fail", "Partial")),
        "final_answer_verified": chance.choice((True, False, None)),
        "verification_message": _text(chance, 8),
        "needs_human_review": number % 3 == 0,
        "review_reasons": [_text(chance, 6)] if number % 3 == 0 else [],
        "structured_model_response": {"steps": [_text(chance, 12) for _ in range(5)], "final_answer": "1/2"},
        "structured_ideal_response": {"steps": [_text(chance, 12)], "final_answer": "2"},
        "parsing_error": None,
        "human_review_status": "Needs Review" if number % 3 == 0 else "Not Required",
        "human_reviewer_id": None,
        "human_review_timestamp": None,
        "human_corrected_scores": None,
        "human_review_comments": None,
        "created_at": f"2026-04-12T01:{number % 60:02d}:23.{chance.randrange(10**6):06d}Z",
    }


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))
