"""Lists of a run: each order complete, counts up to a limit, nothing that takes for ever."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.database.statements import execute
from reviews.models import Evaluation, Run
from reviews.search import indexing, listing
from reviews.search.filters import Filters
from reviews.search.listing import QueryTooSlow
from reviews.search.sort_orders import SORTS
from tests.support.factories import EvaluationFactory, ImportFactory

pytestmark = pytest.mark.django_db

DAY = dt.datetime(2025, 5, 1, tzinfo=dt.UTC)


def fill(run: Run, *rows: dict[str, Any]) -> list[str]:
    """Indexed records with the tasks of these rows, in their order in a file."""
    source = ImportFactory.create(run=run, lines=len(rows), new=len(rows))
    for number, row in enumerate(rows, 1):
        EvaluationFactory.create(run=run, first_import=source, first_line=number, **row)
    indexing.index_import(source)
    return [row.get("task_id", "") for row in rows]


def tasks(page: listing.RecordPage) -> list[str | None]:
    return [row.task_id for row in page.rows]


def pages(run: Run, sort: str, query: str = "") -> list[list[str | None]]:
    """All pages of a list, by following each to the next."""
    found, after = [], ""
    while True:
        page = listing.load_page(run, Filters.from_query_string(query), sort=sort, after=after)
        found.append(tasks(page))
        after = page.after
        if not after:
            return found


class TestOrder:
    def test_file_order_follows_lines(self, run: Run) -> None:
        made = fill(run, *({"task_id": task} for task in "cab"))
        assert tasks(listing.load_page(run, Filters())) == made

    def test_task_order_has_shorter_ids_first_and_missing_last(self, run: Run) -> None:
        fill(run, *({"task_id": task} for task in ("10", None, "9", "100")))
        assert tasks(listing.load_page(run, Filters(), sort="task")) == ["9", "10", "100", None]

    def test_verdict_order_has_failures_first(self, run: Run) -> None:
        fill(
            run,
            *({"task_id": score, "aggregated_score": score} for score in ("Pass", "Fail", "Partial")),
            {"task_id": "none", "aggregated_score": None, "parsed_rubric_scores": {}},
        )
        assert tasks(listing.load_page(run, Filters(), sort="verdict")) == ["Fail", "Partial", "Pass", "none"]

    def test_newest_order_is_descending(self, run: Run) -> None:
        fill(run, *({"task_id": str(day), "created_at": DAY + dt.timedelta(day)} for day in (1, 3, 2)))
        assert tasks(listing.load_page(run, Filters(), sort="newest")) == ["3", "2", "1"]

    def test_reviewed_order_excludes_unreviewed_records(self, run: Run) -> None:
        reviewed = (
            {"task_id": str(day), "human_review_timestamp": DAY + dt.timedelta(day)} for day in (1, 3, 2)
        )
        fill(run, *reviewed, {"task_id": "never"})
        page = listing.load_page(run, Filters(), sort="reviewed")
        assert tasks(page) == ["3", "2", "1"]
        assert page.total == 3

    def test_due_order_has_records_of_the_queue_with_a_due_date(self, run: Run) -> None:
        due = ({"task_id": str(day), "due_on": DAY.date() + dt.timedelta(day)} for day in (2, 1, 3))
        fill(run, *due, {"task_id": "never"}, {"due_on": DAY.date(), "human_review_status": "Completed"})
        assert tasks(listing.load_page(run, Filters(), sort="due")) == ["1", "2", "3"]

    @pytest.mark.parametrize("sort", SORTS)
    @pytest.mark.parametrize("most_counted", [2, 100])
    def test_pages_have_no_gaps_or_repeats(
        self, sort: str, most_counted: int, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(listing, "PAGE_SIZE", 2)
        monkeypatch.setattr(listing, "MAX_COUNTED", most_counted)
        dates = {"created_at": DAY, "human_review_timestamp": DAY, "due_on": DAY.date()}
        same = {"model_id": "o1", **dates}
        made = fill(run, *({"task_id": str(number), **same} for number in range(5)))
        found = pages(run, sort, "model=o1")
        assert [len(page) for page in found] == [2, 2, 1]
        assert sorted(task for page in found for task in page if task) == made

    @pytest.mark.parametrize("sort", SORTS)
    def test_page_after_cursor_uses_an_index(self, sort: str, run: Run) -> None:
        dates = {"human_review_timestamp": DAY, "due_on": DAY.date()}
        fill(run, *({"task_id": str(number), **dates} for number in range(3)))
        order = SORTS[sort]
        records = run.evaluations.filter(order.only)
        first = records.annotate(**order.places)[0]
        after = listing._after(records, order, order.parse_cursor(order.cursor(first)))
        ordered = listing._ordered(after, order, for_api=True)
        execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        execute("SET LOCAL enable_bitmapscan = off; SET LOCAL enable_hashjoin = off")
        plan = ordered[:50].explain()
        assert "Sort" not in plan
        assert "ROW(" in plan.partition("Index Cond:")[2].splitlines()[0]


INVALID_CURSORS = (
    "x", "1", "[]", "[1]", "[1,2,3]", '["1",2]', "[true,1]", "[1e999,1]", f"[{2**63},1]",
    "[null,null]", "[" * 5000, '["\\u0000",1]',
)  # fmt: skip


class TestCursor:
    @pytest.mark.slow
    @pytest.mark.parametrize("sort", SORTS)
    def test_invalid_cursor_gives_first_page(self, sort: str, run: Run) -> None:
        fill(run, {"human_review_timestamp": DAY, "due_on": DAY.date()})
        for after in INVALID_CURSORS:
            assert len(listing.load_page(run, Filters(), sort=sort, after=after).rows) == 1, after

    @pytest.mark.parametrize("text", ["\\u0000", "\\ud800"])
    def test_cursor_with_unstorable_text_is_invalid(self, text: str, run: Run) -> None:
        fill(run, {})
        after = f'[1, "{text}", "", 1]'
        assert len(listing.load_page(run, Filters(), sort="task", after=after).rows) == 1


class TestTotal:
    def test_total_is_exact_up_to_limit(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        fill(run, *({"task_id": task} for task in "abc"))
        for limit, total in ((3, 3), (2, None)):
            monkeypatch.setattr(listing, "MAX_COUNTED", limit)
            assert listing.load_page(run, Filters.from_query_string("verdict=Fail")).total == total

    def test_known_total_is_not_counted_again(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(listing, "MAX_COUNTED", 2)
        fill(run, *({"task_id": task} for task in "abc"))
        assert listing.load_page(run, Filters(), known=3).total == 3

    def test_list_of_all_records_reads_only_its_page(self, run: Run) -> None:
        fill(run, *({"task_id": task} for task in "abc"))
        with CaptureQueriesContext(connection) as queries:
            page = listing.load_page(run, Filters(), known=3, size=2)
        assert (len(page.rows), page.total) == (2, 3)
        limits = [query["sql"].partition(" LIMIT ")[2] for query in queries if " LIMIT " in query["sql"]]
        assert limits == ["3"]


def test_list_excludes_other_runs(run: Run) -> None:
    EvaluationFactory.create()
    assert listing.load_page(run, Filters()).rows == []


def test_slow_list_is_cancelled(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "TIME_LIMIT", dt.timedelta(milliseconds=10))
    with pytest.raises(QueryTooSlow), listing.time_limit():
        execute("SELECT pg_sleep(20)")
    assert Evaluation.objects.count() == 0


@pytest.mark.slow
def test_list_query_count_is_constant(run: Run) -> None:
    def queries() -> dict[str, int]:
        counts = {}
        for query in ("", "model=o1", "status=waiting&verdict=Fail", "q=clarity"):
            with CaptureQueriesContext(connection) as captured:
                listing.load_page(run, Filters.from_query_string(query))
            counts[query] = len(captured)
        return counts

    fill(run, {"model_id": "o1"})
    asked = queries()
    source = ImportFactory.create(run=run)
    Evaluation.objects.bulk_create(
        EvaluationFactory.build(run=run, first_import=source, model_id="o1") for _ in range(300)
    )
    assert queries() == asked
