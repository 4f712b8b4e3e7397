"""What a record gives a reviewer to judge by, read into shapes that a page can lay out."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from reviews.evidence import response_diff, siblings, task_context
from reviews.evidence.response_diff import DiffRow
from reviews.evidence.siblings import Siblings
from reviews.evidence.task_context import RecordContext
from reviews.models import Evaluation, User
from reviews.records import extracted_scores, responses
from reviews.records.contradictions import Contradiction, find_contradictions
from reviews.records.responses import FINAL_ANSWER, ResponsePart
from reviews.records.schema import FIELDS
from reviews.records.score_extraction import raw_text
from reviews.records.scores import criterion_title, format_score, score_of
from reviews.records.verdict import VerdictRule, Verification, read_verification
from reviews.rubric import definition
from reviews.rubric.proposals import Proposal

_MAX_REASONS = 30
_MAX_FACTS = 20
# The fields that tell nothing of what the judge said.
_BLIND = (
    "evaluation_id",
    "task_id",
    "model_id",
    "response_id",
    "ideal_response_id",
    "structured_model_response",
    "structured_ideal_response",
    "human_review_status",
)
# The fields that tell why a record is in the queue.
_TELLING = ("needs_human_review", "review_reasons")
_OF_TASK = "from the task context"


@dataclass(frozen=True, slots=True)
class Response:
    """A response in parts, empty where there is none; `origin` says where it is from if not the record."""

    parts: list[ResponsePart]
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """`question` is empty where no file of task context tells it; `facts` are what else such a file says.

    `reference` is the task's final answer where the verifier had none, else empty. `raw_note` says why no
    scores were read from the raw output, if its length is the reason. Where it `is_blind`
    nothing tells what the judge said, nor what the verifier found.
    """

    reasons: list[str]
    verification: Verification
    reference: str
    contradictions: list[Contradiction]
    question: str
    facts: list[ResponsePart]
    model: Response
    ideal: Response
    rows: list[DiffRow]
    siblings: Siblings
    raw: str
    raw_spans: list[tuple[int, int]]
    raw_note: str
    fields: list[tuple[str, Any]]
    is_blind: bool = False

    @property
    def has_responses(self) -> bool:
        return bool(self.model.parts or self.ideal.parts)

    @property
    def panes(self) -> list[str]:
        """The panes there are: compare, question, model, ideal, raw."""
        panes = {
            "compare": self.rows,
            "question": self.question,
            "model": self.model.parts,
            "ideal": self.ideal.parts,
            "raw": not self.is_blind,
        }
        return [pane for pane, content in panes.items() if content]

    @property
    def first_pane(self) -> str:
        """The pane to begin with: what there is to judge, and raw output where there is nothing else."""
        wanted = ("compare", "model", "ideal", "question", "raw")
        return next(pane for pane in wanted if pane in self.panes)

    @property
    def compared(self) -> list[tuple[str, str]]:
        """The final answers that the verifier compared, where it tells: whose, and what."""
        reference = self.verification.correct or self.reference
        answers = {"model": self.verification.extracted, "reference": reference}
        return [(whose, answer) for whose, answer in answers.items() if answer]


def read_evidence(
    evaluation: Evaluation, proposals: list[Proposal], *, reader: User | None = None, is_blind: bool = False
) -> Evidence:
    """Read a record; `offers` are the judge's criteria as the form shows them. At most three queries.

    Of other records of the task it has no verdict that is hidden from the reader, or from anybody.
    """
    context = task_context.find_context(evaluation)
    of_task = siblings.find_siblings(evaluation, reader)
    verification = read_verification(evaluation.final_answer_verified, evaluation.verification_message)
    model, ideal = _model_response(evaluation, context), _ideal_response(evaluation, context)
    found = Evidence(
        reasons=_reasons(evaluation),
        verification=verification,
        reference=_reference(context) if verification.outcome == "no reference" else "",
        contradictions=_contradictions(evaluation, proposals, of_task),
        question=context.prompt if context else "",
        facts=_facts(context),
        model=model,
        ideal=ideal,
        rows=_rows(model, ideal, verification, context),
        siblings=of_task,
        raw=raw_text(evaluation.raw_judge_output),
        raw_spans=[proposal.span or (0, 0) for proposal in proposals],
        raw_note=extracted_scores.TOO_LONG if extracted_scores.read_extracted(evaluation).is_too_long else "",
        fields=visible_fields(evaluation),
    )
    return _without_judge(found) if is_blind else found


def _without_judge(evidence: Evidence) -> Evidence:
    verification = evidence.verification
    return replace(
        evidence,
        reasons=[],
        contradictions=[],
        verification=Verification("none", verification.extracted, verification.correct, ""),
        siblings=evidence.siblings.without_verdicts(),
        raw="",
        raw_spans=[],
        raw_note="",
        fields=[],
        is_blind=True,
    )


def _model_response(evaluation: Evaluation, context: RecordContext | None) -> Response:
    own = responses.read_parts(evaluation.structured_model_response)
    if own or not (context and context.response):
        return Response(own)
    return Response(responses.read_parts(context.response), _OF_TASK)


def _ideal_response(evaluation: Evaluation, context: RecordContext | None) -> Response:
    own = responses.read_parts(evaluation.structured_ideal_response)
    if own or not (context and context.has_reference):
        return Response(own)
    found = responses.read_parts(context.ideal_response)
    return Response([*_final_answer(found, context.final_answer), *found], _OF_TASK)


def _final_answer(found: list[ResponsePart], answer: Any, note: str = "") -> list[ResponsePart]:
    """The answer as a part, where there is one and the parts hold none."""
    if answer in (None, "") or any(part.label == FINAL_ANSWER for part in found):
        return []
    return [responses.make_part(FINAL_ANSWER, answer, note=note)]


def _reference(context: RecordContext | None) -> str:
    """The task's reference answer, for where the verifier had none."""
    if context is None or context.final_answer in (None, ""):
        return ""
    return responses.make_part(FINAL_ANSWER, context.final_answer).source


