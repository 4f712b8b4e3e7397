"""What is known of how far a run's judge can be trusted, in one object: to print, to send, to parse."""

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
from reviews.judge.accuracy import JudgeScope, JudgeVsHuman
from reviews.judge.data_summary import DataSummary
from reviews.judge.error_analysis import ErrorAnalysis
from reviews.judge.flag_precision import FlagPrecision
from reviews.judge.leaderboard import Leaderboard
from reviews.judge.missed_errors import MissedErrors
from reviews.queue import progress as queue_progress
from reviews.queue.progress import Progress

# Of the JSON. It grows when a name in it goes or changes what it means; new names may come at any time.
VERSION = 1


@dataclass(frozen=True)
class JudgeReport:
    """The parts in reading order; each says itself what it is about."""

    scope: JudgeScope
    at: dt.datetime
    progress: Progress
    facts: DataSummary
    judge: JudgeVsHuman
    reviewers: tuple[reviewer_agreement.ReviewerAgreement, ...]
    reasons: FlagPrecision
    escapes: MissedErrors
    scoreboard: Leaderboard
    defects: ErrorAnalysis

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values. An estimate has its 95 % interval, and says why where there is none."""
        return {
            "version": VERSION,
            "scope": self.scope.as_json(),
            "at": self.at.isoformat(timespec="seconds"),
            "progress": {name: getattr(self.progress, name) for name in Progress._fields},
            "facts": self.facts.as_json(),
            "judge_vs_human": self.judge.as_json(),
            "reviewers": [figures.as_json() for figures in self.reviewers],
            "reasons": self.reasons.as_json(),
            "escapes": self.escapes.as_json(),
            "scoreboard": self.scoreboard.as_json(),
            "defects": self.defects.as_json(),
        }


@read_from_replica
def build_report(scope: JudgeScope) -> JudgeReport:
    """The report of a run, or of a part of it. Each part says what it can be narrowed by."""
    return JudgeReport(
        scope=scope,
        at=timezone.now(),
        progress=queue_progress.run_progress(scope.run),
        facts=data_summary.summarize_data(scope.run),
        judge=accuracy.compare_with_humans(scope),
        reviewers=reviewer_agreement.measure_reviewer_agreement(scope.run),
        reasons=flag_precision.measure_flag_precision(scope),
        escapes=missed_errors.estimate_missed_errors(scope),
        scoreboard=leaderboard.rank_models(scope),
        defects=error_analysis.analyse_errors(scope),
    )
