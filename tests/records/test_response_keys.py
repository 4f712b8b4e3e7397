"""The keys of responses are equal to those of the SQL functions."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.database.statements import fetch_value
from reviews.records.response_keys import pair_key, response_key

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)
leaves = st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), texts)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
responses = st.lists(st.fixed_dictionaries({"name": texts, "response": values}), min_size=1, max_size=2)
contexts = st.none() | st.fixed_dictionaries({"responses": responses})


def in_sql(expression: str, *parameters: Any) -> int | None:
    return fetch_value(f"SELECT {expression}", parameters)


@pytest.mark.slow
@pytest.mark.django_db
@given(st.none() | texts, st.none() | st.dictionaries(texts, values, max_size=3), contexts)
def test_keys_equal_those_of_postgresql(
    task: str | None, structured: dict[str, Any] | None, context: dict[str, Any] | None
) -> None:
    answer, around = (None if one is None else orjson.dumps(one) for one in (structured, context))
    stored = [None if one is None else one.decode() for one in (answer, around)]
    sql = "response_key(%s, 'r', 'm', own_answer(%s::jsonb, %s::jsonb))"
    assert response_key(task, "r", "m", answer, around) == in_sql(sql, task, *stored)
    sql = "pair_key(%s, 'r', %s::jsonb -> 'responses')"
    assert pair_key(task, "r", around) == in_sql(sql, task, stored[1])


@pytest.mark.django_db
def test_number_keeps_its_spelling() -> None:
    sql = "response_key('t', 'r', NULL, %s::jsonb)"
    text = '{"final_answer": 1.50, "steps": [-0.5, 12345678901234567890123]}'
    assert response_key("t", "r", None, text.encode(), None) == in_sql(sql, text)


@pytest.mark.parametrize("number", ["1e2", "-0.0", "1E-2"])
def test_number_that_postgresql_spells_otherwise_is_refused(number: str) -> None:
    with pytest.raises(ValueError, match=number):
        response_key("t", "r", None, b'{"a": %b}' % number.encode(), None)