def _rows(
    model: Response, ideal: Response, verification: Verification, context: RecordContext | None
) -> list[DiffRow]:
    """Both responses in line; what the verifier took for the final answer, where the model's has no part."""
    if not (model.parts and ideal.parts):
        return []
    extracted = _final_answer(model.parts, verification.extracted, "as the verifier extracted it")
    expected = _final_answer(ideal.parts, context.final_answer if context else None, _OF_TASK)
    return response_diff.align_parts([*extracted, *model.parts], [*expected, *ideal.parts])


def _facts(context: RecordContext | None) -> list[ResponsePart]:
    """What a file says of the task beside its question, as subject and complexity."""
    if context is None:
        return []
    told = [(name, value) for name, value in context.metadata.items() if value not in (None, "", [], {})]
    return [responses.make_part(criterion_title(name), value) for name, value in told[:_MAX_FACTS]]


def _reasons(evaluation: Evaluation) -> list[str]:
    """Why the record is here, each thing said once; nothing where that is not to be seen yet."""
    if evaluation.hides_reasons:
        return []
    reasons = [str(reason) for reason in evaluation.review_reasons]
    error = evaluation.parsing_error or ""
    if error and not any(error in reason for reason in reasons):
        reasons.append(f"Parsing error: {error}")
    more = len(reasons) - _MAX_REASONS
    return reasons if more <= 0 else [*reasons[:_MAX_REASONS], f"And {more:,} more in the full record."]


def _contradictions(
    evaluation: Evaluation, proposals: list[Proposal], of_task: Siblings
) -> list[Contradiction]:
    """What cannot all be right, but for the missing reference: the verifier's sentence says that."""
    scores = {proposal.criterion: proposal.given for proposal in proposals}
    found = find_contradictions(evaluation, scores, definition.of(evaluation.run).rule, of_task.criteria)
    return [contradiction for contradiction in found if contradiction.kind != "no reference"]


def visible_fields(evaluation: Evaluation, *, is_blind: bool = False) -> list[tuple[str, Any]]:
    """All fields of the record by their own names; what the schema does not know together as `extra`.

    Those that tell what is not to be seen yet are left out.
    """
    names = [*FIELDS, "extra"] if evaluation.extra else FIELDS
    if is_blind:
        names = _BLIND
    hidden = _TELLING if evaluation.hides_reasons else ()
    shown = {"human_review_status": evaluation.shown_status}
    return [(name, shown.get(name, getattr(evaluation, name))) for name in names if name not in hidden]


@dataclass(frozen=True, slots=True)
class CriterionSummary:
    """A criterion as it stands: the judge's score, the person's, and the justification in force.

    Each score comes with what it counts as by the run's rule: yes, partial, no, or nothing.
    """

    title: str
    judge: str
    human: str
    judge_counts: str
    human_counts: str
    text: str

    @property
    def differs(self) -> bool:
        return bool(self.human) and self.human != self.judge


@dataclass(frozen=True, slots=True)
class DecisionSummary:
    """A record as it stands, to read: judge beside human."""

    rows: list[CriterionSummary]
    verdict: str


def summarise_decision(evaluation: Evaluation, proposals: list[Proposal]) -> DecisionSummary:
    """Read what the judge said and, where one is in force, what a person decided."""
    review = evaluation.review if evaluation.is_confirmed else None
    human = (review.corrected_scores if review else evaluation.human_corrected_scores) or {}
    rule = definition.of(evaluation.run).rule
    offered = {proposal.criterion: proposal for proposal in proposals}
    rows = [_judged(rule, name, offered.get(name), human.get(name)) for name in {**offered, **human}]
    judged = (proposal.score for proposal in proposals if proposal.origin != "rubric")
    before = evaluation.aggregated_score or rule.aggregate(judged) or ""
    after = (rule.verdict(human) or "incomplete") if human else before
    return DecisionSummary(rows, after if before in {"", after} else f"{before} → {after}")


def _judged(rule: VerdictRule, name: str, proposal: Proposal | None, entry: Any) -> CriterionSummary:
    text = entry.get("justification") if isinstance(entry, Mapping) else None
    if not isinstance(text, str):
        text = proposal.justification if proposal else ""
    return CriterionSummary(
        title=criterion_title(name),
        judge=proposal.word if proposal else "",
        human=format_score(score_of(entry)),
        judge_counts=(rule.level(proposal.score) if proposal else None) or "",
        human_counts=rule.level(score_of(entry)) or "",
        text=text,
    )
