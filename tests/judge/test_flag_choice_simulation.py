"""How often a choice of flag reasons leaves too many errors, by simulation."""

from typing import NamedTuple

import numpy as np
import pytest

from reviews.statistics.clusters import ratio
from reviews.statistics.extrapolation import Population, Sample, cluster_totals

REPLICATIONS = 400
# A step at the limit may pass in 2.5% of runs; three standard errors of the simulation are added.
MOST = 0.025 + 3 * (0.025 * 0.975 / REPLICATIONS) ** 0.5


class Setting(NamedTuple):
    """A run in which dropping all flag reasons brings the error rate to exactly the limit."""

    unflagged: int
    flagged: int
    #: The error rate of the unflagged records.
    missed: float
    limit: float
    #: The probabilities of an unflagged and of a flagged record to be rated.
    rated: tuple[float, float]
    tasks: int
    #: The part of the task in what makes a verdict wrong, from 0 to 1.
    likeness: float


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(
            Setting(1600, 400, 0.03, 0.1, (0.1, 0.5), tasks=400, likeness=0), marks=pytest.mark.exhaustive
        ),
        Setting(1600, 400, 0.03, 0.1, (0.1, 0.5), tasks=400, likeness=0.3),
        pytest.param(
            Setting(4000, 1000, 0.01, 0.05, (0.1, 0.3), tasks=1000, likeness=0.3),
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_step_at_the_limit_is_rarely_shown_to_keep_it(setting: Setting) -> None:
    random = np.random.default_rng(1)
    passed = sum(_is_shown(setting, random) for _ in range(REPLICATIONS))
    assert passed / REPLICATIONS <= MOST


def _is_shown(setting: Setting, random: np.random.Generator) -> bool:
    """Draw a run and its ratings, and test the error rate of all records."""
    sizes = np.array([setting.unflagged, setting.flagged], dtype=np.int32)
    flag = np.repeat(np.arange(2, dtype=np.int32), sizes)
    task = random.integers(0, setting.tasks, len(flag), dtype=np.int32)
    errors = setting.limit * len(flag), setting.missed * setting.unflagged
    difficulty = np.sqrt(setting.likeness) * random.normal(size=setting.tasks)[task]
    difficulty += np.sqrt(1 - setting.likeness) * random.normal(size=len(flag))
    wrong = np.zeros(len(flag), dtype=np.bool_)
    for kind, count in enumerate((errors[1], errors[0] - errors[1])):
        records = np.flatnonzero(flag == kind)
        wrong[records[np.argsort(-difficulty[records])[: round(count)]]] = True
    probability = np.array(setting.rated)[flag]
    rated = random.random(len(flag)) < probability
    population = Population(
        [("unflagged", "Pass"), ("flagged", "Pass")], sizes, [task[flag == kind] for kind in range(2)]
    )
    sample = Sample(flag[rated], task[rated], 1 / probability[rated])
    values = np.column_stack([wrong[rated], np.ones(int(rated.sum()))])
    high = ratio(cluster_totals(sample, values, population), 0, 1).high
    return high is not None and high <= setting.limit
