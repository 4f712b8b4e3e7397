"""The page of a run: records by status, claims, filters and imports."""

from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from reviews.models import Evaluation, Run, UnindexedImport, User
from reviews.queue import claims
from reviews.search import indexing, listing
from tests.support.factories import EvaluationFactory, ImportFactory, RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.pages import text
from tests.support.work import decide

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(db: None) -> Run:
    return RunFactory.create(name="Algebra")


def address(run: Run, **query: str) -> str:
    return reverse("run", args=[run.pk], query=query)


def listed(response: Any) -> list[Evaluation]:
    return [row.evaluation for row in response.context["rows"]]


def test_records_are_listed_in_file_order(as_ana: Client, run: Run) -> None:
    source = ImportFactory.create(run=run)
    statuses = ("Completed", "Needs Review", "Not Required")
    made = [
        EvaluationFactory.create(run=run, first_import=source, human_review_status=one) for one in statuses
    ]
    assert listed(as_ana.get(address(run))) == made


def test_status_tab_lists_as_many_records_as_it_shows(as_ana: Client, run: Run, bo: User) -> None:
    for status in ("Needs Review", "Pending", "Completed", "Reviewed", "Not Required"):
        EvaluationFactory.create(run=run, human_review_status=status)
    EvaluationFactory.create(run=run, claimed_by=bo, claimed_until=timezone.now() + timedelta(hours=1))
    tabs = [tab for tab in as_ana.get(address(run)).context["tabs"] if tab.size is not None]
    assert {tab.value: tab.size for tab in tabs} == {
        "": 6, "waiting": 2, "claimed": 1, "escalated": 0, "done": 2, "not-required": 1,
    }  # fmt: skip
    for tab in tabs:
        assert len(listed(as_ana.get(f"{address(run)}?{tab.query}"))) == tab.size


def test_records_of_other_runs_are_not_listed(as_ana: Client, run: Run) -> None:
    EvaluationFactory.create()
    assert listed(as_ana.get(address(run))) == []


def test_row_links_to_its_record(as_ana: Client, run: Run) -> None:
    evaluation = EvaluationFactory.create(run=run)
    assert reverse("evaluation", args=[evaluation.pk]) in text(as_ana.get(address(run)))


def test_claim_is_shown_with_reviewer_and_end(as_ana: Client, run: Run, bo: User) -> None:
    evaluation = EvaluationFactory.create(run=run)
    claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
    evaluation.refresh_from_db()
    assert f"Claimed by bo until {evaluation.claimed_until:%H:%M} UTC" in text(as_ana.get(address(run)))


def test_own_claim_is_marked(as_ana: Client, run: Run, ana: User) -> None:
    claims.claim(evaluation_id=EvaluationFactory.create(run=run).pk, reviewer=ana)
    assert "Claimed by you until" in text(as_ana.get(address(run)))


def test_expired_claim_is_not_shown(as_ana: Client, run: Run, bo: User) -> None:
    EvaluationFactory.create(run=run, claimed_by=bo, claimed_until=timezone.now() - timedelta(seconds=1))
    assert "Claimed by bo until" not in text(as_ana.get(address(run)))


def test_decision_is_shown_with_reviewer_and_verdict_change(as_ana: Client, run: Run, bo: User) -> None:
    evaluation = EvaluationFactory.create(run=run, aggregated_score="Fail")
    decide(evaluation, bo, scores={"Accuracy": {"score": "Yes", "justification": ""}})
    page = text(as_ana.get(address(run)))
    assert '<del class="muted">Fail</del>' in page
    assert '<span class="badge pass">Pass</span>' in page
    assert "bo, " in page


def test_file_decision_is_marked(as_ana: Client, run: Run) -> None:
    EvaluationFactory.create(run=run, human_review_status="Reviewed", human_reviewer_id="kim")
    assert "kim (imported)" in text(as_ana.get(address(run)))


@pytest.mark.parametrize(
    "scores", [{}, {"a": None}, {"a": "Yes"}, {"a": {"score": ["odd"]}}, {"a": {"score": {}}}]
)
def test_record_with_any_file_scores_is_listed(scores: Any, as_ana: Client, run: Run) -> None:
    EvaluationFactory.create(run=run, human_review_status="Reviewed", human_corrected_scores=scores)
    assert as_ana.get(address(run)).status_code == 200


def test_record_without_optional_fields_is_listed(as_ana: Client, run: Run) -> None:
    EvaluationFactory.create(
        run=run,
        task_id=None,
        model_id=None,
        aggregated_score=None,
        review_reasons=[],
        verification_message=None,
    )
    page = text(as_ana.get(address(run)))
    assert "no task" in page
    assert "None" not in page


def test_run_page_escapes_record_texts(as_ana: Client, run: Run) -> None:
    evil = "<img src=x onerror=alert(1)>"
    EvaluationFactory.create(
        run=run, task_id=evil, model_id=evil, judge_llm_model=evil, review_reasons=[evil, evil, evil]
    )
    assert "<img src=x" not in text(as_ana.get(address(run)))


