"""The page that reads a run again with another mapping."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Evaluation, Run, User
from reviews.records.mapping import mapping_from_json, parse_mapping
from tests.support.pages import text
from tests.support.rereads import FIRST, bring, how, record
from tests.support.work import decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def run() -> Run:
    bring(FIRST, "first.jsonl", how())
    return Run.objects.get()


def page(client: Client, run: Run) -> Any:
    return client.get(reverse("run-mapping", args=[run.pk]))


def send(client: Client, run: Run, mapping: str, **more: str) -> Any:
    return client.post(reverse("run-mapping", args=[run.pk]), {"mapping": mapping, **more}, follow=True)


def test_page_begins_with_the_mapping_of_the_run(run: Run, as_max: Client) -> None:
    shown = page(as_max, run).context["form"]["mapping"].value()
    assert parse_mapping(shown.encode()) == mapping_from_json(run.mapping or {})


def test_preview_shows_the_result_and_changes_nothing(run: Run, as_max: Client) -> None:
    mapping = page(as_max, run).context["form"]["mapping"].value()
    changed = mapping.replace('"key"', '"alt"')
    shown = text(send(as_max, run, changed, trial="1"))
    assert "3 records with this mapping." in shown
    assert "0 new, 3 with another id. Nothing has changed yet." in shown
    assert record("a")
    assert "The files were read again: 3 records." in text(send(as_max, run, changed))
    assert record("other/a")


def test_lines_that_prevent_a_reread_are_listed(run: Run, as_max: Client) -> None:
    mapping = page(as_max, run).context["form"]["mapping"].value()
    answer = send(as_max, run, mapping.replace('"key"', '"nothing"'))
    assert answer.status_code == 422
    assert "With this mapping, 3 accepted lines would be rejected. Nothing was changed." in text(answer)
    assert "first.jsonl, line 1: evaluation_id is missing" in text(answer)
    assert Evaluation.objects.count() == 3


def test_decided_run_and_invalid_mapping_are_refused(run: Run, as_max: Client, ana: User) -> None:
    assert "mapping: is not TOML" in text(send(as_max, run, "[fields"))
    decide(record("a"), ana)
    answer = send(as_max, run, page(as_max, run).context["form"]["mapping"].value())
    assert (answer.status_code, "This run has decisions." in text(answer)) == (422, True)


def test_settings_link_to_the_mapping_for_admins(run: Run, as_max: Client, as_lea: Client) -> None:
    settings = reverse("run-settings", args=[run.pk])
    link = reverse("run-mapping", args=[run.pk])
    assert (link in text(as_max.get(settings)), link in text(as_lea.get(settings))) == (True, False)
