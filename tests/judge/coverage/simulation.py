"""Measure how often intervals include the truth."""

from dataclasses import dataclass
from math import sqrt
from zlib import crc32

import numpy as np

from tests.judge.coverage.settings import Setting


@dataclass(frozen=True)
class Coverage:
    """How often an interval of a setting included the truth."""

    setting: Setting
    #: Replications in which the figure was defined.
    defined: int
    #: The share of these in which the interval included the truth.
    share: float
    #: Shares in which the interval was below and above the truth.
    below: float
    above: float
    #: The mean width of the interval.
    width: float

    @property
    def error(self) -> float:
        """The standard error of the share, if it is 95%."""
        return sqrt(0.95 * 0.05 / max(1, self.defined))


def measure(setting: Setting, replications: int, seed: int) -> Coverage:
    """Simulate a setting and count the intervals that include the truth."""
    limits = []
    # Settings have random numbers of their own, so that a chance deviation is not that of all settings.
    own = crc32(f"{setting.figure}: {setting.setting}".encode())
    for rng in np.random.default_rng([seed, own]).spawn(replications):
        found = setting.estimate(rng)
        if found.low is not None and found.high is not None:
            limits.append((found.low, found.high))
    low, high = np.array(limits).T if limits else (np.zeros(0), np.zeros(0))
    below, above = float((high < setting.truth).mean()), float((low > setting.truth).mean())
    return Coverage(setting, len(limits), 1 - below - above, below, above, float((high - low).mean()))
