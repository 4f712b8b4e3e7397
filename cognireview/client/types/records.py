"""Records, decisions and drafts. docs/api.md explains the members."""

import datetime as dt
from dataclasses import dataclass
from typing import Any, Literal


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
    judge_scores: dict[str, Any] | None
    human_scores: dict[str, Any] | None
    version: int
    updated_at: dt.datetime | None
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
    scale: dict[str, Any]
    scores: list[Any]


@dataclass(frozen=True)
class Decision:
    """A human decision. An independent review that waits for others has no version yet."""

    version: int | None
    reviewer: str
    submitted_at: dt.datetime
    corrected_scores: dict[str, dict[str, Any]] | None
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
    corrected_scores: dict[str, Any] | None
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
    context: list[dict[str, Any]]
    conversation: list[dict[str, Any]]
    reference: Any
    final_answer: Any
    responses: list[NamedResponse]
    metadata: dict[str, Any]


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
    fields: dict[str, Any]
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
class DraftEntry:
    """The entries of one criterion, which need not be complete."""

    criterion: str
    #: As text; empty without one.
    score: str = ""
    justification: str = ""
    cause: str = ""
    is_excluded: bool = False


@dataclass(frozen=True)
class Draft:
    """Your draft of a record."""

    revision: int
    saved_at: dt.datetime
    entries: list[DraftEntry]
    comments: str
