"""The page of conflicts between decisions made here and in files."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from reviews.history import file_conflicts
from reviews.models import Evaluation, FileConflict, Run, User
from reviews.views.files import conflicts as views
from tests.support.disputed_records import OneConflict, disputed, evaluation, open_conflict
from tests.support.factories import UserFactory
from tests.support.lines import file_of, import_data, line
from tests.support.pages import text
from tests.support.work import SCORES, decide

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="class")
def _disputed(class_world: None) -> None:
    """Create a run with one conflict for the tests of a class, which undo their changes."""
    disputed(UserFactory.create(username="ana", role="reviewer"), "eval_1")


def post_resolution(client: Client, run: Run, **posted: Any) -> str:
    return text(client.post(reverse("resolve-conflicts", args=[run.pk]), posted, follow=True))


def key(name: str) -> str:
    return f"{open_conflict(name).pk}-{evaluation(name).version}"


class TestPage(OneConflict):
    @pytest.mark.slow
    def test_page_shows_both_decisions(self, as_lea: Client, run: Run) -> None:
        page = text(as_lea.get(reverse("conflicts", args=[run.pk])))
        for shown in (
            "ana, ",
            "carla, 2026-11-19 10:00 UTC",
            "evaluations.jsonl</a>, line 1",
            "Skips a step.",
        ):
            assert shown in page
        assert escape(SCORES["Clarity"]["justification"]) in page
        assert page.count("differs") == 2

    def test_loading_the_page_changes_nothing(self, as_lea: Client, run: Run) -> None:
        before = list(Evaluation.objects.values()), list(FileConflict.objects.values())
        as_lea.get(reverse("conflicts", args=[run.pk]))
        assert (list(Evaluation.objects.values()), list(FileConflict.objects.values())) == before

    def test_page_explains_unresolved_conflicts(self, as_lea: Client, run: Run) -> None:
        key = f"{open_conflict().pk}-{evaluation().version - 1}"
        page = post_resolution(as_lea, run, keep="theirs", which=[key, "999999-1"])
        assert "1 not resolved. This record has changed since you opened the page." in page
        assert "1 not resolved. The conflict does not exist." in page

    def test_request_without_selection_is_refused(self, as_lea: Client, run: Run) -> None:
        assert "Select at least one conflict." in post_resolution(as_lea, run, keep="ours")

    def test_invalid_request_is_refused(self, as_lea: Client, run: Run) -> None:
        for posted in (
            {"keep": "mine", "all": "on"},
            {"keep": "ours", "which": "x"},
            {"keep": "ours", "which": f"{10**19}-1"},
            {"one": "theirs-"},
            {"one": "\0-1-1"},
            {"keep": "open", "all": "on"},
        ):
            answer = as_lea.post(reverse("resolve-conflicts", args=[run.pk]), posted)
            assert (answer.status_code, file_conflicts.count_open(run)) == (400, 1), posted

    def test_unknown_cursor_shows_the_first_page(self, as_lea: Client, run: Run) -> None:
        for after in ("x", "-1", "9" * 19, "\0"):
            response = as_lea.get(reverse("conflicts", args=[run.pk]), {"after": after})
            assert len(response.context["comparisons"]) == 1, after

    def test_run_page_links_conflicts_for_leads(self, as_lea: Client, run: Run, ana: User) -> None:
        link = reverse("conflicts", args=[run.pk])
        assert link in text(as_lea.get(reverse("run", args=[run.pk])))
        as_lea.force_login(ana)
        assert link not in text(as_lea.get(reverse("run", args=[run.pk])))

    def test_import_page_links_conflicts(self, as_lea: Client, run: Run) -> None:
        page = as_lea.get(reverse("import", args=[run.imports.latest("pk").pk]))
        assert reverse("conflicts", args=[run.pk]) in text(page)


@pytest.mark.slow
class TestSeveralConflicts:
    def test_page_escapes_text_of_a_file(self, as_lea: Client, ana: User) -> None:
        evil = "<img src=x onerror=alert(1)>"
        import_data(file_of(line(task_id=evil, model_id=evil)))
        decide(evaluation(), ana)
        scores = {evil: {"score": evil, "justification": evil}, "B": 3, "C": {"score": [evil]}}
        human = {"human_corrected_scores": scores, "human_reviewer_id": evil, "human_review_comments": evil}
        import_data(file_of(line(task_id=evil, model_id=evil, **human)))
        response = as_lea.get(reverse("conflicts", args=[Run.objects.get().pk]))
        assert response.status_code == 200
        assert "<img src=x" not in text(response)

    @pytest.mark.slow
    def test_one_conflict_can_be_resolved(self, as_lea: Client, ana: User) -> None:
        run = disputed(ana, "eval_1", "eval_2")
        page = post_resolution(as_lea, run, one=f"theirs-{key('eval_2')}")
        assert "1 resolved: the file&#x27;s decision was taken." in page
        assert "1 conflict<" in page
        assert evaluation("eval_2").human_reviewer_id == "carla"
        assert evaluation("eval_1").human_reviewer_id == "ana"

    @pytest.mark.slow
    def test_selected_conflicts_can_be_resolved(self, as_lea: Client, ana: User) -> None:
        run = disputed(ana, "eval_1", "eval_2", "eval_3")
        page = post_resolution(as_lea, run, keep="ours", which=[key("eval_1"), key("eval_3")])
        assert "2 resolved: the decision made here was kept." in page
        assert open_conflict("eval_2")
        assert file_conflicts.count_open(run) == 1

    @pytest.mark.slow
    def test_all_conflicts_of_a_run_can_be_resolved(
        self, as_lea: Client, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(file_conflicts, "PAGE_SIZE", 1)
        run = disputed(ana, "eval_1", "eval_2", "eval_3")
        page = post_resolution(as_lea, run, keep="theirs", all="on")
        assert "3 resolved" in page
        assert "No open conflicts." in page

    @pytest.mark.slow
    def test_request_resolves_a_limited_number_of_conflicts(
        self, as_lea: Client, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(views, "MOST_AT_ONCE", 2)
        run = disputed(ana, "eval_1", "eval_2", "eval_3")
        assert "the oldest 2 at a time" in text(as_lea.get(reverse("conflicts", args=[run.pk])))
        assert "2 resolved" in post_resolution(as_lea, run, keep="theirs", all="on")
        assert file_conflicts.count_open(run) == 1

    @pytest.mark.slow
    def test_pages_list_each_conflict_once(
        self, as_lea: Client, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(file_conflicts, "PAGE_SIZE", 2)
        names = [f"eval_{n}" for n in range(5)]
        run = disputed(ana, *names)
        seen, address = [], reverse("conflicts", args=[run.pk])
        for _ in range(3):
            context = as_lea.get(address).context
            seen += [one.evaluation.evaluation_id for one in context["comparisons"]]
            address = context["next"]
        assert seen == names
        assert address == ""

    @pytest.mark.parametrize("count", [1, 3])
    def test_queries_do_not_grow_with_the_number_of_conflicts(
        self,
        as_lea: Client,
        ana: User,
        count: int,
        django_assert_num_queries: Callable[[int], AbstractContextManager[Any]],
    ) -> None:
        run = disputed(ana, *(f"eval_{n}" for n in range(count)))
        with django_assert_num_queries(5):
            as_lea.get(reverse("conflicts", args=[run.pk]))
