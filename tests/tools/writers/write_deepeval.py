"""Measure two test cases with a metric that needs no model, and write the results: `python FILE FOLDER`.

DeepEval itself writes a document into the folder. The results of `evaluate` become lines.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from deepeval import evaluate
from deepeval.evaluate import DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase


class Overlap(BaseMetric):
    """The share of the expected words in the output."""

    def __init__(self) -> None:
        self.threshold = 0.5
        self.async_mode = False
        self.evaluation_model = "offline"

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        wanted = test_case.expected_output.casefold().split()
        found = [word for word in wanted if word in test_case.actual_output.casefold()]
        self.score = len(found) / len(wanted)
        self.reason = f"{len(found)} of {len(wanted)} words"
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        return self.measure(test_case)

    def is_successful(self) -> bool:
        return bool(self.success)

    @property
    def __name__(self) -> str:
        return "Overlap"


CASES = [
    LLMTestCase(
        name="france",
        input="What is the capital of France?",
        actual_output="It is Paris.",
        expected_output="Paris of course",
        retrieval_context=["Paris is the capital of France."],
    ),
    LLMTestCase(input="Spell “naïve”.", actual_output="naive", expected_output="naïve"),
    LLMTestCase(input="What is 2 + 3?", actual_output="It is 5.", expected_output="5"),
]

folder = Path(sys.argv[1])
result = evaluate(
    CASES,
    [Overlap()],
    display_config=DisplayConfig(print_results=False, show_indicator=False, results_folder=str(folder)),
)
lines = (json.dumps(asdict(one), default=lambda metric: metric.model_dump()) for one in result.test_results)
(folder / "results.jsonl").write_text("".join(f"{line}\n" for line in lines))
