"""Combine everything known about a run's judge in one report, to print, send or parse."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from cognireview.types import judge, report_parts
from cognireview.types.encoding import members
from reviews.database.replica import read_from_replica
from reviews.judge.accuracy import JudgeVsHuman, compare_with_humans
from reviews.judge.alt_test import run_alt_tests
from reviews.judge.comparison.position_bias import PositionBias, measure_position_bias
from reviews.judge.data_summary import DataSummary, summarize_data
from reviews.judge.error_analysis import ErrorAnalysis, analyse_errors
from reviews.judge.flag_choice import choose_flags
from reviews.judge.flag_precision import measure_flag_precision
from reviews.judge.funnel import follow_records
from reviews.judge.leaderboard import Leaderboard, rank_models
from reviews.judge.loading import shares_loads
from reviews.judge.missed_errors import MissedErrors, estimate_missed_errors
from reviews.judge.reviewer_agreement import measure_reviewer_agreement
from reviews.judge.scope import JudgeScope
from reviews.judge.target import TargetCheck, check_target
from reviews.queue.progress import Progress, run_progress

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
    funnel: report_parts.Funnel
    reviewers: tuple[report_parts.ReviewerAgreement, ...]
    alt_test: list[report_parts.AltTest]
    position_bias: tuple[PositionBias, ...]
    flag_precision: report_parts.FlagPrecision
    flag_choice: report_parts.FlagChoice
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
    compared = compare_with_humans(scope)
    return JudgeReport(
        scope=scope,
        at=timezone.now().replace(microsecond=0),
        progress=run_progress(scope.run),
        data=summarize_data(scope.run),
        target=check_target(compared),
        judge_vs_human=compared,
        funnel=follow_records(scope, compared),
        reviewers=measure_reviewer_agreement(scope),
        alt_test=run_alt_tests(scope),
        position_bias=measure_position_bias(scope),
        flag_precision=measure_flag_precision(scope),
        flag_choice=choose_flags(scope),
        missed_errors=estimate_missed_errors(scope),
        leaderboard=rank_models(scope),
        error_analysis=analyse_errors(scope),
    )
