"""Verdicts of records, and the rules that make them from scores."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from reviews.records.scales import Level

Verdict = Literal["Pass", "Partial", "Fail"]
VERDICT_OF_LEVEL: dict[Level, Verdict] = {"yes": "Pass", "partial": "Partial", "no": "Fail"}
RuleKind = Literal["worst", "mean", "weighted", "none"]
RULES: dict[RuleKind, str] = {
    "worst": "Worst score: any No fails, otherwise any Partial is Partial, and all Yes passes",
    "mean": "Mean of all scores",
    "weighted": "Mean weighted by the criteria's weights",
    "none": "No verdict",
}


@dataclass(frozen=True)
class VerdictRule:
    """How the scores of a record make a verdict.

    "worst": the worst level decides. "mean" and "weighted": the mean of the scores is a Pass from
    `pass_from`, a Partial from `partial_from`, otherwise a Fail. Numbers count as they are, and values from 1
    (the best) to 0 (the worst) in equal steps. "none": there is no verdict.
    """

    kind: RuleKind = "worst"
    pass_from: float | None = None
    partial_from: float | None = None

    @property
    def is_mean(self) -> bool:
        return self.kind in {"mean", "weighted"}

    def level(self, mean: float) -> Level:
        if self.pass_from is not None and mean >= self.pass_from:
            return "yes"
        return "partial" if self.partial_from is not None and mean >= self.partial_from else "no"

    def as_json(self) -> dict[str, Any]:
        if not self.is_mean:
            return {"rule": self.kind}
        limits = {"pass_from": self.pass_from, "partial_from": self.partial_from}
        return {"rule": self.kind, **{name: limit for name, limit in limits.items() if limit is not None}}

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each setting that is wrong, with the reason."""
        if not self.is_mean:
            return
        if self.pass_from is None:
            yield "pass_from", "Enter the lowest mean that passes."
        elif self.partial_from is not None and self.partial_from > self.pass_from:
            yield "partial_from", "The lowest mean of a Partial cannot be above that of a Pass."
