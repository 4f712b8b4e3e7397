"""Compute the index entry of a record from its row or from the values that an import encodes.

Parser processes use this module, so it uses neither Django nor the database.
"""

import re
import struct
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import orjson

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
from reviews.search.terms import NAME_MARK, distinct_encoded_words


class IndexEntry(NamedTuple):
    """The index entry of one record: its facets and words."""

    #: The key of the evaluation.
    key: int
    facets: RecordFacets
    #: In UTF-8. Words of names begin with `NAME_MARK`.
    words: list[bytes]


class EncodedEntries(NamedTuple):
    """The entries of several records, as the tables take them."""

    #: As `facets_as_json` returns them.
    facets: bytes
    #: Rows of a binary COPY into `evaluation_words`, without header and trailer.
    words: bytes
    #: The facets that become options of filters.
    options: set[Facet]


class NeedsStoredRecord(Exception):
    """PostgreSQL may return other values than those in the line, so the entry needs the stored record."""


class _Values(NamedTuple):
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


_PLACES = [(*Record._fields, "extracted_scores").index(name) for name in _Values._fields]
_JSON = [
    _Values._fields.index(name)
    for name in ("raw_judge_output", "parsed_rubric_scores", "review_reasons", "extracted_scores")
]
_SCORES = Record._fields.index("parsed_rubric_scores")
# PostgreSQL writes 1e2 as 100, and -0.0 as 0.0.
_RESPELLED = re.compile(rb"[:\[,]\s*(?:-0|-?[0-9.]+[eE])")
_NAME_MARK = NAME_MARK.encode()
_words_row, _count = struct.Struct("!hiqi").pack, struct.Struct("!i").pack


def index_entry(key: int, record: SearchableRecord, by: RubricFacets) -> IndexEntry:
    """Return the entry of a record. `by` are the facets by the rubric of its run."""
    return _entry(key, record, judged_criteria(record), by)


def entry_of_values(key: int, values: Sequence[Any], by: RubricFacets) -> IndexEntry:
    """Return the entry of a record from the values of its row, with JSON as bytes.

    Raises `NeedsStoredRecord`.
    """
    fields = [values[place] for place in _PLACES]
    try:
        for place in _JSON:
            fields[place] = None if fields[place] is None else orjson.loads(fields[place])
    except ValueError as error:
        raise NeedsStoredRecord from error
    record = _Values._make(fields)
    judged = judged_criteria(record)
    if any(isinstance(one.score, float) and one.score.is_integer() for one in judged) and _RESPELLED.search(
        values[_SCORES]
    ):
        raise NeedsStoredRecord
    return _entry(key, record, judged, by)


def _entry(key: int, record: SearchableRecord, judged: list[JudgedCriterion], by: RubricFacets) -> IndexEntry:
    names = distinct_encoded_words(names_of(record))
    # The texts begin with the names, whose words are indexed once.
    texts = distinct_encoded_words(texts_of(record, judged))[len(names) :]
    return IndexEntry(key, by.facets(record, judged), [*(_NAME_MARK + name for name in names), *texts])


def encode_entries(entries: Sequence[IndexEntry]) -> EncodedEntries:
    """Encode entries for their tables."""
    return EncodedEntries(
        facets_as_json(entries),
        b"".join(_encode_words(entry) for entry in entries),
        set[Facet]().union(*(entry.facets.options for entry in entries)),
    )


def facets_as_json(entries: Iterable[IndexEntry]) -> bytes:
    """Return a list of objects with the key, the facets and the place of the verdict of each record."""
    return orjson.dumps(
        [{"id": key, "keys": facets.keys, "verdict": facets.verdict_order} for key, facets, _ in entries]
    )


def _encode_words(entry: IndexEntry) -> bytes:
    """Encode a row with the key and the words as a tsvector, whose words are sorted by their bytes.

    A word ends with a zero byte, and has no positions.
    """
    text = b"\0\0\0".join([*sorted(entry.words), b""])
    return b"".join((_words_row(2, 8, entry.key, 4 + len(text)), _count(len(entry.words)), text))
