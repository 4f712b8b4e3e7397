"""Conflicts between a decision made here and one in a file: detection, resolution and their page."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from pytest_django.plugin import DjangoDbBlocker

from reviews.accounts.permissions import Denied
from reviews.history import file_conflicts
from reviews.models import AuditEvent, Evaluation, FileConflict, Review, Run, User
from reviews.records.conflicts import Conflict
from reviews.records.schema import HUMAN_FIELDS
from reviews.review import decisions
from reviews.views.files import conflicts as views
from tests.support.factories import UserFactory
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.pages import text
from tests.support.shared_world import shared_world
from tests.support.threads import start_and_wait_for_lock
from tests.support.work import SCORES, decide

pytestmark = pytest.mark.django_db

Outcome = FileConflict.Outcome
CARLA: dict[str, Any] = {
    "human_review_status": "Reviewed",
    "human_reviewer_id": "carla",
    "human_review_timestamp": "2026-11-19T10:00:00.000000Z",
    "human_corrected_scores": {"Clarity": {"score": "No", "justification": "Skips a step."}},
    "human_review_comments": "Seen in the file.",
}


def evaluation(evaluation_id: str = "eval_1") -> Evaluation:
    return Evaluation.objects.get(evaluation_id=evaluation_id)


def open_conflict(evaluation_id: str = "eval_1") -> FileConflict:
    return FileConflict.objects.get(evaluation__evaluation_id=evaluation_id, outcome=Outcome.OPEN)


def disputed(ana: User, *names: str) -> Run:
    """A run in which ana decided each record, and a file has other decisions by carla."""
    import_data(file_of(*(line(name) for name in names)))
    for name in names:
        decide(evaluation(name), ana)
    import_data(file_of(*(line(name, **CARLA) for name in names)))
    return Run.objects.get()


@pytest.fixture(scope="class")
def _disputed(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Create a run with one conflict for the tests of a class, which undo their changes."""
    with shared_world(django_db_blocker):
        disputed(UserFactory.create(username="ana", role="reviewer"), "eval_1")
        yield


class OneConflict:
    """A run in which ana decided the only record, and a file has another decision by carla."""

    @pytest.fixture
    def run(self, _disputed: None) -> Run:
        return Run.objects.get()

    @pytest.fixture
    def ana(self, _disputed: None) -> User:
        return User.objects.get(username="ana")


def resolve(actor: User, *, theirs: bool, version: int | None = None) -> None:
    decisions.resolve_conflict(
        run=open_conflict().run,
        conflict_id=open_conflict().pk,
        version=evaluation().version if version is None else version,
        theirs=theirs,
        actor=actor,
    )


class TestOpenConflict(OneConflict):
    def test_open_conflict_keeps_line_and_human_values(self, run: Run) -> None:
        conflict = open_conflict()
        assert (conflict.source, conflict.line) == (run.imports.latest("pk"), 1)
        assert conflict.human == CARLA | {"human_review_timestamp": "2026-11-19T10:00:00+00:00"}

    def test_open_conflict_leaves_the_current_decision(self, run: Run) -> None:
        assert evaluation().human_reviewer_id == "ana"
        assert b'"human_reviewer_id": "ana"' in export_data()

    def test_open_conflict_is_unchanged_by_the_same_file(self, run: Run) -> None:
        before = open_conflict()
        assert import_data(file_of(line(**CARLA))).conflicts == 1
        assert open_conflict() == before

    def test_newer_file_replaces_an_open_conflict(self, run: Run) -> None:
        before = open_conflict()
        import_data(file_of(b"", line(**CARLA | {"human_review_comments": "Seen again."})))
        before.refresh_from_db()
        assert before.outcome == Outcome.REPLACED
        assert open_conflict().human["human_review_comments"] == "Seen again."
        assert open_conflict().line == 2


class TestImportedDecisionKept(OneConflict):
    def test_kept_imported_decision_is_current(self, run: Run, lea: User) -> None:
        resolve(lea, theirs=True)
        exported = json.loads(export_data())
        assert {name: exported[name] for name in HUMAN_FIELDS} == CARLA
        assert export_data() == file_of(line(**CARLA))

    def test_kept_imported_decision_is_a_version_by_the_lead(self, run: Run, lea: User) -> None:
        conflict = open_conflict()
        resolve(lea, theirs=True)
        review = Review.objects.get(version=2)
        assert (review.reviewer, review.conflict, evaluation().review) == (lea, conflict, review)
        assert review.corrected_scores == CARLA["human_corrected_scores"]
        assert review.origins == {"Clarity": "file"}

    def test_same_file_is_unchanged_after_its_decision_was_kept(self, run: Run, lea: User) -> None:
        resolve(lea, theirs=True)
        assert import_data(file_of(line(**CARLA))).unchanged == 1
        assert file_conflicts.count_open(run) == 0

    def test_new_evidence_makes_a_kept_imported_decision_outdated(self, run: Run, lea: User) -> None:
        resolve(lea, theirs=True)
        import_data(file_of(line(task_id="4712")))
        assert (evaluation().is_outdated, evaluation().human_reviewer_id) == (True, "carla")


