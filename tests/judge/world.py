"""A simulated world: tasks, models, judges, flags and reviewers with parameters that the product never sees.

`World` draws everything from a seed, also each reviewer's unaided scores of every record. So the truth behind
each published figure is known: what an unaided reviewer would say about all records of the run.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, NamedTuple

CRITERIA = ("Problem Understanding", "Clarity", "Completeness", "Conclusion Accuracy")
LEVELS = ("No", "Partial", "Yes")
VERIFIER, BORDERLINE, CONTRADICTION = (
    "final-answer-does-not-match",
    "the-judge-was-close-to-another-score-in-criterion",
    "the-justification-contradicts-the-score-in-criterion",
)
#: Flag reasons by family.
REASONS = {
    VERIFIER: "Final answer does not match.",
    BORDERLINE: "The judge was close to another score in criterion: {}",
    CONTRADICTION: "The justification contradicts the score in criterion: {}",
}
# Scores above the upper limit are Yes, below the lower one No.
_LOWER, _UPPER = -0.25, 0.25
_SHARE_WITHOUT_TASK = 0.02
# The tasks that the last criterion does not apply to.
_SHARE_WITHOUT_CRITERION = 0.3

Scores = dict[str, str]


def verdict_of(scores: Scores) -> str:
    """Return the verdict of scores by the usual rule: the worst score decides."""
    worst = min(map(LEVELS.index, scores.values()))
    return ("Fail", "Partial", "Pass")[worst]


class Response(NamedTuple):
    """The response of a model to a task, by its numbers."""

    task: int
    model: int


class Judgment(NamedTuple):
    """A record: a judge's scores of a response."""

    evaluation_id: str
    response: Response
    judge: int
    scores: Scores
    #: Flag reasons by family.
    reasons: dict[str, str]

    @property
    def verdict(self) -> str:
        return verdict_of(self.scores)

    @property
    def is_flagged(self) -> bool:
        return bool(self.reasons)


@dataclass(frozen=True)
class Size:
    """The size of a world."""

    tasks: int
    models: int
    judges: int


