"""Compare the judge's blind accuracy with the target of its run."""

from dataclasses import dataclass

from cognireview.types.estimates import Estimate
from reviews.judge.accuracy import JudgeVsHuman
from reviews.judge.outcomes import GateOutcome, compare_with_limit
from reviews.judge.sampling_settings import percentage
from reviews.judge.scope import JudgeScope
from reviews.judge.sequences import figure_sequence
from reviews.records.wording import percent
from reviews.statistics.intervals import undefined

DEFINITION = (
    "The target is met once the accuracy is shown to reach it, and not met once it is shown to be lower. "
    "Until then, more blind reviews decide.\n\n"
    "The 95% confidence sequence of the blind accuracy over the whole run is compared with the target, as by "
    "`judge_report --require 'accuracy >= 0.8'`. The sequence stays right if you look after every rating, "
    "and is therefore wider than the interval (Waudby-Smith & Ramdas 2024, Journal of the Royal Statistical "
    "Society B 86:1)."
)
_WORDS = {
    GateOutcome.MET: "met",
    GateOutcome.SHOWN_WORSE: "not met",
    GateOutcome.NOT_SHOWN_YET: "not decided yet",
}


@dataclass(frozen=True)
class TargetCheck:
    """The target of a run, and whether its judge is shown to reach it."""

    #: From 0 to 1.
    target: float
    #: The blind accuracy over the whole run, with its confidence sequence.
    accuracy: Estimate
    #: The same with its interval.
    interval: Estimate

    @property
    def outcome(self) -> GateOutcome:
        return compare_with_limit(self.accuracy, self.target)

    @property
    def sentence(self) -> str:
        return f"Target {percentage(self.target)}%: {_WORDS[self.outcome]}"

    @property
    def explanation(self) -> str:
        """Why the target is not decided yet although the interval does not include it, or an empty string."""
        low, high = self.accuracy.low, self.accuracy.high
        if self.outcome != GateOutcome.NOT_SHOWN_YET or low is None or high is None:
            return ""
        if compare_with_limit(self.interval, self.target) == GateOutcome.NOT_SHOWN_YET:
            return ""
        return (
            f"The interval is right for one look. For somebody who looks after every rating, the accuracy is "
            f"from {percent(low)} to {percent(high)}, which includes the target."
        )


def check_target(compared: JudgeVsHuman) -> TargetCheck | None:
    """Check the target of a run. Returns None without a target, and if filters select a part of the run."""
    scope = compared.scope
    if scope.run.accuracy_target is None or scope != JudgeScope(scope.run):
        return None
    found = compared.headline
    if found is None:
        unknown = undefined("There is no blind rating.")
        return TargetCheck(scope.run.accuracy_target, unknown, unknown)
    sequence = figure_sequence("accuracy", found.accuracy, found.confusion)
    return TargetCheck(scope.run.accuracy_target, sequence, found.accuracy)