class TestOtherDecisions:
    @pytest.mark.slow
    def test_export_older_than_a_decision_opens_a_conflict(self, ana: User, bo: User) -> None:
        import_data(file_of(line()))
        decide(evaluation(), ana)
        exported = export_data()
        import_data(file_of(line(task_id="4712")))
        decide(evaluation(), bo)
        assert import_data(exported).conflicts == 1
        assert evaluation().human_reviewer_id == "bo"

    @pytest.mark.slow
    def test_outdated_imported_decision_without_reviewer_is_readable(
        self, ana: User, lea: User, client: Client
    ) -> None:
        import_data(file_of(line()))
        decide(evaluation(), ana)
        import_data(file_of(line(human_review_status="Reviewed")))
        resolve(lea, theirs=True)
        assert json.loads(export_data())["human_review_timestamp"] is None
        again = import_data(file_of(line(task_id="4712")))
        [exception] = again.listed_exceptions()
        assert exception["reason"] == "taken from the file: the review by nobody named is kept, but outdated"
        client.force_login(ana)
        page = text(client.get(reverse("evaluation", args=[evaluation().pk])))
        assert "Changed since the decision<" in page

    @pytest.mark.slow
    def test_file_that_undoes_its_kept_decision_returns_the_record_to_the_queue(
        self, ana: User, lea: User
    ) -> None:
        import_data(file_of(line()))
        decide(evaluation(), ana)
        import_data(file_of(line(human_review_comments="Not so.")))
        resolve(lea, theirs=True)
        assert evaluation().in_queue
        assert export_data() == file_of(line(human_review_comments="Not so."))


class TestOwnDecisionKept(OneConflict):
    @pytest.mark.slow
    def test_keeping_own_decision_changes_nothing(self, run: Run, lea: User) -> None:
        before = export_data()
        resolve(lea, theirs=False)
        assert export_data() == before
        assert Review.objects.count() == 1

    def test_same_file_is_no_conflict_after_own_decision_was_kept(self, run: Run, lea: User) -> None:
        resolve(lea, theirs=False)
        again = import_data(file_of(line(**CARLA)))
        [exception] = again.listed_exceptions()
        assert exception["reason"] == "has a decision that a lead has rejected: the review made here is kept"
        assert (again.unchanged, file_conflicts.count_open(run)) == (1, 0)

    def test_other_decision_in_a_file_is_a_new_conflict(self, run: Run, lea: User) -> None:
        resolve(lea, theirs=False)
        again = import_data(file_of(line(**CARLA | {"human_reviewer_id": "kim"})))
        assert (again.conflicts, file_conflicts.count_open(run)) == (1, 1)


class TestResolution(OneConflict):
    @pytest.mark.parametrize(("theirs", "kept"), [(True, "theirs"), (False, "ours")])
    def test_resolution_records_an_event_with_both_decisions(
        self, run: Run, lea: User, theirs: bool, kept: str
    ) -> None:
        conflict = open_conflict()
        resolve(lea, theirs=theirs)
        event = AuditEvent.objects.get(action="resolve conflict")
        assert (event.actor, event.source, event.evaluation) == (lea, conflict.source, evaluation())
        assert (event.detail["kept"], event.detail["line"]) == (kept, 1)
        assert event.detail["theirs"]["human_reviewer_id"] == "carla"
        assert event.detail["human"]["before"]["human_corrected_scores"] == SCORES

    def test_second_resolution_is_refused(self, run: Run, lea: User) -> None:
        conflict = open_conflict()
        resolve(lea, theirs=False)
        with pytest.raises(Conflict, match="no longer open"):
            decisions.resolve_conflict(
                run=conflict.run,
                conflict_id=conflict.pk,
                version=evaluation().version,
                theirs=True,
                actor=lea,
            )
        assert evaluation().human_reviewer_id == "ana"

    def test_resolution_is_refused_if_the_record_has_changed(self, run: Run, lea: User) -> None:
        version = evaluation().version
        import_data(file_of(line(task_id="4712", **CARLA)))
        with pytest.raises(Conflict, match="has changed since"):
            resolve(lea, theirs=True, version=version)
        assert evaluation().human_reviewer_id == "ana"

    def test_resolution_is_for_leads(self, run: Run, ana: User) -> None:
        with pytest.raises(Denied, match="Only a lead or an admin can resolve conflicts"):
            resolve(ana, theirs=True)


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_import_that_waits_for_a_lead_sees_the_resolution(ana: User, lea: User) -> None:
    run = disputed(ana, "eval_1")
    with transaction.atomic():
        resolve(lea, theirs=False)
        waiting = start_and_wait_for_lock(lambda: import_data(file_of(line(**CARLA))))
    assert waiting.result().unchanged == 1
    assert file_conflicts.count_open(run) == 0


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
        seen, after = [], ""
        for _ in range(3):
            context = as_lea.get(reverse("conflicts", args=[run.pk]), {"after": after}).context
            seen += [one.evaluation.evaluation_id for one in context["comparisons"]]
            after = context["next_after"]
        assert seen == names
        assert after == ""

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


def test_judge_of_a_conflict_has_extracted_scores_and_their_verdict(ana: User) -> None:
    raw = {"raw_content": '```json\n{"Clarity": {"score": "No", "justification": "Skips a step."}}\n```'}
    judged = {"raw_judge_output": raw, "parsed_rubric_scores": {}, "aggregated_score": None}
    import_data(file_of(line(**judged)))
    decide(evaluation(), ana)
    import_data(file_of(line(**judged, **CARLA)))
    [shown] = file_conflicts.load_page(Run.objects.get()).rows
    assert shown.judge_verdict == "Fail"
    assert [one.judge for one in shown.criteria if one.title == "Clarity"] == ["No"]
