"""Generate a realistic demo run: small tasks, five models, two judges, and their typical errors.

Everything is drawn from a seed: the same count and seed give the same bytes, and a longer file begins with
the lines of a shorter one.
"""

import datetime as dt
import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from random import Random
from typing import Any

from reviews.demo.tasks import PATTERNS, RUBRICS, Criterion, Mistake, Rubric, Task, draw
from reviews.records import rubric
from reviews.records.schema import HUMAN_FIELDS

DEMO_RUN = "Demo"

_MODELS = ("o1", "o1-mini", "gpt-4o", "deepseek-v3", "claude-3-5-sonnet-latest")
_JUDGES = ("gpt-4o", "o3-mini")
_FIRST_TASK = 7101
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
_START = dt.datetime(2026, 11, 2, 8, 15, 4, 217_350, dt.UTC)


class _Fate(Enum):
    """The course of an evaluation. All but the first need human review."""

    AGREED = auto()  # the judge's verdict is the verifier's too
    UNWRAPPED = auto()  # the judge's JSON lacks the key "evaluation"
    ESCAPES = auto()  # the LaTeX in it has single backslashes
    CUT = auto()  # it stops in the middle
    MISSED = auto()  # the judge passes a wrong answer
    RESPELLED = auto()  # the verifier rejects a right answer that is spelled in another way
    UNREFERENCED = auto()  # there was no reference answer to compare with
    THIN = auto()  # the judge scores No for a right answer, and hardly says why


# The fates of each twenty evaluations, in random order. Twelve of them need review.
_FATES = (
    *[_Fate.AGREED] * 8,
    *[_Fate.UNWRAPPED] * 3,
    *[_Fate.ESCAPES] * 2,
    _Fate.CUT,
    *[_Fate.MISSED] * 2,
    _Fate.RESPELLED,
    _Fate.UNREFERENCED,
    *[_Fate.THIN] * 2,
)
_SHARE_OF_MISTAKES = {
    _Fate.AGREED: 0.25,
    _Fate.UNWRAPPED: 0.5,
    _Fate.ESCAPES: 0.5,
    _Fate.CUT: 0.5,
    _Fate.MISSED: 1,
}
_UNREADABLE = (_Fate.UNWRAPPED, _Fate.ESCAPES, _Fate.CUT)
# How often the new prompt leads to a fair judgement of a response that the old one did not judge fairly.
_SHARE_OF_REPAIRS = {
    _Fate.UNWRAPPED: 0.9,
    _Fate.ESCAPES: 0.7,
    _Fate.CUT: 0.5,
    _Fate.MISSED: 0.6,
    _Fate.THIN: 0.8,
}


@dataclass(frozen=True, slots=True)
class _Case:
    """One evaluation: the task, the response, the judge and the fate."""

    number: int
    rng: Random
    fate: _Fate
    task: Task
    rubric: Rubric
    judge: str
    dollars: bool
    mistake: Mistake | None

    @property
    def model(self) -> str:
        return _MODELS[self.number % len(_MODELS)]

    @property
    def given(self) -> str:
        """The final answer of the response."""
        if self.fate is _Fate.RESPELLED:
            return self.task.respelled
        return f"${self.mistake.answer if self.mistake else self.task.answer}$"


def demo_lines(count: int = 200, seed: int = 7) -> Iterator[bytes]:
    """Yield the lines of a JSONL file, with LF: five evaluations of each task, one per model."""
    for number in range(count):
        yield json.dumps(_record(_case(number, seed))).encode() + b"\n"


def rejudged_lines(count: int = 200, seed: int = 7) -> Iterator[bytes]:
    """Yield the lines of `demo_lines` as the same judges write them with a new prompt, a week later."""
    for number in range(count):
        yield json.dumps(_rejudged(_case(number, seed), seed)).encode() + b"\n"


def demo_context(count: int = 200, seed: int = 7) -> Iterator[bytes]:
    """Yield the tasks of `demo_lines` as JSONL: the question and the reference answer."""
    for number in range(0, count, len(_MODELS)):
        yield json.dumps(_context(_case(number, seed))).encode() + b"\n"


def right_scores(count: int = 200, seed: int = 7) -> Iterator[dict[str, str]]:
    """Yield the right scores of each response of `demo_lines`: criterion -> score."""
    for number in range(count):
        case = _case(number, seed)
        wrong = case.mistake is not None
        yield {one.name: "No" if wrong and one.blame else "Yes" for one in case.rubric.criteria}


def _context(case: _Case) -> dict[str, Any]:
    task = case.task
    return {
        "task_id": _task_id(case),
        "prompt": f"{task.asked[0].upper()}{task.asked[1:]}. Assume that {task.assumes}.",
        "ideal_response": "\n\n".join(task.steps),
        "final_answer": f"${task.answer}$",
        "model_responses": [],
        "metadata": {"method": task.method},
    }


