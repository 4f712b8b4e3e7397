"""The review screen of a blind record hides the output of the judge."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Draft, Escalation, Evaluation, Review, Run, Skip, User
from reviews.queue import claims
from reviews.review import escalations
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric
from tests.support.blind_pages import entered, make
from tests.support.factories import RunFactory
from tests.support.pages import HTMX, filled_in, text, url
from tests.support.rubrics import rubric_data

pytestmark = pytest.mark.django_db

# Texts that only the judge writes. None of them may reach a reviewer before they lock in scores.
TELLING = (
    "Praises the steps.",
    "Ends with the wrong sign.",
    "Raw words of the judge",
    "The verdict is thin.",
    "JSON was broken",
    "Mismatch",
    "does not match",
    "Excellent",
    "prompts/secret.txt",
    ">judge<",
    "Fail",
)


@pytest.fixture
def run(db: None) -> Run:
    criteria = rubric_data("clarity", "depth", "rigour")
    return RunFactory.create(name="Algebra", blind_share=1, rubric=criteria)


@pytest.fixture
def record(run: Run) -> Evaluation:
    return make(run)


def tells_nothing(response: Any) -> None:
    page = response.content.decode()
    assert [words for words in TELLING if words in page] == []
    assert "-score" not in "".join(re.findall(r"<input[^>]* checked", page))


class TestHiddenScores:
    def test_blind_screen_shows_answers_and_criteria_and_explains_itself(
        self, as_ana: Client, claimed: Evaluation
    ) -> None:
        response = as_ana.get(url("evaluation", claimed))
        tells_nothing(response)
        page = text(response)
        for shown in (
            "Blind review: the judge's scores are hidden until you lock in yours.",
            "Add six.",
            '<div class="side">',
            "Clarity",
            "Depth",
            "Rigour",
            "Style",
            "4 scores missing",
            f'action="{url("lock-in", claimed)}"',
        ):
            assert shown in page
        assert response.context["evidence"].panes == ["compare", "model", "ideal"]

    def test_blind_screen_has_no_links_to_the_judges_scores(
        self, as_ana: Client, claimed: Evaluation
    ) -> None:
        page = text(as_ana.get(url("evaluation", claimed)))
        assert url("line", claimed) not in page
        assert url("record-history", claimed) not in page
        assert 'value="raw"' not in page
        assert "Full record" not in page

    @pytest.mark.parametrize("name", ["line", "record-history"])
    def test_revealing_pages_of_a_blind_record_are_denied(
        self, as_ana: Client, claimed: Evaluation, name: str
    ) -> None:
        response = as_ana.get(url(name, claimed))
        assert response.status_code == 403
        assert "This record is scored blind" in text(response)
        tells_nothing(response)

    def test_blind_record_hides_scores_from_readers_without_claim(
        self, as_bo: Client, as_lea: Client, claimed: Evaluation
    ) -> None:
        for response in (as_bo.get(url("evaluation", claimed)), as_lea.get(url("evaluation", claimed))):
            tells_nothing(response)
            assert "4 criteria, scored before the judge's scores are shown." in text(response)

    @pytest.mark.slow
    def test_responses_to_forms_of_a_blind_record_hide_scores(
        self, as_ana: Client, as_bo: Client, claimed: Evaluation, run: Run
    ) -> None:
        for name in ("submit", "lock-in", "draft", "claim"):
            tells_nothing(as_ana.post(url(name, claimed), {"action": "discard"}, headers=HTMX))
        for name in ("submit", "lock-in"):
            tells_nothing(as_ana.post(url(name, claimed), {"action": "add"}, headers=HTMX))
            tells_nothing(as_ana.post(url(name, claimed), {}, headers=HTMX))
            tells_nothing(as_bo.post(url(name, claimed), {}, headers=HTMX))
        for name in ("claim", "skip"):
            response = as_bo.post(url(name, claimed), headers=HTMX)
            assert response.status_code == 409
            tells_nothing(response)

    def test_prefetched_blind_record_hides_scores(
        self, as_ana: Client, run: Run, claimed: Evaluation
    ) -> None:
        make(run, model_id="o3")
        response = as_ana.post(url("prefetch", run), {"after": claimed.pk}, headers=HTMX)
        assert "Task 7 · o3" in text(response)
        tells_nothing(response)

    def test_siblings_of_a_blind_record_hide_its_scores(
        self, as_ana: Client, run: Run, claimed: Evaluation
    ) -> None:
        plain = make(run, model_id="o3", structured_model_response=None)
        page = as_ana.get(url("evaluation", plain))
        siblings = page.context["evidence"].siblings.records
        judged = {sibling.model: sibling.judged for sibling in siblings}
        assert judged == {"o1": "", "o3": "Fail"}
        assert "Raw words of the judge" in text(page)

    @pytest.mark.slow
    def test_blind_record_can_be_skipped_and_escalated(
        self, as_ana: Client, run: Run, claimed: Evaluation
    ) -> None:
        other = make(run, task_id="8")
        response = as_ana.post(url("skip", claimed), headers=HTMX)
        assert "Task 8" in text(response)
        tells_nothing(response)
        assert Skip.objects.get().evaluation == claimed
        response = as_ana.post(url("escalate", other), {"kind": "question", "note": "Why?"}, headers=HTMX)
        assert response.status_code == 200
        tells_nothing(response)
        assert Escalation.objects.get().evaluation == other

    @pytest.mark.slow
    def test_lead_reviews_an_escalated_blind_record_blind(
        self, as_lea: Client, lea: User, ana: User, claimed: Evaluation
    ) -> None:
        escalations.escalate(evaluation_id=claimed.pk, reviewer=ana, kind="question", reason="", note="Why?")
        claims.claim(evaluation_id=claimed.pk, reviewer=lea)
        response = as_lea.get(url("evaluation", claimed))
        tells_nothing(response)
        assert "Why?" in text(response)
        posted = entered(response, "Yes", "Yes", "Yes", "Yes")
        assert "The judge scored" in text(as_lea.post(url("lock-in", claimed), posted, headers=HTMX))

    @pytest.mark.slow
    def test_blind_draft_survives_a_reload(self, as_ana: Client, claimed: Evaluation) -> None:
        posted = entered(as_ana.get(url("evaluation", claimed)), "No", comments="Hm.") | {"revision": "1"}
        assert as_ana.post(url("draft", claimed), posted, headers=HTMX).status_code == 204
        page = as_ana.get(url("evaluation", claimed))
        assert page.context["form"].is_blind
        assert page.context["form"].rows[0].value == "No"
        assert "Hm." in text(page)
        assert "3 scores missing" in text(page)

    @pytest.mark.slow
    def test_blind_draft_hides_scores(self, as_ana: Client, as_bo: Client, claimed: Evaluation) -> None:
        for client, status in ((as_bo, 409), (as_ana, 204)):
            response = client.post(url("draft", claimed), {"comments": "Hm.", "revision": "1"}, headers=HTMX)
            assert response.status_code == status
            tells_nothing(response)
            page = client.get(url("evaluation", claimed))
            tells_nothing(page)
            for name in ("line", "record-history"):
                assert client.get(url(name, claimed)).status_code == 403

    @pytest.mark.slow
    def test_form_opened_before_blind_review_is_rejected(
        self, as_ana: Client, run: Run, claimed: Evaluation
    ) -> None:
        Run.objects.update(blind_share=0)
        posted = filled_in(as_ana.get(url("evaluation", claimed))) | {"criteria-2-score": "Yes"}
        Run.objects.update(blind_share=1)
        response = as_ana.post(url("submit", claimed), posted)
        assert response.status_code == 409
        assert "lock in your scores first" in text(response)
        assert 'id="errors-3"' in text(response), "the criterion without a score"
        assert "Raw words of the judge" not in text(response)
        assert not Review.objects.exists()

    @pytest.mark.slow
    @pytest.mark.parametrize(("version", "action"), [("1", ""), ("9", ""), ("1", "other")])
    def test_submit_on_blind_record_does_not_confirm_guesses(
        self, as_ana: Client, claimed: Evaluation, version: str, action: str
    ) -> None:
        seen = read_proposals(claimed, run_rubric(claimed.run))
        answers = set()
        for fingerprint in ("0" * 12, seen[0].fingerprint):
            for score in ("Yes", "No"):
                posted = entered(as_ana.get(url("evaluation", claimed)), score, "No", "No", "No")
                posted |= {"version": version, "criteria-0-seen": fingerprint, "action": action}
                response = as_ana.post(url("submit", claimed), posted, headers=HTMX)
                assert "Raw words of the judge" not in text(response)
                answers.add((response.status_code, response.context["problem"]))
        assert len(answers) == 1

    @pytest.mark.slow
    def test_lock_in_on_outdated_record_hides_changes(self, as_ana: Client, claimed: Evaluation) -> None:
        seen = read_proposals(claimed, run_rubric(claimed.run))
        problems = set()
        for fingerprint in ("0" * 12, seen[0].fingerprint):
            posted = entered(as_ana.get(url("evaluation", claimed)), "No", "No", "No", "No")
            posted |= {"version": "9", "criteria-0-seen": fingerprint}
            response = as_ana.post(url("lock-in", claimed), posted, headers=HTMX)
            assert response.status_code == 409
            problems.add(response.context["problem"])
        assert len(problems) == 1
        assert "criteri" not in problems.pop()


def test_record_without_answer_is_not_reviewed_blind(as_ana: Client, run: Run, ana: User) -> None:
    record = make(run, structured_model_response=None)
    claims.claim(evaluation_id=record.pk, reviewer=ana)
    response = as_ana.get(url("evaluation", record))
    assert "Blind:" not in text(response)
    assert f'action="{reverse("submit", args=[record.pk])}"' in text(response)
    assert not Draft.objects.exists()
