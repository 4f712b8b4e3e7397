"""The page on which a lead starts, follows and ends a check with known answers."""

from typing import Any

import pytest
from django.test import Client

from reviews.models import Evaluation, KnownAnswer, KnownAnswerCheck, Run, User
from reviews.review import known_answers
from tests.support.factories import RunFactory
from tests.support.pages import text, url
from tests.support.work import SCORES, decide, evaluations

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

OTHER = SCORES | {"Conclusion Accuracy": {"score": "Yes", "justification": "One half it is."}}


@pytest.fixture
def run() -> Run:
    """A run with two records for two people each."""
    made = RunFactory.create(name="Algebra", overlap_share=1, overlap=2)
    evaluations(made, tasks=["1", "2"])
    return made


@pytest.fixture
def check(run: Run, lea: User) -> KnownAnswerCheck:
    return known_answers.start(run_id=run.pk, actor=lea, count=2)


def test_lead_starts_a_check_and_is_led_through_it(as_lea: Client, run: Run, lea: User) -> None:
    page = text(as_lea.post(url("known-answers", run), {"count": 2}, follow=True))
    assert "Drew 2 records." in page
    assert "2 still need your review." in page
    assert "give the known answer" in text(as_lea.get("/inbox/"))
    first, second = KnownAnswer.objects.order_by("pk")
    response: Any = as_lea.get(url("known-answers", run))
    assert f"/evaluations/{first.evaluation_id}/" in response.context["next_url"]
    decide(first.evaluation, lea)
    response = as_lea.get(url("known-answers", run))
    assert f"/evaluations/{second.evaluation_id}/" in response.context["next_url"]
    decide(second.evaluation, lea)
    assert "None waits for your review." in text(as_lea.get(url("known-answers", run)))


@pytest.mark.parametrize("count", ["", "0", "101", "many", "1.5"])
def test_wrong_number_is_refused(as_lea: Client, run: Run, count: str) -> None:
    assert as_lea.post(url("known-answers", run), {"count": count}).status_code == 422
    assert not KnownAnswerCheck.objects.exists()


def test_run_without_records_to_draw_says_so(as_lea: Client, run: Run, ana: User) -> None:
    for record in run.evaluations.all():
        decide(record, ana)
    page = text(as_lea.get(url("known-answers", run)))
    assert "Raise the overlap share, or import more records." in page
    assert 'name="count"' not in page


def test_run_without_overlap_says_what_to_set(as_lea: Client, run: Run) -> None:
    Run.objects.update(overlap_share=0)
    assert "Set an overlap share first." in text(as_lea.get(url("known-answers", run)))
    response = as_lea.post(url("known-answers", run), {"count": 2})
    assert response.status_code == 422
    assert not KnownAnswerCheck.objects.exists()


def test_second_start_is_refused(as_max: Client, run: Run, check: KnownAnswerCheck) -> None:
    page = text(as_max.post(url("known-answers", run), {"count": 2}, follow=True))
    assert "A check is already running. End it first." in page


def test_other_leads_see_no_figures_of_a_running_check(
    as_lea: Client, as_max: Client, check: KnownAnswerCheck, ana: User
) -> None:
    for person in (check.started_by, ana):
        decide(Evaluation.objects.earliest("pk"), person)
    assert "Agreement with the known answers" in text(as_lea.get(url("known-answers", check.run)))
    page = text(as_max.get(url("known-answers", check.run)))
    assert "Started by lea" in page
    assert "Agreement with the known answers" not in page
    assert as_max.get(url("known-answer-check", check)).status_code == 404


def test_end_shows_figures_and_the_answers_behind_them(
    as_lea: Client, as_max: Client, check: KnownAnswerCheck, ana: User, bo: User
) -> None:
    for record in Evaluation.objects.order_by("pk"):
        decide(record, check.started_by)
        decide(record, ana, scores=OTHER)
        decide(record, bo)
    running = text(as_lea.get(url("known-answer-check", check)))
    assert "Different scores" not in running
    page = text(as_lea.post(url("end-known-answers", check), follow=True))
    assert "Decided 2 records." in page
    assert "Conclusion Accuracy" in page
    response: Any = as_max.get(url("known-answer-check", check), {"reviewer": "ana"})
    rows = [[cell.text for cell in row] for row in response.context["records"].rows]
    titles = [record.title for record in Evaluation.objects.order_by("pk")]
    assert [row[0] for row in rows] == titles
    assert {(row[1], row[4]) for row in rows} == {("ana", "Conclusion Accuracy")}
    again = text(as_lea.post(url("end-known-answers", check), follow=True))
    assert "This check has already ended." in again


def test_page_of_a_person_links_to_their_answers(
    as_lea: Client, check: KnownAnswerCheck, ana: User, bo: User
) -> None:
    for record in Evaluation.objects.order_by("pk"):
        decide(record, check.started_by)
        decide(record, ana, scores=OTHER)
    page, address = url("reviewer-activity", ana), f"{url('known-answer-check', check)}?reviewer=ana"
    assert address not in text(as_lea.get(page))
    known_answers.end(check_id=check.pk, actor=check.started_by)
    assert address in text(as_lea.get(page, {"run": str(check.run.pk)}))
    assert address not in text(as_lea.get(page, {"run": str(RunFactory.create().pk)}))
    assert "known-answers" not in text(as_lea.get(url("reviewer-activity", bo)))
