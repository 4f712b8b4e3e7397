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
from reviews.models import AuditEvent, Escalation, Evaluation, Export, Import, Review, Run, User
from reviews.queue import claims
from reviews.review import escalations
from tests.support import contexts
from tests.support.factories import EvaluationFactory, ExportFactory, ImportFactory, RunFactory
from tests.support.pages import HTMX, form_of, text, url
from tests.support.rubrics import rubric_data
from tests.support.work import SCORES, decide

pytestmark = pytest.mark.django_db


@pytest.fixture
def algebra() -> Run:
    return RunFactory.create(name="Algebra")


def asked(run: Run, reviewer: User, note: str = "Is 54 right?") -> Escalation:
    """Escalate a record with a question."""
    record = EvaluationFactory.create(run=run)
    claims.claim(evaluation_id=record.pk, reviewer=reviewer)
    return escalations.escalate(
        evaluation_id=record.pk, reviewer=reviewer, kind="question", reason="question", note=note
    )


def rows(response: Any) -> list[Any]:
    return [row["item"].row for _, listed, *_ in response.context["groups"] for row in listed]


def notes(response: Any) -> list[str]:
    return [row.note for row in rows(response)]


def inbox(run: Run, **query: str) -> str:
    return reverse("inbox", query={"run": run.pk, **query})


@pytest.mark.slow
def test_open_escalations_of_the_run_are_listed_oldest_first(as_lea: Client, ana: User, algebra: Run) -> None:
    for note in ("First?", "Second?"):
        asked(algebra, ana, note)
    asked(RunFactory.create(), ana, "Elsewhere?")
    response = as_lea.get(inbox(algebra))
    assert notes(response) == ["First?", "Second?"]
    assert "Needs attention (2)" in text(response)


def test_formulas_in_an_escalation_are_shown_to_lead_and_reviewer(
    as_lea: Client, as_ana: Client, ana: User, algebra: Run
) -> None:
    asked(algebra, ana, r"Is $\frac{1}{2}$ right?")
    formula = r'Is <span class="math" data-display="false">\frac{1}{2}</span> right?'
    assert formula in text(as_lea.get(inbox(algebra)))
    assert formula in text(as_ana.get(url("recent", algebra)))


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


def opened(client: Client, response: Any) -> str:
    """Return the record that a redirect to an item of the inbox shows."""
    return str(client.get(response["Location"]).context["evaluation"].evaluation_id)


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


