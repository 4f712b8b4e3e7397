"""The order of criteria in the file, kept next to jsonb."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.database.statements import fetch_value
from reviews.records.criteria_order import encode_order, in_file_order

names = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), unique=True)


@pytest.mark.slow
@pytest.mark.django_db
@given(names)
def test_order_of_the_file_is_restored_from_jsonb(in_file: list[str]) -> None:
    text = orjson.dumps(dict.fromkeys(in_file)).decode()
    stored = fetch_value("SELECT ARRAY(SELECT jsonb_object_keys(%s::jsonb))", [text])
    order = encode_order(in_file)
    assert in_file_order(stored, order) == in_file
    assert (order is None) == (stored == in_file)