class World:
    """Everything that is true in the world, drawn from a seed."""

    def __init__(self, size: Size, *, seed: int, reviewers: Iterable[str]) -> None:
        self.size, self._seed = size, seed
        rng = self.rng("parameters")
        self._difficulty = [rng.gauss(0, 0.9) for _ in range(size.tasks)]
        self._ability = [rng.gauss(0.2, 0.5) for _ in range(size.models)]
        self._ease = [rng.uniform(0.3, 1.5) for _ in CRITERIA]
        self._bias = [rng.gauss(0.25, 0.35) for _ in range(size.judges)]
        self._noise = [rng.uniform(0.3, 0.8) for _ in range(size.judges)]
        # A judge misreads some tasks, so its errors on the responses to one task are alike.
        self._misread = [[rng.gauss(0, 0.6) for _ in range(size.tasks)] for _ in range(size.judges)]
        self._slips = {name: (rng.gauss(0, 0.15), rng.uniform(0.15, 0.45)) for name in reviewers}
        self._leans = {name: rng.uniform(0.2, 0.6) for name in reviewers}

    def rng(self, *key: object) -> Random:
        """Return the random numbers of one subject. They do not depend on the order of use."""
        return Random(f"{self._seed}:{key}")

    @cached_property
    def judgments(self) -> dict[str, Judgment]:
        """All records by their id."""
        found = (
            self._judgment(Response(task, model), judge)
            for task in range(self.size.tasks)
            for model in range(self.size.models)
            for judge in range(self.size.judges)
        )
        return {one.evaluation_id: one for one in found}

    def _qualities(self, response: Response) -> list[float]:
        """Return the quality of a response by criterion. Nobody sees it without noise."""
        rng = self.rng("response", *response)
        level = self._ability[response.model] - self._difficulty[response.task] + rng.gauss(0, 0.4)
        return [level + ease + rng.gauss(0, 0.5) for ease in self._ease]

    def _judgment(self, response: Response, judge: int) -> Judgment:
        rng = self.rng("judge", *response, judge)
        shift = self._bias[judge] + self._misread[judge][response.task]
        seen = [one + shift + rng.gauss(0, self._noise[judge]) for one in self._qualities(response)]
        scores = dict(zip(CRITERIA, map(_level, seen), strict=True))
        if self.rng("criteria", response.task).random() < _SHARE_WITHOUT_CRITERION:
            del scores[CRITERIA[-1]]
        key = f"t{response.task}-m{response.model}-j{judge}"
        return Judgment(key, response, judge, scores, dict(self._reasons(rng, response, seen)))

    def _reasons(self, rng: Random, response: Response, seen: list[float]) -> Iterator[tuple[str, str]]:
        """Yield flag reasons: one that finds errors, one that finds some, and one by chance."""
        final = self._qualities(response)[-1] + rng.gauss(0, 0.5)
        if (final < _LOWER) != (seen[-1] < _LOWER) and rng.random() < 0.8:
            yield VERIFIER, REASONS[VERIFIER]
        close = min(abs(abs(one) - _UPPER) for one in seen)
        if close < 0.08:
            yield BORDERLINE, REASONS[BORDERLINE].format(rng.choice(CRITERIA))
        if rng.random() < 0.06:
            yield CONTRADICTION, REASONS[CONTRADICTION].format(rng.choice(CRITERIA))

    def unaided(self, reviewer: str, evaluation_id: str) -> Scores:
        """Return a reviewer's scores of a record without the judge's scores in view."""
        bias, noise = self._slips[reviewer]
        rng = self.rng("reviewer", reviewer, evaluation_id)
        judgment = self.judgments[evaluation_id]
        seen = (_level(one + bias + rng.gauss(0, noise)) for one in self._qualities(judgment.response))
        return {name: score for name, score in zip(CRITERIA, seen, strict=True) if name in judgment.scores}

    def assisted(self, reviewer: str, evaluation_id: str) -> Scores:
        """Return a reviewer's scores with the judge's in view: they lean towards those."""
        rng = self.rng("leaning", reviewer, evaluation_id)
        judged = self.judgments[evaluation_id].scores
        own = self.unaided(reviewer, evaluation_id)
        return {name: judged[name] if rng.random() < self._leans[reviewer] else own[name] for name in own}

    def lines(self) -> bytes:
        """Return the file of the run."""
        return b"".join(json.dumps(self._record(one)).encode() + b"\n" for one in self.judgments.values())

    def _record(self, judgment: Judgment) -> dict[str, Any]:
        task, model = judgment.response
        has_task = self.rng("task id", task).random() >= _SHARE_WITHOUT_TASK
        judged = {
            name: {"score": score, "justification": f"{name}: {score}."}
            for name, score in judgment.scores.items()
        }
        return {
            "evaluation_id": judgment.evaluation_id,
            "task_id": f"task-{task}" if has_task else None,
            "model_id": f"model-{model}",
            "response_id": f"response-{task}-{model}",
            "ideal_response_id": f"ideal-{task}",
            "judge_llm_model": f"judge-{judgment.judge}",
            "judge_prompt_template_path": "prompts/judge.txt",
            "raw_judge_output": {"raw_content": json.dumps({"evaluation": judged})},
            "parsed_rubric_scores": judged,
            "aggregated_score": judgment.verdict,
            "final_answer_verified": VERIFIER not in judgment.reasons,
            "verification_message": "",
            "needs_human_review": judgment.is_flagged,
            "review_reasons": [*judgment.reasons.values()],
            "structured_model_response": {"final_answer": f"Answer {task} of model {model}."},
            "structured_ideal_response": {"final_answer": f"Answer {task}."},
            "parsing_error": None,
            "human_review_status": "Needs Review" if judgment.is_flagged else "Not Required",
            "human_reviewer_id": None,
            "human_review_timestamp": None,
            "human_corrected_scores": None,
            "human_review_comments": None,
            "created_at": "2025-04-12T01:55:23.111185Z",
        }


def _level(quality: float) -> str:
    return LEVELS[(quality > _LOWER) + (quality > _UPPER)]
