"""Read a JSONL export with the standard library: records, table rows, and scores by criterion.

Usage: python exported.py reviewed.jsonl

Scores that the pipeline could not parse are extracted from the judge's raw output, if the package cognireview
is installed: pip install --no-deps cognireview
"""

import json
import sys
import warnings
from pathlib import Path

try:
    from reviews.records.score_extraction import extract_scores
except ImportError:
    extract_scores = None

IDS = ("evaluation_id", "task_id", "model_id", "response_id", "ideal_response_id")
JUDGE = ("judge_llm_model", "judge_prompt_template_path", "raw_judge_output", "parsed_rubric_scores")
VERDICT = ("aggregated_score", "final_answer_verified", "verification_message", "needs_human_review")
EVIDENCE = ("review_reasons", "structured_model_response", "structured_ideal_response", "parsing_error")
HUMAN = ("human_review_status", "human_reviewer_id", "human_review_timestamp", "human_corrected_scores")
COLUMNS = (*IDS, *JUDGE, *VERDICT, *EVIDENCE, *HUMAN, "human_review_comments", "created_at")
BOOLEANS = ("final_answer_verified", "needs_human_review")
KEYS = ("evaluation_id", "task_id", "model_id")
PARTS = ("criterion", "judge", "judge_justification", "human", "human_justification")
STRUCTURED = ("structured_model_response", "structured_ideal_response")  # objects or texts


def records(path):
    """Yield each record unchanged. Only a line feed ends a line."""
    with Path(path).open("rb") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def row(record):
    """Return a record with the same columns and types as any other: text, JSON as text, booleans, `extra`."""
    found = {
        name: _json(record.get(name)) if name in STRUCTURED else _text(record.get(name)) for name in COLUMNS
    }
    extra = {name: value for name, value in record.items() if name not in COLUMNS}
    return found | {name: record.get(name) for name in BOOLEANS} | {"extra": _json(extra)}


def scores(record):
    """Yield a row for each criterion with the judge's and the human's score, as text or None."""
    judge, human = judged(record), record.get("human_corrected_scores") or {}
    for criterion in {**judge, **human}:
        both = (_entry(judge, criterion), _entry(human, criterion))
        values = (criterion, *(_text(one.get(part)) for one in both for part in ("score", "justification")))
        yield {name: _text(record.get(name)) for name in KEYS} | dict(zip(PARTS, values, strict=True))


def judged(record):
    """Return the judge's scores by criterion: those of the line, or else those in the raw output."""
    parsed, raw = record["parsed_rubric_scores"], record.get("raw_judge_output")
    if parsed or not raw:
        return parsed
    if extract_scores is None:
        warnings.warn("Scores in raw output are left out: install the package cognireview.", stacklevel=2)
        return {}
    found = extract_scores(raw).proposals
    return {one.criterion: {"score": one.score, "justification": one.justification} for one in found}


def _entry(scores_of_one, criterion):
    entry = scores_of_one.get(criterion)
    return entry if isinstance(entry, dict) else {"score": entry}


def _json(value):
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _text(value):
    return value if isinstance(value, str) else _json(value)


if __name__ == "__main__":
    rows = [one for record in records(sys.argv[1]) for one in scores(record)]
    for name in dict.fromkeys(one["criterion"] for one in rows):
        pairs = [(one["judge"], one["human"]) for one in rows if one["criterion"] == name]
        both = [judge == human for judge, human in pairs if judge is not None and human is not None]
        print(f"{name}: {sum(both)} of {len(both)}")
