"""Text tables fit their width, and break words only if they have to."""

import datetime as dt
from collections.abc import Sequence
from io import StringIO

import pytest
from rich.console import Console

from cognireview.types.estimates import Estimate
from reviews.management.report_tables import text_table
from reviews.management.text_tables import TextTable
from reviews.views.judge.tables import estimate_column
from reviews.views.tables import Column, Table, count, moment, share, text_columns
from reviews.views.tables import words as cell

HEADINGS = ("Judge", "Score", "Records", "epsilon 0.2 (experts)", "epsilon 0.15 (trained reviewers)")
ROWS = (
    ("gpt-4o", "Problem Understanding", "7", "not shown yet", "not shown yet"),
    ("o3-mini", "Accuracy of intermediate results", "1,234", "passed", "shown worse"),
)


def printed(table: TextTable, width: int) -> list[str]:
    output = StringIO()
    Console(file=output, width=width).print(table)
    return output.getvalue().splitlines()


def words(rows: Sequence[Sequence[str]]) -> set[str]:
    return {word for row in rows for cell in row for word in cell.split()}


@pytest.mark.parametrize("width", [58, 64, 80, 120])
def test_table_fits_its_width_with_whole_words(width: int) -> None:
    lines = printed(TextTable(HEADINGS, ROWS, texts=(0, 1)), width)
    assert max(map(len, lines)) <= width
    assert words([lines]) == words([HEADINGS, *ROWS])


def test_table_that_fits_has_a_line_for_each_row() -> None:
    assert printed(TextTable(("Name", "n"), [("algebra", "7"), ("logic", "1,024")]), 80) == [
        "Name         n",
        "algebra      7",
        "logic    1,024",
    ]


def test_path_is_broken_after_its_separators() -> None:
    lines = printed(TextTable(("Prompt", "n"), [("prompts/judging/STEM-L1-judge-v1.2.txt", "19")]), 26)
    assert lines == [
        "Prompt                  n",
        "prompts/judging/STEM-  19",
        "L1-judge-v1.2.txt",
    ]


def test_word_that_is_wider_than_the_table_is_broken_anywhere() -> None:
    lines = printed(TextTable(("Model", "n"), [("m" * 30, "1")]), 20)
    assert max(map(len, lines)) <= 20
    assert "".join(lines[1:]).replace(" ", "").count("m") == 30


def test_wide_characters_take_two_columns() -> None:
    lines = printed(TextTable(("名前", "n"), [("代数", "7"), ("x", "8")]), 80)
    assert lines == ["名前  n", "代数  7", "x     8"]


def test_control_characters_are_replaced() -> None:
    lines = printed(TextTable(("Model",), [("a\x1b[31mb\tc",)]), 80)
    assert lines == ["Model", "a\ufffd[31mb\ufffdc"]


def test_table_of_a_page_has_the_number_of_cases_in_a_column() -> None:
    columns = [
        *text_columns(run="Run", at="Created"),
        estimate_column("accuracy", "Accuracy", ""),
        Column("records", "Records"),
    ]
    day = dt.datetime(2026, 11, 21, 9, tzinfo=dt.UTC)
    rows = [[cell("algebra"), moment(day), share(Estimate(0.8, 0.7, 0.9, 1_200)), count(7, note="2 open")]]
    assert printed(text_table(Table("runs", "Runs", columns, rows, "")), 80) == [
        "Run      Created                   n               Accuracy     Records",
        "algebra  2026-11-21 09:00 UTC  1,200  80.0% (70.0 to 90.0%)  7 (2 open)",
    ]
