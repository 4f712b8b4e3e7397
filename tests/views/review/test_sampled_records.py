"""Pages of randomly sampled records look like those of flagged records until a decision."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Evaluation, Run, User
from reviews.queue import claims
from reviews.sampling import draws
from tests.support.lines import file_of, import_data, line
from tests.support.pages import text
from tests.support.work import agree

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

CALM = {"needs_human_review": False, "review_reasons": [], "human_review_status": "Not Required"}
HIDDEN = "The reason is shown after you decide (some records are random samples)."
REASON = "Final answer does not match."


@pytest.fixture
def run() -> Run:
    """A flagged record and a sampled one, otherwise identical."""
    run = Run.objects.create(name="evaluations", sample_share=1)
    import_data(file_of(line("record-1", task_id="1"), line("record-2", task_id="2", **CALM)))
    return run


@pytest.fixture
def flagged(run: Run) -> Evaluation:
    return Evaluation.objects.select_related("run").get(evaluation_id="record-1")


@pytest.fixture
def drawn(run: Run) -> Evaluation:
    return Evaluation.objects.select_related("run").get(evaluation_id="record-2")


def page_of(evaluation: Evaluation) -> str:
    return reverse("evaluation", args=[evaluation.pk])


def comparable(client: Client, evaluation: Evaluation) -> list[str]:
    """Return the tags of a record's page without unique values such as names, keys, tokens and times."""
    shown = text(client.get(page_of(evaluation)))
    tokens, moments = r"[A-Za-z0-9]{64}|[0-9a-f]{8}-[0-9a-f-]{27}", r"\d{4}-\d\d-\d\dT[\d:.]+|\d\d:\d\d"
    own = rf"record-\d|{tokens}|{moments}|(?<=nonce=\")[^\"]+|\b\d+\b"
    return re.sub(own, "", shown).split("<")


class TestScreen:
    @pytest.mark.slow
    def test_screen_is_the_same_for_flagged_and_sampled_records(
        self, as_ana: Client, ana: User, flagged: Evaluation, drawn: Evaluation
    ) -> None:
        for one in (flagged, drawn):
            claims.claim(evaluation_id=one.pk, reviewer=ana)
        assert comparable(as_ana, flagged) == comparable(as_ana, drawn)

    def test_screen_hides_why_a_record_is_in_the_queue(self, as_ana: Client, flagged: Evaluation) -> None:
        shown = text(as_ana.get(page_of(flagged)))
        assert HIDDEN in shown
        for word in (REASON, "needs_human_review", "review_reasons", reverse("line", args=[flagged.pk])):
            assert word not in shown

    def test_screen_of_decided_record_shows_why_it_was_in_the_queue(
        self, as_ana: Client, ana: User, flagged: Evaluation
    ) -> None:
        agree(flagged, ana)
        shown = text(as_ana.get(page_of(flagged)))
        assert HIDDEN not in shown
        for word in (REASON, "needs_human_review", reverse("line", args=[flagged.pk])):
            assert word in shown

    def test_screen_shows_flag_reason_in_run_without_samples(
        self, as_ana: Client, run: Run, flagged: Evaluation
    ) -> None:
        run.sample_share = 0
        run.save()
        draws.draw_sample(run_id=run.pk)
        assert REASON in text(as_ana.get(page_of(flagged)))

    def test_line_download_is_denied_in_the_queue(self, as_ana: Client, drawn: Evaluation, ana: User) -> None:
        place = reverse("line", args=[drawn.pk])
        response = as_ana.get(place)
        assert response.status_code == 403
        assert "You can download it once the record is decided" in text(response)
        agree(drawn, ana)
        assert as_ana.get(place).status_code == 200


class TestList:
    def test_list_hides_why_a_record_is_in_the_queue(
        self, as_ana: Client, run: Run, flagged: Evaluation, ana: User
    ) -> None:
        place = reverse("run", args=[run.pk])
        assert text(as_ana.get(place)).count("shown after you decide") == 2
        agree(flagged, ana)
        shown = text(as_ana.get(place, {"status": "done"}))
        assert "shown after you decide" not in shown
        assert f"<span>{REASON}</span>" in shown


class TestConfirmedRecord:
    @pytest.fixture(autouse=True)
    def _confirmed(self, drawn: Evaluation, ana: User) -> None:
        agree(drawn, ana, comments="Checked by hand.")

    def test_confirmed_record_names_its_reviewer(self, as_ana: Client, drawn: Evaluation) -> None:
        shown = text(as_ana.get(page_of(drawn)))
        assert "Random sample, confirmed by ana" in shown
        assert "Current decision" in shown
        assert reverse("revise", args=[drawn.pk]) in shown

    def test_confirmed_record_can_be_revised(self, as_ana: Client, drawn: Evaluation) -> None:
        place = reverse("revise", args=[drawn.pk])
        form = as_ana.get(place).context["form"]
        assert form.source_title == "The current decision"
        assert form.comment == "Checked by hand."
        assert [row.value for row in form.rows] == ["Yes"]

    @pytest.mark.slow
    def test_confirmed_record_is_in_recent_work(self, as_ana: Client, run: Run, drawn: Evaluation) -> None:
        assert "Current" in text(as_ana.get(reverse("recent", args=[run.pk])))

    @pytest.mark.slow
    def test_confirmed_record_can_be_reopened(self, as_ana: Client, drawn: Evaluation, run: Run) -> None:
        response = as_ana.post(reverse("reopen", args=[drawn.pk]), {"reason": "Look again."}, follow=True)
        assert response.status_code == 200
        assert "Review this" in text(response)
