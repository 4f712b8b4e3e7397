"""Compute the facets of many records by one rubric, and remember those that many records share.

The results equal those of `facets.record_facets`. The judge's scores decide most facets, and records of a run
have few different scores. So all that follows from scores alone is computed once for each combination.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from reviews.records.contradictions import is_about_answer, names_no_error
from reviews.records.reason_families import ReasonFamily, reason_family
from reviews.records.rubric import Rubric, Verdict
from reviews.records.verification import VerificationOutcome, read_verification
from reviews.search.facets import (
    Facet,
    JudgedCriterion,
    RecordFacets,
    SearchableRecord,
    facets_by_rule,
    facets_of_checks,
    facets_of_names,
    facets_of_scores,
    keys_of,
    options_of,
    record_facets,
    verdict_order,
)

# Records with more scores and reasons may have more facets than `facets.MAX_FACETS`.
_MAX_TOGETHER = 100
# Combinations of scores that are remembered, and the most scores and the longest one in them.
_MAX_KNOWN, _MAX_SCORES, _LONGEST_SCORE = 2_000, 20, 200
# Equal scores of one of these types are the same text, too.
_SAME_IF_EQUAL = (str, int, bool)
_UNJUSTIFIED = Facet("contradiction", "justification")
_UNJUSTIFIED_KEY = keys_of([_UNJUSTIFIED])


class _Part(NamedTuple):
    """Some facets of a record, as they are stored."""

    keys: frozenset[int]
    options: frozenset[Facet]


class _ByScores(NamedTuple):
    """The facts that follow from the judge's scores alone."""

    part: _Part
    #: The verdict of the scores by the rule of the rubric.
    verdict: Verdict | None
    #: The levels of the scores of criteria about the final answer.
    answer_levels: frozenset[str | None]
    #: The places of the scores that mean No. Their justifications must name an error.
    rejecting: tuple[int, ...]


class _ByRule(NamedTuple):
    """The facets that follow from the verdict, the verifier and `_ByScores`."""

    keys: frozenset[int]
    verdict_order: int


class RubricFacets:
    def __init__(self, rubric: Rubric) -> None:
        self._rubric = rubric
        self._known: dict[tuple[Any, ...], _ByScores] = {}
        self._rules: dict[tuple[Any, ...], _ByRule] = {}

    def facets(self, record: SearchableRecord, judged: Sequence[JudgedCriterion]) -> RecordFacets:
        """Return the facets of a record, as `record_facets` does."""
        if len(judged) + len(record.review_reasons) > _MAX_TOGETHER:
            return record_facets(record, judged, self._rubric)
        outcome = read_verification(record.final_answer_verified, record.verification_message).outcome
        scores = self._by_scores(judged)
        rule = self._by_rule(record, judged, outcome, scores)
        names = _of_names(record.model_id, record.judge_llm_model, record.judge_prompt_template_path)
        keys = rule.keys.union(
            _of_checks(outcome, record.parsing_error is None), names.keys, scores.part.keys
        )
        options = names.options | scores.part.options
        for reason in record.review_reasons:
            part = _of_reason(reason_family(reason))
            keys |= part.keys
            options |= part.options
        for place in scores.rejecting:
            if names_no_error(judged[place].justification):
                keys |= _UNJUSTIFIED_KEY
                break
        return RecordFacets(sorted(keys), rule.verdict_order, options)

    def _by_scores(self, judged: Sequence[JudgedCriterion]) -> _ByScores:
        key = _key(judged)
        if key is None:
            return self._read_scores(judged)
        known = self._known.get(key)
        if known is None:
            known = self._read_scores(judged)
            if len(self._known) < _MAX_KNOWN:
                self._known[key] = known
        return known

    def _read_scores(self, judged: Sequence[JudgedCriterion]) -> _ByScores:
        facets = [*facets_of_scores(judged)]
        # The last one of a criterion counts.
        places = {one.criterion: place for place, one in enumerate(judged)}
        scores = {name: judged[place].score for name, place in places.items()}
        levels = {name: self._rubric.level(name, score) for name, score in scores.items()}
        return _ByScores(
            _Part(keys_of(facets), options_of(facets)),
            self._rubric.aggregate(scores),
            frozenset(levels[name] for name in scores if is_about_answer(self._rubric.title(name))),
            tuple(places[name] for name, level in levels.items() if level == "no"),
        )

    def _by_rule(
        self,
        record: SearchableRecord,
        judged: Sequence[JudgedCriterion],
        outcome: VerificationOutcome,
        scores: _ByScores,
    ) -> _ByRule:
        key = (record.aggregated_score, outcome, scores.verdict, scores.answer_levels)
        rule = self._rules.get(key)
        if rule is None:
            facets = [*facets_by_rule(record, judged, self._rubric)]
            rule = _ByRule(keys_of(facet for facet in facets if facet != _UNJUSTIFIED), verdict_order(facets))
            if len(self._rules) < _MAX_KNOWN:
                self._rules[key] = rule
        return rule


def _key(judged: Sequence[JudgedCriterion]) -> tuple[Any, ...] | None:
    """Return a key that only equal scores have. None if the scores are not remembered."""
    key: list[Any] = []
    if len(judged) > _MAX_SCORES:
        return None
    for criterion, score, _ in judged:
        kind = type(score)
        if kind not in _SAME_IF_EQUAL:
            return None
        if len(criterion) + (len(score) if kind is str else 0) > _LONGEST_SCORE:
            return None
        key += (criterion, kind, score)
    return tuple(key)


@lru_cache(maxsize=100)
def _of_names(model: str | None, judge: str, template: str) -> _Part:
    facets = facets_of_names(model, judge, template)
    return _Part(keys_of(facets), options_of(facets))


@lru_cache(maxsize=20)
def _of_checks(outcome: VerificationOutcome, is_parsed: bool) -> frozenset[int]:  # noqa: FBT001 (a key)
    return keys_of(facets_of_checks(outcome, is_parsed=is_parsed))


@lru_cache(maxsize=1_000)
def _of_reason(family: ReasonFamily) -> _Part:
    facets = (Facet("reason", *family),)
    return _Part(keys_of(facets), options_of(facets))


# An import sends its rubric with each batch, and has another one only if more of the file shows it.
_by_rubric: dict[str, RubricFacets] = {}
_MAX_RUBRICS = 4


def facets_by(rubric: Rubric) -> RubricFacets:
    """Return the facets by a rubric, with what an equal rubric has remembered."""
    # Equal objects may differ: 1 is true, but not on a scale. Their text tells them apart.
    text = repr(rubric)
    known = _by_rubric.pop(text, None) or RubricFacets(rubric)
    while len(_by_rubric) >= _MAX_RUBRICS:
        del _by_rubric[next(iter(_by_rubric))]
    _by_rubric[text] = known
    return known
