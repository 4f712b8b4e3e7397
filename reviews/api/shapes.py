"""Build API responses from rows.

No response contains more about a record than the review screen shows to the same person.
"""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from cognireview.types import records
from cognireview.types.encoding import members
from cognireview.types.files import ImportDetails
from cognireview.types.runs import RunDetails
from reviews.evidence import record as evidence_record
from reviews.evidence import task_context
from reviews.models import Evaluation, Import, ImportProgress, Review, Run, User
from reviews.queue.progress import Progress
from reviews.records.rubric import Rubric
from reviews.records.scores import score_of
from reviews.review import blind_scoring
from reviews.review.sheet import ReviewSheet, load_sheet
from reviews.rubric.proposals import Proposal
from reviews.search.verdicts import judge_verdict


def run_out(run: Run, progress: Progress) -> dict[str, Any]:
    return members(RunDetails, run, **progress._asdict())


def import_out(source: Import) -> dict[str, Any]:
    progress: ImportProgress | None = getattr(source, "progress", None)
    is_under_way = progress is not None and source.state in Import.UNFINISHED
    return members(
        ImportDetails,
        source,
        run=source.target_name,
        counts=source.counts | (progress.counts if progress and is_under_way else {}),
        bytes_done=progress.bytes_done if progress else None,
        bytes_to_do=progress.size if progress else None,
        seconds_left=progress.seconds_left if progress and is_under_way else None,
    )


# The columns that a record of a list has as members.
_COLUMNS = (
    *("evaluation_id", "task_id", "model_id", "judge_llm_model", "judge_prompt_template_path"),
    *("version", "updated_at", "created_at", "due_on", "is_escalated", "is_outdated"),
)
_columns_of = attrgetter(*_COLUMNS)


_NO_SCORES = (list, dict)


def evaluation_out(record: Evaluation, rubric: Rubric, *, is_hidden: bool) -> dict[str, Any]:
    """Return a record of a list, which has been annotated (`with_judged_scores`)."""
    is_claimed = record.is_claimed
    return {
        **dict(zip(_COLUMNS, _columns_of(record), strict=True)),
        "run": record.run.name,
        "status": record.shown_status,
        "judge_verdict": None if is_hidden else judge_verdict(record, rubric),
        "human_verdict": None if is_hidden else rubric.verdict(record.human_corrected_scores),
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
    return {name: None if isinstance(score, _NO_SCORES) else score for name, score in found.items()}


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
    return members(records.Decision, review, corrected_scores=review.corrected_scores)


def _file_decision(record: Evaluation, sheet: ReviewSheet) -> dict[str, Any] | None:
    found = sheet.file_decision
    if found is None:
        return None
    return members(
        records.FileDecision,
        found,
        reviewer=record.human_reviewer_id,
        reviewed_at=found.at,
        corrected_scores=record.human_corrected_scores,
        comments=record.human_review_comments,
        verdict=sheet.rubric.verdict(found.scores),
    )


def _criterion(proposal: Proposal, sheet: ReviewSheet) -> dict[str, Any]:
    found, criterion = sheet.input(proposal.criterion), sheet.rubric.criterion(proposal.criterion)
    return members(
        records.Criterion,
        proposal,
        title=sheet.rubric.title(proposal.criterion),
        description=criterion.description,
        is_required=criterion.is_required,
        scale=found.scale.as_json(),
        scores=[choice.score for choice in found.choices],
    )


def _context(record: Evaluation, *, is_blind: bool) -> dict[str, Any] | None:
    context = task_context.find_context(record)
    if context is None:
        return None
    if is_blind:
        context = context.without_own_metadata()
    return members(records.Context, context, context=context.passages, reference=context.ideal_response)


def _name(person: User | None) -> str | None:
    return person.username if person else None
