"""Lists of large runs: records are counted only as far as needed, and pages stay the same."""

from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from reviews.database.statements import execute
from reviews.models import Run
from reviews.search import density, listing
from reviews.search.density import Density
from reviews.search.filters import Filters
from tests.support.lines import file_of, import_data, line
from tests.support.plans import rows_read
from tests.support.statements import sent_statements

pytestmark = pytest.mark.django_db

RECORDS = 40
COMMON, RARE = "verified", "exotic"


@pytest.fixture
def run() -> Run:
    """Every fourth record is of the model o1, and the last one has a rare word."""
    lines = (
        line(
            f"eval-{number:02d}",
            model_id="o1" if number % 4 == 0 else "gpt",
            verification_message=f"{COMMON} {RARE}" if number == RECORDS - 1 else COMMON,
        )
        for number in range(RECORDS)
    )
    run = import_data(file_of(*lines)).target_run
    Run.objects.update(blind_share=0)
    run.refresh_from_db()
    return run


@pytest.fixture
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of more than four records are large, and so is a list with them."""
    monkeypatch.setattr(listing, "MAX_COUNTED", 4)
    monkeypatch.setattr(listing, "MAX_COUNTED_OF_MANY", 3)


def estimated(run: Run, query: str) -> Density:
    filters = Filters.from_query_string(query)
    matching = run.evaluations.filter(filters.condition(run, None, is_indexed=True))
    statement = density.compile_list(matching, {})
    assert statement
    with transaction.atomic():
        return density.estimate(run, filters, statement)


def load(run: Run, query: str, **options: Any) -> listing.RecordPage:
    return listing.load_page(run, Filters.from_query_string(query), **options)


def test_share_and_common_words_come_from_first_records(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert estimated(run, "model=o1").share == 0.25
    found = estimated(run, f"q={COMMON} {RARE}")
    assert (found.share, found.common_words) == (1 / RECORDS, frozenset({COMMON}))
    monkeypatch.setattr(density, "_SAMPLED", 4)
    assert estimated(run, f"q={RARE}").share == 0


@pytest.mark.usefixtures("_large")
@pytest.mark.parametrize(
    "query", ["model=o1", f"q={COMMON}", f"q={COMMON}&model=o1", "status=waiting&model=o1"]
)
def test_list_of_many_records_is_counted_to_a_smaller_limit(query: str, run: Run) -> None:
    page = load(run, query)
    assert (page.total, page.counted) == (None, 3)


@pytest.mark.slow
@pytest.mark.usefixtures("_large")
def test_few_records_of_a_large_run_are_counted_exactly(run: Run) -> None:
    assert load(run, f"q={COMMON} {RARE}").total == 1
    assert load(run, "q=eval-07").total == 1
    assert load(run, "q=nothing").total == 0


@pytest.mark.usefixtures("_large")
def test_list_that_is_dense_at_the_beginning_only_is_counted_exactly(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(density, "_SAMPLED", 4)
    run.evaluations.filter(first_line__gt=3).update(human_review_status="Completed")
    assert load(run, "status=waiting&parse-error=no").total == 3


@pytest.mark.slow
@pytest.mark.usefixtures("_large")
def test_pages_of_many_records_have_no_gaps_or_repeats(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGE_SIZE", 7)
    for sort in ("file", "task", "verdict", "newest"):
        found, after = [], ""
        while True:
            page = load(run, f"q={COMMON}", sort=sort, after=after)
            found += [row.evaluation_id for row in page.rows]
            if not (after := page.after):
                break
        assert sorted(found) == [f"eval-{number:02d}" for number in range(RECORDS)], sort


def test_common_words_are_sought_among_records_with_the_others(run: Run) -> None:
    filters = Filters.from_query_string(f"q={COMMON} {RARE}")
    condition = filters.condition(run, None, is_indexed=True, common_words=frozenset({COMMON}))
    found = run.evaluations.filter(condition)
    statement = str(found.query)
    assert list(found.values_list("evaluation_id", flat=True)) == [f"eval-{RECORDS - 1:02d}"]
    assert statement.count(" @@ ") == 1
    assert COMMON not in statement.partition(" @@ ")[2].partition("::")[0]


def test_common_words_of_a_small_run_are_not_sought_in_all_runs(run: Run) -> None:
    with CaptureQueriesContext(connection) as captured:
        assert load(run, "q=eval-07").total == 1
    [_, sought] = [query["sql"] for query in captured if "tsquery" in query["sql"]]
    assert "'07'" in sought.partition(" @@ ")[2].partition("::tsquery")[0]
    assert "'eval'" not in sought.partition(" @@ ")[2].partition("::tsquery")[0]


@pytest.mark.slow
def test_proof_of_many_records_reads_only_the_first_ones(run: Run) -> None:
    expected = Density(0.5, first=run.evaluations.order_by("first_line")[0].pk)
    filters = Filters.from_query_string(f"q={COMMON}&model=gpt")
    matching = run.evaluations.filter(filters.condition(run, None, is_indexed=True))
    statement = density.compile_list(matching, {})
    assert statement
    execute("ANALYZE")
    with sent_statements() as captured:
        assert density.are_more(statement, 3, expected)
    [count] = [one for one in captured.sent if "LIMIT" in one]
    with density.reading_in_order():
        read = rows_read(count)
    assert read["evaluation_facets"] <= 8, read
    assert read["evaluation_words"] <= 8, read
