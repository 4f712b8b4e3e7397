"""The schemas of API responses, and functions that build them from rows.

No response contains more about a record than the review screen shows to the same person.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from ninja import Field, Schema

from reviews.api.rubric_shapes import MappingMembersOut, RubricScale
from reviews.api.values import DecidedScores, RowScores, Score
from reviews.evidence import record as evidence_record
from reviews.evidence import task_context
from reviews.models import Evaluation, Import, ImportProgress, Review, Run, User
from reviews.queue.progress import Progress
from reviews.records.scores import score_of
from reviews.review import blind_scoring
from reviews.review.sheet import ReviewSheet, load_sheet
from reviews.rubric.proposals import Proposal
from reviews.rubric.run_rubric import run_rubric
from reviews.search.verdicts import judge_verdict


class RunOut(Schema):
    """A run with the number of its records in each state."""

    name: str
    created_at: dt.datetime
    total: int
    waiting: int
    claimed: int = Field(description="Records that a reviewer has claimed now.")
    escalated: int
    done: int
    not_required: int
    sampled: int = Field(description="Records of random samples, which are in the queue or done.")
    archived_at: dt.datetime | None = Field(description="Null unless the run is archived.")
    is_restricted: bool = Field(description="Whether only members and admins can see the run.")


class RereadOut(Schema):
    """A run whose stored files were read again with another mapping."""

    records: int
    new_records: int = Field(description="Records whose lines were rejected before.")
    new_ids: int = Field(description="Records with another evaluation_id than before.")
    claims: int = Field(description="Claims that continue.")


class MappingOut(Schema):
    """The mapping from the lines of a file to record fields."""

    run: str
    mapping: MappingMembersOut
    reread: RereadOut | None = Field(description="The records read again; null if the run had none.")


class ImportOut(Schema):
    """An import: the progress of its job, and the outcomes of its lines."""

    id: int
    run: str = Field(description="A new run exists once the import is done.")
    file_name: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    strict: bool
    error: str
    size: int = Field(description="The size of the uploaded file in bytes.")
    sha256: str
    created_at: dt.datetime
    finished_at: dt.datetime | None
    counts: dict[str, int] = Field(description="Lines by outcome, so far.")
    of_other_judge: int = Field(
        description="Rejected lines with another judge's evaluation of a record of the run. "
        "Import such a file into another run."
    )
    bytes_done: int | None = Field(description="Bytes read of the uncompressed file; null without a job.")
    bytes_to_do: int | None
    seconds_left: int | None


class ContextExceptionOut(Schema):
    """A rejected entry of a file of task context."""

    place: int = Field(description="The line number, or the position in the array, from 1.")
    field: str = Field(description="Empty for the entry as a whole.")
    reason: str


class ContextImportOut(Schema):
    """An imported file of task context."""

    run: str | None = Field(description="Null for context that all runs share.")
    tasks: int
    answers: int
    rejected: int
    exceptions: list[ContextExceptionOut] = Field(description="The first thousand rejected entries.")


class EvaluationOut(Schema):
    """A record in a list."""

    evaluation_id: str
    run: str
    task_id: str | None
    model_id: str | None
    judge_llm_model: str
    judge_prompt_template_path: str
    status: str
    judge_verdict: str | None = Field(
        description="`aggregated_score`, or else the verdict of the judge's scores by the run's rubric. "
        "Null without one, and while the record is reviewed blind."
    )
    human_verdict: str | None
    judge_scores: RowScores | None = Field(
        description="The judge's score by criterion. Null while the record is reviewed blind."
    )
    human_scores: RowScores | None = Field(
        description="The scores of the current or imported decision by criterion. Null without a decision, "
        "and while the record is reviewed blind."
    )
    version: int
    updated_at: dt.datetime | None = Field(
        description="When the version last grew. Null for a record that has not changed since its import."
    )
    created_at: dt.datetime
    claimed_by: str | None
    claimed_until: dt.datetime | None
    assigned_to: str | None
    due_on: dt.date | None
    is_escalated: bool
    is_outdated: bool
    reviewer: str | None
    reviewed_at: dt.datetime | None


class EvaluationsOut(Schema):
    """A page of records."""

    evaluations: list[EvaluationOut]
    total: int | None = Field(
        description="Null for more than 500 matches that are not counted to the end, or if not complete."
    )
    is_complete: bool = Field(
        description="False while a job indexes the records of a large import, which filters cannot find yet."
    )
    next: str | None = Field(description="The cursor of the next page, for `after`; null on the last page.")


class CriterionOut(Schema):
    """A criterion with the judge's score and the possible scores."""

    criterion: str
    title: str
    description: str = Field(description="Markdown.")
    is_required: bool
    score: Any = Field(description="The judge's score; null if it gave none, or while it is hidden.")
    justification: str
    origin: str = Field(description="judge, extracted (from the raw output) or rubric (not scored)")
    scale: RubricScale
    scores: list[Score] = Field(description="The valid scores, unless they are a range of numbers.")


class DecisionOut(Schema):
    """A human decision. An independent review that waits for others has no version yet."""

    version: int | None
    reviewer: str
    submitted_at: dt.datetime
    corrected_scores: DecidedScores | None
    comments: str | None
    causes: dict[str, str]
    verdict: str | None


class FileDecisionOut(Schema):
    """An imported human decision, while none was made here."""

    reviewer: str | None
    reviewed_at: dt.datetime | None
    file_name: str
    line: int
    corrected_scores: dict[str, Any] | None = Field(
        description="As in the file: an entry may be any JSON value."
    )
    comments: str | None
    verdict: str | None


