"""The review screen of a blind record hides the judge's output until the reviewer locks in scores."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import BlindScores, Draft, Escalation, Evaluation, Review, Run, Skip, User
from reviews.queue import claims
from reviews.review import escalations
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import HTMX, filled_in, text, url
from tests.support.rubrics import rubric_data
from tests.support.work import decide, end_claim

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
SCORES = {
    "clarity": {"score": "Yes", "justification": "Praises the steps."},
    "depth": {"score": "No", "justification": "Ends with the wrong sign."},
    "style": {"score": "Excellent", "justification": ""},
}


@pytest.fixture
def run(db: None) -> Run:
    criteria = rubric_data("clarity", "depth", "rigour")
    return RunFactory.create(name="Algebra", blind_share=1, rubric=criteria)


def make(run: Run, **other: Any) -> Evaluation:
    values: dict[str, Any] = {
        "task_id": "7",
        "model_id": "o1",
        "parsed_rubric_scores": SCORES,
        "aggregated_score": "Fail",
        "judge_prompt_template_path": "prompts/secret.txt",
        "raw_judge_output": {"raw_content": "Raw words of the judge"},
        "review_reasons": ["The verdict is thin."],
        "parsing_error": "JSON was broken",
        "structured_model_response": {"response": {"steps": ["Add six."], "final_answer": "54"}},
        "structured_ideal_response": {"response": {"final_answer": "60"}},
        "verification_message": "Verification (String): Mismatch (Extracted: '54', Correct: '60').",
    }
    return EvaluationFactory.create(run=run, **(values | other))


@pytest.fixture
def record(run: Run) -> Evaluation:
    return make(run)


def entered(page: Any, *scores: str, **changes: Any) -> dict[str, str]:
    """Return the fields that a browser posts from the form on a page, with the given scores."""
    posted = filled_in(page) | {"active_ms": "4000"}
    posted |= {f"criteria-{number}-score": score for number, score in enumerate(scores)}
    return posted | {key.replace("__", "-"): value for key, value in changes.items()}


@pytest.fixture
def lock_in(as_ana: Client, claimed: Evaluation) -> Callable[..., Any]:
    """Lock in scores as ana, by htmx or without the script."""

    def lock_in(*scores: str, htmx: bool = True, **changes: Any) -> Any:
        posted = entered(as_ana.get(url("evaluation", claimed)), *scores, **changes)
        return as_ana.post(url("lock-in", claimed), posted, headers=HTMX if htmx else {})

    return lock_in


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


class TestLockIn:
    def test_lock_in_shows_the_judges_scores_next_to_own(self, lock_in: Callable[..., Any]) -> None:
        response = lock_in("Yes", "Yes", "No", "No", comments="Hm.")
        page = text(response)
        assert response.status_code == 200
        assert "Your scores are locked in. The judge scored 2 of 3 criteria differently." in page
        assert "Your scores vs the judge&#x27;s" in page
        assert "No → Yes" in page
        assert "Excellent → No" in page
        assert "Ends with the wrong sign." in page
        assert "Raw words of the judge" in page
        assert "Blind:" not in page
        assert "Hm." in page
        form = response.context["form"]
        assert [row.value for row in form.rows] == ["Yes", "Yes", "No", "No"]
        assert {option.choice.value for row in form.rows for option in row.options if option.own} == {
            "Yes",
            "No",
        }

    def test_agreement_after_lock_in_needs_no_cause(
        self, lock_in: Callable[..., Any], claimed: Evaluation
    ) -> None:
        Evaluation.objects.update(parsed_rubric_scores={"clarity": SCORES["clarity"]})
        Run.objects.update(rubric={})
        response = lock_in("Yes")
        page = text(response)
        assert "The judge scored the same on 1 criterion." in page
        assert "Agree &amp; next" in page
        assert response.context["form"].changes == 0

    def test_lock_in_saves_scores_and_time(self, lock_in: Callable[..., Any]) -> None:
        lock_in("Yes", "Partial", "No", "No")
        given = BlindScores.objects.get()
        assert given.scores == {"clarity": "Yes", "depth": "Partial", "rigour": "No", "style": "No"}
        assert given.active_ms == 4_000

    def test_incomplete_lock_in_is_rejected_and_reveals_nothing(
        self, lock_in: Callable[..., Any], as_ana: Client, claimed: Evaluation
    ) -> None:
        response = lock_in("Yes", "Yes", "No", comments="Hm.")
        assert response.status_code == 422
        assert "Nothing is submitted yet: 1 criterion needs your attention." in text(response)
        assert "Choose a score." in text(response)
        assert "Hm." in text(response)
        assert not BlindScores.objects.exists()
        assert "Raw words of the judge" not in text(response)

    def test_lock_in_can_exclude_and_add_criteria(self, lock_in: Callable[..., Any]) -> None:
        added = {"criteria__4__name": "beauty", "criteria__4__score": "Yes", "criteria__4__justification": ""}
        response = lock_in("Yes", "No", "No", criteria__3__removed="yes", **added)
        assert BlindScores.objects.get().scores == {
            "clarity": "Yes",
            "depth": "No",
            "rigour": "No",
            "beauty": "Yes",
        }
        rows = {row.typed_name: row for row in response.context["form"].rows}
        assert rows["style"].is_removed
        assert rows["beauty"].value == "Yes"

    @pytest.mark.slow
    def test_lock_in_without_script_redirects_to_the_record(
        self, lock_in: Callable[..., Any], as_ana: Client, claimed: Evaluation
    ) -> None:
        response = lock_in("Yes", "Yes", "No", "No", htmx=False, comments="Hm.")
        assert (response.status_code, response["Location"]) == (303, url("evaluation", claimed))
        page = as_ana.get(response["Location"])
        assert "The judge scored 2 of 3 criteria differently." in text(page)
        assert "Hm." in text(page)
        assert [row.value for row in page.context["form"].rows] == ["Yes", "Yes", "No", "No"]

    @pytest.mark.slow
    def test_locked_in_scores_survive_reload_and_discarded_draft(
        self, lock_in: Callable[..., Any], as_ana: Client, claimed: Evaluation
    ) -> None:
        lock_in("Yes", "Yes", "No", "No", criteria__1__justification="The sign is right.")
        page = as_ana.get(url("evaluation", claimed))
        rows = page.context["form"].rows
        assert [row.reason for row in rows] == ["", "The sign is right.", "", ""]
        assert filled_in(page)["criteria-1-score"] == "Yes"
        assert 'name="active_ms" value="4000"' in text(page)
        as_ana.post(url("draft", claimed), {"action": "discard"})
        page = as_ana.get(url("evaluation", claimed))
        rows = page.context["form"].rows
        assert [row.value for row in rows] == ["Yes", "Yes", "No", "No"]
        assert [row.reason for row in rows] == [""] * 4

    @pytest.mark.slow
    def test_repeated_lock_in_shows_the_same_screen(
        self, lock_in: Callable[..., Any], as_ana: Client, claimed: Evaluation
    ) -> None:
        posted = entered(as_ana.get(url("evaluation", claimed)), "Yes", "Yes", "No", "No")
        for _ in range(2):
            assert as_ana.post(url("lock-in", claimed), posted, headers=HTMX).status_code == 200
        assert BlindScores.objects.count() == 1

    @pytest.mark.slow
    def test_lock_in_of_other_scores_is_a_conflict(
        self, lock_in: Callable[..., Any], as_ana: Client, claimed: Evaluation
    ) -> None:
        posted = entered(as_ana.get(url("evaluation", claimed)), "No", "No", "No", "No")
        lock_in("Yes", "Yes", "No", "No")
        response = as_ana.post(url("lock-in", claimed), posted, headers=HTMX)
        assert response.status_code == 409
        assert "You locked in other scores at" in text(response)
        assert [row.value for row in response.context["form"].rows] == ["No"] * 4
        assert not response.context["form"].is_blind

    def test_lock_in_on_lost_claim_is_a_conflict_that_reveals_nothing(
        self, as_ana: Client, claimed: Evaluation, bo: User
    ) -> None:
        posted = entered(as_ana.get(url("evaluation", claimed)), "Yes", "Yes", "No", "No")
        end_claim(claimed)
        claims.claim(evaluation_id=claimed.pk, reviewer=bo)
        response = as_ana.post(url("lock-in", claimed), posted, headers=HTMX)
        assert response.status_code == 409
        assert "bo has been reviewing this since" in text(response)
        assert [row.value for row in response.context["form"].rows] == ["Yes", "Yes", "No", "No"]
        assert "Raw words of the judge" not in text(response)


class TestAfterLockIn:
    @pytest.mark.slow
    def test_decision_may_differ_from_locked_in_scores(
        self, lock_in: Callable[..., Any], as_ana: Client, claimed: Evaluation
    ) -> None:
        posted = filled_in(lock_in("Yes", "Yes", "No", "No")) | {"criteria-1-score": "No"}
        assert as_ana.post(url("submit", claimed), posted).status_code == 303
        review = Review.objects.get()
        assert review.corrected_scores
        assert review.corrected_scores["clarity"] == SCORES["clarity"]
        assert review.corrected_scores["depth"] == SCORES["depth"]
        assert review.blind_scores == {"clarity": "Yes", "depth": "Yes", "rigour": "No", "style": "No"}

    @pytest.mark.slow
    def test_line_and_history_are_available_after_lock_in(
        self, lock_in: Callable[..., Any], as_ana: Client, claimed: Evaluation
    ) -> None:
        page = text(lock_in("Yes", "Yes", "No", "No"))
        assert url("record-history", claimed) in page
        assert "locked in blind scores" in text(as_ana.get(url("record-history", claimed)))

    @pytest.mark.slow
    def test_undo_after_lock_in_shows_the_judges_scores(
        self, lock_in: Callable[..., Any], as_ana: Client, claimed: Evaluation, run: Run
    ) -> None:
        as_ana.post(url("submit", claimed), filled_in(lock_in("Yes", "Yes", "No", "No")))
        response = as_ana.post(url("undo", run), headers=HTMX)
        assert "Undone. Task 7 · o1 is open again" in text(response)
        form = response.context["form"]
        assert not form.is_blind
        assert [row.value for row in form.rows] == ["Yes", "Yes", "No", "No"]
        assert form.blind_result == "The judge scored 2 of 3 criteria differently."

    @pytest.mark.slow
    def test_revision_shows_the_locked_in_scores(
        self, lock_in: Callable[..., Any], as_ana: Client, claimed: Evaluation
    ) -> None:
        as_ana.post(url("submit", claimed), filled_in(lock_in("Yes", "Yes", "No", "No")))
        assert "You locked in your scores at" in text(as_ana.get(url("revise", claimed)))

    @pytest.mark.slow
    def test_decided_blind_record_is_readable_by_others(
        self, lock_in: Callable[..., Any], as_bo: Client, claimed: Evaluation, ana: User
    ) -> None:
        lock_in("Yes", "Yes", "No", "No")
        decide(claimed, ana)
        assert "Raw words of the judge" in text(as_bo.get(url("evaluation", claimed)))


def test_record_without_answer_is_not_reviewed_blind(as_ana: Client, run: Run, ana: User) -> None:
    record = make(run, structured_model_response=None)
    claims.claim(evaluation_id=record.pk, reviewer=ana)
    response = as_ana.get(url("evaluation", record))
    assert "Blind:" not in text(response)
    assert f'action="{reverse("submit", args=[record.pk])}"' in text(response)
    assert not Draft.objects.exists()
