"""A simulated world, reviewed through the product: figures equal recomputed ones, and cover the truth.

The figures are recomputed from the exported files alone. Only the world knows the truth.
"""

import importlib
import json
import os
import runpy
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from django.core.management import call_command

from cognireview.environment import BASE_DIR
from reviews.models import BlindScores, Rating, Run, User
from tests.judge import bootstrap, published, recomputed, world_truth
from tests.judge.exported import Exports, Values
from tests.judge.published import Published
from tests.judge.recomputed import Figures
from tests.judge.world import Size, World
from tests.judge.world_reviews import import_world, review_world

# The audit log is sealed at each commit, and only sealed events are exported.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.exhaustive]

# For a larger world, or another one. In others, one in 20 intervals of `ALWAYS` misses the truth.
SIZE = Size(int(os.environ.get("WORLD_TASKS", "60")), int(os.environ.get("WORLD_MODELS", "3")), judges=2)
SEED = int(os.environ.get("WORLD_SEED", "1"))
#: The file to write a table of all figures to, if any.
TABLE = os.environ.get("WORLD_TABLE")
#: Figures whose intervals have to include the truth.
ALWAYS = (
    "Verdict, run: accuracy",
    "Verdict, flagged: accuracy",
    "Verdict, unflagged: accuracy",
    "miss rate",
    "flag recall",
)
REPLICATIONS = 200


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The documented recipe that computes the accuracy from exported data."""
    monkeypatch.syspath_prepend(str(BASE_DIR / "docs" / "recipes"))
    return importlib.import_module("judge_accuracy")


def test_figures_of_a_reviewed_world_equal_a_second_computation_and_cover_the_truth(
    ana: User, bo: User, lea: User, tmp_path: Path, recipe: ModuleType
) -> None:
    world = World(SIZE, seed=SEED, reviewers=["ana", "bo", "lea"])
    run = import_world(world, lea)
    review_world(world, run, [ana, bo], lea)
    assert_every_blind_score_counts(run)

    found = published.read_report(json.loads(report()))
    exports = export(tmp_path, recipe)
    again = recomputed.recompute(exports)
    truth = world_truth.true_figures(world, exports, ["ana", "bo"])
    if TABLE:
        Path(TABLE).write_text("\n".join(table(found, again, truth)), "utf-8")

    assert_equal(found, again)
    assert_recipe_agrees(found["Verdict, run: accuracy"], exports, tmp_path)
    assert_covered(found, truth)
    replicated = bootstrap.Bootstrap(exports, REPLICATIONS)
    assert_widths(found, replicated.figures())
    assert_ranked(found, replicated.pass_rates(), len({one["cluster"] for one in exports.blind}))


def report() -> str:
    output = StringIO()
    call_command("judge_report", "world", "--json", stdout=output)
    return output.getvalue()


def export(folder: Path, recipe: ModuleType) -> Exports:
    for name in ("ratings", "population"):
        call_command("judge_data", "world", "--table", name, "-o", str(folder / name))
    call_command("export_run", "world", "-o", str(folder / "run"))
    call_command("export_audit", "-o", str(folder / "audit"))
    return Exports.read(folder, recipe)


def table(found: dict[str, Published], again: Figures, truth: Figures) -> Iterator[str]:
    """Yield a table of all figures, in Markdown."""
    yield "| Figure | Published | Interval | Recomputed | Truth |\n|---|---|---|---|---|"
    for name, one in found.items():
        interval = "" if one.low is None else f"{one.low:.4f} to {one.high:.4f}"
        others = (f"{values[name]:.4f}" if name in values else "" for values in (again, truth))
        yield f"| {name} | {one.value:.4f} | {interval} | {' | '.join(others)} |"


def assert_every_blind_score_counts(run: Run) -> None:
    """Check that each locked-in score has a rating of the verdict."""
    locked_in = BlindScores.objects.filter(evaluation__run=run).count()
    assert Rating.objects.filter(cell__criterion=None, cell__is_blind=True).count() == locked_in > 100
    assert not run.evaluations.filter(is_escalated=True).exists()


def assert_equal(found: dict[str, Published], again: Figures) -> None:
    """Check that published figures equal recomputed ones. Reports have six decimal places."""
    compared = {name for name in found if not name.endswith(" rank")}
    assert len(compared) > 400
    assert compared <= {*again}
    different = {
        name: (found[name], again[name])
        for name in compared
        if found[name].value != pytest.approx(again[name], abs=2e-6)
    }
    assert not different
    # The choice of flags ends at the first step that is not shown to keep the limit, and only pairs of models
    # whose order differs are published.
    assert all(" without " in name or " - " in name for name in {*again} - compared)


def assert_recipe_agrees(accuracy: Published, exports: Exports, folder: Path) -> None:
    """Check the documented recipe, which computes the accuracy with its interval."""
    group, weights = exports.recipe.weigh(exports.blind, exports.population)
    value, low, high = exports.recipe.accuracy(exports.blind, weights, exports.population, group)
    assert value == pytest.approx(accuracy.value, abs=2e-6)
    assert (low, high) == pytest.approx((accuracy.low, accuracy.high), abs=0.02)
    arguments = ["judge_accuracy.py", *(str(folder / name) for name in ("ratings", "population"))]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as printed:
        patch.setattr(sys, "argv", arguments)
        runpy.run_module("judge_accuracy", run_name="__main__")
    assert printed.getvalue().startswith(f"accuracy {value:.4f} ")


def assert_covered(found: dict[str, Published], truth: Figures) -> None:
    """Check that nine of ten intervals include the truth, and those of the most important figures always."""
    estimated = [name for name, one in found.items() if one.low is not None and name in truth]
    missed = [name for name in estimated if not found[name].covers(truth[name])]
    assert len(estimated) > 150
    assert len(missed) <= len(estimated) / 10, missed
    assert not {*ALWAYS} & {*missed}


def assert_widths(found: dict[str, Published], replicated: dict[str, Values]) -> None:
    """Check that intervals are about as wide as those of a bootstrap of tasks, which shares no formula."""
    ratios = {}
    for name, values in replicated.items():
        low, high = found[name].low, found[name].high
        assert low is not None
        assert high is not None
        ratios[name] = (high - low) / (2 * 1.96 * float(np.nanstd(values)))
    assert len(ratios) > 75
    assert {name: ratio for name, ratio in ratios.items() if not 0.65 < ratio < 1.6} == {}


def assert_ranked(found: dict[str, Published], rates: dict[str, Values], tasks: int) -> None:
    """Check that models rank above those with a clearly lower pass rate, and above no others."""
    values = {name: found[name].value for name in rates}
    tests = bootstrap.pair_tests(rates, values, tasks)
    for name, rate in values.items():
        model = name.removesuffix(": pass rate")
        above = len(values) - found[f"{model}: worst rank"].value
        below = found[f"{model}: best rank"].value - 1
        for number, is_behind in ((above, True), (below, False)):
            chosen = [
                p
                for pair, p in tests.items()
                if name in pair and is_other_behind(name, pair, values) == is_behind
            ]
            clear, possible = (sum(p < limit for p in chosen) for limit in (0.01, 0.2))
            assert clear <= number <= possible, (name, rate, chosen)


def is_other_behind(name: str, pair: tuple[str, str], values: dict[str, float]) -> bool:
    """Return whether the other model of a pair has the lower pass rate."""
    other = pair[1] if pair[0] == name else pair[0]
    return values[other] < values[name]
