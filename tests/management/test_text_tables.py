"""Text tables fit their width, and break words only if they have to."""

from collections.abc import Sequence
from io import StringIO

import pytest
from rich.console import Console

from reviews.management.text_tables import TextTable

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
    lines = printed(TextTable(HEADINGS, ROWS, texts=2), width)
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
