"""Simulate two judges on the same responses, in two runs with flags, samples and reviews of their own."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from reviews.statistics.paired import PairedRatings, Responses
from reviews.statistics.strata import IntArray
from reviews.statistics.sums import BoolArray, Columns, FloatArray
from tests.judge.coverage.ratings import Generator

FAIL, PASS = 0, 2


@dataclass(frozen=True)
class TwoRuns:
    """Responses that are judged in two runs."""

    tasks: int = 200
    #: Responses to each task.
    each: int = 3
    #: The share of responses that people pass.
    passed: float = 0.6
    #: The probability that a judge is wrong, if the other one is right, and if it is wrong.
    wrong: tuple[float, float] = (0.12, 0.06)
    both_wrong: float = 0.1
    #: The probability that a judge's record is flagged if the judge is right, and if it is wrong.
    flagged: tuple[float, float] = (0.1, 0.4)
    #: By run: the probability that a flagged and that an unflagged record is rated.
    rated: tuple[tuple[float, float], tuple[float, float]] = ((0.8, 0.15), (0.0, 0.0))
    #: The probability that a response is like the others to its task.
    likeness: float = 0.6
    #: The share of the responses without a rating that are in the sample.
    others: float = 1.0

    @property
    def difference(self) -> float:
        """The true accuracy of the second judge minus that of the first."""
        return self.wrong[0] - self.wrong[1]

    @property
    def first_accuracy(self) -> float:
        return 1 - self.both_wrong - self.wrong[0]

    def draw(self, rng: Generator) -> "TwoJudges":
        task = np.repeat(np.arange(self.tasks), self.each)
        shares = np.array([1 - sum(self.wrong) - self.both_wrong, *self.wrong, self.both_wrong])
        outcome = self._alike(
            rng, task, rng.choice(4, len(task), p=shares), rng.choice(4, self.tasks, p=shares)
        )
        passed = self._alike(rng, task, rng.random(len(task)), rng.random(self.tasks)) < self.passed
        human = np.where(passed, PASS, FAIL)
        wrong = np.column_stack([(outcome == 1) | (outcome == 3), (outcome == 2) | (outcome == 3)])
        verdict = np.where(wrong, FAIL + PASS - human[:, None], human[:, None])
        flagged = rng.random(wrong.shape) < np.array(self.flagged)[wrong.astype(int)]
        chance = np.array([[run[1], run[0]] for run in self.rated])
        probability = np.column_stack([chance[judge][flagged[:, judge].astype(int)] for judge in range(2)])
        is_rated = rng.random(wrong.shape) < probability
        weight = np.where(is_rated.any(axis=1), 1, 1 / self.others)
        kept = rng.random(len(task)) < 1 / weight
        return TwoJudges(task, human, verdict, flagged, probability, is_rated, weight).only(kept)

    def _alike(self, rng: Generator, task: IntArray, own: Any, common: Any) -> Any:
        return np.where(rng.random(len(task)) < self.likeness, common[task], own)


@dataclass(frozen=True)
class TwoJudges(Columns):
    """The responses: N rows, and a column for each judge."""

    task: IntArray
    human: IntArray
    verdict: IntArray
    flagged: BoolArray
    probability: FloatArray
    is_rated: BoolArray
    #: The number of responses that each represents.
    weight: FloatArray

    @property
    def responses(self) -> Responses:
        one_hot = np.eye(3, dtype=np.int64)
        frames = np.eye(2, dtype=np.int64)[self.flagged.astype(int)].reshape(len(self.task), 4)
        return Responses(
            self.task, one_hot[self.verdict[:, 0]], one_hot[self.verdict[:, 1]], frames, self.weight
        )

    @property
    def ratings(self) -> PairedRatings:
        """The ratings of both runs. A response that is rated in both has two."""
        response, judge = np.nonzero(self.is_rated)
        return PairedRatings(
            response,
            judge * 2 + self.flagged[response, judge],
            1 / self.probability[response, judge],
            np.ones(len(response), dtype=np.int64),
            (self.verdict[response] == self.human[response, None]).astype(float),
        )


#: The settings in which the interval of the difference is tried.
TWO_RUNS = {
    "first run rated, 3 responses a task": TwoRuns(),
    "both runs rated, 3 responses a task": TwoRuns(rated=((0.6, 0.1), (0.6, 0.1))),
    "first run rated, 10 responses a task": TwoRuns(tasks=60, each=10, likeness=0.7),
    "a sample of 10% of the unrated responses": TwoRuns(tasks=400, rated=((0.6, 0.2), (0.3, 0)), others=0.1),
    "all responses rated": TwoRuns(rated=((1, 1), (0, 0))),
    "40 of 100 responses rated": TwoRuns(tasks=100, each=1, likeness=0, rated=((0.5, 0.2), (0, 0))),
    "judges differ on 4%": TwoRuns(wrong=(0.02, 0.02), both_wrong=0.15),
    "second judge only better": TwoRuns(wrong=(0.1, 0.0), both_wrong=0.15, rated=((0.5, 0.1), (0, 0))),
}
