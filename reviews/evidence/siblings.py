"""Find the other records of a task in its run: other models and judges on the same question."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

from django.db.models import BooleanField, ExpressionWrapper, F, Func, JSONField, Q, QuerySet, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Left

from reviews.database.compiled_queries import CompiledQuery, parameter
from reviews.models import Evaluation, User
from reviews.records.answers import MAX_CHARS, answer_key
from reviews.records.rubric import Rubric
from reviews.records.scales import Level
from reviews.records.scores import format_score, is_alike, is_score, score_of
from reviews.records.verification import read_verification
from reviews.rubric.run_rubric import run_rubric
from reviews.search.hidden_records import hidden_in_share

#: The records to show in addition to the one on the page.
MAX_OTHERS = 24
#: The criteria to show. A peek at a record shows all.
MAX_CRITERIA = 6


class SiblingScore(NamedTuple):
    """The score of a criterion."""

    #: The judge's score; empty if missing or hidden.
    judge: str
    #: The score of the current decision; empty if missing or hidden.
    human: str
    #: The level of the current score.
    level: Level | None

    @property
    def is_overridden(self) -> bool:
        return bool(self.human) and not is_alike(self.human, self.judge)


@dataclass(frozen=True, slots=True)
class Sibling:
    """A record of the task."""

    pk: int
    model: str
    judge: str
    #: The final answer; empty if it is not known.
    answer: str
    #: Whether the final answer is that of the record on the page.
    is_same_answer: bool
    #: One for each of `Siblings.titles`.
    scores: list[SiblingScore]
    #: The judge's verdict; empty if missing or hidden.
    judged: str
    #: The verdict of the current decision; empty if missing or hidden.
    decided: str
    #: Whether it is the record on the page.
    is_this: bool


@dataclass(frozen=True, slots=True)
class Siblings:
    """The task's records in a run."""

    #: The record on the page comes first, then those with its final answer. Equal answers follow each other.
    records: list[Sibling] = field(default_factory=list)
    #: The titles of the criteria whose scores are shown.
    titles: list[str] = field(default_factory=list)
    #: The criteria scored in other records with the same judge prompt.
    criteria: list[str] = field(default_factory=list)
    #: Whether there are more than `MAX_OTHERS` other records.
    are_cut: bool = False

    @property
    def others(self) -> int:
        return sum(not record.is_this for record in self.records)

    @property
    def agreeing(self) -> int:
        """The number of other records with the same final answer."""
        return sum(record.is_same_answer and not record.is_this for record in self.records)

    @property
    def have_verdicts(self) -> bool:
        return any(record.judged or record.decided for record in self.records)

    def without_verdicts(self) -> "Siblings":
        """Return the same answers without scores and verdicts."""
        records = [replace(record, scores=[], judged="", decided="") for record in self.records]
        return Siblings(records, are_cut=self.are_cut)


def find_siblings(
    evaluation: Evaluation, reader: User | None = None, criteria: Sequence[str] = ()
) -> Siblings:
    """Return the records of the same task in the run, including this one. One query.

    `criteria` are those of this record, in the order of its form. Scores and verdicts hidden from the
    reader are left out: see `hidden_records.hidden_from`.
    """
    if evaluation.task_id is None or evaluation.pk is None:
        return Siblings()
    rubric = run_rubric(evaluation.run)
    shown = criteria[:MAX_CRITERIA]
    rows = _rows(evaluation, reader)
    keys = {row["pk"]: _key(row) for row in rows}
    places = {key: place for place, key in reversed(list(enumerate(keys.values())))}
    own_key = keys[evaluation.pk]
    records = [
        _sibling(
            row,
            rubric,
            shown,
            is_this=row["pk"] == evaluation.pk,
            is_same_answer=bool(own_key) and keys[row["pk"]] == own_key,
        )
        for row in rows
    ]
    records.sort(
        key=lambda one: (not one.is_this, not one.is_same_answer, not one.answer, places[keys[one.pk]])
    )
    like_this = (
        row
        for row in rows
        if row["template"] == evaluation.judge_prompt_template_path and not row["is_hidden"]
    )
    of_prompt = (name for row in like_this if row["pk"] != evaluation.pk for name in _judge_scores(row))
    return Siblings(
        records=records[: MAX_OTHERS + 1],
        titles=[rubric.title(name) for name in shown],
        criteria=list(dict.fromkeys(of_prompt)),
        are_cut=len(records) > MAX_OTHERS + 1,
    )


