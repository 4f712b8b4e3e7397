"""What is wrong with a judge's prompts: the causes that reviewers named, with decisions to quote."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, QuerySet

from reviews.judge.accuracy import JudgeScope
from reviews.models import CauseMention, Review, Stratum
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.records.scores import criterion_title, format_score, score_of
from reviews.rubric import definition
from reviews.rubric.definition import Rubric
from reviews.search import indexing

# By what a page has: what it is, of which records, where it is from, what it does not say.
DEFINITIONS = {
    "mentions": "How often reviewers named the cause, in decisions in force: once for each criterion of a "
    "record. They name one where they change a score, or leave it and find its reason wrong; whoever "
    "changes a score need not. Flagged records are reviewed more than others: the order says what to mend "
    "first, not how often the judge does it.",
    "examples": "The newest decisions that name the cause, of different criteria first: what the judge "
    "said, and what stands in its place. The judge's justification is left out where the record has changed "
    "since.",
}
# Of the large columns of a record, those that tell what its judge said.
_NEEDED = {"extracted_scores", "parsed_rubric_scores"}
_DEFERRED = tuple(f"evaluation__{column}" for column in LARGE_COLUMNS if column not in _NEEDED)


class Quote(NamedTuple):
    """One criterion of a decision. Scores are JSON values, None for none.

    `human_justification` is empty where the reviewer left the judge's, and `judge_justification` where the
    record is no more what was judged.
    """

    judge_score: Any
    judge_justification: str
    human_score: Any
    human_justification: str


@dataclass(frozen=True)
class Example:
    """The same to read. `review` and `evaluation` are keys, `title` is that of the record."""

    review: int
    evaluation: int
    evaluation_id: str
    title: str
    model: str
    judge: str
    criterion: str
    cause: str
    judge_score: str
    judge_justification: str
    human_score: str
    human_justification: str
    comment: str
    reviewer: str

    @property
    def criterion_title(self) -> str:
        return criterion_title(self.criterion)

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in {"review", "evaluation"}}


@dataclass(frozen=True)
class CriterionMentions:
    """How often a cause was named for a criterion."""

    criterion: str
    mentions: int

    @property
    def title(self) -> str:
        return criterion_title(self.criterion)


@dataclass(frozen=True)
class NamedCause:
    """A cause, and the criteria for which it was named, most often first."""

    word: str
    title: str
    criteria: tuple[CriterionMentions, ...]
    examples: tuple[Example, ...]

    @property
    def mentions(self) -> int:
        return sum(one.mentions for one in self.criteria)

    def as_json(self) -> dict[str, Any]:
        return {
            "cause": self.word,
            "title": self.title,
            "mentions": self.mentions,
            "criteria": [asdict(one) for one in self.criteria],
            "examples": [one.as_json() for one in self.examples],
        }


@dataclass(frozen=True)
class TemplateErrors:
    """The causes that were named for a prompt template, most often first."""

    path: str
    causes: tuple[NamedCause, ...]

    @property
    def mentions(self) -> int:
        return sum(cause.mentions for cause in self.causes)

    def as_json(self) -> dict[str, Any]:
        causes = [cause.as_json() for cause in self.causes]
        return {"template": self.path, "mentions": self.mentions, "causes": causes}


@dataclass(frozen=True)
class ErrorAnalysis:
    """The templates for which causes were named, most often first."""

    scope: JudgeScope
    templates: tuple[TemplateErrors, ...]

    @property
    def mentions(self) -> int:
        return sum(template.mentions for template in self.templates)

    def as_json(self) -> dict[str, Any]:
        return {"mentions": self.mentions, "templates": [template.as_json() for template in self.templates]}


# Counting


class _Named(NamedTuple):
    """What a mention is of."""

    stratum: int
    cause: str
    criterion: str


# How often each criterion was named, by template and cause.
_Sums = Mapping[tuple[str, str], Counter[str]]


def find_mentions(scope: JudgeScope) -> QuerySet[CauseMention]:
    """The causes named in a scope, by whomever."""
    named = CauseMention.objects.filter(run=scope.run, stratum__isnull=False)
    # By its index, which has no need of the strata where all of them are asked for.
    narrowed = scope.judge is not None or scope.template is not None or scope.model is not None
    return named.filter(scope.condition()) if narrowed else named


def analyse_errors(scope: JudgeScope, *, examples: int = 2) -> ErrorAnalysis:
    """The causes named in a scope, each with so many examples. Four queries at any size."""
    kept = definition.of(scope.run)
    rows = find_mentions(scope).values_list("stratum", "cause", "criterion").annotate(Count("review"))
    rows = rows.order_by("stratum", "cause", "criterion")
    named = {_Named(*row): count for *row, count in rows}
    paths = dict(Stratum.objects.filter(run=scope.run).values_list("pk", "judge_prompt_template_path"))
    sums: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one, count in named.items():
        sums[paths[one.stratum], one.cause][one.criterion] += count
    quoted = _quoted(scope, kept, sums, [(paths[one.stratum], one) for one in named], examples)
    by_template: dict[str, list[NamedCause]] = defaultdict(list)
    for (path, word), criteria in sums.items():
        of_criteria = tuple(CriterionMentions(*pair) for pair in criteria.most_common())
        by_template[path].append(NamedCause(word, _title(kept, word), of_criteria, quoted[path, word]))
    templates = [
        TemplateErrors(path, tuple(sorted(causes, key=lambda cause: (-cause.mentions, cause.word))))
        for path, causes in by_template.items()
    ]
    return ErrorAnalysis(scope, tuple(sorted(templates, key=lambda one: (-one.mentions, one.path))))


def _title(kept: Rubric, word: str) -> str:
    cause = kept.cause(word)
    return cause.title if cause else criterion_title(word)


# Examples


_NEWEST = """
    SELECT wanted.stratum, wanted.cause, wanted.criterion, review_id
    FROM unnest(%(strata)s::bigint[], %(causes)s::text[], %(criteria)s::text[])
        AS wanted (stratum, cause, criterion)
    CROSS JOIN LATERAL (
        SELECT review_id FROM cause_mention
        WHERE run_id = %(run)s AND stratum_id = wanted.stratum AND cause = wanted.cause
          AND criterion = wanted.criterion
        ORDER BY review_id DESC LIMIT %(most)s
    ) newest
    ORDER BY review_id DESC
