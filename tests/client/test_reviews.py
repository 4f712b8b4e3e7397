"""Reviewers and a lead at work with the client: escalations, disagreements and revisions."""

from collections.abc import Iterator

import pytest
from pytest_django.live_server_helper import LiveServer

from cognireview.client import Client, Conflict, NotFound, Retries
from reviews.accounts import api_tokens
from reviews.models import Run, User
from tests.support.lines import file_of, import_data, line

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def connect(person: User, live_server: LiveServer) -> Client:
    token = api_tokens.create(person=person, scopes=["read", "review"], actor=None).text
    return Client(live_server.url, token, retries=Retries(times=0))


@pytest.fixture
def clients(live_server: LiveServer, ana: User, bo: User, lea: User) -> Iterator[dict[str, Client]]:
    """Clients of two reviewers and a lead, and a run with two records."""
    import_data(file_of(line("a"), line("b")), run="nightly")
    people = {"ana": ana, "bo": bo, "lea": lea}
    opened = {name: connect(person, live_server) for name, person in people.items()}
    yield opened
    for client in opened.values():
        client.close()


def test_skipped_record_returns_to_the_queue(clients: dict[str, Client]) -> None:
    run = clients["ana"].run("nightly")
    first = run.claim()
    assert first
    run.skip(first.evaluation_id)
    second = run.claim()
    assert second
    assert second.evaluation_id != first.evaluation_id
    run.skip(second.evaluation_id)
    assert run.claim() is None
    run.unskip(first.evaluation_id)
    assert run.claim()
    run.unskip()


def test_lead_takes_over_a_claim(clients: dict[str, Client]) -> None:
    clients["ana"].run("nightly").claim_record("a")
    with pytest.raises(Conflict) as refused:
        clients["lea"].run("nightly").claim_record("a")
    assert "ana" in str(refused.value)
    taken = clients["lea"].run("nightly").claim_record("a", take_over=True)
    assert taken.claimed_by == "lea"


def test_question_is_asked_answered_and_withdrawn(clients: dict[str, Client]) -> None:
    ana, lea = clients["ana"], clients["lea"]
    for record in ("a", "b"):
        ana.run("nightly").escalate(record, kind="question", note="Is 2 right?")
    first, second = lea.escalations.all(run="nightly")
    assert (first.evaluation_id, first.raised_by, first.note) == ("a", "ana", "Is 2 right?")
    assert lea.escalations.resolve(first.id, "returned", answer="Yes.").outcome == "returned"
    ana.escalations.withdraw(second.id)
    assert {(one.answer, one.outcome) for one in ana.escalations.own()} == {
        ("Yes.", "returned"),
        ("", "withdrawn"),
    }
    with pytest.raises(NotFound):
        lea.escalations.resolve(0, "closed", answer="No.")


def test_disagreement_is_adjudicated(clients: dict[str, Client]) -> None:
    Run.objects.update(overlap=2, overlap_share=1)
    lead = clients["lea"].run("nightly")
    for name, score in (("ana", "Yes"), ("bo", "No")):
        run = clients[name].run("nightly")
        run.claim_record("a")
        saved = run.decide("a", {"Clarity": score})
    assert saved.outcome == "disagreement"
    [found] = clients["lea"].escalations.all("disagreement")
    assert found.disagreement
    assert {one.value for one in found.disagreement.criteria[0].scores} == {"Yes", "No"}
    lead.claim_record("a")
    assert [one.reviewer for one in lead.independent_reviews("a")] == ["ana", "bo"]
    assert lead.decide("a", {"Clarity": "No"}).outcome == "current"
    assert [*clients["lea"].escalations.all("disagreement")] == []


def test_lead_decides_before_all_reviews_are_in(clients: dict[str, Client]) -> None:
    Run.objects.update(overlap=2, overlap_share=1)
    run = clients["ana"].run("nightly")
    run.claim_record("a")
    assert run.decide("a", {"Clarity": "Yes"}).outcome == "independent review"
    [review] = clients["lea"].run("nightly").adjudicate("a")
    assert (review.reviewer, clients["lea"].run("nightly").decide("a", {"Clarity": "No"}).outcome) == (
        "ana",
        "current",
    )


def test_decision_is_revised_restored_and_reopened(clients: dict[str, Client]) -> None:
    run = clients["ana"].run("nightly")
    run.claim_record("a")
    run.decide("a", {"Clarity": "No"})
    assert run.revise("a", {"Clarity": "Yes"}, comments="It is.").decision.version == 2
    run.restore("a", 1, reason="It was right.")
    assert [(one.version, one.state) for one in run.decisions("a")] == [
        (3, "current"),
        (2, "superseded"),
        (1, "superseded"),
    ]
    assert run.reopen("a", reason="Look again.").status == "Needs Review"


def test_reviewer_adds_an_independent_review(clients: dict[str, Client]) -> None:
    run = clients["ana"].run("nightly")
    run.claim_record("a")
    run.decide("a", {"Clarity": "No"})
    with pytest.raises(Conflict):
        run.add_independent_review("a", {"Clarity": "No"})
