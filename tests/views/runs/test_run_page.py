"""The page of a run: records by status, claims, filters and imports."""

import re
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from reviews.days import today
from reviews.models import Evaluation, Reveal, Run, UnindexedImport, User
from reviews.queue import claims
from reviews.search import listing
from reviews.templatetags import cached_parts
from tests.support.factories import EvaluationFactory, ImportFactory
from tests.support.lines import file_of, import_data, line
from tests.support.pages import text
from tests.support.work import decide

pytestmark = pytest.mark.django_db


def address(run: Run, **query: str) -> str:
    return reverse("run", args=[run.pk], query=query)


def listed(response: Any) -> list[Evaluation]:
    return list(response.context["page"].rows)


def chips(response: Any) -> list[tuple[str, str]]:
    return [(chip.title, chip.text) for chip in response.context["finder"].chips]


def menu(response: Any) -> dict[str, list[tuple[str, int | None, str]]]:
    """The options of each filter of the menu: title, count and query string."""
    return {one.name: [tuple(option) for option in one.options] for one in response.context["menu"]}


def test_records_are_listed_in_file_order(as_ana: Client, run: Run) -> None:
    source = ImportFactory.create(run=run)
    statuses = ("Completed", "Needs Review", "Not Required")
    made = [
        EvaluationFactory.create(run=run, first_import=source, human_review_status=one) for one in statuses
    ]
    assert listed(as_ana.get(address(run))) == made


@pytest.mark.slow
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


def test_row_shortens_long_ids_and_names_in_the_middle(as_ana: Client, run: Run) -> None:
    EvaluationFactory.create(run=run, task_id="t" * 299 + "1", model_id="m" * 299 + "2")
    page = text(as_ana.get(reverse("run", args=[run.pk])))
    assert f"{'t' * 39}…{'t' * 19}1<" in page
    assert f"{'m' * 39}…{'m' * 19}2<" in page


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


@pytest.mark.slow
def test_row_is_shown_again_unless_its_run_record_or_reader_differs(
    as_ana: Client, as_lea: Client, run: Run, ana: User
) -> None:
    record = EvaluationFactory.create(
        run=run, aggregated_score="Fail", review_reasons=["Odd unit"], structured_model_response={"a": "1"}
    )
    verdict, reason = '<span class="badge fail">Fail</span>', "<span>Odd unit</span>"

    def shown(reader: Client, **settings: Any) -> list[bool]:
        """Return whether the row has its verdict, its flag reason, a checkbox and a due date."""
        Run.objects.filter(pk=run.pk).update(**settings)
        page = text(reader.get(address(run)))
        return [one in page for one in (verdict, reason, f'value="{record.pk}" data-pick', "Due today")]

    for _ in range(2):
        assert shown(as_ana, due_on=None, sample_share=0, blind_share=0) == [True, True, False, False]
        assert shown(as_lea) == [True, True, True, False]
        assert shown(as_ana, due_on=today()) == [True, True, False, True]
        assert shown(as_ana, due_on=None, sample_share=0.5) == [True, False, False, False]
        assert shown(as_ana, sample_share=0, blind_share=1) == [False, False, False, False]
    Reveal.objects.create(run=run, evaluation=record, reviewer=ana, how="shown")
    assert shown(as_ana) == [True, True, False, False]
    run.evaluations.update(aggregated_score="Pass")
    assert shown(as_ana) == [False, True, False, False]