"""


def _quoted(
    scope: JudgeScope, kept: Rubric, sums: _Sums, named: Iterable[tuple[str, _Named]], most: int
) -> dict[tuple[str, str], tuple[Example, ...]]:
    """Examples by template and cause: one of each of the criteria named most often, newest first."""
    often = {key: [name for name, _ in criteria.most_common(most)] for key, criteria in sums.items()}
    wanted = {one: path for path, one in named if one.criterion in often[path, one.cause]}
    newest: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for one, review in _newest(scope, list(wanted), most):
        newest[wanted[one], one.cause, one.criterion].append(review)
    chosen = {
        (path, cause): _in_turns(
            [(review, name) for review in newest[path, cause, name]] for name in criteria
        )[:most]
        for (path, cause), criteria in often.items()
    }
    reviews = _reviews({review for pairs in chosen.values() for review, _ in pairs})
    return {
        (path, cause): tuple(
            _example(reviews[review], criterion, _title(kept, cause)) for review, criterion in pairs
        )
        for (path, cause), pairs in chosen.items()
    }


def _newest(scope: JudgeScope, wanted: Sequence[_Named], most: int) -> Iterator[tuple[_Named, int]]:
    """The newest reviews that mention each of these, by an index."""
    columns = zip(*wanted, strict=True) if wanted else ((), (), ())
    strata, causes, criteria = map(list, columns)
    values: dict[str, Any] = {"run": scope.run.pk, "most": most}
    values |= {"strata": strata, "causes": causes, "criteria": criteria}
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, values)
        for *named, review in cursor.fetchall():
            yield _Named(*named), review


def _in_turns(lists: Iterable[Sequence[tuple[int, str]]]) -> list[tuple[int, str]]:
    """The first of each, then the second of each, and so on."""
    return [one for turn in zip_longest(*lists) for one in turn if one is not None]


def _reviews(keys: Iterable[int]) -> dict[int, Review]:
    found = Review.objects.filter(pk__in=keys).select_related("evaluation", "reviewer").defer(*_DEFERRED)
    return {review.pk: review for review in found}


def _example(review: Review, criterion: str, cause: str) -> Example:
    record, quoted = review.evaluation, quote(review, criterion)
    return Example(
        review=review.pk,
        evaluation=record.pk,
        evaluation_id=record.evaluation_id,
        title=record.title,
        model=record.model_id or "",
        judge=record.judge_llm_model,
        criterion=criterion,
        cause=cause,
        judge_score=format_score(quoted.judge_score),
        judge_justification=quoted.judge_justification,
        human_score=format_score(quoted.human_score),
        human_justification=quoted.human_justification,
        comment=review.comments or "",
        reviewer=review.reviewer.username,
    )


def quote(review: Review, criterion: str) -> Quote:
    """What a decision says of a criterion, and what the judge had said."""
    judged = indexing.judged_criteria(review.evaluation) if is_unchanged(review) else []
    said = next((one.justification for one in judged if one.criterion == criterion), "")
    entry = (review.corrected_scores or {}).get(criterion)
    own = entry.get("justification") if isinstance(entry, Mapping) else None
    return Quote(
        judge_score=(review.judged or {}).get(criterion),
        judge_justification=said,
        human_score=score_of(entry),
        human_justification=own if isinstance(own, str) and own.strip() != said.strip() else "",
    )


def is_unchanged(review: Review) -> bool:
    """Whether the record is still what was decided on."""
    record = review.evaluation
    return (review.source_import_id, review.source_line) == (record.source_import_id, record.source_line)
