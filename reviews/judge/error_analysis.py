"""Analyse the judge's errors: the causes that reviewers named, by prompt template, with examples to quote."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from django.db.models import Count, QuerySet

from cognireview.types import report_parts
from reviews.database.statements import fetch_all
from reviews.judge.scope import JudgeScope
from reviews.models import CauseMention, Review, Stratum
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.records.rubric import Rubric
from reviews.records.scores import criterion_title, format_score, score_of
from reviews.records.wording import counted
from reviews.rubric.run_rubric import run_rubric
from reviews.search import facets

DEFINITIONS = {
    "mentions": "How often reviewers named the cause. The order shows what to fix first, not how often the "
    "judge makes the error.\n\n"
    "Decisions of decided records that name the cause, once per criterion. Naming a cause is optional, and "
    "flagged records are reviewed more often than others.",
    "examples": "The newest decisions that name the cause. They come from different criteria first.\n\n"
    "Records that wait for another decision, because they were reopened or changed in a file, are left out.",
}
# The characters that Markdown treats as markup.
_SIGNS = re.compile(r"([\\`*_{}\[\]<>#!|~$&])")
_TICKS = re.compile(r"`+")
# The large columns that hold the judge's scores.
_NEEDED = {"extracted_scores", "parsed_rubric_scores"}
_DEFERRED = tuple(f"evaluation__{column}" for column in LARGE_COLUMNS if column not in _NEEDED)


class Quote(NamedTuple):
    """One criterion of a decision. Scores are JSON values, None for no score."""

    judge_score: Any
    #: Empty if the record has changed since the decision.
    judge_justification: str
    human_score: Any
    #: Empty if the reviewer kept the judge's.
    human_justification: str


@dataclass(frozen=True, kw_only=True)
class Example(report_parts.ErrorExample):
    """A quote with its record and reviewer, ready to display."""

    #: The key of the review.
    review: int
    #: The key of the record.
    evaluation: int

    @property
    def criterion_title(self) -> str:
        return criterion_title(self.criterion)


class CriterionMentions(report_parts.CriterionMentions):
    """How often a cause was named for a criterion."""

    @property
    def title(self) -> str:
        return criterion_title(self.criterion)


@dataclass(frozen=True)
class NamedCause:
    """A cause with the criteria it was named for, most frequent first."""

    cause: str
    title: str
    criteria: tuple[CriterionMentions, ...]
    examples: tuple[Example, ...]

    @property
    def mentions(self) -> int:
        return sum(one.mentions for one in self.criteria)


@dataclass(frozen=True)
class TemplateErrors:
    """The causes named for a prompt template, most frequent first."""

    template: str
    causes: tuple[NamedCause, ...]

    @property
    def mentions(self) -> int:
        return sum(cause.mentions for cause in self.causes)


@dataclass(frozen=True)
class ErrorAnalysis:
    """The templates with named causes, most mentions first."""

    scope: JudgeScope
    templates: tuple[TemplateErrors, ...]

    @property
    def mentions(self) -> int:
        return sum(template.mentions for template in self.templates)


class _Named(NamedTuple):
    """The subject of a mention."""

    stratum: int
    cause: str
    criterion: str


# The mentions of each criterion, by template and cause.
_Sums = Mapping[tuple[str, str], Counter[str]]


def find_mentions(scope: JudgeScope) -> QuerySet[CauseMention]:
    """Return the causes named in a scope, by any reviewer."""
    named = CauseMention.objects.filter(run=scope.run, stratum__isnull=False)
    # Without a filter the index of mentions suffices, without a join to the strata.
    narrowed = scope.judge is not None or scope.template is not None or scope.model is not None
    return (
        named.filter(scope.decision_filters(), scope.condition())
        if narrowed
        else named.filter(scope.decision_filters())
    )


def analyse_errors(scope: JudgeScope, *, examples: int = 2) -> ErrorAnalysis:
    """Rank the causes of a scope, each with at most `examples` examples. Takes four queries at any size."""
    rubric = run_rubric(scope.run)
    rows = find_mentions(scope).values_list("stratum", "cause", "criterion").annotate(Count("review"))
    rows = rows.order_by("stratum", "cause", "criterion")
    named = {_Named(*row): count for *row, count in rows}
    paths = dict(Stratum.objects.filter(run=scope.run).values_list("pk", "judge_prompt_template_path"))
    sums: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one, count in named.items():
        sums[paths[one.stratum], one.cause][one.criterion] += count
    quoted = _quoted(scope, rubric, sums, [(paths[one.stratum], one) for one in named], examples)
    by_template: dict[str, list[NamedCause]] = defaultdict(list)
    for (path, word), criteria in sums.items():
        of_criteria = tuple(CriterionMentions(*pair) for pair in criteria.most_common())
        by_template[path].append(NamedCause(word, _title(rubric, word), of_criteria, quoted[path, word]))
    templates = [
        TemplateErrors(path, tuple(sorted(causes, key=lambda cause: (-cause.mentions, cause.cause))))
        for path, causes in by_template.items()
    ]
    return ErrorAnalysis(scope, tuple(sorted(templates, key=lambda one: (-one.mentions, one.template))))


def _title(rubric: Rubric, word: str) -> str:
    cause = rubric.cause(word)
    return cause.title if cause else criterion_title(word)


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
    scope: JudgeScope, rubric: Rubric, sums: _Sums, named: Iterable[tuple[str, _Named]], most: int
) -> dict[tuple[str, str], tuple[Example, ...]]:
    """Choose examples by template and cause: newest first, from the most frequent criteria in turn."""
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
    rows = Review.objects.select_related("evaluation", "reviewer").defer(*_DEFERRED)
    reviews = rows.in_bulk({review for pairs in chosen.values() for review, _ in pairs})
    return {
        (path, cause): tuple(
            _example(reviews[review], criterion, _title(rubric, cause)) for review, criterion in pairs
        )
        for (path, cause), pairs in chosen.items()
    }


def _newest(scope: JudgeScope, wanted: Sequence[_Named], most: int) -> Iterator[tuple[_Named, int]]:
    """Yield the newest reviews with each mention, using an index."""
    columns = zip(*wanted, strict=True) if wanted else ((), (), ())
    strata, causes, criteria = map(list, columns)
    values: dict[str, Any] = {"run": scope.run.pk, "most": most}
    values |= {"strata": strata, "causes": causes, "criteria": criteria}
    for *named, review in fetch_all(_NEWEST, values):
        yield _Named(*named), review


def _in_turns(lists: Iterable[Sequence[tuple[int, str]]]) -> list[tuple[int, str]]:
    """Interleave the lists: the first of each, then the second of each, and so on."""
    return [one for turn in zip_longest(*lists) for one in turn if one is not None]


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
    """Quote a criterion of a decision with the judge's score and justification."""
    judged = facets.judged_criteria(review.evaluation)
    said = next((one.justification for one in judged if one.criterion == criterion), "")
    entry = (review.corrected_scores or {}).get(criterion)
    own = entry.get("justification") if isinstance(entry, Mapping) else None
    return Quote(
        judge_score=(review.judged or {}).get(criterion),
        judge_justification=said,
        human_score=score_of(entry),
        human_justification=own if isinstance(own, str) and own.strip() != said.strip() else "",
    )


