"""What answers of the API look like, and how they are made of rows.

Nothing here tells a person what the review screen would not show them.
"""

import datetime as dt
from typing import Any, Literal

from ninja import Field, Schema

from reviews.evidence import record as evidence_record
from reviews.evidence import task_context
from reviews.judge.quality_gates import GateOutcome
from reviews.models import Evaluation, Import, ImportProgress, Review, Run, User
from reviews.queue.progress import Progress
from reviews.review import blind_scoring
from reviews.review.sheet import ReviewSheet, load_sheet
from reviews.rubric.definition import run_rubric
from reviews.rubric.proposals import Proposal


class RunOut(Schema):
    """A run, and how many of its evaluations are in which state."""

    name: str
    created_at: dt.datetime
    total: int
    waiting: int
    claimed: int = Field(description="By a reviewer, now.")
    escalated: int
    done: int
    not_required: int


class MappingOut(Schema):
    """How the lines of a run are read."""

    run: str
    mapping: dict[str, Any] = Field(description="fields, criteria and review, as in the TOML.")


class RequirementOut(Schema):
    """What was required of a figure, and what came of it."""

    require: str
    outcome: GateOutcome = Field(
        description="met or missed if the interval is entirely on one side of the limit; cannot tell if it "
        "includes the limit, is based on fewer than 10, or is undefined (while records are being counted)"
    )
    sentence: str
    limit: float
    estimate: dict[str, Any]


class ReportOut(Schema):
    """How far a judge can be trusted. docs/judge.md says what each figure is."""

    version: int = Field(description="Of this object: it grows when a name goes or changes what it means.")
    scope: dict[str, Any]
    at: dt.datetime
    progress: dict[str, int]
    data: dict[str, Any] = Field(description="Counts of the records the figures are based on.")
    judge_vs_human: dict[str, Any] = Field(description="By criterion, blind or assisted, and population.")
    reviewers: list[dict[str, Any]] = Field(description="People against each other, by criterion.")
    flag_precision: dict[str, Any] = Field(description="What each reason for asking a human is worth.")
    missed_errors: dict[str, Any] = Field(description="Errors among unflagged records.")
    leaderboard: dict[str, Any] = Field(description="The models, ranked by the judge and by reviewers.")
    error_analysis: dict[str, Any] = Field(description="Why the judge was wrong, by prompt.")
    requirements: list[RequirementOut]


class ImportOut(Schema):
    """One file brought into a run: how far its job is, and what became of its lines."""

    id: int
    run: str
    file_name: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    strict: bool
    error: str
    size: int = Field(description="Bytes of the file as it came.")
    sha256: str
    created_at: dt.datetime
    finished_at: dt.datetime | None
    counts: dict[str, int] = Field(description="Lines, and what became of them, so far.")
    bytes_done: int | None = Field(description="Of `bytes_to_do`, unpacked; null without a job.")
    bytes_to_do: int | None
    seconds_left: int | None


class EvaluationOut(Schema):
    """A record in a list."""

    evaluation_id: str
    run: str
    task_id: str | None
    model_id: str | None
    judge_llm_model: str
    judge_prompt_template_path: str
    status: str
    judge_verdict: str | None = Field(description="Null also while the record is to be scored blind.")
    human_verdict: str | None
    version: int
    created_at: dt.datetime
    claimed_by: str | None
    claimed_until: dt.datetime | None
    assigned_to: str | None
    is_escalated: bool
    is_outdated: bool
    reviewer: str | None
    reviewed_at: dt.datetime | None


class EvaluationsOut(Schema):
    """A page of records."""

    evaluations: list[EvaluationOut]
    total: int | None = Field(description="Null for more than 10,000 by filters, or where not complete.")
    is_complete: bool = Field(
        description="False while a filter cannot find all records yet: those of a large import are made "
        "ready by a job."
    )
    next: str | None = Field(description="What `after` takes for the page behind; null on the last.")


class CriterionOut(Schema):
    """A criterion: what the judge said of it, and the scores there are."""

    criterion: str
    score: Any = Field(description="The judge's; null where it gave none, or while it is hidden.")
    justification: str
    origin: str = Field(description="judge, extracted (read out of raw output) or rubric (not scored)")
    scores: list[Any]


class DecisionOut(Schema):
    """A human decision."""

    version: int
    reviewer: str
    submitted_at: dt.datetime
    corrected_scores: dict[str, Any] | None
    comments: str | None
    causes: dict[str, str]
    verdict: str | None


class FileDecisionOut(Schema):
    """A human decision that a file brought, while none was made here."""

    reviewer: str | None
    reviewed_at: dt.datetime | None
    file_name: str
    line: int
    corrected_scores: dict[str, Any] | None = Field(
        description="As the file has it: an entry may be any JSON value."
    )
    comments: str | None
    verdict: str | None


class ContextOut(Schema):
    """What task context says of the record's task."""

    question: str
    model_response: Any
    ideal_response: Any
    final_answer: Any


