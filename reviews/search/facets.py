"""Compute the facets (criterion and score, reason, model...) and the searchable texts of a record.

Parser processes use this module, so it uses neither Django nor the database.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple, Protocol

from reviews.records import extracted_scores
from reviews.records.contradictions import JudgedRecord, find_contradictions
from reviews.records.raw_repeats import texts_beyond_scores
from reviews.records.reason_families import reason_family
from reviews.records.rubric import Rubric
from reviews.records.score_extraction import raw_text
from reviews.records.scores import format_score, is_score, justification_of, score_of
from reviews.records.verification import VerificationOutcome, read_verification

NO_VERDICT = "none"
# In the order of a list that is sorted by verdict: `EvaluationFacets.verdict_order`.
VERDICT_ORDER = ("Fail", "Partial", "Pass", NO_VERDICT)
MAX_VALUE_LENGTH = 512
# Per record. Further criteria and reasons cannot be used in filters.
MAX_FACETS = 500
# The facet with the verdict of a record whose `aggregated_score` is null.
READ_VERDICT = "read-verdict"
_VERIFIED = {"match": "yes", "mismatch": "no", "no reference": "no reference"}
_NOT_VERIFIED = "none"
VERIFIED = (*_VERIFIED.values(), _NOT_VERIFIED)
# Kinds of contradictions that can be found in the record alone: see `find_contradictions`.
CONTRADICTIONS = ("verdict", "verifier", "justification")
# Facets whose values in a run are listed as options.
WITH_OPTIONS = ("model", "judge", "template", "score", "reason")


class Facet(NamedTuple):
    """A property that many records share."""

    #: The name of the filter.
    name: str
    value: str
    #: The label for people, if it differs from the value.
    title: str = ""


class JudgedCriterion(NamedTuple):
    """The judge's score and justification for a criterion. The score is any JSON value."""

    criterion: str
    score: Any
    justification: str


class SearchableRecord(JudgedRecord, Protocol):
    """The fields of an evaluation that can be filtered by or searched."""

    @property
    def evaluation_id(self) -> str: ...
    @property
    def task_id(self) -> str | None: ...
    @property
    def model_id(self) -> str | None: ...
    @property
    def response_id(self) -> str | None: ...
    @property
    def judge_llm_model(self) -> str: ...
    @property
    def judge_prompt_template_path(self) -> str: ...
    @property
    def raw_judge_output(self) -> Any: ...
    @property
    def parsed_rubric_scores(self) -> Mapping[str, Any]: ...
    @property
    def extracted_scores(self) -> Mapping[str, Any] | None: ...
    @property
    def review_reasons(self) -> Sequence[str]: ...
    @property
    def parsing_error(self) -> str | None: ...
    @property
    def human_review_comments(self) -> str | None: ...


class RecordFacets(NamedTuple):
    """The facets of a record as they are stored."""

    #: Sorted.
    keys: list[int]
    #: The place of the judge's verdict in `VERDICT_ORDER`.
    verdict_order: int
    #: Those that become options of filters.
    options: frozenset[Facet]


