"""The texts behind each “?” of the judge pages, and the records behind each mark."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from reviews.judge import error_analysis
from reviews.models import Run, User
from reviews.views.judge.pages import PAGES
from tests.support.factories import RunFactory
from tests.support.pages import url
from tests.support.population import rated, stratum
from tests.support.rubrics import rubric_data

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(ana: User) -> Run:
    """A run with figures on every page."""
    made = RunFactory.create(name="Algebra", rubric=rubric_data("Clarity"), blind_share=1)
    for model, right in (("o1", 15), ("o3", 5)):
        for is_flagged in (True, False):
            cells = stratum(made, {"Pass": 50, "Fail": 50}, is_flagged=is_flagged, model_id=model)
            rated(cells, ana, "Pass", "Pass", right)
            rated(cells, ana, "Pass", "Fail", 20 - right, final="Pass")
            rated(cells, ana, '"Yes"', '"No"', 12, criterion="Clarity", verdict="Pass")
            rated(cells, ana, "Fail", "Fail", 5)
    return made


def explained(context: Any) -> Iterator[tuple[str, str]]:
    """Yield the title and the text of each “?” of a page."""
    for section in context["sections"]:
        yield section.title, section.help
        for column, _ in section.figures:
            yield column.title, column.help
        for shown in section.tables:
            yield from ((column.title, column.help) for column in shown.table.columns)
    for name in ("verdicts", "criteria", "replaced", "reasons", "models"):
        if table := context.get(name):
            yield from ((column.title, column.help) for column in table.columns)


@pytest.mark.exhaustive
def test_help_has_two_plain_sentences_and_each_mark_leads_to_a_list_of_records(
    as_lea: Client, run: Run
) -> None:
    contexts = {page: as_lea.get(url(page, run)).context for page in PAGES}
    found = {text: f"error analysis, {name}" for name, text in error_analysis.DEFINITIONS.items()}
    for page, context in contexts.items():
        found |= {text: f"{page}, {title}" for title, text in explained(context) if text}
    assert len(found) > 25
    assert [f"{place}: {text}" for text, place in found.items() if not is_plain(text)] == []
    urls: dict[tuple[str, str, str], str] = {}
    for page, context in contexts.items():
        for section in context["sections"]:
            marks = [(dot.title, dot.cell) for dot in (section.plot.dots if section.plot else [])]
            figures = [(column.title, cell) for column, cell in section.figures]
            shown = [(title, cell) for title, cell in marks if cell.value is not None]
            shown += [(title, cell) for title, cell in figures if cell.value]
            urls |= {(page, section.name, title): cell.url for title, cell in shown}
    assert {key for key, address in urls.items() if not address} == set()
    assert len(urls) > 10
    assert {as_lea.get(address).status_code for address in {*urls.values()} - {""}} == {200}


def is_plain(text: str) -> bool:
    """Return whether a text has two sentences, then a definition."""
    plain, _, definition = text.partition("\n\n")
    return len(re.findall(r"[.?](?= |$)", plain)) == 2 and bool(definition)
