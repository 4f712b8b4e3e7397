"""Standard errors of the judge's figures by a bootstrap of tasks, from the exported files alone.

It shares no formula with the published intervals: tasks are drawn with replacement, with their records and
ratings, and each figure is computed again.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import numpy.typing as npt

from tests.judge.exported import PARTS, SCORES, VERDICT, VERDICTS, Exports, Values, pairs_of
from tests.support.statistics_packages import multitest, stats

_SEED = 11


class Bootstrap:
    """Replications of the figures of exported data."""

    def __init__(self, exports: Exports, replications: int) -> None:
        self.exports = exports
        names = sorted({one["cluster"] for one in exports.population})
        place = {name: number for number, name in enumerate(names)}
        rng = np.random.default_rng(_SEED)
        #: R x tasks: how often a task is drawn.
        times = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), replications)
        lines = exports.blind
        cells = sorted({one["cell"] for one in exports.population})
        of_cell = {name: number for number, name in enumerate(cells)}
        self.cell = np.array([of_cell[one["cell"]] for one in lines])
        self.group_of = np.array([exports.group[name] for name in cells])
        records = np.zeros((len(names), len(cells)))
        for one in exports.population:
            records[place[one["cluster"]], of_cell[one["cell"]]] += one["records"]
        #: R x cells: the records of the drawn tasks.
        self.records = times @ records
        weight = np.array([1 / (one["probability"] * one["raters"]) for one in lines])
        drawn = times[:, [place[one["cluster"]] for one in lines]] * weight
        group = self.group_of[self.cell]
        represented = self._by_group(self.records, self.group_of) / np.maximum(
            1e-9, self._by_group(drawn, group)
        )
        #: R x ratings: the number of records that each rating represents.
        self.weights = drawn * represented[:, group]

    def _by_group(self, values: Values, group: npt.NDArray[np.int64]) -> Values:
        sums: Values = values @ np.eye(self.group_of.max() + 1)[group]
        return sums

    def figures(self) -> dict[str, Values]:
        """Return the figures that the report publishes with an interval."""
        found: dict[str, Values] = {}
        is_flagged = np.array([one["is_flagged"] for one in self.exports.blind])
        for subject in (VERDICT, *self.exports.criteria):
            judge, human = pairs_of(self.exports.blind, subject)
            pairs = np.eye(len(SCORES) ** 2)[judge * len(SCORES) + human]
            pairs[(judge < 0) | (human < 0)] = 0
            for part, flags in PARTS.items():
                sums = (self.weights * np.isin(is_flagged, flags)) @ pairs
                for figure, values in _coefficients(sums.reshape(-1, len(SCORES), len(SCORES))).items():
                    found[f"{subject}, {part}: {figure}"] = values
        judge, human = pairs_of(self.exports.blind, VERDICT)
        errors = self.weights * (judge != human)
        found["miss rate"] = 1 - found["Verdict, unflagged: accuracy"]
        found["flag recall"] = errors[:, is_flagged].sum(axis=1) / errors.sum(axis=1)
        return found | self.pass_rates()

    def pass_rates(self) -> dict[str, Values]:
        """Return the estimated pass rate of each model."""
        human = pairs_of(self.exports.blind, VERDICT)[1]
        passed = (human == len(VERDICTS) - 1).astype(float)
        group = self.group_of[self.cell]
        means = self._by_group(self.weights * passed, group) / np.maximum(
            1e-9, self._by_group(self.weights, group)
        )
        residuals = self.weights * (passed - means[:, group])
        model_of = {one["cell"]: one["model_id"] for one in self.exports.population}
        models = np.array([model_of[name] for name in sorted(model_of)])
        found = {}
        for model in sorted({*models}):
            drawn, rated = models == model, models[self.cell] == model
            predicted = (self.records * means[:, self.group_of])[:, drawn].sum(axis=1)
            total = predicted + residuals[:, rated].sum(axis=1)
            found[f"{model}: pass rate"] = total / self.records[:, drawn].sum(axis=1)
        return found


@np.errstate(invalid="ignore")
def _coefficients(matrices: Values) -> dict[str, Values]:
    """Compute coefficients of R matrices, judge x human. NaN where a coefficient is undefined."""
    shares = matrices / matrices.sum(axis=(1, 2), keepdims=True)
    judge, human = shares.sum(axis=2), shares.sum(axis=1)
    place = np.arange(len(SCORES))
    apart = abs(place[:, None] - place)
    by_chance = judge[:, :, None] * human[:, None, :]
    either = (judge + human) / 2
    chance = (either * (1 - either)).sum(axis=1) / (len(SCORES) - 1)
    agreed = np.trace(shares, axis1=1, axis2=2)
    return {
        "accuracy": agreed,
        "kappa": 1 - (1 - agreed) / (1 - np.trace(by_chance, axis1=1, axis2=2)),
        "weighted_kappa": 1 - (shares * apart).sum(axis=(1, 2)) / (by_chance * apart).sum(axis=(1, 2)),
        "ac1": (agreed - chance) / (1 - chance),
        "leniency": (shares * np.sign(place[:, None] - place)).sum(axis=(1, 2)),
    }


def pair_tests(
    rates: Mapping[str, Values], values: Mapping[str, float], tasks: int
) -> dict[tuple[str, str], float]:
    """Return the p-value of each pair of models (names of their pass rates), adjusted by Holm."""
    pairs = list(combinations(sorted(rates), 2))
    ratios = [abs(values[one] - values[other]) / np.std(rates[one] - rates[other]) for one, other in pairs]
    adjusted = multitest.multipletests(2 * stats.t.sf(ratios, tasks - 1), method="holm")[1]
    return dict(zip(pairs, map(float, adjusted), strict=True))
