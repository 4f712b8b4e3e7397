"""Combine everything known about a run's judge in one report, to print, send or parse."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from reviews.database.replica import read_from_replica
from reviews.judge import (
    accuracy,
    data_summary,
    error_analysis,
    flag_precision,
    leaderboard,
    missed_errors,
    reviewer_agreement,
)
from reviews.judge.accuracy import JudgeVsHuman
from reviews.judge.data_summary import DataSummary
from reviews.judge.error_analysis import ErrorAnalysis
from reviews.judge.flag_precision import FlagPrecision
from reviews.judge.leaderboard import Leaderboard
from reviews.judge.missed_errors import MissedErrors
from reviews.judge.plain_json import members
from reviews.judge.scope import JudgeScope
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
    judge_vs_human: JudgeVsHuman
    reviewers: tuple[reviewer_agreement.ReviewerAgreement, ...]
    flag_precision: FlagPrecision
    missed_errors: MissedErrors
    leaderboard: Leaderboard
    error_analysis: ErrorAnalysis

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values. An estimate has its 95% interval, or says why it is undefined."""
        return {
            "version": VERSION,
            "at": self.at.isoformat(timespec="seconds"),
            "progress": self.progress._asdict(),
            **members(self, "scope", "data", "judge_vs_human", "reviewers", "flag_precision"),
            **members(self, "missed_errors", "leaderboard", "error_analysis"),
        }


@read_from_replica
def build_report(scope: JudgeScope) -> JudgeReport:
    """Build the report of a scope. Each part documents which filters it applies."""
    return JudgeReport(
        scope=scope,
        at=timezone.now(),
        progress=queue_progress.run_progress(scope.run),
        data=data_summary.summarize_data(scope.run),
        judge_vs_human=accuracy.compare_with_humans(scope),
        reviewers=reviewer_agreement.measure_reviewer_agreement(scope.run),
        flag_precision=flag_precision.measure_flag_precision(scope),
        missed_errors=missed_errors.estimate_missed_errors(scope),
        leaderboard=leaderboard.rank_models(scope),
        error_analysis=error_analysis.analyse_errors(scope),
    )
