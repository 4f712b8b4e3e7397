"""Find the other records of a task in its run: other models and judges on the same question."""

import re
from dataclasses import dataclass, field, replace
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import BooleanField, ExpressionWrapper, F, Func, JSONField, QuerySet, TextField, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Left

from reviews.models import Evaluation, User
from reviews.records.rubric import Rubric
from reviews.records.verification import read_verification
from reviews.rubric.run_rubric import run_rubric
from reviews.search.hidden_records import hidden_from

MAX_SIBLINGS = 100
_MAX_ANSWER = 300
_MAX_COMPARED = 10 * _MAX_ANSWER


@dataclass(frozen=True, slots=True)
class Sibling:
    """A record of the task."""

    pk: int
    model: str
    judge: str
    #: The judge's verdict; empty if missing or hidden.
    judged: str
    #: The verdict of the current decision; empty if missing or hidden.
    decided: str
    status: str
    #: Whether it is the record on the page.
    is_this: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """A final answer with its records."""

    #: Empty for records without a known final answer.
    text: str
    siblings: list[Sibling] = field(default_factory=list)

    @property
    def is_this(self) -> bool:
        return any(sibling.is_this for sibling in self.siblings)


@dataclass(frozen=True, slots=True)
class Siblings:
    """The task's records by final answer."""

    #: The answer of the record on the page comes first.
    answers: list[Answer] = field(default_factory=list)
    #: The criteria scored in other records with the same judge prompt.
    criteria: list[str] = field(default_factory=list)
    #: Whether there are more than `MAX_SIBLINGS` records.
    are_cut: bool = False

    @property
    def others(self) -> int:
        return sum(not sibling.is_this for answer in self.answers for sibling in answer.siblings)

    @property
    def agreeing(self) -> int:
        """The number of other records with the same final answer."""
        return sum(len(answer.siblings) - 1 for answer in self.answers if answer.is_this and answer.text)

    def without_verdicts(self) -> "Siblings":
        """Return the same answers without verdicts."""
        answers = [
            Answer(answer.text, [replace(sibling, judged="", decided="") for sibling in answer.siblings])
            for answer in self.answers
        ]
        return Siblings(answers, [], self.are_cut)


def find_siblings(evaluation: Evaluation, reader: User | None = None) -> Siblings:
    """Return the records of the same task in the run, including this one. One query.

    Verdicts that are hidden from the reader are left out: see `hidden_records.hidden_from`.
    """
    if evaluation.task_id is None or evaluation.pk is None:
        return Siblings()
    rubric = run_rubric(evaluation.run)
    rows = list(_rows(evaluation, reader)[: MAX_SIBLINGS + 1])
    answers: dict[str, Answer] = {}
    criteria: dict[str, None] = {}
    for row in rows[:MAX_SIBLINGS]:
        scores = dict(zip(row["read_criteria"] or (), row["read_scores"] or (), strict=True))
        given = _given(row)
        answer = answers.setdefault(normalise_answer(given), Answer(given[:_MAX_ANSWER]))
        is_this = row["pk"] == evaluation.pk
        is_hidden = not is_this and row["is_hidden"]
        answer.siblings.append(_sibling(row, scores, rubric, is_this=is_this, is_hidden=is_hidden))
        is_like_this = row["template"] == evaluation.judge_prompt_template_path
        if is_like_this and not (is_this or is_hidden):
            criteria |= dict.fromkeys(row["criteria"] or scores)
    ordered = sorted(answers.values(), key=lambda answer: (not answer.text, not answer.is_this))
    return Siblings(ordered, list(criteria), are_cut=len(rows) > MAX_SIBLINGS)


_KEYS = Func(
    F("parsed_rubric_scores"),
    template="ARRAY(SELECT jsonb_object_keys(%(expressions)s))",
    output_field=ArrayField(TextField()),
)


def _extracted(part: str) -> Func:
    """Return one member of each extracted score, in order."""
    path = Value(f"$.proposals[*].{part}")
    return Func(
        F("extracted_scores"),
        path,
        template="jsonb_path_query_array(%(expressions)s::jsonpath)",
        output_field=JSONField(),
    )


def _rows(evaluation: Evaluation, reader: User | None) -> "QuerySet[Evaluation, Any]":
    """Query by the index `evaluation_siblings`, with only the required members of large columns."""
    return (
        Evaluation.objects.filter(run=evaluation.run_id, task_id=evaluation.task_id)
        .order_by("model_id", "id")
        .values(
            "pk",
            "evaluation_id",
            "model_id",
            "judge_llm_model",
            "aggregated_score",
            "human_review_status",
            "human_corrected_scores",
            "final_answer_verified",
            "verification_message",
            template=F("judge_prompt_template_path"),
            is_hidden=ExpressionWrapper(hidden_from(reader, evaluation.run), BooleanField()),
            criteria=_KEYS,
            inner_answer=Left(KT("structured_model_response__response__final_answer"), _MAX_COMPARED),
            outer_answer=Left(KT("structured_model_response__final_answer"), _MAX_COMPARED),
            read_criteria=_extracted("criterion"),
            read_scores=_extracted("score"),
        )
    )


def _given(row: dict[str, Any]) -> str:
    """Return the final answer of a record: from its structured response, or else from the verifier."""
    structured = row["inner_answer"] or row["outer_answer"]
    if structured:
        return str(structured).strip()
    verification = read_verification(row["final_answer_verified"], row["verification_message"])
    return (verification.extracted or "").strip()


def _sibling(
    row: dict[str, Any], unparsed: dict[str, Any], rubric: Rubric, *, is_this: bool, is_hidden: bool
) -> Sibling:
    judged = rubric.judge_verdict(row["aggregated_score"], unparsed) or ""
    return Sibling(
        pk=row["pk"],
        model=row["model_id"] or "no model",
        judge=row["judge_llm_model"],
        judged="" if is_hidden else judged,
        decided="" if is_hidden else rubric.verdict(row["human_corrected_scores"]) or "",
        status=row["human_review_status"],
        is_this=is_this,
    )


_WRAPPERS = (
    re.compile(r"\$\$?(.*?)\$\$?", re.DOTALL),
    re.compile(r"\\\((.*)\\\)", re.DOTALL),
    re.compile(r"\\\[(.*)\\\]", re.DOTALL),
    re.compile(r"\*\*(.*)\*\*", re.DOTALL),
    re.compile(r"\\(?:boxed|text|mathrm|displaystyle)\s*\{(.*)\}", re.DOTALL),
)
# Spaces and commands that change the appearance of a formula but not its meaning.
_APPEARANCE = re.compile(r"\\[,;:! ]|\\(?:left|right|displaystyle|quad|qquad)(?![A-Za-z])|~")
_FRACTION = re.compile(r"\\[dt]frac(?![A-Za-z])")


def normalise_answer(answer: str) -> str:
    r"""Return an answer without spaces, `$ $`, `\( \)`, `\boxed{}`, bold and a final full stop."""
    text, before = answer[:_MAX_COMPARED], ""
    while text != before:
        before = text
        text = text.strip().removesuffix(".").strip()
        for wrapper in _WRAPPERS:
            if whole := wrapper.fullmatch(text):
                text = whole[1] if _is_balanced(whole[1]) else text
    return "".join(_FRACTION.sub(r"\\frac", _APPEARANCE.sub("", text)).split())


def _is_balanced(text: str) -> bool:
    r"""Return whether braces are balanced: `\boxed{1} + \boxed{2}` is no box around "1} + \boxed{2"."""
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0 and "$" not in text
