"""Escalations, the inbox, spot checks and bulk changes. docs/api.md explains the members."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Literal

from cognireview.types.records import Decision

InboxKind = Literal[
    "question",
    "disagreement",
    "conflict",
    "check",
    "answer",
    "import",
    "export",
    "mail",
    "webhook",
    "plan",
    "rubric",
]


@dataclass(frozen=True)
class Voice:
    """A reviewer's score or verdict."""

    reviewer: str
    value: str
    """The score or the verdict as text; "excluded" for an excluded criterion."""


@dataclass(frozen=True)
class DifferingScores:
    """A criterion on which reviewers differ."""

    criterion: str
    """Its title."""
    scores: list[Voice]


@dataclass(frozen=True)
class Disagreement:
    """The independent reviews that differ."""

    verdicts: list[Voice]
    """The oldest review first."""
    criteria: list[DifferingScores]


@dataclass(frozen=True)
class Escalation:
    """A record sent to a lead."""

    id: int
    kind: Literal["cannot judge", "question", "disagreement"]
    run: str
    evaluation_id: str
    raised_by: str
    raised_at: dt.datetime
    reason: str
    note: str
    outcome: Literal["open", "withdrawn", "returned", "decided", "closed", "upheld"]
    answer: str
    resolved_by: str | None
    resolved_at: dt.datetime | None
    answer_read_at: dt.datetime | None
    disagreement: Disagreement | None
    """What differs, for leads, while a disagreement is open."""


@dataclass(frozen=True)
class EscalationPage:
    """A page of open escalations, the oldest first."""

    escalations: list[Escalation]
    total: int
    next: str | None
    """The cursor of the next page, for `after`; null on the last page."""


@dataclass(frozen=True)
class InboxItem:
    """Something that waits for you."""

    place: str
    """Identifies the item in the inbox."""
    kind: InboxKind
    id: int
    """Of the escalation, spot check, known answer, import, export, run, webhook or person."""
    run: str | None
    evaluation_id: str | None
    point: str
    """The question, what differs, the error, or the target of a plan; empty without one."""
    count: int
    """The number of conflicts, e-mails or messages; 0 for other items."""
    since: dt.datetime | None
    can_retry: bool
    """Whether the failed job can be retried as it is."""


@dataclass(frozen=True)
class InboxPage:
    """Items of the inbox with the number of each kind."""

    counts: dict[str, int]
    items: list[InboxItem]
    next: str | None
    """The cursor of the next page of the kind; null on the last page."""


@dataclass(frozen=True)
class SpotCheck:
    """A drawn decision, and the outcome of its check."""

    id: int
    run: str
    evaluation_id: str
    decision: Decision
    drawn_at: dt.datetime
    outcome: Literal["open", "agreed", "corrected", "reopened"]
    note: str
    resolved_by: str | None
    resolved_at: dt.datetime | None


@dataclass(frozen=True)
class SameScores:
    """Answers with a score of a criterion, and those with the known one."""

    criterion: str
    answers: int
    same: int


@dataclass(frozen=True)
class ReviewerAnswers:
    """How the answers of a reviewer compare with the known ones."""

    reviewer: str
    answers: int
    verdicts: int
    """Answers to compare by verdict: both have one."""
    same_verdict: int
    criteria: list[SameScores]


@dataclass(frozen=True)
class KnownAnswerCheck:
    """A check of the reviewers of a run against the reviews of a lead."""

    id: int
    run: str
    started_by: str
    started_at: dt.datetime
    ended_at: dt.datetime | None
    records: int
    reviewers: list[ReviewerAnswers]


@dataclass(frozen=True)
class Share:
    """The part of one person in a split."""

    #: The username.
    person: str
    #: Records for this person; None for an even share.
    number: int | None = None


@dataclass(frozen=True, kw_only=True)
class BulkChange:
    """An action, and the records in the queue that it is for: those of the filters, or the selected ones."""

    kind: Literal["assign", "split", "prioritise", "due", "escalate", "release"]
    #: The filters of `records`.
    filters: dict[str, str | list[str]] = field(default_factory=dict)
    #: Records instead of those of the filters.
    evaluation_ids: list[str] | None = None
    #: assign: a username; None for nobody.
    assigned_to: str | None = None
    #: split: the people.
    shares: list[Share] = field(default_factory=list)
    #: split: all records of a task go to one person.
    keeps_tasks: bool = True
    #: prioritise: 1 is first, 0 is normal.
    priority: Literal[0, 1] = 1
    #: due: the date; None for none.
    due_on: dt.date | None = None
    #: escalate: the question.
    note: str = ""


@dataclass(frozen=True)
class AppliedBulkChange:
    """A bulk change."""

    id: int
    run: str
    kind: str
    by: str
    at: dt.datetime
    evaluations: int
    """The number of records changed."""
    assigned_to: str | None
    priority: int | None
    due_on: dt.date | None
    undone_at: dt.datetime | None


@dataclass(frozen=True)
class BulkPreview:
    """The effect that a bulk change would have."""

    evaluations: int | None
    """Records that would change; null for more than one change takes."""
    claimed: int
    """Records that others have claimed, which stay."""
    given: dict[str, int]
    """split: records by person."""


@dataclass(frozen=True)
class UndoneBulkChange:
    """The effect of undoing a bulk change."""

    restored: int
    stayed: int
    """Records that have changed since, and stay."""


@dataclass(frozen=True)
class RunWork:
    """Records of a run that are assigned to a person and wait in the queue."""

    run: str
    records: int
    overdue: int
    first_due: dt.date | None


@dataclass(frozen=True)
class Workload:
    """The work of a person."""

    person: str
    """The username."""
    records: int
    """Assigned records that wait in the queue."""
    overdue: int
    first_due: dt.date | None
    done: int
    """Decisions of the 7 days before today (UTC), or of today without any. Undone ones do not count."""
    pace: float | None
    """Decisions per day with a decision, on these days."""
    runs: list[RunWork]
