"""Single statements, and the values that they return."""

import pytest

from reviews.database.statements import fetch_all, fetch_one, fetch_value

pytestmark = pytest.mark.django_db


def test_percent_sign_stands_for_itself_in_a_statement_without_values() -> None:
    assert fetch_all("SELECT 'algebra' LIKE 'alg%', 7 % 4") == [(True, 3)]
    assert fetch_one("SELECT %s LIKE 'alg%%'", ["algebra"]) == (True,)


@pytest.mark.parametrize(("rows", "value"), [("(3, 4), (5, 6)", 3), ("(NULL, 4)", None)])
def test_value_is_the_first_column_of_the_first_row(rows: str, value: int | None) -> None:
    assert fetch_value(f"VALUES {rows}") == value


def test_value_without_a_row_is_none() -> None:
    assert fetch_value("SELECT 1 WHERE false") is None
