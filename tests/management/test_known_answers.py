"""`manage.py known_answers`."""

import json

import pytest

from reviews.models import AuditEvent, KnownAnswerCheck, Run, User
from reviews.queue.members import configure_members
from tests.support.commands import Capture, manage
from tests.support.factories import RunFactory
from tests.support.work import decide, evaluations

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="algebra", overlap_share=1, overlap=2)


@pytest.mark.slow
def test_lead_starts_and_ends_a_check(run: Run, capfdbinary: Capture, ana: User, lea: User) -> None:
    [record] = evaluations(run, tasks=["1"])
    assert "No checks." in manage(capfdbinary, "known_answers", "algebra").err
    started = manage(capfdbinary, "known_answers", "algebra", "--start", "5", "--lead", "lea")
    assert (started.status, started.err) == (0, "Drew 1 record, which waits in the inbox of lea.\n")
    for person in (ana, lea):
        decide(record, person)
        record.refresh_from_db()
    [line] = manage(capfdbinary, "known_answers", "algebra").out.decode().splitlines()[1:]
    assert line.split()[:1] + line.split()[2:] == ["lea", "running", "1", "ana", "1", "1", "of", "1"]
    ended = manage(capfdbinary, "known_answers", "algebra", "--end", "--lead", "LEA", "--json")
    assert ended.err == "Decided 1 record. 0 stay in the queue.\n"
    [check] = json.loads(ended.out)
    assert check["ended_at"]
    assert (check["run"], check["started_by"], check["records"]) == ("algebra", "lea", 1)
    assert (check["reviewers"][0]["reviewer"], check["reviewers"][0]["same_verdict"]) == ("ana", 1)
    assert AuditEvent.objects.get(action="end known answers").actor == lea


def test_only_a_lead_who_sees_the_run_may_act(run: Run, capfdbinary: Capture, ana: User, lea: User) -> None:
    evaluations(run, tasks=["1"])
    start = ("known_answers", "algebra", "--start", "1")
    assert manage(capfdbinary, *start, "--lead", "ana").err == "ana needs the lead role."
    refused = manage(capfdbinary, "known_answers", "algebra", "--end", "--lead", "lea")
    assert (refused.status, refused.err) == (2, "No check is running.")
    configure_members(run_id=run.pk, actor=None, members=["ana"])
    assert manage(capfdbinary, *start, "--lead", "lea").err == "lea is no member of algebra."
    assert not KnownAnswerCheck.objects.exists()