@pytest.mark.slow
class TestPane:
    """The item beside the list."""

    def test_pane_has_the_first_item_or_the_chosen_one(self, as_lea: Client, ana: User, algebra: Run) -> None:
        first, second = asked(algebra, ana, "First?"), asked(algebra, ana, "Second?")
        page = as_lea.get(inbox(algebra))
        assert page.context["pane_place"].position == first.pk
        place = f"question-{second.pk}"
        assert as_lea.get("/inbox/", {"item": place}).context["pane_place"].position == second.pk
        part = text(as_lea.get("/inbox/", {"item": place}, headers=HTMX))
        assert "<html" not in part
        assert f'name="which" value="{second.pk}"' in part
        assert 'data-choice="1"' in part
        gone = text(as_lea.get("/inbox/", {"item": f"question-{second.pk + 1}"}, headers=HTMX))
        assert "no longer waits" in gone

    def test_answer_in_the_pane_leads_to_the_next_item_in_the_pane(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        first, second = asked(algebra, ana), asked(algebra, ana)
        form = {"which": first.pk, "outcome": "returned", "answer": "Yes.", "place": f"question-{first.pk}"}
        assert as_lea.post("/inbox/", form)["Location"] == f"/inbox/?item=question-{second.pk}"

    def test_spot_check_is_agreed_to_in_the_pane(
        self, as_lea: Client, ana: User, lea: User, algebra: Run
    ) -> None:
        decide(EvaluationFactory.create(run=algebra), ana)
        [drawn] = spot_checks.draw(selection=WorkSelection(algebra, reviewer=ana), count=1, actor=lea)
        place = f"check-{drawn.pk}"
        assert "human</small>" in text(as_lea.get("/inbox/", {"item": place}, headers=HTMX))
        form = {"inbox": place, "pane": "yes", "outcome": "agreed", "reason": "Fine."}
        assert as_lea.post(url("spot-check", drawn), form)["Location"] == "/inbox/"
        drawn.refresh_from_db()
        assert (drawn.outcome, drawn.note) == ("agreed", "Fine.")

    def test_side_of_a_disagreement_is_taken_in_the_pane(
        self, as_lea: Client, ana: User, bo: User, algebra: Run
    ) -> None:
        Run.objects.update(overlap_share=1, overlap=2)
        other = SCORES | {"Conclusion Accuracy": {"score": "Yes", "justification": "One half it is."}}
        records = EvaluationFactory.create_batch(2, run=algebra, task_id="7")
        contexts.bring(contexts.task(prompt="What is one half?"))
        for record in records:
            decide(record, ana)
            decide(record, bo, scores=other)
        first, second = Escalation.objects.order_by("pk")
        part = text(as_lea.get("/inbox/", {"item": f"disagreement-{first.pk}"}, headers=HTMX))
        chosen = Review.objects.get(evaluation=records[0], reviewer=bo)
        assert f'name="review" value="{chosen.pk}" data-choice="2"' in part
        assert re.search(
            r"<strong>ana: (No|Partial)</strong>.*<strong>bo: Yes</strong> One half it is\.", part
        )
        assert "What is one half?" in part
        form = {"queue": f"inbox=disagreement-{first.pk}", "pane": "yes", "review": str(chosen.pk)}
        response = as_lea.post(url("take-side", first), form)
        assert response["Location"] == f"/inbox/?item=disagreement-{second.pk}"
        records[0].refresh_from_db()
        decided = records[0].review
        assert decided
        assert (decided.reviewer.username, decided.corrected_scores) == ("lea", chosen.corrected_scores)
        page = text(as_lea.post(url("take-side", second), form, follow=True))
        assert "This review is no longer one of those that differ." in page
        assert Review.objects.filter(evaluation=records[1], reviewer__username="lea").count() == 0

    def test_pane_hides_the_judges_scores_of_a_record_to_review_blind(
        self, as_lea: Client, ana: User
    ) -> None:
        raised = asked(RunFactory.create(blind_share=1), ana)
        Evaluation.objects.update(structured_model_response={"final_answer": "Add six."})
        part = text(as_lea.get("/inbox/", {"item": f"question-{raised.pk}"}, headers=HTMX))
        assert "hidden during a blind review" in part
        assert "data-counts" not in part


class TestNextItem:
    @pytest.fixture
    def questions(self, ana: User, algebra: Run) -> list[Escalation]:
        return [asked(algebra, ana, note) for note in ("First?", "Second?", "Third?")]

    def at(self, raised: Escalation) -> dict[str, str]:
        """Return the field that the review screen posts for an item of the inbox."""
        return {"queue": f"inbox=question-{raised.pk}"}

    @pytest.mark.slow
    def test_answered_question_leads_to_the_next_item(
        self, as_lea: Client, questions: list[Escalation]
    ) -> None:
        for answered, following in ((1, 2), (2, 0)):
            form = {"outcome": "returned", "answer": "It is."} | self.at(questions[answered])
            response = as_lea.post(url("resolve-escalation", questions[answered]), form)
            assert opened(as_lea, response) == questions[following].evaluation.evaluation_id

    def test_last_answer_leads_to_the_empty_inbox(self, as_lea: Client, ana: User, algebra: Run) -> None:
        raised = asked(algebra, ana)
        form = {"outcome": "returned", "answer": "It is."} | self.at(raised)
        page = text(as_lea.post(url("resolve-escalation", raised), form, follow=True))
        assert "You're all caught up." in page
        assert f"Settled: {raised.evaluation.title}." in page

    def test_invalid_answer_keeps_the_place(self, as_lea: Client, questions: list[Escalation]) -> None:
        response = as_lea.post(url("resolve-escalation", questions[0]), self.at(questions[0]))
        assert response.status_code == 422
        assert f'name="queue" value="inbox=question-{questions[0].pk}"' in text(response)

    def test_decided_record_leads_to_the_next_item_instead_of_a_prefetched_record(
        self, as_lea: Client, questions: list[Escalation]
    ) -> None:
        record = Evaluation.objects.get(pk=questions[0].evaluation_id)
        form = form_of(record) | self.at(questions[0]) | {"next": str(record.pk)}
        response = as_lea.post(url("submit", record), form, headers=HTMX)
        assert response["HX-Redirect"].startswith(url("evaluation", questions[1].evaluation))

    def test_record_opened_from_the_inbox_prefetches_nothing(
        self, as_lea: Client, questions: list[Escalation]
    ) -> None:
        page = text(as_lea.get(url("evaluation", questions[0].evaluation), self.at(questions[0])))
        assert 'data-prefetch=""' in page
        assert "(filtered)" not in page
        assert f'href="/inbox/next/?inbox=question-{questions[0].pk}"' in page

    @pytest.mark.slow
    def test_filtered_inbox_stays_in_its_run(
        self, as_lea: Client, ana: User, questions: list[Escalation]
    ) -> None:
        run = RunFactory.create()
        elsewhere = asked(run, ana)
        response = as_lea.get(inbox(run))
        place = f"question-{elsewhere.pk}-{run.pk}"
        assert f"queue=inbox%3D{place}" in text(response)
        form = {"outcome": "returned", "answer": "It is.", "queue": f"inbox={place}"}
        response = as_lea.post(url("resolve-escalation", elsewhere), form)
        assert response["Location"] == inbox(run)

    @pytest.mark.slow
    def test_confirmed_rubric_leads_on(self, as_lea: Client, ana: User) -> None:
        run = RunFactory.create(rubric=rubric_data("Clarity"))
        seen = as_lea.get(url("run-settings", run)).context["seen"]
        raised = asked(RunFactory.create(), ana)
        form = {"seen": seen, "inbox": f"rubric-{run.pk}"}
        response = as_lea.post(url("confirm-rubric", run), form)
        assert opened(as_lea, response) == raised.evaluation.evaluation_id


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

    def test_failed_import_is_for_people_who_import(self, as_lea: Client, as_max: Client) -> None:
        failed = ImportFactory.create(state=Import.State.FAILED, error="It broke.")
        assert rows(as_max.get("/inbox/")) == [failed]
        assert rows(as_lea.get("/inbox/")) == []
        assert as_lea.post("/inbox/dismiss/", {"place": f"import-{failed.pk}"}).status_code == 403
        # Nothing is stored, so the file cannot be read again.
        page = text(as_max.post("/inbox/retry/", {"place": f"import-{failed.pk}"}, follow=True))
        assert "This file cannot be imported as it is." in page
