"""Methods of the client for people, tokens, settings, gold sets and the audit log, against the site."""

import dataclasses
import datetime as dt
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from cognireview.client import Client, Conflict, Forbidden, NotFound
from cognireview.types.people import Invitee
from reviews.models import StratumCount, User
from tests.support.factories import RunFactory
from tests.support.gold import CLARITY, rated_records
from tests.support.jobs import work
from tests.support.population import stratum
from tests.support.rubrics import rubric_data

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_people_are_found_and_changed(of_max: Client, ana: User) -> None:
    assert [one.username for one in of_max.people.all()] == ["ana", "max"]
    assert [one.username for one in of_max.people.all(role="admin", state="active")] == ["max"]
    assert of_max.people.change_role("ana", "lead").role == "lead"
    assert not of_max.people.deactivate("ana").is_active
    assert of_max.people.reactivate("ana").is_active
    assert of_max.people.get("ana").role == "lead"
    assert {one.person for one in of_max.people.workloads()} >= {"ana"}
    with pytest.raises(NotFound):
        of_max.people.get("nobody")


def test_invitations_are_renewed_and_withdrawn(of_max: Client) -> None:
    invited = of_max.invitations.invite(
        [Invitee(role="reviewer", name="Eva"), Invitee(role="lead", name="Bo")]
    )
    assert [(one.role, one.name) for one in invited] == [("reviewer", "Eva"), ("lead", "Bo")]
    renewed = of_max.invitations.renew(invited[0].id)
    assert renewed.url != invited[0].url
    of_max.invitations.withdraw(invited[1].id)
    assert [one.id for one in of_max.invitations.all()] == [renewed.id]


def test_token_creates_a_token_that_allows_less(of_max: Client, live_server: LiveServer) -> None:
    made = of_max.tokens.create("Reader", ["read"], days=2)
    assert {one.name for one in of_max.tokens.all()} >= {"Reader"}
    with Client(live_server.url, made.text) as reader:
        assert reader.tokens.own().scopes == ["read"]
        with pytest.raises(Forbidden):
            reader.run("nightly").claim()
    of_max.tokens.revoke(made.id)
    assert "Reader" not in {one.name for one in of_max.tokens.all()}


def test_settings_views_and_plan_of_a_run(of_max: Client, of_ana: Client) -> None:
    run = of_max.run("nightly")
    before = run.settings()
    queue = dataclasses.replace(before.queue, claim_minutes=5, due_on=dt.date(2030, 1, 31))
    assert run.set_queue(queue).queue == queue
    wanted = dataclasses.replace(before.sampling, overlap=2, overlap_share=0.5)
    assert run.set_sampling(wanted, seen=before.fingerprint).sampling == wanted
    with pytest.raises(Conflict):
        run.set_sampling(wanted, seen=before.fingerprint)
    view = run.save_view("Unclear", is_shared=True, status="waiting", claimed_by="ana")
    assert view.query == "status=waiting&claimed-by=ana"
    assert [one.name for one in of_ana.run("nightly").views()] == ["Unclear"]
    run.remove_view(view.id)
    assert [*run.views()] == []
    stratum(RunFactory.create(name="planned"), {"Pass": 1_000})
    StratumCount.objects.update(answered=1_000)
    planned = of_max.run("planned")
    assert planned.plan(target=0.1, aim="parts").aim == "parts"
    served = planned.serve_plan(target=0.1, model="o1").served
    assert served
    assert (served.target, served.filters) == (0.1, {"model": "o1"})
    assert planned.stop_plan().served is None


def test_gold_set_is_frozen_exported_and_imported(of_max: Client, ana: User, tmp_path: Path) -> None:
    rated_records(RunFactory.create(name="rated", rubric=rubric_data(CLARITY), blind_share=0), ana)
    run = of_max.run("rated")
    assert run.freeze_gold_set("gold").blind > 0
    assert of_max.gold_sets.export_to("gold", tmp_path / "gold.jsonl").size > 0
    assert of_max.gold_sets.import_file(tmp_path / "gold.jsonl", name="copy").is_imported
    assert of_max.gold_sets.rename("copy", "silver").name == "silver"
    assert run.measure_gold_set("silver").matched > 0
    of_max.gold_sets.delete("silver")
    assert [one.name for one in of_max.gold_sets.all()] == ["gold"]


def test_audit_log_is_read_from_a_position_and_checked(of_max: Client, tmp_path: Path) -> None:
    entries = [*of_max.audit.entries()]
    later = [*of_max.audit.entries(after=entries[0]["position"])]
    assert later == entries[1:]
    assert of_max.audit.export_to(tmp_path / "audit.jsonl", run="nightly").size > 0
    events = [*of_max.audit.events(run="nightly", since=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))]
    assert {one.run_name for one in events} == {"nightly"}
    assert of_max.audit.check_chain().running is not None
    work()
    last = of_max.audit.chain().last
    assert last
    assert (last.differences, last.error) == (0, "")