_HIDDEN = SiblingScore("", "", None)
_SCORES = Func(
    F("parsed_rubric_scores"),
    template="(SELECT jsonb_object_agg(key, CASE jsonb_typeof(value) WHEN 'object' THEN value->'score'"
    " ELSE value END) FROM jsonb_each(%(expressions)s))",
    output_field=JSONField(),
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


def _rows(evaluation: Evaluation, reader: User | None) -> list[dict[str, Any]]:
    """Load this record and the first others. One query."""
    share = evaluation.run.blind_share
    query = _compiled(has_share=bool(share), has_reader=reader is not None)
    return query.rows(
        record=evaluation.pk,
        run=evaluation.run_id,
        task=evaluation.task_id,
        share=share,
        reader=reader.pk if reader else None,
    )


@cache
def _compiled(*, has_share: bool, has_reader: bool) -> CompiledQuery[Any]:
    """Return the query of this record and the first others, by the index `evaluation_siblings`.

    It selects only the required members of large columns.
    """
    reader = parameter("reader") if has_reader else None
    hidden = hidden_in_share(reader, parameter("run"), parameter("share")) if has_share else Q(pk__in=[])

    def build() -> "QuerySet[Evaluation, Any]":
        rows = Evaluation.objects.order_by("model_id", "id").values(
            "pk",
            "model_id",
            "judge_llm_model",
            "aggregated_score",
            "human_corrected_scores",
            "final_answer_verified",
            "verification_message",
            template=F("judge_prompt_template_path"),
            is_hidden=ExpressionWrapper(hidden, BooleanField()),
            inner_answer=Left(KT("structured_model_response__response__final_answer"), MAX_CHARS + 1),
            outer_answer=Left(KT("structured_model_response__final_answer"), MAX_CHARS + 1),
            parsed_scores=_SCORES,
            read_criteria=_extracted("criterion"),
            read_scores=_extracted("score"),
        )
        of_task = rows.filter(run=parameter("run"), task_id=parameter("task")).exclude(pk=parameter("record"))
        this = rows.filter(pk=parameter("record")).order_by()
        return this.union(of_task[: MAX_OTHERS + 1], all=True)

    return CompiledQuery(build)


def _sibling(
    row: dict[str, Any], rubric: Rubric, shown: Sequence[str], *, is_this: bool, is_same_answer: bool
) -> Sibling:
    is_hidden = row["is_hidden"] and not is_this
    scores = _judge_scores(row)
    return Sibling(
        pk=row["pk"],
        model=row["model_id"] or "no model",
        judge=row["judge_llm_model"],
        answer=_answer(row),
        is_same_answer=is_same_answer,
        scores=[_HIDDEN if is_hidden else _score(row, scores, rubric, name) for name in shown],
        judged="" if is_hidden else rubric.judge_verdict(row["aggregated_score"], scores) or "",
        decided="" if is_hidden else rubric.verdict(row["human_corrected_scores"]) or "",
        is_this=is_this,
    )


def _answer(row: dict[str, Any]) -> str:
    """Return the final answer of a record: from its structured response, or else from the verifier."""
    structured = row["inner_answer"] or row["outer_answer"]
    if structured:
        return str(structured).strip()
    verification = read_verification(row["final_answer_verified"], row["verification_message"])
    return (verification.extracted or "").strip()


def _key(row: dict[str, Any]) -> str:
    """Return the key of a final answer. Answers that are too long to be read whole have none."""
    answer = _answer(row)
    return answer_key(answer) if len(answer) <= MAX_CHARS else ""


def _judge_scores(row: dict[str, Any]) -> dict[str, Any]:
    """Return the judge's scores by criterion: parsed by the pipeline, or extracted from the raw output."""
    extracted = zip(row["read_criteria"] or (), row["read_scores"] or (), strict=True)
    return dict(row["parsed_scores"] or extracted)


def _score(row: dict[str, Any], scores: dict[str, Any], rubric: Rubric, criterion: str) -> SiblingScore:
    judged, decided = scores.get(criterion), score_of((row["human_corrected_scores"] or {}).get(criterion))
    current = decided if is_score(decided) else judged
    level = rubric.level(criterion, current) if is_score(current) else None
    return SiblingScore(_word(judged), _word(decided), level)


def _word(score: Any) -> str:
    return format_score(score) if is_score(score) else ""