def to_markdown(analysis: ErrorAnalysis, link: Callable[[Example], str]) -> Iterator[str]:
    """Yield the analysis as Markdown lines. `link` returns the URL of an example's record.

    Texts of records are in code blocks, so that none of their markup takes effect.
    """
    yield f"# Errors of the judge: {_plain(analysis.scope.run.name)}\n\n"
    if not analysis.templates:
        yield "No reviewer has named a cause yet.\n"
    for template in analysis.templates:
        yield from _template_markdown(template, link)


def _template_markdown(template: TemplateErrors, link: Callable[[Example], str]) -> Iterator[str]:
    yield f"## {_plain(template.template)}\n\n"
    yield "| Cause | Named | For |\n|---|---:|---|\n"
    for cause in template.causes:
        criteria = ", ".join(f"{_plain(one.title)} ({one.mentions:,})" for one in cause.criteria)
        yield f"| {_plain(cause.title)} | {cause.mentions:,} | {criteria} |\n"
    yield "\n"
    for cause in template.causes:
        yield from _cause_markdown(cause, link)


def _cause_markdown(cause: NamedCause, link: Callable[[Example], str]) -> Iterator[str]:
    yield f"### {_plain(cause.title)}, named {counted(cause.mentions, 'time')}\n\n"
    for example in cause.examples:
        yield f"[{_plain(example.title)}]({link(example)}), {_plain(example.criterion_title)}\n\n"
        judge = f"The judge ({_plain(example.judge)})"
        yield from _quote_markdown(judge, example.judge_score, example.judge_justification)
        yield from _quote_markdown("The reviewer", example.human_score, example.human_justification)
        if example.comment:
            yield f"Comment:\n\n{_block(example.comment)}\n"


def _quote_markdown(who: str, score: str, justification: str) -> Iterator[str]:
    gave = f"{who}: **{_plain(score)}**" if score else f"{who}: no score"
    yield f"{gave}\n\n"
    if justification:
        yield f"{_block(justification)}\n"


def _plain(text: str) -> str:
    """Return a text on one line, with markup escaped."""
    return _SIGNS.sub(r"\\\1", " ".join(text.split()))


def _block(text: str) -> str:
    """Return a text in a code block whose fence is longer than any run of backticks in the text."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text.strip()}\n{fence}\n"