class NamedResponseOut(Schema):
    """A response of a model in the task context."""

    name: str = Field(description="The name of the model; perhaps empty.")
    response: Any


class ContextOut(Schema):
    """The question and the responses: of the record, if its mapping takes them, or else of its task."""

    prompt: str
    context: list[dict[str, Any]] = Field(description="Passages with text and, perhaps, title and source.")
    conversation: list[dict[str, Any]] = Field(description="Messages with role and content.")
    reference: Any
    final_answer: Any
    responses: list[NamedResponseOut] = Field(description="Two in a record that compares two responses.")
    metadata: dict[str, Any] = Field(
        description="Empty while the record is blind, if the record has its own."
    )


class RecordOut(Schema):
    """A record with all fields that the person may see."""

    evaluation_id: str
    run: str
    version: int
    status: str
    claimed_by: str | None
    claimed_until: dt.datetime | None
    is_blind: bool = Field(description="Whether you must lock in scores to see the judge's.")
    fields: dict[str, Any] = Field(description="By name. Numbers of more than 64 bits are strings.")
    criteria: list[CriterionOut]
    causes: dict[str, str] = Field(description="The run's causes of judge errors: word -> title.")
    context: ContextOut | None
    decision: DecisionOut | None = Field(description="The current decision, if it was made here.")
    file_decision: FileDecisionOut | None = Field(
        description="The imported decision that a new one replaces; null while the record is blind."
    )


def run_out(run: Run, progress: Progress) -> dict[str, Any]:
    return {
        "name": run.name,
        "created_at": run.created_at,
        "archived_at": run.archived_at,
        "is_restricted": run.is_restricted,
        **dict(zip(Progress._fields, progress, strict=True)),
    }


def import_out(source: Import) -> dict[str, Any]:
    progress: ImportProgress | None = getattr(source, "progress", None)
    is_under_way = progress is not None and source.state in Import.UNFINISHED
    names = (
        *("file_name", "state", "strict", "error", "size", "sha256"),
        *("of_other_judge", "created_at", "finished_at"),
    )
    return {
        "id": source.pk,
        "run": source.target_name,
        **{name: getattr(source, name) for name in names},
        "counts": source.counts | (progress.counts if progress and is_under_way else {}),
        "bytes_done": progress.bytes_done if progress else None,
        "bytes_to_do": progress.size if progress else None,
        "seconds_left": progress.seconds_left if progress and is_under_way else None,
    }


def evaluation_out(record: Evaluation, *, is_hidden: bool) -> dict[str, Any]:
    """Return a record of a list, which has been annotated (`with_judged_scores`)."""
    is_claimed = record.is_claimed
    rubric = run_rubric(record.run)
    judged_verdict, human_verdict = (
        judge_verdict(record, rubric),
        rubric.verdict(record.human_corrected_scores),
    )
    names = ("evaluation_id", "task_id", "model_id", "judge_llm_model", "judge_prompt_template_path")
    more = ("version", "updated_at", "created_at", "due_on", "is_escalated", "is_outdated")
    return {
        **{name: getattr(record, name) for name in (*names, *more)},
        "run": record.run.name,
        "status": record.shown_status,
        "judge_verdict": None if is_hidden else judged_verdict,
        "human_verdict": None if is_hidden else human_verdict,
        "judge_scores": None if is_hidden else _scores(vars(record)["judged_scores"] or {}),
        "human_scores": None if is_hidden else _decided_scores(record),
        "claimed_by": _name(record.claimed_by) if is_claimed else None,
        "claimed_until": record.claimed_until if is_claimed else None,
        "assigned_to": _name(record.assigned_to),
        "reviewer": record.human_reviewer_id,
        "reviewed_at": record.human_review_timestamp,
    }


def _decided_scores(record: Evaluation) -> dict[str, Any] | None:
    decided = record.human_corrected_scores
    return _scores({name: score_of(entry) for name, entry in decided.items()}) if decided else None


def _scores(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores by criterion, with null for JSON values that are no scores."""
    return {name: None if isinstance(score, list | dict) else score for name, score in found.items()}


def record_out(record: Evaluation, reader: User) -> dict[str, Any]:
    """Return the record as the review screen shows it to the reader."""
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
        "context": _context(record, is_blind=is_blind),
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
        "verdict": sheet.rubric.verdict(found.scores),
    }


def _criterion(proposal: Proposal, sheet: ReviewSheet) -> dict[str, Any]:
    names = ("criterion", "score", "justification", "origin")
    found, criterion = sheet.input(proposal.criterion), sheet.rubric.criterion(proposal.criterion)
    return {
        **{name: getattr(proposal, name) for name in names},
        "title": sheet.rubric.title(proposal.criterion),
        "description": criterion.description,
        "is_required": criterion.is_required,
        "scale": found.scale.as_json(),
        "scores": [choice.score for choice in found.choices],
    }


def _context(record: Evaluation, *, is_blind: bool) -> dict[str, Any] | None:
    context = task_context.find_context(record)
    if context is None:
        return None
    if is_blind:
        context = context.without_own_metadata()
    return {
        "prompt": context.prompt,
        "context": context.passages,
        "conversation": context.conversation,
        "reference": context.ideal_response,
        "final_answer": context.final_answer,
        "responses": [asdict(one) for one in context.responses],
        "metadata": context.metadata,
    }


def _name(person: User | None) -> str | None:
    return person.username if person else None
