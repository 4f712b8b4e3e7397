"""Readers of texts in records take CPU time in proportion to the length, also for hostile texts.

A text four times as long costs about four times as much. If the cost grows with the square of the length, it
costs sixteen times as much or more. Only this ratio is looked at, no time by itself.
"""

import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import pytest

from reviews.evidence import formulas, rendering, response_diff
from reviews.exports import formats
from reviews.records import (
    answers,
    contradictions,
    latex,
    line_splice,
    reason_families,
    schema,
    score_extraction,
    verification,
)
from reviews.search import terms
from reviews.storage.json_document import MemberCutter, NoList, list_start, on_one_line
from tests.support.lines import line

SHORT, LONG = 3_000, 12_000
# A proportional cost has the ratio 4, a quadratic one 16.
MOST = 12
# Seconds. Less than this is too short to be measured, and does not matter.
NOTHING = 0.02


def find_list(text: str) -> None:
    with suppress(NoList):
        list_start(f'{{"x":{text}'.encode(), ("records",))


def read_line(data: bytes) -> None:
    with suppress(schema.LineError):
        schema.parse_line(data)


def put_in(data: bytes) -> None:
    with suppress(ValueError):
        line_splice.splice(data, {"human_reviewer_id": "ana"})


# Rendering is represented by its uncached part.
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
    "praise": contradictions.is_praise,
    "a reason": reason_families.reason_family,
    "an answer": answers.answer_key,
    "a verification": lambda text: verification.read_verification(verified=None, message=text),
    "words": lambda text: terms.distinct_words([text]),
    "a query": terms.tsquery,
    "words to compare": response_diff.split_words,
    "members of a list": lambda text: MemberCutter().take(text.encode()),
    "a list in a document": find_list,
    "lines of a document": lambda text: on_one_line(text.encode()),
    "a line": lambda text: read_line(text.encode()),
    "a string in a line": lambda text: read_line(line(parsing_error=text)),
    "a line to put values in": lambda text: put_in(text.encode()),
    "a value in such a line": lambda text: put_in(f'{{"x": {text}}}'.encode()),
    "a string in such a line": lambda text: put_in(json.dumps({"x": text}).encode()),
}
# Each text repeats one of these. Each begins a pattern that never ends.
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


Cost = Callable[[Callable[[str], Any], str], float]


def cpu_seconds(read: Callable[[str], Any], text: str) -> float:
    begin = time.process_time()
    read(text)
    return time.process_time() - begin


def too_costly(
    read: Callable[[str], Any], units: Iterable[str] = UNITS, cost: Cost = cpu_seconds
) -> dict[str, float]:
    """Return the units that cost too much, with the cost ratio of a text four times as long.

    A long text that seems too costly is read several times: other work on the machine adds to the time.
    """
    found = {}
    for unit in units:
        short, *longs = (cost(read, (unit * size)[:size]) for size in (SHORT, LONG))
        most = max(NOTHING, MOST * short)
        while longs[-1] > most and len(longs) < 5:
            longs.append(cost(read, (unit * LONG)[:LONG]))
        if min(longs) > most:
            found[unit] = min(longs) / short
    return found


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_reading_any_text_costs_no_more_than_its_length(reader: str) -> None:
    assert too_costly(READERS[reader]) == {}


@pytest.mark.parametrize(("power", "found"), [(1, []), (2, ["a"])])
def test_reader_is_found_if_its_work_grows_with_the_square_of_the_length(
    power: int, found: list[str]
) -> None:
    assert list(too_costly(len, ["a"], cost=lambda read, text: read(text) ** power)) == found
