"""Compare a figure of the judge with a limit: met, shown worse, or not shown yet."""

from enum import StrEnum

from cognireview.types.estimates import Estimate
from reviews.judge.flag_precision import FEWEST

# Limits are compared after rounding, so that floating-point noise decides nothing.
_DECIMALS = 9


class GateOutcome(StrEnum):
    """The outcome of a requirement, worst first. The worst outcome of several decides.

    | Outcome       | Exit status | The figure's 95% confidence sequence                                |
    |---------------|-------------|---------------------------------------------------------------------|
    | shown worse   | 1           | lies entirely on the wrong side of the limit                        |
    | not shown yet | 2           | includes the limit, is based on fewer than 10, or does not exist    |
    | met           | 0           | lies entirely on the right side of the limit, or touches it         |
    """

    SHOWN_WORSE = "shown worse"
    NOT_SHOWN_YET = "not shown yet"
    MET = "met"

    @property
    def status(self) -> int:
        """The exit status of the command."""
        return {GateOutcome.SHOWN_WORSE: 1, GateOutcome.NOT_SHOWN_YET: 2, GateOutcome.MET: 0}[self]


def compare_with_limit(estimate: Estimate, limit: float, *, at_least: bool = True) -> GateOutcome:
    """Compare the confidence sequence of an estimate with a limit to reach, or not to exceed."""
    low, high = estimate.low, estimate.high
    if estimate.value is None or low is None or high is None or estimate.n < FEWEST:
        return GateOutcome.NOT_SHOWN_YET
    limit, low, high = (round(number, _DECIMALS) for number in (limit, low, high))
    is_met = low >= limit if at_least else high <= limit
    is_worse = high < limit if at_least else low > limit
    return GateOutcome.MET if is_met else GateOutcome.SHOWN_WORSE if is_worse else GateOutcome.NOT_SHOWN_YET
