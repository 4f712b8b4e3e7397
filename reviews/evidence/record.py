"""Collect the evidence of a record in the form that pages show."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from reviews.evidence import response_diff, siblings, task_context
from reviews.evidence.question import Question, read_question
from reviews.evidence.response_diff import DiffRow
from reviews.evidence.siblings import Siblings
from reviews.evidence.signals import Signal, list_signals
from reviews.evidence.task_context import RecordContext
from reviews.models import Evaluation, User
from reviews.records import extracted_scores, responses
from reviews.records.answers import answer_key
from reviews.records.contradictions import Contradiction, find_contradictions
from reviews.records.responses import FINAL_ANSWER, ResponsePart, pair_titles, parts_of_messages
from reviews.records.rubric import Rubric
from reviews.records.schema import FIELDS
from reviews.records.score_extraction import raw_text
from reviews.records.scores import format_score, score_of
from reviews.records.task_context import is_conversation
from reviews.records.verification import Verification, read_verification
from reviews.rubric.proposals import Proposal
from reviews.rubric.run_rubric import run_rubric

_MAX_REASONS = 30
# The fields without any output of the judge.
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
# The fields with flag reasons.
_FLAG_FIELDS = ("needs_human_review", "review_reasons")
_OF_TASK = "from the task context"


@dataclass(frozen=True, slots=True)
class Response:
    """A response, split into parts."""

    #: Empty if there is no response.
    parts: list[ResponsePart]
    #: The source of the response, unless it is the record itself.
    origin: str = ""
    #: The heading next to another response.
    title: str = ""
    #: The name of the model, if the response comes with one.
    name: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a reviewer can consult to judge a record."""

    #: The flag reasons.
    reasons: list[str]
    verification: Verification
    #: The task's final answer if the verifier had no reference; otherwise empty.
    reference: str
    contradictions: list[Contradiction]
    question: Question
    #: Without parts in a record that compares two responses.
    model: Response
    ideal: Response
    #: The two responses side by side: model and reference, or the two that the record compares.
    sides: tuple[Response, Response]
    #: Whether `sides` are two responses that the judge compared.
    is_pair: bool
    #: Both sides, aligned and compared.
    rows: list[DiffRow]
    siblings: Siblings
    #: The judge's raw output.
    raw: str
    #: For each criterion, start and end of its text in `raw`; (0, 0) if unknown.
    raw_spans: list[tuple[int, int]]
    #: A sentence if the raw output was too long to extract scores from.
    raw_note: str
    #: Whether the raw output is the only source of scores and a required one is missing.
    lacks_scores: bool
    #: All fields of the record that the reader may see, as (name, value).
    fields: list[tuple[str, Any]]
    #: Whether the output of judge and verifier is left out.
    is_blind: bool = False

    @property
    def has_evidence(self) -> bool:
        """Whether there is a question or a response to read, and not only the judge's output."""
        return self.has_responses or self.question.has_content

    @property
    def has_responses(self) -> bool:
        return bool(self.is_pair or self.model.parts or self.ideal.parts)

    @property
    def panes(self) -> list[str]:
        """The names of the panes with content: compare, model, ideal, raw."""
        panes = {
            "compare": self.rows,
            "model": self.model.parts,
            "ideal": self.ideal.parts,
            "raw": not self.is_blind,
        }
        return [pane for pane, content in panes.items() if content]

    @property
    def first_pane(self) -> str:
        """The pane to show first: the raw output if it lacks scores or there is nothing else."""
        return "raw" if self.lacks_scores else next(iter(self.panes), "")

    @property
    def signals(self) -> list[Signal]:
        """The flag reasons and contradictions as chips."""
        return list_signals(self.reasons, self.contradictions)

    @property
    def has_answer_row(self) -> bool:
        """Whether the comparison shows the final answer of the model."""
        return any(row.is_answer and row.model for row in self.rows)

    @property
    def verifier_differs(self) -> list[tuple[str, str]]:
        """The final answers of the verifier, as (owner, answer), that the comparison shows differently."""
        row = next((row for row in self.rows if row.is_answer), None)
        if row is None:
            return []
        shown = {"model": row.model, "reference": row.ideal}
        texts = {whose: "\n".join(part.source for part in parts) for whose, parts in shown.items()}
        return [
            (whose, answer)
            for whose, answer in self.compared
            if answer_key(answer) != answer_key(texts[whose])
        ]

    @property
    def compared(self) -> list[tuple[str, str]]:
        """The final answers that the verifier compared, if known, as (owner, answer)."""
        reference = self.verification.correct or self.reference
        answers = {"model": self.verification.extracted, "reference": reference}
        return [(whose, answer) for whose, answer in answers.items() if answer]


