"""The responses of the API as dataclasses, with the names of their members. docs/api.md explains them.

A test compares each class with its schema. Members that a newer server adds are ignored.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Any, Literal

Json = dict[str, Any]


@dataclass(frozen=True)
class RunDetails:
    """A run with the number of its records in each state."""

    name: str
    created_at: dt.datetime
    total: int
    waiting: int
    claimed: int
    escalated: int
    done: int
    not_required: int
    sampled: int
    archived_at: dt.datetime | None
    is_restricted: bool


@dataclass(frozen=True)
class ImportDetails:
    """An import: the progress of its job, and its lines by outcome."""

    id: int
    run: str
    file_name: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    strict: bool
    error: str
    size: int
    sha256: str
    created_at: dt.datetime
    finished_at: dt.datetime | None
    counts: dict[str, int]
    of_other_judge: int
    bytes_done: int | None
    bytes_to_do: int | None
    seconds_left: int | None

    @property
    def is_finished(self) -> bool:
        return self.state not in {"queued", "running"}


@dataclass(frozen=True)
class UploadProgress:
    """A resumable upload. A complete one has an import."""

    offset: int
    size: int
    import_id: int | None


@dataclass(frozen=True)
class RejectedLine:
    """A line that was not imported."""

    line: int
    outcome: str
    field: str
    reason: str


@dataclass(frozen=True)
class Reread:
    """A run whose stored files were read again with another mapping."""

    records: int
    new_records: int
    new_ids: int
    claims: int


@dataclass(frozen=True)
class Mapping:
    """The mapping from the lines of a file to record fields."""

    run: str
    mapping: Json
    reread: Reread | None


@dataclass(frozen=True)
class ContextException:
    """A rejected entry of a file of task context."""

    place: int
    field: str
    reason: str


@dataclass(frozen=True)
class ContextImport:
    """An imported file of task context."""

    run: str | None
    tasks: int
    answers: int
    rejected: int
    exceptions: list[ContextException]


@dataclass(frozen=True)
class RecordRow:
    """A record in a list."""

    evaluation_id: str
    run: str
    task_id: str | None
    model_id: str | None
    judge_llm_model: str
    judge_prompt_template_path: str
    status: str
    judge_verdict: str | None
    human_verdict: str | None
    version: int
    created_at: dt.datetime
    claimed_by: str | None
    claimed_until: dt.datetime | None
    assigned_to: str | None
    due_on: dt.date | None
    is_escalated: bool
    is_outdated: bool
    reviewer: str | None
    reviewed_at: dt.datetime | None


@dataclass(frozen=True)
class RecordPage:
    """A page of records."""

    evaluations: list[RecordRow]
    total: int | None
    is_complete: bool
    next: str | None


@dataclass(frozen=True)
class Criterion:
    """A criterion with the judge's score and the possible scores."""

    criterion: str
    title: str
    description: str
    is_required: bool
    score: Any
    justification: str
    origin: str
    scale: Json
    scores: list[Any]


@dataclass(frozen=True)
class Decision:
    """A human decision. An independent review that waits for others has no version yet."""

    version: int | None
    reviewer: str
    submitted_at: dt.datetime
    corrected_scores: dict[str, Json] | None
    comments: str | None
    causes: dict[str, str]
    verdict: str | None


@dataclass(frozen=True)
class Version(Decision):
    """A version of the decision on a record: the current decision, or why it is not."""

    state: Literal["current", "outdated", "superseded", "undone", "independent review"]


@dataclass(frozen=True)
class FileDecision:
    """An imported human decision, while none was made in CogniReview."""

    reviewer: str | None
    reviewed_at: dt.datetime | None
    file_name: str
    line: int
    corrected_scores: Json | None
    comments: str | None
    verdict: str | None


@dataclass(frozen=True)
class NamedResponse:
    """A response of a model in the task context."""

    name: str
    response: Any


@dataclass(frozen=True)
class Context:
    """The question and the responses of a record."""

    prompt: str
    context: list[Json]
    conversation: list[Json]
    reference: Any
    final_answer: Any
    responses: list[NamedResponse]
    metadata: Json


@dataclass(frozen=True)
class Record:
    """A record with everything that the owner of the token may see."""

    evaluation_id: str
    run: str
    version: int
    status: str
    claimed_by: str | None
    claimed_until: dt.datetime | None
    is_blind: bool
    fields: Json
    criteria: list[Criterion]
    causes: dict[str, str]
    context: Context | None
    decision: Decision | None
    file_decision: FileDecision | None


@dataclass(frozen=True)
class Saved:
    """The outcome of a submitted decision."""

    outcome: Literal["current", "independent review", "disagreement"]
    status: str
    version: int
    decision: Decision


@dataclass(frozen=True)
class Action:
    """An action on a record that `undo` would undo."""

    event: int
    action: str
    at: dt.datetime
    evaluation_id: str
    decision_version: int | None


@dataclass(frozen=True)
class Undone:
    """An action that was undone, and its record now."""

    undone: Action
    record: Record


@dataclass(frozen=True)
class Voice:
    """A reviewer's score or verdict."""

    reviewer: str
    value: str


@dataclass(frozen=True)
class DifferingScores:
    """A criterion on which reviewers differ."""

    criterion: str
    scores: list[Voice]


@dataclass(frozen=True)
class Disagreement:
    """The independent reviews that differ."""

    verdicts: list[Voice]
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


@dataclass(frozen=True)
class EscalationPage:
    """A page of open escalations, the oldest first."""

    escalations: list[Escalation]
    total: int
    next: str | None


@dataclass(frozen=True)
class Rubric:
    """The rubric of a run."""

    run: str
    is_declared: bool
    rubric: Json
    toml: str
    fingerprint: str


@dataclass(frozen=True)
class Guideline:
    """The guideline for the reviewers of a run."""

    run: str
    version: int | None
    text: str


@dataclass(frozen=True)
class Members:
    """The people who may see a run, besides admins; null if everybody may."""

    run: str
    members: list[str] | None


@dataclass(frozen=True)
class Token:
    """A token without its text."""

    id: int
    person: str
    name: str
    prefix: str
    scopes: list[str]
    created_at: dt.datetime
    expires_at: dt.datetime
    last_used_at: dt.datetime | None


@dataclass(frozen=True)
class Webhook:
    """A webhook without its secret. `run` is None for every run."""

    id: int
    url: str
    run: str | None
    events: list[str]
    created_by: str
    created_at: dt.datetime


@dataclass(frozen=True)
class NewWebhook(Webhook):
    """A new webhook. `secret` signs its messages, and is returned once."""

    secret: str


@dataclass(frozen=True)
class Delivery:
    """A message to a webhook."""

    id: int
    message_id: str
    event: str
    run: str | None
    state: Literal["waiting", "delivered", "given up"]
    created_at: dt.datetime
    next_attempt_at: dt.datetime | None