def test_next_page_link_keeps_filters(as_ana: Client, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reviews.search.listing.PAGE_SIZE", 2)
    source = ImportFactory.create(run=run)
    made = EvaluationFactory.create_batch(5, run=run, first_import=source)
    seen, query = [], "verdict=Fail&sort=task"
    while query:
        response = as_ana.get(f"{address(run)}?{query}")
        seen += listed(response)
        query = response.context["next"]
    assert seen == made
    assert "First page" in text(response)


class TestFilters:
    def test_filters_are_in_the_address_and_on_the_page(self, as_ana: Client, run: Run) -> None:
        wanted = EvaluationFactory.create(run=run, model_id="o1")
        EvaluationFactory.create(run=run, model_id="o1-mini")
        response = as_ana.get(address(run, model="o1", status="waiting"))
        assert listed(response) == [wanted]
        assert [(chip.title, chip.text) for chip in response.context["chips"]] == [
            ("Status", "Waiting"),
            ("Model", "o1"),
        ]
        assert "<strong>1 record</strong>" in text(response)

    def test_filters_can_be_removed_one_by_one(self, as_ana: Client, run: Run) -> None:
        chips = as_ana.get(address(run, model="o1", task="7", sort="task")).context["chips"]
        assert [chip.without for chip in chips] == ["model=o1&sort=task", "task=7&sort=task"]

    def test_empty_filters_are_dropped_from_the_address(self, as_ana: Client, run: Run) -> None:
        response = as_ana.get(address(run, model="o1", task="", q="", sort="file"))
        assert response.status_code == 302
        assert response["Location"] == address(run, model="o1")

    def test_invalid_filters_are_reported_and_ignored(self, as_ana: Client, run: Run) -> None:
        EvaluationFactory.create(run=run)
        response = as_ana.get(address(run, verdict="Great", sort="colour"))
        assert "“Great” is not one of: Pass, Fail, Partial, none." in text(response)
        assert "Unknown sort order “colour”." in text(response)
        assert len(listed(response)) == 1

    def test_filters_offer_values_of_the_run(self, as_ana: Client) -> None:
        indexing.index_import(import_data(file_of(line("a", model_id="o1"), line("b", model_id="gpt-4o"))))
        page = text(as_ana.get(address(Run.objects.get(name="evaluations"))))
        assert '<option value="o1">o1</option>' in page
        assert '<option value="Clarity=Yes">Clarity: Yes</option>' in page

    def test_filters_can_restrict_the_queue(self, as_ana: Client, run: Run) -> None:
        EvaluationFactory.create(run=run)
        page = text(as_ana.get(address(run, verdict="Fail")))
        assert '<input type="hidden" name="queue" value="verdict=Fail">' in page
        assert "Review these records" in page

    def test_filters_without_matches_say_so(self, as_ana: Client, run: Run) -> None:
        EvaluationFactory.create(run=run)
        assert "No records match these filters." in text(as_ana.get(address(run, verdict="Pass")))

    def test_slow_filters_show_a_message(
        self, as_ana: Client, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("reviews.search.listing.matching_records", Mock(side_effect=listing.QueryTooSlow))
        response = as_ana.get(address(run, verdict="Fail"))
        assert response.status_code == 200
        assert "Too many records to search this way. Add a filter." in text(response)

    def test_search_shows_how_many_records_are_indexed(self, as_ana: Client, run: Run) -> None:
        source = ImportFactory.create(run=run, lines=3)
        EvaluationFactory.create_batch(3, run=run, first_import=source)
        UnindexedImport.objects.create(source=source, evaluations=2)
        sentence = "Search covers 1 of 3 records so far."
        assert sentence in text(as_ana.get(address(run, q="clarity")))
        assert sentence not in text(as_ana.get(address(run, model="o1")))


class TestHtmx:
    def test_list_for_htmx_has_its_canonical_address(self, as_ana: Client, run: Run) -> None:
        response = as_ana.get(address(run, model="o1", task=""), headers={"HX-Request": "true"})
        assert text(response).startswith('<section class="stack" id="evaluations"')
        assert response["HX-Push-Url"] == address(run, model="o1")
        assert "HX-Request" in response["Vary"]


def test_run_without_records_explains_imports(as_ana: Client, run: Run) -> None:
    assert "No records yet. Import a file to add records." in text(as_ana.get(address(run)))


def test_imports_of_the_run_are_listed(as_ana: Client, run: Run) -> None:
    source = ImportFactory.create(run=run, lines=75, rejected=2)
    page = text(as_ana.get(address(run)))
    assert reverse("import", args=[source.pk]) in page
    assert "75 lines, 2 rejected" in page


def test_run_page_query_count_is_constant(as_lea: Client, run: Run, bo: User) -> None:
    source, until = ImportFactory.create(run=run), timezone.now() + timedelta(hours=1)

    def queries(count: int) -> int:
        """Return the number of queries of the page after adding records."""
        values = {"run": run, "first_import": source, "claimed_by": bo, "claimed_until": until}
        Evaluation.objects.bulk_create(EvaluationFactory.build(**values) for _ in range(count))
        with CaptureQueriesContext(connection) as captured:
            as_lea.get(address(run, verdict="Fail"))
        return len(captured)

    assert queries(1) == queries(300)
