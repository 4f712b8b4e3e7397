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
    """`aggregated_score`, or else the verdict of the judge's scores by the run's rubric. Null without one,
    and while the record is reviewed blind."""
    human_verdict: str | None
    judge_scores: dict[str, Any] | None
    """The judge's score by criterion. Null while the record is reviewed blind."""
    human_scores: dict[str, Any] | None
    """The scores of the current or imported decision by criterion. Null without a decision, and while the
    record is reviewed blind."""
    version: int
    updated_at: dt.datetime | None
    """When the version last grew. Null for a record that has not changed since its import."""
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
    """Null for more than 500 matches that are not counted to the end, or if not complete."""
    is_complete: bool
    """False while a job indexes the records of a large import, which filters cannot find yet."""
    next: str | None
    """The cursor of the next page, for `after`; null on the last page."""


@dataclass(frozen=True)
class Criterion:
    """A criterion with the judge's score and the possible scores."""

    criterion: str
    title: str
    description: str
    """Markdown."""
    is_required: bool
    score: Any
    """The judge's score; null if it gave none, or while it is hidden."""
    justification: str
    origin: str
    """judge, extracted (from the raw output) or rubric (not scored)"""
    scale: dict[str, Any]
    scores: list[Any]
    """The valid scores, unless they are a range of numbers."""


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
    """The current decision, or why it is not."""


@dataclass(frozen=True)
class FileDecision:
    """The human decision in the imported file, as long as none was made here."""

    reviewer: str | None
    reviewed_at: dt.datetime | None
    file_name: str
    line: int
    corrected_scores: dict[str, Any] | None
    """As in the file: an entry may be any JSON value."""
    comments: str | None
    verdict: str | None


@dataclass(frozen=True)
class NamedResponse:
    """A response of a model in the task context."""

    name: str
    """The name of the model; perhaps empty."""
    response: Any


@dataclass(frozen=True)
class Context:
    """The question and the responses: of the record, if its mapping takes them, or else of its task."""

    prompt: str
    context: list[dict[str, Any]]
    """Passages with text and, perhaps, title and source."""
    conversation: list[dict[str, Any]]
    """Messages with role and content."""
    reference: Any
    final_answer: Any
    responses: list[NamedResponse]
    """Two in a record that compares two responses."""
    metadata: dict[str, Any]
    """Empty while the record is blind, if the record has its own."""


@dataclass(frozen=True)
class Record:
    """A record with all fields that the person may see."""

    evaluation_id: str
    run: str
    version: int
    status: str
    claimed_by: str | None
    claimed_until: dt.datetime | None
    is_blind: bool
    """Whether you must lock in scores to see the judge's."""
    fields: dict[str, Any]
    """By name. Numbers of more than 64 bits are strings."""
    criteria: list[Criterion]
    causes: dict[str, str]
    """The run's causes of judge errors: word -> title."""
    context: Context | None
    decision: Decision | None
    """The current decision, if it was made here."""
    file_decision: FileDecision | None
    """The imported decision that a new one replaces; null while the record is blind."""


@dataclass(frozen=True)
class Saved:
    """The outcome of a submitted decision."""

    outcome: Literal["current", "independent review", "disagreement"]
    """An independent review waits for other reviewers, a disagreement for a lead."""
    status: str
    version: int
    decision: Decision


@dataclass(frozen=True)
class Action:
    """An action on a record that Undo would undo."""

    event: int
    """Its event in the audit log."""
    action: str
    """As in the audit log, such as "submit", "skip" or "release"."""
    at: dt.datetime
    evaluation_id: str
    decision_version: int | None
    """The version of the decision; null for independent reviews and other actions."""


@dataclass(frozen=True)
class Undone:
    """An action that was undone, and its record now."""

    undone: Action
    record: Record


@dataclass(frozen=True)
class DraftEntry:
    """The entries of one criterion, which need not be complete."""

    criterion: str
    score: str = ""
    """As text; empty without one."""
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