def _task_id(case: _Case) -> int:
    return _FIRST_TASK + case.number // len(_MODELS)


def _case(number: int, seed: int) -> _Case:
    task_number = number // len(_MODELS)
    of_task = Random(f"{seed} task {task_number}")  # noqa: S311 (no secret)
    fates = Random(f"{seed} fates {number // len(_FATES)}").sample(_FATES, len(_FATES))  # noqa: S311
    rng = Random(f"{seed} evaluation {number}")  # noqa: S311
    fate = fates[number % len(fates)]
    task = draw(PATTERNS[task_number % len(PATTERNS)], of_task)
    return _Case(
        number=number,
        rng=rng,
        fate=fate,
        task=task,
        rubric=of_task.choice(RUBRICS),
        judge=of_task.choice(_JUDGES),
        dollars=of_task.random() < 0.5 and fate is not _Fate.ESCAPES,
        mistake=rng.choice(task.mistakes) if rng.random() < _SHARE_OF_MISTAKES.get(fate, 0) else None,
    )


def _record(case: _Case) -> dict[str, Any]:
    """Return the 23 fields as the pipeline writes them."""
    rng = case.rng
    judgement = _judgement(case)
    response = _model_response(case)
    verified, message = _verification(case, response)
    created = _START + dt.timedelta(seconds=case.number * 11.7 + rng.random() * 6)
    return {
        "evaluation_id": f"eval_{uuid.UUID(int=rng.getrandbits(128), version=4)}",
        "task_id": None if rng.random() < 0.02 else _task_id(case),
        "model_id": None if rng.random() < 0.02 else case.model,
        "response_id": None,
        "ideal_response_id": None,
        "judge_llm_model": case.judge,
        "judge_prompt_template_path": case.rubric.template,
        **dict.fromkeys(("raw_judge_output", "parsed_rubric_scores", "aggregated_score")),
        "final_answer_verified": verified,
        "verification_message": message,
        **dict.fromkeys(("needs_human_review", "review_reasons")),
        "structured_model_response": response,
        "structured_ideal_response": _ideal_response(case),
        "parsing_error": None,
        **dict.fromkeys(HUMAN_FIELDS),
        "created_at": created.strftime(_TIME),
    } | judgement


def _rejudged(case: _Case, seed: int) -> dict[str, Any]:
    """Return the record of the same response after a judgement with the new prompt."""
    record = _record(case)
    rng = Random(f"{seed} new prompt {case.number}")  # noqa: S311 (no secret)
    is_fair = rng.random() < _SHARE_OF_REPAIRS.get(case.fate, 0)
    case = replace(case, rng=rng, fate=_Fate.AGREED if is_fair else case.fate)
    created = _START + dt.timedelta(days=7, seconds=case.number * 11.7 + rng.random() * 6)
    return (
        record
        | _judgement(case)
        | {
            "evaluation_id": f"eval_{uuid.UUID(int=rng.getrandbits(128), version=4)}",
            "judge_prompt_template_path": re.sub(r"v[\d.]+(?=\.txt)", "v2.0", case.rubric.template),
            "created_at": created.strftime(_TIME),
        }
    )


def _judgement(case: _Case) -> dict[str, Any]:
    """Return the fields that depend on the judge's output."""
    scores = _spelled(_scores(case), case)
    raw = _raw_output(case, scores)
    error = _parsing_error(raw)
    reasons = _review_reasons(case, scores, error)
    return {
        "raw_judge_output": {"raw_content": raw},
        "parsed_rubric_scores": {} if error else scores,
        "aggregated_score": None if error else rubric.Rubric().verdict(scores),
        "needs_human_review": bool(reasons),
        "review_reasons": reasons,
        "parsing_error": error,
        "human_review_status": "Needs Review" if reasons else "Not Required",
    }


def _spelled(value: Any, case: _Case) -> Any:
    r"""Return a value with its formulas between dollar signs or between \( and \), as the case requires."""
    if isinstance(value, dict):
        return {key: _spelled(part, case) for key, part in value.items()}
    if isinstance(value, list):
        return [_spelled(part, case) for part in value]
    if case.dollars or not isinstance(value, str):
        return value
    return re.sub(r"\$(.+?)\$", r"\\(\1\\)", re.sub(r"\$\$(.+?)\$\$", r"\\[\1\\]", value))


def _model_response(case: _Case) -> dict[str, Any]:
    task, mistake = case.task, case.mistake
    right = list(task.steps[: mistake.after] if mistake else task.steps)
    steps = _in_manner(case, [*right, mistake.step] if mistake else right)
    if case.fate in _UNREADABLE and case.rng.random() < 0.3:
        return _structured(_spelled("\n\n".join([*steps, f"**Final answer:** {case.given}"]), case))
    results = [] if mistake else [f"${task.result}$"]
    return _structured(_spelled(_answer(task, steps, results, case.given), case))