def read_record_question(evaluation: Evaluation) -> Question:
    """Return the question of a record. At most two queries."""
    return read_question(task_context.find_context(evaluation), origin=_OF_TASK)


def read_evidence(
    evaluation: Evaluation, proposals: list[Proposal], *, reader: User | None = None, is_blind: bool = False
) -> Evidence:
    """Collect the evidence of a record, for the criteria in its form. At most three queries.

    Verdicts of sibling records that are hidden from the reader are left out.
    """
    context = task_context.find_context(evaluation)
    of_task = siblings.find_siblings(evaluation, reader, [proposal.criterion for proposal in proposals])
    verification = read_verification(evaluation.final_answer_verified, evaluation.verification_message)
    if is_blind and context:
        context = context.without_own_metadata()
    model, ideal = _model_response(evaluation, context), _ideal_response(evaluation, context)
    pair = _pair(context)
    found = Evidence(
        reasons=_reasons(evaluation),
        verification=verification,
        reference=_reference(context) if verification.outcome == "no reference" else "",
        contradictions=_contradictions(evaluation, proposals, of_task),
        question=read_question(context, origin=_OF_TASK),
        model=model,
        ideal=ideal,
        sides=pair or (model, ideal),
        is_pair=bool(pair),
        rows=response_diff.align_parts(*(side.parts for side in pair))
        if pair
        else _rows(model, ideal, verification, context),
        siblings=of_task,
        raw=raw_text(evaluation.raw_judge_output),
        raw_spans=[proposal.span or (0, 0) for proposal in proposals],
        raw_note=extracted_scores.TOO_LONG if extracted_scores.read_extracted(evaluation).is_too_long else "",
        lacks_scores=_lacks_scores(evaluation, proposals),
        fields=visible_fields(evaluation),
    )
    return _without_judge(found) if is_blind else found


def read_responses(evaluation: Evaluation) -> list[Response]:
    """Return the response of a record, or the two that it compares, without the parts around it.

    At most two queries.
    """
    context = task_context.find_context(evaluation)
    found = _pair(context) or [_model_response(evaluation, context)]
    inside = (
        replace(response, parts=[part for part in response.parts if not part.is_around]) for response in found
    )
    return [response for response in inside if response.parts]


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
        lacks_scores=False,
        fields=[],
        is_blind=True,
    )


def _model_response(evaluation: Evaluation, context: RecordContext | None) -> Response:
    if context and context.compares_two:
        return Response([])
    own = responses.read_parts(evaluation.structured_model_response)
    if own or not (context and context.response):
        return Response(own, title="Model")
    if "responses" not in context.own:
        return Response(_parts(context.response), _OF_TASK, "Model")
    return Response(_parts(context.response), title="Model", name=context.responses[0].name)


def _pair(context: RecordContext | None) -> tuple[Response, Response] | None:
    """Return the two responses that a record compares, if it does."""
    if context is None or not context.compares_two:
        return None
    one, other = (_parts(given.response) for given in context.responses)
    title, other_title = pair_titles([given.name for given in context.responses])
    return Response(one, title=title), Response(other, title=other_title)


def _parts(response: Any) -> list[ResponsePart]:
    is_chat = is_conversation(response)
    return parts_of_messages(response) if is_chat else responses.read_parts(response)


def _ideal_response(evaluation: Evaluation, context: RecordContext | None) -> Response:
    own = responses.read_parts(evaluation.structured_ideal_response)
    if own or not (context and context.has_reference):
        return Response(own, title="Reference")
    found = responses.read_parts(context.ideal_response)
    origin = "" if "ideal_response" in context.own else _OF_TASK
    return Response([*_final_answer(found, context.final_answer), *found], origin, "Reference")


