"""Reviewers see no difference between known answers and other records."""

import re

import pytest
from django.db import transaction
from django.test import Client

from reviews.models import Evaluation, KnownAnswerCheck, Run, User
from reviews.review import known_answers
from tests.support.api_requests import path_of, program_of
from tests.support.factories import RunFactory
from tests.support.pages import text, url
from tests.support.work import decide, evaluations

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def run() -> Run:
    """A run with two records for two people each."""
    made = RunFactory.create(name="Algebra", overlap_share=1, overlap=2)
    evaluations(made, tasks=["1", "2"])
    return made


@pytest.fixture
def check(run: Run, lea: User) -> KnownAnswerCheck:
    return known_answers.start(run_id=run.pk, actor=lea, count=2)


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
    as_ana: Client, check: KnownAnswerCheck, ana: User, bo: User, lea: User
) -> None:
    record = Evaluation.objects.earliest("pk")
    for person in (bo, lea, ana):
        decide(record, person)
    names = ("evaluation", "record-history")
    page, history = (_without_times(as_ana.get(url(name, record)).text) for name in names)
    assert "1 of 2 independent reviews" in page
    assert not re.search(r"\b(bo|lea)\b", page + history)