def _in_manner(case: _Case, steps: list[str]) -> list[str]:
    """Return the steps in the style of the model."""
    match case.model:
        case "o1":
            return [" ".join(steps[:2]), *steps[2:]]
        case "gpt-4o":
            return [f"**Step {number}.** {step}" for number, step in enumerate(steps, start=1)]
        case "deepseek-v3":
            return [f"This calls for {case.task.method}.", *steps]
        case "claude-3-5-sonnet-latest":
            return [*steps, f"I am confident that the answer is {case.given}."]
    return steps


def _ideal_response(case: _Case) -> dict[str, Any] | str | None:
    task = case.task
    if case.fate is _Fate.UNREFERENCED:
        return None
    if case.rng.random() < 0.15:
        return str(_spelled("\n\n".join(task.steps), case))
    answer = _answer(task, list(task.steps), [f"${task.result}$"], f"${task.answer}$")
    return _structured(_spelled(answer, case))


def _structured(response: dict[str, Any] | str) -> dict[str, Any]:
    return {"model": "gpt-4o", "response": response}


def _answer(task: Task, steps: list[str], results: list[str], final: str) -> dict[str, Any]:
    return {
        "assumptions": f"We are asked to {task.asked}. We assume that {task.assumes}.",
        "steps": steps,
        "intermediate_results": results,
        "final_answer": final,
        "format_notes": "",
    }


def _verification(case: _Case, response: dict[str, Any]) -> tuple[bool | None, str]:
    """Compare the two final answers as lower-case strings, as the verifier does."""
    inner = response["response"]
    if isinstance(inner, str):
        return None, "Verification skipped: Extracted answer was None."
    extracted = inner["final_answer"].lower()
    reference = "" if case.fate is _Fate.UNREFERENCED else _spelled(f"${case.task.answer}$", case).lower()
    word = "Match" if extracted == reference else "Mismatch"
    message = f"Verification (String): {word} (Extracted: '{extracted}', Correct: '{reference}')."
    return extracted == reference, message


def _scores(case: _Case) -> dict[str, dict[str, str]]:
    """Return criterion -> {score, justification}."""
    judged = {criterion.name: _judged(criterion, case) for criterion in case.rubric.criteria}
    doubtful = [criterion for criterion in case.rubric.criteria if criterion.quibble]
    if case.fate is _Fate.AGREED and not case.mistake and case.rng.random() < 0.2:
        criterion = case.rng.choice(doubtful)
        judged[criterion.name] = _entry("Partial", criterion.quibble, case)
    if case.fate is _Fate.THIN:
        blamed = next(criterion for criterion in case.rubric.criteria if criterion.blame)
        judged[blamed.name] = _entry("No", case.rng.choice(["", "Wrong.", "Not shown."]), case)
    return judged


def _judged(criterion: Criterion, case: _Case) -> dict[str, str]:
    if case.mistake and criterion.blame and case.fate is not _Fate.MISSED:
        return _entry("No", criterion.blame, case)
    return _entry("Yes", case.rng.choice(criterion.praise), case)


def _entry(score: str, sentence: str, case: _Case) -> dict[str, str]:
    task = case.task
    justification = sentence.format(
        given=case.given,
        answer=f"${task.answer}$",
        result=f"${task.result}$",
        method=task.method,
        assumes=task.assumes,
        criticism=case.mistake.criticism if case.mistake else "",
    )
    return {"score": score, "justification": justification}


def _raw_output(case: _Case, scores: dict[str, dict[str, str]]) -> str:
    unwrapped = case.fate is _Fate.UNWRAPPED
    text = json.dumps(scores if unwrapped else {"evaluation": scores}, indent=2, ensure_ascii=False)
    if case.fate is _Fate.ESCAPES or (unwrapped and case.rng.random() < 0.4):
        text = text.replace("\\\\", "\\")
    if case.fate is _Fate.CUT:
        return "```json\n" + text[: int(len(text) * case.rng.uniform(0.5, 0.9))]
    return f"```json\n{text}\n```"


def _parsing_error(raw: str) -> str | None:
    """Return the pipeline's message for judge output that it cannot parse."""
    block = re.fullmatch(r"```json\n(.*)\n```", raw, re.DOTALL)
    if not block:
        return "Could not find JSON block in the response."
    try:
        output = json.loads(block[1])
    except json.JSONDecodeError as error:
        return f"Invalid JSON format in extracted block: {error}"
    if "evaluation" not in output:
        return "Parsed JSON is missing the required top-level key: 'evaluation'."
    return None


def _review_reasons(case: _Case, scores: dict[str, dict[str, str]], error: str | None) -> list[str]:
    if error:
        return [f"LLM response parsing failed: {error}"]
    if case.fate is _Fate.THIN:
        criterion = next(name for name, entry in scores.items() if entry["score"] == "No")
        return [f"Potential trivial justification for 'No'/'Partial' score in criteria: '{criterion}'."]
    return [] if case.fate is _Fate.AGREED else ["Final answer verification failed."]
