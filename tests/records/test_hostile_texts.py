"""Texts made to cost: whatever reads what records hold takes time in proportion to its length.

A text four times as long takes about four times as long. Where the time grows with the square of the length,
it is sixteen times as long, or more: the two are told apart by their ratio, whatever else the machine does.
"""

import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import pytest

from reviews.evidence import formulas, rendering, response_diff, siblings
from reviews.exports import formats
from reviews.records import latex, line_splice, praise, reason_families, schema, score_extraction, verdict
from reviews.search import terms
from reviews.storage import json_array
from reviews.storage.json_array import ArrayError
from tests.support.lines import line

SHORT, LONG = 3_000, 12_000
# Four for what is in proportion, sixteen for what is not.
MOST = 12
# Below it the clock says nothing, and neither does it matter.
NOTHING = 0.02


def read_array(text: str) -> None:
    with suppress(ArrayError):
        list(json_array.array_lines([f"[{text}".encode()]))


def read_line(data: bytes) -> None:
    with suppress(schema.LineError):
        schema.parse_line(data)


def put_in(data: bytes) -> None:
    with suppress(ValueError):
        line_splice.splice(data, {"human_reviewer_id": "ana"})


# Of rendering what does the work: the rest of it remembers texts.
READERS: dict[str, Callable[[str], Any]] = {
    "backslashes to double": latex.double_backslashes,
    "LaTeX that was damaged": latex.restore_latex,
    "cells of CSV": formats.escape_formulas,
    "formulas": lambda text: list(formulas.find_formulas(text)),
    "Markdown": lambda text: rendering._blocks(text, LONG),
    "raw output": lambda text: score_extraction.extract_scores({"raw_content": text}),
    "raw output that begins well": lambda text: score_extraction.extract_scores(
        {"raw_content": '{"evaluation": {"Clarity": {"score": "Yes", "justification": "' + text}
    ),
    "praise": praise.is_praise,
    "a reason": reason_families.reason_family,
    "an answer": siblings.normalise_answer,
    "a verification": lambda text: verdict.read_verification(verified=None, message=text),
    "words": lambda text: terms.distinct_words([text]),
    "a query": terms.tsquery,
    "words to compare": response_diff.split_words,
    "an array": read_array,
    "a line": lambda text: read_line(text.encode()),
    "a string in a line": lambda text: read_line(line(parsing_error=text)),
    "a line to put values in": lambda text: put_in(text.encode()),
    "a value in such a line": lambda text: put_in(f'{{"x": {text}}}'.encode()),
    "a string in such a line": lambda text: put_in(json.dumps({"x": text}).encode()),
}
# Said again and again: what patterns begin with, and do not find the end of.
UNITS = (
    *" \"\\'{[(<`$*_~|a0\n\t",
    "\\(",
    "\\[",
    "\\\\",
    '\\"',
    '""',
    '{ "',
    '"a":',
    '{"a": {"score": "Y',
    '"score":',
    "[{",
    "{},",
    "$a ",
    "$1 ",
    "1 ab",
    "\\begin{align}",
    "\\boxed{",
    "[a](",
    "![",
    "<a ",
    "`a",
    "\n```",
    "\n- ",
    "\n> ",
    "a/",
    "0.",
    "at line 1",
    "in criteria: ",
    "correctly ",
    "is ly",
    "n't ",
    "Verification (",
    "Match (Extracted: '",
    "', Correct: '",
)


def seconds(read: Callable[[str], Any], unit: str, size: int) -> float:
    """What a text of that size costs this process."""
    text = (unit * (size // len(unit) + 1))[:size]
    begin = time.process_time()
    read(text)
    return time.process_time() - begin


def too_costly(read: Callable[[str], Any], units: Iterable[str] = UNITS) -> dict[str, float]:
    """Of which of the units more cost too much, and how often as much a text four times as long costs."""
    found = {}
    for unit in units:
        if seconds(read, unit, LONG) < NOTHING:
            continue
        # Looked at more closely: what else the machine did may have been in it.
        short, long = (min(seconds(read, unit, size) for _ in range(3)) for size in (SHORT, LONG))
        if long / short > MOST:
            found[unit] = long / short
    return found


@pytest.mark.parametrize("what", READERS)
def test_no_text_costs_more_than_its_length(what: str) -> None:
    assert too_costly(READERS[what]) == {}


def test_what_costs_the_square_of_its_length_would_be_found() -> None:
    def each_with_each(text: str) -> int:
        return sum(1 for _ in range(len(text) ** 2 // 100))

    assert list(too_costly(each_with_each, ["a"])) == ["a"]
