"""Describe in one sentence how a re-import changed a record after its decision."""

from collections.abc import Iterable, Iterator
from itertools import chain

from reviews.history.changes import FieldChange
from reviews.models import Evaluation
from reviews.records.scores import criterion_title, format_score
from reviews.rubric.overrides import is_same_score
from reviews.rubric.proposals import Proposal

# Changes to name; the others are counted.
_MAX_NAMED = 2
# Fields of a record in words, in the order of their importance to a reviewer.
_WORDS = {
    "structured_model_response": "model response changed",
    "structured_ideal_response": "reference answer changed",
    "task_context": "question or responses changed",
    "aggregated_score": "judge's verdict changed",
    "final_answer_verified": "verification changed",
    "verification_message": "verification changed",
    "judge_llm_model": "judge changed",
    "judge_prompt_template_path": "judge prompt changed",
    "raw_judge_output": "raw judge output changed",
    "parsing_error": "parsing error changed",
    "needs_human_review": "flag reasons changed",
    "review_reasons": "flag reasons changed",
}
# Fields that change with the judge's scores.
_WITH_SCORES = {"raw_judge_output", "aggregated_score"}


def summarise_changes(evaluation: Evaluation, proposals: list[Proposal], found: list[FieldChange]) -> str:
    """Return the changes since the current decision, as "Rigour: judge No → Yes; model response changed".

    `proposals` are the judge's proposals now, and `found` are the changes of the record's fields.
    """
    judged = list(_score_changes(evaluation, proposals, found))
    fields = [change for change in found if not (judged and change.field in _WITH_SCORES)]
    words = list(dict.fromkeys(chain(judged, _justification_changes(fields), _field_changes(fields))))
    named, more = words[:_MAX_NAMED], len(words) - _MAX_NAMED
    if more > 0:
        named.append(f"{more} more {'change' if more == 1 else 'changes'}")
    sentence = "; ".join(named) or "re-imported with changes"
    return sentence[0].upper() + sentence[1:]


def _score_changes(
    evaluation: Evaluation, proposals: list[Proposal], found: list[FieldChange]
) -> Iterator[str]:
    before = evaluation.review.judged if evaluation.review else None
    if before is None:  # not every decision has them, such as one from a file
        yield from (_in_words(change.criterion, *change.texts) for change in found if change.is_score)
        return
    now = {proposal.criterion: proposal.score for proposal in proposals if proposal.origin != "rubric"}
    for name in {**now, **before}:
        if not is_same_score(before.get(name), now.get(name)):
            texts = (format_score(scores.get(name)) for scores in (before, now))
            yield _in_words(criterion_title(name), *texts)


def _in_words(title: str, before: str, after: str) -> str:
    if not after:
        return f"{title}: no longer scored by the judge"
    return f"{title}: judge {before} → {after}" if before else f"{title}: new, judge {after}"


def _justification_changes(found: Iterable[FieldChange]) -> Iterator[str]:
    changed = [change for change in found if change.criterion]
    scored = {change.criterion for change in changed if change.is_score}
    for change in changed:
        if change.criterion not in scored:
            yield f"{change.criterion}: justification changed"


def _field_changes(found: Iterable[FieldChange]) -> Iterator[str]:
    fields = {change.field for change in found if not change.criterion}
    yield from (words for field, words in _WORDS.items() if field in fields)
    if fields - _WORDS.keys():
        yield "other fields changed"
