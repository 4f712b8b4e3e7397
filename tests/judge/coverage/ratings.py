"""Simulate ratings with a known truth."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from reviews.statistics.agreement import Category
from reviews.statistics.coefficients import Confusion
from reviews.statistics.extrapolation import Population, Sample, cluster_totals
from reviews.statistics.strata import IntArray
from reviews.statistics.sums import FloatArray

Generator = np.random.Generator

SCORES = (Category("No", "no", 0.0), Category("Partial", "partial", 0.5), Category("Yes", "yes", 1.0))
VERDICTS = (SCORES[0], SCORES[2])


@dataclass(frozen=True)
class Pairs:
    """The joint distribution of the scores of the judge and people, judge x human."""

    shares: FloatArray

    @property
    def categories(self) -> tuple[Category, ...]:
        return SCORES if len(self.shares) == len(SCORES) else VERDICTS


def pairs(*rows: tuple[float, ...]) -> Pairs:
    shares = np.array(rows)
    return Pairs(shares / shares.sum())


#: A judge that is right in 80% of records, which get all scores.
BALANCED = pairs((0.24, 0.04, 0.02), (0.04, 0.18, 0.05), (0.02, 0.03, 0.38))
#: Nine of ten records get the same score.
PREVALENT = pairs((0.02, 0.01, 0.02), (0.01, 0.02, 0.02), (0.01, 0.02, 0.87))
#: A judge that is milder than people in 5% of records, never stricter.
ONLY_MILDER = pairs((0.05, 0.0, 0.0), (0.02, 0.02, 0.0), (0.02, 0.01, 0.88))
#: Like `PREVALENT`, with two scores.
TWO_SCORES = pairs((0.06, 0.04), (0.04, 0.86))


def draw_like_neighbours(rng: Generator, shares: FloatArray, cluster: IntArray, likeness: float) -> IntArray:
    """Draw a category for each rating. A rating is a copy of its cluster's with the probability `likeness`.

    The correlation of two ratings in a cluster is the square of `likeness`.
    """
    categories = np.arange(len(shares))
    own = rng.choice(categories, len(cluster), p=shares)
    common = rng.choice(categories, int(cluster.max(initial=-1)) + 1, p=shares)
    return np.where(rng.random(len(cluster)) < likeness, common[cluster], own)


def confusion(drawn: IntArray, cluster: IntArray, pairs: Pairs) -> Confusion:
    """Count pairs of scores, given as positions in the joint distribution."""
    sample = Sample(np.zeros_like(drawn), cluster, np.ones(len(drawn)))
    return Confusion(pairs.categories, cluster_totals(sample, np.eye(pairs.shares.size)[drawn]))


@dataclass(frozen=True)
class Run:
    """Models that answered the same tasks, judged, partly flagged and partly reviewed."""

    #: The probability that a judge's verdict is Pass, by model.
    passed: tuple[float, ...] = (0.5, 0.6, 0.7)
    #: The probability that people pass a record that the judge failed (0) or passed (1).
    right: tuple[float, float] = (0.25, 0.85)
    #: The share of flagged records, and how much likelier people contradict the judge there.
    flagged: float = 0.2
    harder: float = 0.2
    tasks: int = 200
    #: Responses of a model to a task.
    samples: int = 1
    #: The probability that a response is like the model's other ones to the task.
    likeness: float = 0.7
    #: The share of flagged and of unflagged records that are reviewed.
    reviewed: tuple[float, float] = (0.5, 0.1)

    @property
    def pass_rates(self) -> FloatArray:
        """The share of each model's records that people pass."""
        human = self.human
        by_flag = (1 - self.flagged) * human[0] + self.flagged * human[1]
        return np.array([(1 - rate) * by_flag[0] + rate * by_flag[1] for rate in self.passed])

    @property
    def human(self) -> FloatArray:
        """The probability that people pass a record: flag x judge's verdict."""
        fail, passed = self.right
        return np.array([[fail, passed], [fail + self.harder, passed - self.harder]])

    @property
    def wrong(self) -> FloatArray:
        """The probability that people contradict the judge: flag x model."""
        human = self.human
        rates = np.array(self.passed)
        return (1 - rates) * human[:, :1] + rates * (1 - human[:, 1:])

    @property
    def accuracy(self) -> float:
        wrong = self.wrong.mean(axis=1)
        return float(1 - (1 - self.flagged) * wrong[0] - self.flagged * wrong[1])

    @property
    def flag_recall(self) -> float:
        """The share of wrong verdicts on flagged records in all wrong ones."""
        found = self.wrong.mean(axis=1) * np.array([1 - self.flagged, self.flagged])
        return float(found[1] / found.sum())

    @property
    def verdicts(self) -> FloatArray:
        """The share of each pair of verdicts, judge x human."""
        judge = np.array([1 - np.mean(self.passed), np.mean(self.passed)])
        passed = np.array([1 - self.flagged, self.flagged]) @ self.human
        return judge[:, None] * np.column_stack([1 - passed, passed])

    @property
    def leniency(self) -> float:
        """The share of records that only the judge passes, minus the share that only people pass."""
        human, rates = self.human, np.array(self.passed)
        milder = rates * (1 - human[:, 1:]) - (1 - rates) * human[:, :1]
        return float(np.array([1 - self.flagged, self.flagged]) @ milder.mean(axis=1))

    def draw(self, rng: Generator) -> "Drawn":
        models = len(self.passed)
        task = np.tile(np.repeat(np.arange(self.tasks), self.samples), models)
        model = np.repeat(np.arange(models), self.tasks * self.samples)
        own = task + model * self.tasks

        def alike(probability: FloatArray) -> IntArray:
            """Draw events that are alike in the responses to a task."""
            common = np.where(
                rng.random(len(task)) < self.likeness,
                rng.random(models * self.tasks)[own],
                rng.random(len(task)),
            )
            shared = np.where(rng.random(len(task)) < self.likeness, rng.random(self.tasks)[task], common)
            return (shared < probability).astype(int)

        flag = alike(np.full(len(task), self.flagged))
        judge = alike(np.array(self.passed)[model])
        human = alike(self.human[flag, judge])
        probability = np.array(self.reviewed)[1 - flag]
        cells = flag * 2 * models + judge * models + model
        of_cell = [np.flatnonzero(cells == cell) for cell in range(4 * models)]
        reviewed = np.flatnonzero(rng.random(len(task)) < probability)
        return Drawn(
            Sample(cells[reviewed], task[reviewed], 1 / probability[reviewed]),
            Population(
                [(str(f), str(j), str(m)) for f in (0, 1) for j in (0, 1) for m in range(models)],
                np.array([len(records) for records in of_cell]),
                [task[records] for records in of_cell],
            ),
            {"flag": flag[reviewed], "judge": judge[reviewed], "human": human[reviewed]},
        )


@dataclass(frozen=True)
class Drawn:
    """Ratings of a run, and the run."""

    sample: Sample
    population: Population
    #: Of each rating: `flag`, `judge` and `human`, 0 or 1.
    values: dict[str, Any]
