"""The pages of known answers, and that reviewers see no difference."""

import re
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from reviews.models import Evaluation, KnownAnswer, KnownAnswerCheck, Run, User
from reviews.review import known_answers
from tests.api.conftest import path_of, program_of
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


def test_record_tells_only_leads_who_may_see_its_check(
    as_lea: Client, as_max: Client, as_bo: Client, check: KnownAnswerCheck
) -> None:
    page = url("evaluation", Evaluation.objects.earliest("pk"))
    running = "Reviewers are compared with your review of this record."
    seen = [running in text(client.get(page)) for client in (as_lea, as_max, as_bo)]
    assert seen == [True, False, False]
    known_answers.end(check_id=check.pk, actor=check.started_by)
    ended = "lea compared reviewers on this record in a check that ended"
    seen = [ended in text(client.get(page)) for client in (as_lea, as_max, as_bo)]
    assert seen == [True, True, False]


def seen_by(person: User, record: Evaluation) -> list[str]:
    """Return the pages and API responses about a record and its run that a reviewer gets, without times."""
    client, program = Client(), program_of(person)
    client.force_login(person)
    pages = [client.get(url(name, record)) for name in ("evaluation", "record-history")]
    pages += [client.get(url(name, record.run)) for name in ("run", "review", "recent")]
    pages += [
        client.get(f"/search/?q={record.evaluation_id}"),
        client.get(url("run", record.run), {"q": record.task_id or ""}),
    ]
    run, key = f"runs/{record.run.name}", record.evaluation_id
    paths = ("", "/evaluations", f"/evaluations?q={key}", f"/decisions/{key}", f"/independent-reviews/{key}")
    refused = ("/independent-reviews", "/export", "/known-answers")
    pages += [
        program.get(path) for path in (path_of(record), *(f"{run}{path}" for path in (*paths, *refused)))
    ]
    assert {page.status_code for page in pages[-len(refused) :]} == {403}
    return [_without_times(page.content.decode()) for page in pages]


def _without_times(page: str) -> str:
    """Remove what differs between any two responses: times, tokens of forms, and keys of reviews."""
    page = re.sub("[A-Za-z0-9]{64}", "", page)
    page = re.sub(r'(?:nonce|data-row)="[^"]*"', "", page)
    return re.sub(r"[\d-]*[T ]?\d\d:\d\d[\d:.+Z]*", "", page)


@pytest.mark.parametrize("is_reviewed", [False, True])
def test_reviewer_sees_no_difference_to_other_records_that_wait(
    *, run: Run, is_reviewed: bool, ana: User, bo: User, lea: User
) -> None:
    record = Evaluation.objects.earliest("pk")

    def world(*others: User, count: int) -> list[str]:
        with transaction.atomic():
            if count:
                known_answers.start(run_id=run.pk, actor=lea, count=count)
            for person in (*others, *([ana] if is_reviewed else [])):
                decide(record, person)
            seen = seen_by(ana, record)
            transaction.set_rollback(True)
        return seen

    # Without a check, the record would be settled by its second review.
    ordinary = world(*([] if is_reviewed else [bo]), count=0)
    assert ("You submitted yours" in ordinary[0]) is is_reviewed
    for one, other in zip(world(bo, lea, count=2), ordinary, strict=True):
        assert one.splitlines() == other.splitlines()


def test_page_of_a_waiting_record_shows_no_reviewer(
    run: Run, check: KnownAnswerCheck, ana: User, bo: User, lea: User
) -> None:
    record = Evaluation.objects.earliest("pk")
    for person in (bo, lea, ana):
        decide(record, person)
    page = seen_by(ana, record)
    assert "1 of 2 independent reviews" in page[0]
    assert not re.search(r"\b(bo|lea)\b", page[0] + page[1])
