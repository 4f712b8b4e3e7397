"""Both encoders return the same row for a line."""

import json
from collections.abc import Iterable
from contextlib import suppress

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from psycopg import sql

from reviews.database.statements import execute, fetch_all
from reviews.models import Evaluation
from reviews.records.schema import FIELDS, Limits, LineError, parse_line
from reviews.storage import copy_encoding
from reviews.storage.copy_encoding import RowKeys
from tests.records.test_traps import ACCEPTED, REJECTED
from tests.support.json_texts import json_texts, objects
from tests.support.lines import line

KEYS = RowKeys(evaluation=3, run=1, source=2, line=1, content_hash=bytes(16))

# Two tables like `evaluation` without foreign keys, and the differences between them.
_TABLES = """
    CREATE TEMP TABLE IF NOT EXISTS quick AS SELECT {columns} FROM evaluation WITH NO DATA;
    CREATE TEMP TABLE IF NOT EXISTS exact AS SELECT {columns} FROM evaluation WITH NO DATA;
    DELETE FROM pg_temp.quick;
    DELETE FROM pg_temp.exact;
""".format(columns=", ".join(copy_encoding.COLUMNS))
_DIFFERENT = """
    SELECT first_line FROM pg_temp.quick FULL JOIN pg_temp.exact USING (first_line)
    WHERE quick IS DISTINCT FROM exact
"""

# Changes to a record: any JSON in JSON fields, and sometimes anything anywhere.
any_json = st.dictionaries(
    st.sampled_from([name for name in copy_encoding.JSON_FIELDS if name not in {"review_reasons", "extra"}]),
    objects(json_texts) | json_texts,
    min_size=1,
)
anything = st.dictionaries(
    st.sampled_from([*FIELDS, "another"]), json_texts | objects(json_texts) | st.just("null"), max_size=4
)
numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,19})(\.[0-9]{1,19})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)


def quick(text: bytes, limits: Limits = Limits()) -> bytes | None:  # noqa: B008 (immutable)
    encoded = copy_encoding.encode_line_fast(text, limits, KEYS)
    return encoded.row if encoded else None


def accepted(text: bytes) -> bool:
    with suppress(LineError):
        parse_line(text)
        return True
    return False


def stored(table: str, written: Iterable[bytes]) -> None:
    into = sql.SQL("COPY {} FROM STDIN (FORMAT BINARY)").format(sql.Identifier("pg_temp", table))
    with connection.cursor() as cursor, cursor.copy(into) as copy:
        copy.write(b"".join((copy_encoding.COPY_HEADER, *written, copy_encoding.COPY_TRAILER)))


def differing(texts: list[bytes]) -> list[bytes]:
    """Return the lines that the fast path encodes differently from the full path."""
    taken: list[tuple[bytes, bytes]] = []
    for number, text in enumerate(texts):
        keys = KEYS._replace(line=number)
        encoded = copy_encoding.encode_line_fast(text, Limits(), keys)
        if encoded:
            record = parse_line(text)
            assert encoded.evaluation_id == record.evaluation_id
            taken.append((encoded.row, copy_encoding.encode_record(record, keys).row))
    execute(_TABLES)
    stored("quick", (one for one, _ in taken))
    stored("exact", (other for _, other in taken))
    return [texts[number] for (number,) in fetch_all(_DIFFERENT)]


class TestColumns:
    def test_copy_columns_are_columns_of_the_table(self) -> None:
        fields = {field.attname for field in Evaluation._meta.fields}
        assert set(copy_encoding.COLUMNS) <= fields

    def test_json_columns_are_declared(self) -> None:
        fields = [Evaluation._meta.get_field(name) for name in copy_encoding.COLUMNS]
        assert [field.name for field in fields if field.get_internal_type() == "JSONField"] == [
            *copy_encoding.JSON_FIELDS,
            "extracted_scores",
        ]


@pytest.mark.django_db
class TestFastEncoding:
    @pytest.mark.slow
    @examples(max_examples=12)
    @given(st.lists(any_json | anything, min_size=1, max_size=8))
    def test_fast_encoding_equals_full_encoding(self, changes: list[dict[str, str]]) -> None:
        texts = [line(**{key: text.encode() for key, text in one.items()}) for one in changes]
        assert differing(texts) == []

    @pytest.mark.slow
    @examples(max_examples=10)
    @given(st.lists(numbers, min_size=1, max_size=9))
    def test_fast_encoding_of_numbers_equals_full_encoding(self, spelled: list[str]) -> None:
        texts = [
            line(
                task_id=number.encode(),
                raw_judge_output=b'{"a": [%b]}' % number.encode(),
                human_corrected_scores=b'{"A": {"score":%b}}' % number.encode(),
            )
            for number in spelled
        ]
        assert differing(texts) == []

    @pytest.mark.parametrize("trap", ACCEPTED)
    def test_fast_encoding_of_unusual_values_equals_full_encoding(self, trap: str) -> None:
        assert differing(ACCEPTED[trap]) == []

    def test_fast_encoding_of_real_records_equals_full_encoding(self, sample: bytes) -> None:
        assert differing(sample.splitlines()) == []

    def test_fast_encoding_accepts_all_real_records(self, sample: bytes) -> None:
        assert [text for text in sample.splitlines() if quick(text) is None] == []


def bad_lines() -> list[bytes]:
    return [
        rejected.text
        for trap, lines in REJECTED.items()
        if trap != "an id of an earlier line"
        for rejected in lines
    ]


class TestFullEncodingOnly:
    @pytest.mark.parametrize("text", bad_lines(), ids=lambda text: repr(text[:30]))
    def test_fast_encoding_skips_a_line_without_record(self, text: bytes) -> None:
        assert quick(text) is None

    @given(st.data())
    def test_fast_encoding_skips_lines_that_the_parser_rejects(self, data: st.DataObject) -> None:
        whole = line(**data.draw(st.dictionaries(st.sampled_from(FIELDS), st.none() | st.booleans())))
        start = data.draw(st.integers(0, len(whole)))
        instead = data.draw(st.binary(max_size=3) | st.sampled_from([b'"', b"{", b"}", b"[", b",", b"\\"]))
        text = whole[:start] + instead + whole[start + data.draw(st.integers(0, 3)) :]
        assert quick(text) is None or accepted(text)

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(line(another=1), id="an unknown field"),
            pytest.param(line(parsing_error=rb'"\u0000"'), id="U+0000"),
            pytest.param(line(task_id=b"-0"), id="an id that is -0"),
            pytest.param(line(task_id=b"1.0"), id="an id with a fraction"),
            pytest.param(line(task_id="x" * 200), id="an id that may be too long"),
            pytest.param(line(raw_judge_output=b'{"a": 1e300}'), id="a large number"),
            pytest.param(line(raw_judge_output=b'{"a": 0.12345678901234567}'), id="many digits"),
            pytest.param(line(raw_judge_output=json.loads("[" * 200 + "]" * 200)), id="deep nesting"),
        ],
    )
    def test_fast_encoding_skips_ambiguous_numbers(self, text: bytes) -> None:
        assert quick(text) is None

    def test_fast_encoding_skips_a_line_over_the_limit(self) -> None:
        assert quick(line(), Limits(line_bytes=len(line()))) is not None
        assert quick(line(), Limits(line_bytes=len(line()) - 1)) is None
