"""The pages of gold sets."""

import csv
import io

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from reviews.judge.gold import measurement
from reviews.judge.gold.gold_sets import freeze
from reviews.judge.scope import JudgeScope
from reviews.models import AuditEvent, Evaluation, GoldSet, Run, User
from tests.support.factories import RunFactory
from tests.support.gold import CLARITY, RATED, judged, rated_records
from tests.support.pages import text
from tests.support.rubrics import rubric_data

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def run(ana: User) -> Run:
    made = RunFactory.create(name="monday", rubric=rubric_data(CLARITY), blind_share=0)
    rated_records(made, ana)
    return made


@pytest.fixture
def other() -> Run:
    return RunFactory.create(name="tuesday", rubric=rubric_data(CLARITY), blind_share=0)


@pytest.fixture
def gold(run: Run, lea: User) -> GoldSet:
    return freeze(scope=JudgeScope(run), name="algebra", actor=lea).gold_set


@pytest.fixture
def lead(client: Client, lea: User) -> Client:
    client.force_login(lea)
    return client


def test_lead_freezes_the_filtered_decisions_of_a_run(run: Run, lead: Client) -> None:
    address = reverse("judge-gold", args=[run.pk], query={"task": "0"})
    assert "No gold sets yet" in text(lead.get(address))
    refused = lead.post(address, {"name": "a/b"})
    assert (refused.status_code, GoldSet.objects.count()) == (422, 0)
    shown = text(lead.post(address, {"name": "algebra"}, follow=True))
    assert "Froze 1 blind rating and 0 adjudicated decisions." in shown
    assert "The judge is right on 100%" in shown
    assert GoldSet.objects.get().filters == {"task": "0"}


def test_page_measures_another_run_and_leads_to_the_records(other: Run, gold: GoldSet, lead: Client) -> None:
    judged(other, ["Pass"] * len(RATED), judge_llm_model="judge-2")
    Evaluation.objects.filter(run=other).update(human_review_status="Not Required")
    shown = lead.get(reverse("judge-gold", args=[other.pk], query={"set": gold.name}))
    assert "The judge is right on 58%" in text(shown)
    matrix = shown.context["sections"][1].data[0]
    wrong = matrix.lines[0].crossings[2].cell
    assert (wrong.text, matrix.n) == ("5", 12)
    listed = lead.get(wrong.url)
    assert len(listed.context["table"].rows) == 5
    assert "Fail" in text(listed)
    rows = [*csv.DictReader(io.StringIO(lead.get(listed.context["csv_url"]).getvalue().decode()))]
    assert {(row["judge"], row["human"], row["reviewer"]) for row in rows} == {("Pass", "Fail", "ana")}
    for query in ({"set": "?"}, {"set": gold.name}, {"set": "\0", "basis": "blind"}):
        assert lead.get(reverse("judge-gold-records", args=[other.pk], query=query)).status_code == 404


def test_set_is_listed_renamed_exported_imported_and_deleted(gold: GoldSet, lead: Client) -> None:
    place = reverse("gold-set", args=[gold.pk])
    assert "12 ratings of the run monday" in text(lead.get(reverse("gold-sets")))
    assert lead.post(place, {"name": ""}).status_code == 422
    assert "Renamed the gold set." in text(lead.post(place, {"name": "geometry"}, follow=True))
    answer = lead.post(reverse("export-gold-set", args=[gold.pk]))
    exported = answer.getvalue()
    assert answer["Content-Disposition"] == 'attachment; filename="geometry-gold-set.jsonl"'
    again = {"file": SimpleUploadedFile("set.jsonl", exported)}
    taken = lead.post(reverse("gold-sets"), again)
    assert taken.status_code == 422
    assert "There is another gold set named" in text(taken)
    file = SimpleUploadedFile("set.jsonl", exported.replace(b'"raters":1', b'"raters":0', 1))
    broken = {"file": file, "name": "broken"}
    assert "Line 2: “raters” must be at least 1." in text(lead.post(reverse("gold-sets"), broken))
    assert "Deleted geometry." in text(lead.post(reverse("delete-gold-set", args=[gold.pk]), follow=True))
    mine = {"file": SimpleUploadedFile("set.jsonl", exported), "name": "mine"}
    shown = text(lead.post(reverse("gold-sets"), mine, follow=True))
    assert "Imported mine." in shown
    assert GoldSet.objects.get().ratings.count() == 12
    assert AuditEvent.objects.filter(action="export gold set", actor__username="lea").count() == 1


def test_set_of_a_hidden_run_is_on_no_page(run: Run, other: Run, gold: GoldSet, lead: Client) -> None:
    judged(other, ["Pass"])
    Run.objects.filter(pk=run.pk).update(is_restricted=True)
    assert gold.name not in text(lead.get(reverse("gold-sets")))
    shown = lead.get(reverse("judge-gold", args=[other.pk], query={"set": gold.name}))
    assert "Choose a gold set of the list." in text(shown)
    query = {"set": gold.name, "basis": "blind", "judge_said": "*", "human_said": "*"}
    assert lead.get(reverse("judge-gold-records", args=[other.pk], query=query)).status_code == 404
    assert lead.get(reverse("gold-set", args=[gold.pk])).status_code == 404


def test_page_leaves_out_criteria_that_take_too_long(
    run: Run, gold: GoldSet, lead: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = reverse("judge-gold", args=[run.pk], query={"set": gold.name})
    too_slow = "DO $$ BEGIN RAISE query_canceled; END $$"
    monkeypatch.setattr(measurement, "_CRITERIA", too_slow)
    shown = lead.get(address)
    assert "The judge is right on 67%" in text(shown)
    assert "Criteria take too long on a page." in text(shown)
    monkeypatch.setattr(measurement, "_VERDICTS", too_slow)
    assert "Run manage.py gold_sets measure instead." in text(lead.get(address))