# Many records have the same facets.
@lru_cache(maxsize=10_000)
def facet_key(name: str, value: str) -> int:
    """Return the stored form of a facet: a 64-bit hash, which keeps rows narrow and needs no lookup."""
    digest = blake2b(f"{name}\0{value}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def score_value(criterion: str, score: Any) -> str:
    """Return a criterion and its score as the value of a facet."""
    return f"{criterion}={format_score(score)}"[:MAX_VALUE_LENGTH]


def judged_criteria(record: SearchableRecord) -> list[JudgedCriterion]:
    """Return the judge's scores as parsed by the pipeline, or else as extracted from the raw output."""
    parsed = record.parsed_rubric_scores
    if not parsed:
        found = extracted_scores.read_extracted(record).proposals
        return [JudgedCriterion(one.criterion, one.score, one.justification) for one in found]
    return [JudgedCriterion(name, score_of(entry), justification_of(entry)) for name, entry in parsed.items()]


def record_facets(
    record: SearchableRecord, judged: Sequence[JudgedCriterion], rubric: Rubric
) -> RecordFacets:
    """Return the facets of a record, at most `MAX_FACETS`. `rubric` is its run's."""
    found = set(islice(facets_of(record, judged, rubric), MAX_FACETS))
    return RecordFacets(sorted(keys_of(found)), verdict_order(found), options_of(found))


def keys_of(facets: Iterable[Facet]) -> frozenset[int]:
    """Return the stored forms of facets."""
    return frozenset(facet_key(facet.name, facet.value) for facet in facets)


def options_of(facets: Iterable[Facet]) -> frozenset[Facet]:
    """Return the facets that become options of filters."""
    return frozenset(facet for facet in facets if facet.name in WITH_OPTIONS)


def verdict_order(facets: Iterable[Facet]) -> int:
    """Return the place in `VERDICT_ORDER` of the verdict among the facets of a record."""
    return VERDICT_ORDER.index(next(facet.value for facet in facets if facet.name == "verdict"))


def facets_of(record: SearchableRecord, judged: Sequence[JudgedCriterion], rubric: Rubric) -> Iterator[Facet]:
    """The facets of a record, some of them perhaps twice. `rubric` is its run's."""
    yield from facets_of_names(record.model_id, record.judge_llm_model, record.judge_prompt_template_path)
    outcome = read_verification(record.final_answer_verified, record.verification_message).outcome
    yield from facets_of_checks(outcome, is_parsed=record.parsing_error is None)
    yield from facets_by_rule(record, judged, rubric)
    yield from facets_of_scores(judged)
    for reason in record.review_reasons:
        yield Facet("reason", *reason_family(reason))


# Records of an import have few names, and making their facets takes longer than finding them.
@lru_cache(maxsize=100)
def facets_of_names(model: str | None, judge: str, template: str) -> tuple[Facet, ...]:
    models = () if model is None else (Facet("model", model),)
    return (*models, Facet("judge", judge), Facet("template", template))


def facets_of_checks(outcome: VerificationOutcome, *, is_parsed: bool) -> tuple[Facet, ...]:
    """Return the facets of the pipeline's parser and of the verifier."""
    verified = Facet("verified", _VERIFIED.get(outcome, _NOT_VERIFIED))
    return Facet("parse-error", "no" if is_parsed else "yes"), verified


def facets_of_scores(judged: Iterable[JudgedCriterion]) -> Iterator[Facet]:
    for criterion, score, _ in judged:
        if is_score(score):
            yield Facet("score", score_value(criterion, score))


def facets_by_rule(
    record: SearchableRecord, judged: Sequence[JudgedCriterion], rubric: Rubric
) -> Iterator[Facet]:
    """Yield the facets that depend on the rubric: the judge's verdict, and contradictions."""
    verdict = rubric.judge_verdict(record.aggregated_score, {one.criterion: one.score for one in judged})
    yield Facet("verdict", verdict or NO_VERDICT)
    if not record.aggregated_score and verdict:
        yield Facet(READ_VERDICT, verdict)
    scores = {one.criterion: {"score": one.score, "justification": one.justification} for one in judged}
    for kind, _ in find_contradictions(record, scores, rubric):
        if kind in CONTRADICTIONS:
            yield Facet("contradiction", kind)


def names_of(record: SearchableRecord) -> list[str]:
    """Return ids, model and judge: they can be searched even while the record is reviewed blind."""
    names = (
        record.evaluation_id,
        record.task_id,
        record.model_id,
        record.response_id,
        record.judge_llm_model,
    )
    return [*filter(None, names)]


def texts_of(record: SearchableRecord, judged: Iterable[JudgedCriterion]) -> list[str]:
    """Return the searchable texts of a record, names first because only the beginning of long text counts.

    Flag reasons are not searchable: they would distinguish flagged records from random samples.
    """
    messages = (record.verification_message, record.parsing_error, record.human_review_comments)
    texts = [*names_of(record), *filter(None, messages)]
    for criterion, score, justification in judged:
        texts += (criterion, score, justification) if isinstance(score, str) else (criterion, justification)
    texts += texts_beyond_scores(raw_text(record.raw_judge_output), record.parsed_rubric_scores)
    return texts
