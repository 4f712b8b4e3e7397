"""Files and records sent by the client, also over a connection that is cut."""

import json

import pytest
from pytest_django.live_server_helper import LiveServer

from cognireview.client import Client, Retries
from reviews.accounts import api_tokens
from reviews.models import Import, User
from tests.support.cut_connection import cutting_proxy
from tests.support.lines import file_of, line

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_records_are_imported_from_memory(client: Client) -> None:
    imported = client.run("new").import_records([json.loads(line("é"))], file_name="memory.jsonl")
    assert (imported.details.file_name, imported.details.state) == ("memory.jsonl", "queued")
    assert client.get_import(imported.id).refresh().run == "new"


def test_upload_over_a_connection_that_is_cut_twice_arrives_once(live_server: LiveServer, max: User) -> None:
    data = file_of(*(line(f"r{number}") for number in range(3000)))
    token = api_tokens.create(person=max, scopes=["import"], actor=None).text
    retries = Retries(first_pause=0.01)
    with (
        cutting_proxy(live_server.url, cuts=2, after=500_000) as (address, sent),
        Client(address, token, retries=retries) as client,
    ):
        imported = client.run("far").import_file(data)
    assert imported.details.size == len(data)
    assert (len(sent), Import.objects.count()) == (3, 1)
    assert sent[2] > len(data)


def test_large_file_over_a_cut_connection_continues_where_it_stopped(
    live_server: LiveServer, max: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cognireview.client.areas.run_files.RESUMABLE_BYTES", 1_000_000)
    data = file_of(*(line(str(number), raw_judge_output="x" * 100_000) for number in range(30)))
    token = api_tokens.create(person=max, scopes=["import"], actor=None).text
    with (
        cutting_proxy(live_server.url, cuts=2, after=1_200_000) as (address, sent),
        Client(address, token, retries=Retries(first_pause=0.1)) as client,
    ):
        imported = client.run("far").import_file(data, file_name="far.jsonl")
    assert (imported.details.size, imported.details.file_name) == (len(data), "far.jsonl")
    assert Import.objects.count() == 1
    assert len(sent) >= 3
    assert sent[-1] < len(data)
