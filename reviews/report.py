"""What is known of how far a run's judge can be trusted, in one object: to print, to send, to parse."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from reviews import (
    counts,
    defects,
    judging,
    judging_escapes,
    judging_facts,
    judging_reasons,
    judging_reviewers,
    scoreboard,
)
from reviews.counts import Progress
from reviews.defects import Defects
from reviews.judging import JudgeVsHuman, Scope
from reviews.judging_escapes import Escapes
from reviews.judging_facts import Facts
from reviews.judging_reasons import Reasons
from reviews.replica import by_replica
from reviews.scoreboard import Scoreboard

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
    reviewers: tuple[judging_reviewers.Figures, ...]
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
        progress=counts.of(scope.run),
        facts=judging_facts.of(scope.run),
        judge=judging.compare(scope),
        reviewers=judging_reviewers.of(scope.run),
        reasons=judging_reasons.of(scope),
        escapes=judging_escapes.of(scope),
        scoreboard=scoreboard.of(scope),
        defects=defects.of(scope),
    )
