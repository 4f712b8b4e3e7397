"""Intervals include the truth as often as they promise. `tests.judge.coverage` tries more settings."""

from math import sqrt

import pytest

from tests.judge.coverage.settings import all_settings
from tests.judge.coverage.simulation import measure

REPLICATIONS = 120
SETTINGS = {f"{one.figure}: {one.setting}": one for one in all_settings()}
GATE_ONLY = (
    "accuracy: clustered by reviewer, 10 x 20",
    "leniency: n = 50",
    "leniency of the run: 3 models on the same 200 tasks",
    "kappa: prevalence .9, n = 50",
    "alpha: 2 reviewers, 0.95, pass rate 0.9, n = 200",
    "difference of runs: both runs rated, 3 responses a task",
    "difference of runs: a sample of 10% of the unrated responses",
    "pass rate: one judge, 10% sample",
    "accuracy: 5 ratings a task, n = 200",
    "leniency: 5 ratings a task, only milder, n = 400",
    "weighted_kappa: prevalence .9, n = 50",
    "difference of accuracies: two judges, the same 200 responses",
    "difference of models: 3 models, 5 samples a task",
    "shift of scores: continuous, n = 20",
    "judge compared with a reviewer: judge only further, n = 60, 1 a task",
)
TRIED = (
    "accuracy: independent, n = 20",
    "false_pass: n = 100",
    "kappa: 5 ratings a task, n = 200",
    "ac1: prevalence .9, n = 20",
    "accuracy of the run: one judge, 10% sample",
    "miss rate: 3 models on the same 200 tasks",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*TRIED, *(pytest.param(name, marks=pytest.mark.exhaustive) for name in GATE_ONLY)]
)
def test_interval_covers_the_truth(name: str) -> None:
    """The coverage is 93% to 97%, within three standard errors of the number of replications."""
    found = measure(SETTINGS[name], REPLICATIONS, seed=1)
    assert found.defined > REPLICATIONS * 0.95
    assert found.share > 0.93 - 3 * sqrt(0.93 * 0.07 / REPLICATIONS)
    assert found.share <= 0.97 + 3 * sqrt(0.97 * 0.03 / REPLICATIONS)
    assert found.width < 1


@pytest.mark.slow
def test_settings_have_different_names() -> None:
    assert len(SETTINGS) == len([*all_settings()])