class RecordOut(Schema):
    """A record whole, as far as this person may see it."""

    evaluation_id: str
    run: str
    version: int
    status: str
    claimed_by: str | None
    claimed_until: dt.datetime | None
    is_blind: bool = Field(description="Whether what the judge said is hidden until scores are committed.")
    fields: dict[str, Any] = Field(description="By their own names; numbers of over 64 bits are text.")
    criteria: list[CriterionOut]
    causes: dict[str, str] = Field(description="Why a judge may be wrong: word and title.")
    context: ContextOut | None
    decision: DecisionOut | None = Field(description="The one in force that was made here.")
    file_decision: FileDecisionOut | None = Field(
        description="What a new decision replaces where none was made here; null while the record is blind."
    )


class SavedOut(Schema):
    """What became of a decision that was sent."""

    outcome: Literal["current", "independent review", "disagreement"] = Field(
        description="An independent review waits for those of others, a disagreement for a lead."
    )
    status: str
    version: int
    decision: DecisionOut


def run_out(run: Run, progress: Progress) -> dict[str, Any]:
    return {
        "name": run.name,
        "created_at": run.created_at,
        **dict(zip(Progress._fields, progress, strict=True)),
    }


def import_out(source: Import) -> dict[str, Any]:
    progress: ImportProgress | None = getattr(source, "progress", None)
    is_under_way = progress is not None and source.state in Import.UNFINISHED
    names = ("file_name", "state", "strict", "error", "size", "sha256", "created_at", "finished_at")
    return {
        "id": source.pk,
        "run": source.run.name,
        **{name: getattr(source, name) for name in names},
        "counts": source.counts | (progress.counts if progress and is_under_way else {}),
        "bytes_done": progress.bytes_done if progress else None,
        "bytes_to_do": progress.size if progress else None,
        "seconds_left": progress.seconds_left if progress and is_under_way else None,
    }


def evaluation_out(record: Evaluation, *, is_hidden: bool) -> dict[str, Any]:
    is_claimed = record.is_claimed
    human_verdict = run_rubric(record.run).rule.verdict(record.human_corrected_scores)
    names = ("evaluation_id", "task_id", "model_id", "judge_llm_model", "judge_prompt_template_path")
    more = ("version", "created_at", "is_escalated", "is_outdated")
    return {
        **{name: getattr(record, name) for name in (*names, *more)},
        "run": record.run.name,
        "status": record.shown_status,
        "judge_verdict": None if is_hidden else record.aggregated_score,
        "human_verdict": None if is_hidden else human_verdict,
        "claimed_by": _name(record.claimed_by) if is_claimed else None,
        "claimed_until": record.claimed_until if is_claimed else None,
        "assigned_to": _name(record.assigned_to),
        "reviewer": record.human_reviewer_id,
        "reviewed_at": record.human_review_timestamp,
    }


def record_out(record: Evaluation, reader: User) -> dict[str, Any]:
    """The record as the review screen shows it to that person."""
    is_blind = blind_scoring.is_hidden(record, reader)
    sheet = load_sheet(record, is_blind=is_blind)
    is_claimed = record.is_claimed
    return {
        "evaluation_id": record.evaluation_id,
        "run": record.run.name,
        "version": record.version,
        "status": record.shown_status,
        "claimed_by": _name(record.claimed_by) if is_claimed else None,
        "claimed_until": record.claimed_until if is_claimed else None,
        "is_blind": is_blind,
        "fields": dict(evidence_record.visible_fields(record, is_blind=is_blind)),
        "criteria": [_criterion(proposal, sheet) for proposal in sheet.proposals],
        "causes": {cause.word: cause.title for cause in sheet.rubric.causes},
        "context": _context(record),
        "decision": decision_out(record.review) if record.review else None,
        "file_decision": _file_decision(record, sheet),
    }


def decision_out(review: Review) -> dict[str, Any]:
    names = ("version", "submitted_at", "corrected_scores", "comments", "causes", "verdict")
    return {"reviewer": review.reviewer.username, **{name: getattr(review, name) for name in names}}


def _file_decision(record: Evaluation, sheet: ReviewSheet) -> dict[str, Any] | None:
    found = sheet.file_decision
    if found is None:
        return None
    return {
        "reviewer": record.human_reviewer_id,
        "reviewed_at": found.at,
        "file_name": found.file_name,
        "line": found.line,
        "corrected_scores": record.human_corrected_scores,
        "comments": record.human_review_comments,
        "verdict": sheet.rubric.rule.verdict(found.scores),
    }


def _criterion(proposal: Proposal, sheet: ReviewSheet) -> dict[str, Any]:
    names = ("criterion", "score", "justification", "origin")
    scores = [choice.score for choice in sheet.choices(proposal.criterion)]
    return {**{name: getattr(proposal, name) for name in names}, "scores": scores}


def _context(record: Evaluation) -> dict[str, Any] | None:
    context = task_context.find_context(record)
    if context is None:
        return None
    return {
        "question": context.prompt,
        "model_response": context.response,
        "ideal_response": context.ideal_response,
        "final_answer": context.final_answer,
    }


def _name(person: User | None) -> str | None:
    return person.username if person else None
