"""What is known of how far a run's judge can be trusted, in one object: to print, to send, to parse."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from reviews.database.replica import by_replica
from reviews.judge import (
    agreement,
    error_analysis,
    flag_precision,
    leaderboard,
    missed_errors,
    reviewer_agreement,
    run_facts,
)
from reviews.judge.agreement import JudgeVsHuman, Scope
from reviews.judge.error_analysis import Defects
from reviews.judge.flag_precision import Reasons
from reviews.judge.leaderboard import Scoreboard
from reviews.judge.missed_errors import Escapes
from reviews.judge.run_facts import Facts
from reviews.queue import progress as queue_progress
from reviews.queue.progress import Progress

# Of the JSON. It grows when a name in it goes or changes what it means; new names may come at any time.
VERSION = 1


@dataclass(frozen=True)
class Report:
    """The parts in reading order; each says itself what it is about."""

    scope: Scope
    at: dt.datetime
    progress: Progress
    facts: Facts
    judge: JudgeVsHuman
    reviewers: tuple[reviewer_agreement.Figures, ...]
    reasons: Reasons
    escapes: Escapes
    scoreboard: Scoreboard
    defects: Defects

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


@by_replica
def of(scope: Scope) -> Report:
    """The report of a run, or of a part of it. Each part says what it can be narrowed by."""
    return Report(
        scope=scope,
        at=timezone.now(),
        progress=queue_progress.run_progress(scope.run),
        facts=run_facts.of(scope.run),
        judge=agreement.compare(scope),
        reviewers=reviewer_agreement.of(scope.run),
        reasons=flag_precision.of(scope),
        escapes=missed_errors.of(scope),
        scoreboard=leaderboard.of(scope),
        defects=error_analysis.of(scope),
    )
