"""Each method of the client against the site, as far as docs/client.md does not use it."""

import pytest
from django.conf import LazySettings
from pytest_django.live_server_helper import LiveServer

from cognireview.client import Client, Conflict, Forbidden, Invalid, NotFound, Unauthenticated, transport
from reviews.models import Run, User, Webhook
from tests.support.connected_clients import ClientRun, connect
from tests.support.factories import RunFactory
from tests.support.lines import file_of, import_data, line

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_record_is_claimed_released_decided_and_undone(run: ClientRun) -> None:
    claimed = run.claim(model=["openai/o4-mini"])
    assert claimed
    assert claimed.claimed_by == "max"
    run.release(claimed.evaluation_id)
    assert run.record(claimed.evaluation_id).claimed_by is None
    saved = run.decide("b/c", {"Clarity": {"score": "No", "justification": "Wrong."}}, key="one")
    assert run.decide("b/c", {"Clarity": {"score": "No", "justification": "Wrong."}}, key="one") == saved
    decision = run.record("b/c").decision
    assert decision
    assert decision.corrected_scores
    assert decision.corrected_scores["Clarity"]["justification"] == "Wrong."
    with pytest.raises(Conflict):
        run.decide("a", {"Clarity": "No"}, version=99)
    undone = run.undo()
    assert undone
    assert (undone.undone.action, undone.undone.evaluation_id) == ("submit", "b/c")


def test_nothing_is_left_to_claim_or_undo(client: Client) -> None:
    RunFactory.create(name="quiet")
    assert client.run("quiet").claim() is None
    assert client.run("quiet").undo() is None


def test_blind_scores_are_locked_in(run: ClientRun) -> None:
    Run.objects.update(blind_share=1)
    claimed = run.claim()
    assert claimed
    assert (claimed.is_blind, claimed.criteria[0].score) == (True, None)
    shown = run.lock_in(claimed.evaluation_id, {"Clarity": "No"}, version=claimed.version)
    assert (shown.is_blind, shown.criteria[0].score) == (False, "Yes")


def test_pages_of_records_and_filters_are_followed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "PAGE_SIZE", 50)
    import_data(file_of(*(line(f"r{number:03}") for number in range(120))), run="long")
    run = client.run("long")
    found = [record.evaluation_id for record in run.records()]
    assert (len(found), len({*found})) == (120, 120)
    assert [*run.records(status="done")] == []
    assert [*run.records(sort="newest", claimed_by="max")] == []
    with pytest.raises(Invalid):
        next(run.records(colour="red"))


def test_audit_events_are_found(client: Client, run: ClientRun) -> None:
    run.set_guideline("Be strict.")
    [event] = client.audit.events(run="nightly", action="write guideline")
    assert event.action == "write guideline"


def test_operation_without_a_method_is_called(client: Client, run: ClientRun) -> None:
    found = client.request("GET", "/runs/{run}/plan", query={"target": 0.05}, run="nightly")
    assert found["run"] == "nightly"
    assert (
        client.request("PUT", "/runs/{run}/members", json={"members": None}, run="nightly")["members"] is None
    )


def test_each_refusal_raises_its_own_error_class(
    live_server: LiveServer, client: Client, run: ClientRun, ana: User
) -> None:
    with connect(ana, live_server, "read") as of_ana, pytest.raises(Forbidden):
        of_ana.run("nightly").claim()
    with Client(live_server.url, "cr_none") as unknown, pytest.raises(Unauthenticated):
        next(unknown.runs())
    with pytest.raises(NotFound) as missing:
        client.run("none").details()
    assert missing.value.title == "Not found"


def test_webhook_is_added_tested_and_removed(
    client: Client, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    monkeypatch.setattr(transport, "PAGE_SIZE", 1)
    added = [client.webhooks.add(f"https://hooks.example.org/{name}") for name in "ab"]
    assert all(one.secret for one in added)
    assert [one.id for one in client.webhooks.all()] == [added[1].id, added[0].id]
    sent = [client.webhooks.send_test_message(added[0].id) for _ in range(2)]
    assert [*client.webhooks.deliveries(added[0].id)] == [sent[1], sent[0]]
    client.webhooks.remove(added[1].id)
    assert [one.url for one in client.webhooks.all()] == ["https://hooks.example.org/a"]


def test_client_reads_jobs_and_the_state_of_the_site(client: Client, max: User) -> None:
    webhook = Webhook.objects.create(url="https://hooks.example.org/", created_by=max)
    sent = client.webhooks.send_test_message(webhook.pk)
    assert [one.id for one in client.jobs.all("delivery")] == [sent.id]
    assert list(client.jobs.all("delivery", state="failed")) == []
    for change in (client.jobs.retry, client.jobs.cancel):
        with pytest.raises((Conflict, NotFound)):
            change("export", 99)
    assert {one.name for one in client.system().checks}