def test_file_decision_is_marked(as_ana: Client, run: Run) -> None:
    EvaluationFactory.create(run=run, human_review_status="Reviewed", human_reviewer_id="kim")
    assert "kim (imported)" in text(as_ana.get(address(run)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "scores", [{}, {"a": None}, {"a": "Yes"}, {"a": {"score": ["odd"]}}, {"a": {"score": {}}}]
)
def test_record_with_any_file_scores_is_listed(scores: Any, as_ana: Client, run: Run) -> None:
    EvaluationFactory.create(run=run, human_review_status="Reviewed", human_corrected_scores=scores)
    assert as_ana.get(address(run)).status_code == 200


def test_record_without_optional_fields_is_listed_by_its_id(as_ana: Client, run: Run) -> None:
    EvaluationFactory.create(
        run=run,
        evaluation_id="0123456789abcdef" * 2,
        task_id=None,
        model_id=None,
        aggregated_score=None,
        review_reasons=[],
        verification_message=None,
    )
    page = text(as_ana.get(address(run)))
    assert ">01234567…</a>" in page
    assert "None" not in page


def test_run_page_escapes_record_texts(as_ana: Client, run: Run) -> None:
    evil = "<img src=x onerror=alert(1)>"
    EvaluationFactory.create(
        run=run, task_id=evil, model_id=evil, judge_llm_model=evil, review_reasons=[evil, evil, evil]
    )
    assert "<img src=x" not in text(as_ana.get(address(run)))


@pytest.mark.slow
def test_next_page_link_keeps_filters(as_ana: Client, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reviews.search.listing.PAGE_SIZE", 2)
    source = ImportFactory.create(run=run)
    made = EvaluationFactory.create_batch(5, run=run, first_import=source)
    seen, page = [], address(run, verdict="Fail", sort="task")
    while page:
        response = as_ana.get(page)
        seen += listed(response)
        page = response.context["next"]
    assert seen == made
    assert "First page" in text(response)


class TestFilters:
    def test_filters_are_in_the_address_and_on_the_page(self, as_ana: Client, run: Run) -> None:
        wanted = EvaluationFactory.create(run=run, model_id="o1")
        EvaluationFactory.create(run=run, model_id="o1-mini")
        response = as_ana.get(address(run, model="o1", status="waiting"))
        assert listed(response) == [wanted]
        assert chips(response) == [("Model", "o1")]
        assert [tab.title for tab in response.context["tabs"] if tab.is_current] == ["Waiting"]
        assert "<strong>1 record</strong>" in text(response)

    def test_filters_can_be_removed_one_by_one(self, as_ana: Client, run: Run) -> None:
        finder = as_ana.get(address(run, model="o1", task="7", sort="task")).context["finder"]
        assert [chip.without for chip in finder.chips] == ["model=o1&sort=task", "task=7&sort=task"]

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

    def test_menu_offers_the_values_of_the_run_with_their_counts(self, as_ana: Client) -> None:
        models = {"a": "o1", "b": "o1", "c": "gpt-4o"}
        import_data(file_of(*(line(name, model_id=model) for name, model in models.items())))
        offered = menu(as_ana.get(address(Run.objects.get(), model="gpt-4o", menu="open")))
        assert offered["model"] == [("o1", 2, "model=gpt-4o&model=o1")]
        assert offered["verdict"][0] == ("Pass", 3, "model=gpt-4o&verdict=Pass")
        assert offered["score"] == [("Clarity: Yes", None, "model=gpt-4o&score=Clarity%3DYes")]
        assert ("Waiting", 3, "status=waiting&model=gpt-4o") in offered["status"]
        assert offered["created-from"] == []

    def test_menu_of_a_run_with_blind_reviews_counts_no_output_of_the_judge(self, as_ana: Client) -> None:
        import_data(file_of(line("a", model_id="o1")))
        Run.objects.update(blind_share=0.1)
        offered = menu(as_ana.get(address(Run.objects.get(), menu="open")))
        assert offered["model"] == [("o1", 1, "model=o1")]
        counts = [count for name in ("verdict", "reason", "verified") for _, count, _ in offered[name]]
        assert set(counts) == {None}

    @pytest.mark.slow
    def test_text_of_the_search_field_becomes_the_address(self, as_ana: Client) -> None:
        import_data(file_of(line("a", model_id="o1"), line("b", model_id="gpt-4o")))
        run = Run.objects.get()
        found = as_ana.get(address(run, find="MODEL:gpt score:clarity=yes proof", judge="j", sort="task"))
        wanted = address(run, q="proof", model="gpt-4o", judge="j", score="Clarity=Yes", sort="task")
        assert (found.status_code, found["Location"]) == (302, wanted)
        finder = as_ana.get(wanted).context["finder"]
        assert finder.text == "proof"
        assert [chip.text for chip in finder.chips] == ["gpt-4o", "j", "Clarity: Yes"]

    @pytest.mark.parametrize(
        ("entered", "sentence"),
        [
            ("colour:red model:o1", "“colour” is not a filter. Filters: status,"),
            ("verdict:great model:o1", "“great” is not one of: Pass, Fail, Partial, none."),
            ("model:o1 created-from:soon", "“soon” is not a date."),
        ],
    )
    def test_text_that_is_no_filter_is_reported_and_kept_in_the_field(
        self, as_ana: Client, run: Run, entered: str, sentence: str
    ) -> None:
        wanted = EvaluationFactory.create(run=run, model_id="o1")
        EvaluationFactory.create(run=run, model_id="gpt-4o")
        response = as_ana.get(address(run, find=entered))
        assert sentence in text(response)
        assert listed(response) == [wanted]
        assert response.context["finder"].text == entered

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "entered", ["\0", "q:\0", "\ud800", "task:\0", ":" * 500, '"', "model:" + "x" * 1_900, "(&|!"]
    )
    def test_any_text_in_the_search_field_gives_a_page(self, as_ana: Client, run: Run, entered: str) -> None:
        response = as_ana.get(
            reverse("run", args=[run.pk]), {"find": entered.encode("utf-8", "surrogatepass")}, follow=True
        )
        assert response.status_code == 200

    def test_each_search_in_an_address_becomes_a_chip(self, as_ana: Client, run: Run) -> None:
        response = as_ana.get(f"{address(run)}?q=proof&q=error")
        assert chips(response) == [("Search", "error"), ("Search", "proof")]
        assert response.context["finder"].text == ""

    def test_filters_can_restrict_the_queue(self, as_ana: Client, run: Run) -> None:
        EvaluationFactory.create(run=run)
        page = text(as_ana.get(address(run, verdict="Fail")))
        assert '<input type="hidden" name="queue" value="verdict=Fail">' in page
        assert "Review these records" in page

    def test_filters_without_matches_say_so(self, as_ana: Client, run: Run) -> None:
        EvaluationFactory.create(run=run)
        assert "No records match these filters." in text(as_ana.get(address(run, verdict="Pass")))

    def test_list_that_is_not_counted_to_the_end_says_so(
        self, as_ana: Client, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(listing, "MAX_COUNTED", 3)
        monkeypatch.setattr(listing, "MAX_COUNTED_OF_MANY", 2)
        EvaluationFactory.create_batch(4, run=run, task_id="7")
        assert "More than 2 records" in text(as_ana.get(address(run, task="7")))

    def test_slow_filters_show_a_message(
        self, as_ana: Client, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("reviews.search.listing.time_limit", Mock(side_effect=listing.QueryTooSlow))
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

    def test_menu_is_loaded_alone_and_by_a_link_with_the_page(self, as_ana: Client, run: Run) -> None:
        closed, place = as_ana.get(address(run, model="o1")), address(run, model="o1", menu="open")
        link = place.replace("&", "&amp;")
        assert f'hx-get="{link}"' in text(closed)
        assert f'<a href="{link}">Show filters</a>' in text(closed)
        alone = as_ana.get(place, headers={"HX-Request": "true"})
        assert "HX-Request" in alone["Vary"]
        assert "HX-Push-Url" not in alone
        assert text(alone).strip() in text(as_ana.get(place))
        assert "<summary>Task</summary>" in text(alone)
        assert "<summary>Task</summary>" not in text(closed)


def test_run_without_records_explains_imports(as_ana: Client, run: Run) -> None:
    assert "No records yet. Import a file to add records." in text(as_ana.get(address(run)))


def test_imports_of_the_run_are_listed(as_ana: Client, run: Run) -> None:
    source = ImportFactory.create(run=run, lines=75, rejected=2)
    page = text(as_ana.get(address(run)))
    assert reverse("import", args=[source.pk]) in page
    assert "75 lines, 2 rejected" in page


def test_parts_of_the_page_are_rendered_once(as_lea: Client, run: Run) -> None:
    source = ImportFactory.create(run=run)
    EvaluationFactory.create(run=run, first_import=source)
    pages, rendered = [], []
    for _ in range(2):
        pages.append(text(as_lea.get(address(run))))
        rendered.append(cached_parts._render.cache_info().misses)
    assert rendered[0] == rendered[1]
    assert len({*map(_without_tokens, pages)}) == 1


def _without_tokens(page: str) -> str:
    return re.sub(r"[A-Za-z0-9]{64}", "", page)


@pytest.mark.slow
def test_run_page_query_count_is_constant(as_lea: Client, run: Run, bo: User) -> None:
    source, until = ImportFactory.create(run=run), timezone.now() + timedelta(hours=1)

    def queries(count: int) -> int:
        """Return the number of queries of both pages after adding records."""
        values = {"run": run, "first_import": source, "claimed_by": bo, "claimed_until": until}
        Evaluation.objects.bulk_create(EvaluationFactory.build(**values) for _ in range(count))
        with CaptureQueriesContext(connection) as captured:
            as_lea.get(address(run))
            as_lea.get(address(run, verdict="Fail"))
        return len(captured)

    assert queries(1) == queries(300)
