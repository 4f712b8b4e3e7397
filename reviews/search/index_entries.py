"""Compute the index entry of a record from its row or from the values that an import encodes.

Parser processes use this module, so it uses neither Django nor the database.
"""

import re
import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from reviews.records.clusters import task_cluster
from reviews.records.response_keys import pair_key, response_key
from reviews.records.schema import Record
from reviews.search.facets import (
    Facet,
    JudgedCriterion,
    RecordFacets,
    SearchableRecord,
    judged_criteria,
    names_of,
    texts_of,
)
from reviews.search.remembered_facets import RubricFacets
from reviews.search.terms import NAME_MARK, encoded_words


class IndexEntry(NamedTuple):
    """The index entry of one record: its facets and words."""

    #: The key of the evaluation.
    key: int
    facets: RecordFacets
    #: In UTF-8, sorted. Words of names begin with `NAME_MARK`.
    words: list[bytes]


class EncodedEntries(NamedTuple):
    """The entries of one or several records as rows of a binary COPY, without header and trailer."""

    #: The rows of `evaluation_facets`, in the order of `FACET_COLUMNS`.
    facets: bytes
    #: The rows of `evaluation_words`, in the order of `WORD_COLUMNS`.
    words: bytes
    #: The facets that become options of filters.
    options: frozenset[Facet]


class NeedsStoredRecord(Exception):
    """PostgreSQL may return other values than those in the line, so the entry needs the stored record."""


class SearchedRow(NamedTuple):
    """The fields of a `SearchableRecord`, read from the values of a row."""

    evaluation_id: str
    task_id: str | None
    model_id: str | None
    response_id: str | None
    judge_llm_model: str
    judge_prompt_template_path: str
    raw_judge_output: Any
    parsed_rubric_scores: dict[str, Any]
    aggregated_score: str | None
    final_answer_verified: bool | None
    verification_message: str | None
    review_reasons: list[str]
    parsing_error: str | None
    human_review_comments: str | None
    extracted_scores: dict[str, Any] | None


_searched = itemgetter(*[(*Record._fields, "extracted_scores").index(name) for name in SearchedRow._fields])
_JSON = [
    SearchedRow._fields.index(name)
    for name in ("raw_judge_output", "parsed_rubric_scores", "review_reasons", "extracted_scores")
]
_SCORES = Record._fields.index("parsed_rubric_scores")
# PostgreSQL writes 1e2 as 100, and -0.0 as 0.0.
_RESPELLED = re.compile(rb"[:\[,]\s*(?:-0|-?[0-9.]+[eE])")
_NAME_MARK = NAME_MARK.encode()
FACET_COLUMNS = (
    "evaluation_id",
    "run_id",
    "verdict_order",
    "is_flagged",
    "response",
    "pair",
    "cluster",
    "keys",
)
WORD_COLUMNS = ("evaluation_id", "words")
_OF_RESPONSE = ("task_id", "evaluation_id", "model_id", "structured_model_response", "task_context")
_of_response = itemgetter(*[Record._fields.index(name) for name in _OF_RESPONSE])
_FLAG = Record._fields.index("needs_human_review")
_words_row, _count = struct.Struct("!hiqi").pack, struct.Struct("!i").pack
_facets_row, _cluster = struct.Struct("!hiqiqihi?").pack, struct.Struct("!ii").pack
_array = struct.Struct("!6i").pack
_number, _NULL = struct.Struct("!iq").pack, struct.Struct("!i").pack(-1)
_BIGINT = 20  # the object identifier of the type


def encode_entry(key: int, run: int, values: Sequence[Any], by: RubricFacets) -> EncodedEntries:
    """Encode the entry of a record of a run from the values of its row, with JSON as bytes.

    Raises `NeedsStoredRecord`.
    """
    fields = [*_searched(values)]
    task, record_id, model, structured, context = _of_response(values)
    try:
        for place in _JSON:
            fields[place] = None if fields[place] is None else orjson.loads(fields[place])
        response = response_key(task, record_id, model, structured, context)
        pair = context and pair_key(task, record_id, context)
    except ValueError as error:
        raise NeedsStoredRecord from error
    record = SearchedRow._make(fields)
    judged = judged_criteria(record)
    if any(isinstance(one.score, float) and one.score.is_integer() for one in judged) and _RESPELLED.search(
        values[_SCORES]
    ):
        raise NeedsStoredRecord
    entry = index_entry(key, record, judged, by)
    row = (
        _facets_row(8, 8, key, 8, run, 2, entry.facets.verdict_order, 1, values[_FLAG]),
        _NULL if response is None else _number(8, response),
        _NULL if pair is None else _number(8, pair),
        _cluster(4, task_cluster(task, record_id)),
        _encode_keys(entry.facets.keys),
    )
    return EncodedEntries(b"".join(row), _encode_words(entry), entry.facets.options)


def index_entry(
    key: int, record: SearchableRecord, judged: list[JudgedCriterion], by: RubricFacets
) -> IndexEntry:
    """Return the entry of a record. `by` are the facets by the rubric of its run."""
    names = encoded_words(names_of(record))
    # The texts begin with the names, whose words are indexed once.
    texts = encoded_words(texts_of(record, judged)) - names
    words = sorted([*[_NAME_MARK + name for name in names], *texts])
    return IndexEntry(key, by.facets(record, judged), words)


def join_entries(entries: Sequence[EncodedEntries]) -> EncodedEntries:
    return EncodedEntries(
        b"".join([entry.facets for entry in entries]),
        b"".join([entry.words for entry in entries]),
        frozenset[Facet]().union(*{entry.options for entry in entries}),
    )


def facets_as_json(entries: Iterable[IndexEntry]) -> bytes:
    """Return a list of objects with the key, the facets and the place of the verdict of each record."""
    return orjson.dumps(
        [{"id": key, "keys": facets.keys, "verdict": facets.verdict_order} for key, facets, _ in entries]
    )


def _encode_keys(keys: Sequence[int]) -> bytes:
    """Encode an array of the type bigint."""
    elements = b"".join([_element(key) for key in keys])
    return _array(20 + len(elements), 1, 0, _BIGINT, len(keys), 1) + elements


# Many records have the same facets.
@lru_cache(maxsize=10_000)
def _element(key: int) -> bytes:
    return _number(8, key)


def _encode_words(entry: IndexEntry) -> bytes:
    """Encode a row with the key and the words as a tsvector.

    A word ends with a zero byte, and has no positions.
    """
    text = b"\0\0\0".join([*entry.words, b""])
    return b"".join((_words_row(2, 8, entry.key, 4 + len(text)), _count(len(entry.words)), text))
