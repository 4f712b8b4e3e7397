"""Read the values of estimates that must be defined."""

from cognireview.types.estimates import Estimate


def value(estimate: Estimate) -> float:
    assert estimate.value is not None, estimate.why
    return estimate.value


def limits(estimate: Estimate, digits: int = 9) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return round(estimate.low, digits), round(estimate.high, digits)
