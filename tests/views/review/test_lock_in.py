"""Locking in blind scores on the page of a record, and the page after it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from reviews.models import BlindScores, Evaluation, Review, Run, User
from reviews.queue import claims
from tests.support.blind_pages import SCORES, entered, make
from tests.support.factories import RunFactory
from tests.support.pages import HTMX, filled_in, text, url
from tests.support.rubrics import rubric_data
from tests.support.work import decide, end_claim

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def run(db: None) -> Run:
    criteria = rubric_data("clarity", "depth", "rigour")
    return RunFactory.create(name="Algebra", blind_share=1, rubric=criteria)


@pytest.fixture
def record(run: Run) -> Evaluation:
    return make(run)


@pytest.fixture
def lock_in(as_ana: Client, claimed: Evaluation) -> Callable[..., Any]:
    """Lock in scores as ana, by htmx or without the script."""

    def lock_in(*scores: str, htmx: bool = True, **changes: Any) -> Any:
        posted = entered(as_ana.get(url("evaluation", claimed)), *scores, **changes)
        return as_ana.post(url("lock-in", claimed), posted, headers=HTMX if htmx else {})

    return lock_in


class TestLockIn:
    def test_lock_in_shows_the_judges_scores_next_to_own(self, lock_in: Callable[..., Any]) -> None:
        response = lock_in("Yes", "Yes", "No", "No", comments="Hm.")
        page = text(response)
        assert response.status_code == 200
        assert page.count("The judge scored 2 of 3 criteria differently") == 1
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
        assert "The judge scored the same on 1 criterion" in page
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
        assert "The judge scored 2 of 3 criteria differently" in text(page)
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
        assert form.blind_result == "The judge scored 2 of 3 criteria differently"

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
