"""The inbox: its list, answers to questions, and the way from item to item."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from reviews.dashboard import spot_checks
from reviews.dashboard.selection import WorkSelection
from reviews.models import AuditEvent, Evaluation, Export, Import, Run, User
from reviews.review import escalations
from tests.support.factories import EvaluationFactory, ExportFactory, ImportFactory, RunFactory
from tests.support.inbox_pages import asked, inbox
from tests.support.pages import text, url
from tests.support.work import decide

pytestmark = pytest.mark.django_db


def rows(response: Any) -> list[Any]:
    return [row["item"].row for _, listed, *_ in response.context["groups"] for row in listed]


def notes(response: Any) -> list[str]:
    return [row.note for row in rows(response)]


@pytest.mark.slow
def test_open_escalations_of_the_run_are_listed_oldest_first(as_lea: Client, ana: User, algebra: Run) -> None:
    for note in ("First?", "Second?"):
        asked(algebra, ana, note)
    asked(RunFactory.create(), ana, "Elsewhere?")
    response = as_lea.get(inbox(algebra))
    assert notes(response) == ["First?", "Second?"]
    assert "Needs attention (2)" in text(response)


@pytest.mark.slow
def test_heading_names_questions_and_records_that_cannot_be_judged(
    as_lea: Client, ana: User, algebra: Run
) -> None:
    asked(algebra, ana, "Why?")
    evaluation = EvaluationFactory.create(run=algebra, claimed_by=ana)
    escalations.escalate(
        evaluation_id=evaluation.pk, reviewer=ana, kind="cannot judge", reason="no response", note=""
    )
    response = as_lea.get(inbox(algebra))
    assert [group[0] for group in response.context["groups"]] == ["Questions and “can't judge”"]
    assert ["has a question" in text(response), "can't judge this" in text(response)] == [True, True]


@pytest.mark.slow
def test_formulas_in_an_escalation_are_shown_to_lead_and_reviewer(
    as_lea: Client, as_ana: Client, ana: User, algebra: Run
) -> None:
    asked(algebra, ana, r"Is $\frac{1}{2}$ right?")
    formula = r'Is <span class="math" data-display="false">\frac{1}{2}</span> right?'
    assert formula in text(as_lea.get(inbox(algebra)))
    assert formula in text(as_ana.get(url("recent", algebra)))


@pytest.mark.slow
def test_answered_escalation_leaves_the_list(as_lea: Client, ana: User, lea: User, algebra: Run) -> None:
    raised = asked(algebra, ana)
    form = {"which": raised.pk, "outcome": "returned", "answer": "It is."}
    response = as_lea.post(inbox(algebra), form, follow=True)
    assert response.status_code == 200
    assert notes(response) == []
    assert "You're all caught up." in text(response)
    raised.refresh_from_db()
    assert (raised.outcome, raised.answer, raised.resolved_by) == ("returned", "It is.", lea)
    assert not Evaluation.objects.get(pk=raised.evaluation_id).is_escalated


def test_escalation_that_nobody_can_judge_is_closed(as_lea: Client, ana: User, algebra: Run) -> None:
    raised = asked(algebra, ana)
    form = {"which": raised.pk, "outcome": "closed", "answer": "The task is broken."}
    as_lea.post(inbox(algebra), form)
    assert Evaluation.objects.get(pk=raised.evaluation_id).human_review_status == "Completed"


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"outcome": "returned", "answer": " "}, "Enter an answer."),
        ({"outcome": "decided", "answer": "Fine."}, "Select a valid choice"),
        ({"answer": "Fine."}, "Choose an outcome."),
    ],
)
def test_incomplete_answer_to_an_escalation_is_kept(
    form: dict[str, str], sentence: str, as_lea: Client, ana: User, algebra: Run
) -> None:
    asked(algebra, ana, "Before?")
    raised = asked(algebra, ana)
    response = as_lea.post(inbox(algebra), {"which": raised.pk, **form})
    assert response.status_code == 422
    assert sentence in text(response)
    assert notes(response)[0] == raised.note
    assert f'value="{form["answer"]}"' in text(response)


def test_answer_to_a_resolved_escalation_is_rejected(
    as_lea: Client, ana: User, max: User, algebra: Run
) -> None:
    raised = asked(algebra, ana)
    escalations.resolve(escalation_id=raised.pk, actor=max, outcome="returned", answer="Yes.")
    form = {"which": raised.pk, "outcome": "returned", "answer": "No."}
    response = as_lea.post(inbox(algebra), form, follow=True)
    assert re.search(r"max resolved this escalation at \d\d:\d\d UTC: back to the queue\.", text(response))


@pytest.mark.parametrize("which", ["", "0", "x", "9" * 30])
def test_answer_to_an_unknown_escalation_is_not_found(which: str, as_lea: Client, algebra: Run) -> None:
    form = {"which": which, "outcome": "returned", "answer": "Yes."}
    assert as_lea.post(inbox(algebra), form).status_code == 404


@pytest.mark.slow
def test_items_of_one_kind_are_listed_in_pages(
    as_lea: Client, ana: User, algebra: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reviews.inbox.items.PAGE_SIZE", 1)
    monkeypatch.setattr("reviews.inbox.items.SHOWN", 1)
    for note in ("First?", "Second?"):
        asked(algebra, ana, note)
    assert "1 more" in text(as_lea.get("/inbox/"))
    first = as_lea.get("/inbox/", {"kind": "question"})
    second = as_lea.get("/inbox/", {"kind": "question", "after": first.context["next_after"]})
    assert (notes(first), notes(second)) == (["First?"], ["Second?"])
    assert second.context["next_after"] == ""
    assert notes(as_lea.get("/inbox/", {"kind": "question", "after": "\0"})) == ["First?"]


@pytest.mark.parametrize("query", [{"run": "x"}, {"run": "0"}, {"run": "9" * 30}])
def test_inbox_of_an_unknown_run_is_not_found(query: dict[str, str], as_lea: Client) -> None:
    assert as_lea.get("/inbox/", query).status_code == 404


@pytest.mark.parametrize("place", ["", "x", "question-", "question-1-", "no-1", "check-" + "9" * 30, "\0"])
def test_unknown_place_leads_to_the_first_item(place: str, as_lea: Client, ana: User, algebra: Run) -> None:
    raised = asked(algebra, ana)
    response = as_lea.get("/inbox/next/", {"inbox": place})
    assert response["Location"].startswith(url("evaluation", raised.evaluation))


@pytest.mark.slow
def test_checks_are_loaded_by_the_same_queries_for_any_number(
    as_lea: Client, ana: User, lea: User, algebra: Run
) -> None:
    numbers = []
    for count in (1, 4):
        for _ in range(count):
            decide(EvaluationFactory.create(run=algebra), ana)
        spot_checks.draw(selection=WorkSelection(algebra, reviewer=ana), count=count, actor=lea)
        with CaptureQueriesContext(connection) as sent:
            response = as_lea.get(reverse("inbox", query={"kind": "check"}))
        numbers.append(len(sent))
    assert len(rows(response)) == 5
    assert numbers[0] == numbers[1]
    # The page and its navigation count the items together.
    assert sum("COUNT(" in query["sql"] for query in sent) == 1


class TestFailedJobs:
    @pytest.fixture
    def failed(self, algebra: Run, lea: User) -> Export:
        return ExportFactory.create(run=algebra, created_by=lea, state=Export.State.FAILED, error="It broke.")

    def place(self, failed: Export) -> dict[str, str]:
        return {"place": f"export-{failed.pk}"}

    def test_failed_export_is_listed_until_it_is_dismissed(self, as_lea: Client, failed: Export) -> None:
        assert rows(as_lea.get("/inbox/")) == [failed]
        as_lea.post("/inbox/dismiss/", self.place(failed))
        assert rows(as_lea.get("/inbox/")) == []
        assert AuditEvent.objects.filter(action="dismiss failure", detail={"export": failed.pk}).exists()

    def test_failed_export_is_queued_again(self, as_lea: Client, failed: Export) -> None:
        as_lea.post("/inbox/retry/", self.place(failed))
        failed.refresh_from_db()
        assert (failed.state, failed.error) == (Export.State.UNFINISHED, "")
        again = as_lea.post("/inbox/retry/", self.place(failed), follow=True)
        assert "This job is no longer listed as failed." in text(again)

    @pytest.mark.slow
    def test_failed_import_is_for_people_who_import(self, as_lea: Client, as_max: Client) -> None:
        failed = ImportFactory.create(state=Import.State.FAILED, error="It broke.")
        assert rows(as_max.get("/inbox/")) == [failed]
        assert rows(as_lea.get("/inbox/")) == []
        assert as_lea.post("/inbox/dismiss/", {"place": f"import-{failed.pk}"}).status_code == 403
        # Nothing is stored, so the file cannot be read again.
        page = text(as_max.post("/inbox/retry/", {"place": f"import-{failed.pk}"}, follow=True))
        assert "This file cannot be imported as it is." in page
