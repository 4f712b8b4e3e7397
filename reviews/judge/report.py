"""Combine everything known about a run's judge in one report, to print, send or parse."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from cognireview.types import judge
from cognireview.types.encoding import members
from reviews.database.replica import read_from_replica
from reviews.judge import (
    accuracy,
    alt_test,
    data_summary,
    error_analysis,
    flag_choice,
    flag_precision,
    funnel,
    leaderboard,
    missed_errors,
    reviewer_agreement,
    target,
)
from reviews.judge.accuracy import JudgeVsHuman
from reviews.judge.comparison.position_bias import PositionBias, measure_position_bias
from reviews.judge.data_summary import DataSummary
from reviews.judge.error_analysis import ErrorAnalysis
from reviews.judge.flag_choice import FlagChoice
from reviews.judge.flag_precision import FlagPrecision
from reviews.judge.funnel import Funnel
from reviews.judge.leaderboard import Leaderboard
from reviews.judge.loading import shares_loads
from reviews.judge.missed_errors import MissedErrors
from reviews.judge.scope import JudgeScope
from reviews.judge.target import TargetCheck
from reviews.queue import progress as queue_progress
from reviews.queue.progress import Progress

# The version of the JSON. It changes if a name is removed or changes its meaning, not if one is added.
VERSION = 1


@dataclass(frozen=True)
class JudgeReport:
    """The parts of the report in reading order."""

    scope: JudgeScope
    at: dt.datetime
    progress: Progress
    data: DataSummary
    #: None without a target, or if filters select a part of the run.
    target: TargetCheck | None
    judge_vs_human: JudgeVsHuman
    funnel: Funnel
    reviewers: tuple[reviewer_agreement.ReviewerAgreement, ...]
    alt_test: tuple[alt_test.JudgeAltTest, ...]
    position_bias: tuple[PositionBias, ...]
    flag_precision: FlagPrecision
    flag_choice: FlagChoice
    missed_errors: MissedErrors
    leaderboard: Leaderboard
    error_analysis: ErrorAnalysis

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values. An estimate has its 95% interval, or says why it is undefined."""
        progress = self.progress._asdict()
        return members(judge.JudgeReport, self, version=VERSION, progress=progress, requirements=[])


@read_from_replica
@shares_loads
def build_report(scope: JudgeScope) -> JudgeReport:
    """Build the report of a scope. Each part documents which filters it applies."""
    compared = accuracy.compare_with_humans(scope)
    return JudgeReport(
        scope=scope,
        at=timezone.now().replace(microsecond=0),
        progress=queue_progress.run_progress(scope.run),
        data=data_summary.summarize_data(scope.run),
        target=target.check_target(compared),
        judge_vs_human=compared,
        funnel=funnel.follow_records(scope, compared),
        reviewers=reviewer_agreement.measure_reviewer_agreement(scope),
        alt_test=alt_test.run_alt_tests(scope),
        position_bias=measure_position_bias(scope),
        flag_precision=flag_precision.measure_flag_precision(scope),
        flag_choice=flag_choice.choose_flags(scope),
        missed_errors=missed_errors.estimate_missed_errors(scope),
        leaderboard=leaderboard.rank_models(scope),
        error_analysis=error_analysis.analyse_errors(scope),
    )