def _final_answer(found: list[ResponsePart], answer: Any, note: str = "") -> list[ResponsePart]:
    """Return the answer as a part, unless it is empty or the parts already have a final answer."""
    if answer in (None, "") or any(part.label == FINAL_ANSWER for part in found):
        return []
    return [responses.make_part(FINAL_ANSWER, answer, note=note)]


def _reference(context: RecordContext | None) -> str:
    """Return the task's reference answer, or an empty string."""
    if context is None or context.final_answer in (None, ""):
        return ""
    return responses.make_part(FINAL_ANSWER, context.final_answer).source


def _rows(
    model: Response, ideal: Response, verification: Verification, context: RecordContext | None
) -> list[DiffRow]:
    """Align both responses. Final answers come from the verifier and the context if a response has none."""
    if not (model.parts and ideal.parts):
        return []
    extracted = _final_answer(model.parts, verification.extracted, "as the verifier extracted it")
    expected = _final_answer(ideal.parts, context.final_answer if context else None, _OF_TASK)
    return response_diff.align_parts([*extracted, *model.parts], [*expected, *ideal.parts])


def _lacks_scores(evaluation: Evaluation, proposals: list[Proposal]) -> bool:
    if not evaluation.raw_judge_output:
        return False
    if evaluation.parsed_rubric_scores:
        return all(one.score is None for one in proposals)
    rubric = run_rubric(evaluation.run)
    needed = [one for one in proposals if rubric.criterion(one.criterion).is_required]
    return not proposals or any(one.score is None for one in needed)


def _reasons(evaluation: Evaluation) -> list[str]:
    """Return the flag reasons without repetition; empty while they are hidden."""
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
    scores = {proposal.criterion: proposal.given for proposal in proposals}
    return find_contradictions(evaluation, scores, run_rubric(evaluation.run), of_task.criteria)


def visible_fields(evaluation: Evaluation, *, is_blind: bool = False) -> list[tuple[str, Any]]:
    """Return the fields that may be shown, as (name, value). `extra` has the fields outside the schema."""
    names = [*FIELDS, "extra"] if evaluation.extra else FIELDS
    if is_blind:
        names = _BLIND
    hidden = _FLAG_FIELDS if evaluation.hides_reasons else ()
    shown = {"human_review_status": evaluation.shown_status}
    return [(name, shown.get(name, getattr(evaluation, name))) for name in names if name not in hidden]


@dataclass(frozen=True, slots=True)
class CriterionSummary:
    """The scores of a criterion by the judge and by the current decision."""

    title: str
    judge: str
    human: str
    #: The meaning of each score in the run's verdict rule: yes, partial, no, or empty.
    judge_counts: str
    human_counts: str
    #: The current justification.
    text: str

    @property
    def differs(self) -> bool:
        return bool(self.human) and self.human != self.judge


@dataclass(frozen=True, slots=True)
class DecisionSummary:
    """The scores of the judge and of the current decision, with the verdict."""

    rows: list[CriterionSummary]
    verdict: str


def summarise_decision(evaluation: Evaluation, proposals: list[Proposal]) -> DecisionSummary:
    """Compare the judge's scores with the current decision, if there is one."""
    review = evaluation.review if evaluation.is_confirmed else None
    human = (review.corrected_scores if review else evaluation.human_corrected_scores) or {}
    rubric = run_rubric(evaluation.run)
    offered = {proposal.criterion: proposal for proposal in proposals}
    rows = [_judged(rubric, name, offered.get(name), human.get(name)) for name in {**offered, **human}]
    judged = {one.criterion: one.score for one in proposals if one.origin != "rubric"}
    before = rubric.judge_verdict(evaluation.aggregated_score, judged) or ""
    after = (rubric.verdict(human) or "incomplete") if human and rubric.has_verdict else before
    return DecisionSummary(rows, after if before in {"", after} else f"{before} → {after}")


def _judged(rubric: Rubric, name: str, proposal: Proposal | None, entry: Any) -> CriterionSummary:
    text = entry.get("justification") if isinstance(entry, Mapping) else None
    if not isinstance(text, str):
        text = proposal.justification if proposal else ""
    return CriterionSummary(
        title=rubric.title(name),
        judge=proposal.word if proposal else "",
        human=format_score(score_of(entry)),
        judge_counts=(rubric.level(name, proposal.score) if proposal else None) or "",
        human_counts=rubric.level(name, score_of(entry)) or "",
        text=text,
    )
