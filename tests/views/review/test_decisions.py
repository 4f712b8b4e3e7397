"""Submit and prefetch, undo, revise, reopen, and recent work."""

from typing import Any

import pytest
from django.test import Client

from reviews.models import Evaluation, Review, Run, User
from reviews.queue import claims
from tests.support.factories import EvaluationFactory
from tests.support.pages import HTMX, filled_in, form_of, text, url
from tests.support.work import decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

SCORES = {
    "clarity": {"score": "Yes", "justification": "Clear."},
    "completeness": {"score": "No", "justification": "Shallow."},
}


@pytest.fixture
def record(run: Run) -> Evaluation:
    return EvaluationFactory.create(run=run, task_id="7", model_id="o1", parsed_rubric_scores=SCORES)


@pytest.fixture
def done(claimed: Evaluation, as_ana: Client) -> Evaluation:
    """A record decided by ana: completeness is Partial, because the judge was too strict."""
    as_ana.post(
        url("submit", claimed),
        form_of(
            claimed, criteria__1__score="Partial", criteria__1__cause="too strict", comments="Half of it."
        ),
    )
    claimed.refresh_from_db()
    assert claimed.is_done
    return claimed


@pytest.mark.slow
class TestSubmitting:
    def test_submit_saves_cause_and_counts_of_the_script(self, as_ana: Client, claimed: Evaluation) -> None:
        form = form_of(claimed, criteria__1__score="Yes", criteria__1__cause="too strict")
        as_ana.post(url("submit", claimed), form | {"active_ms": "5400", "keys": "4"})
        review = Review.objects.get()
        assert review.causes == {"completeness": "too strict"}
        assert (review.active_ms, review.keys) == (5400, 4)

    def test_submit_ignores_impossible_counts(self, as_ana: Client, claimed: Evaluation) -> None:
        as_ana.post(url("submit", claimed), form_of(claimed) | {"active_ms": "-1", "keys": "9" * 30})
        review = Review.objects.get()
        assert (review.active_ms, review.keys) == (None, None)

    def test_submit_keeps_the_filters_of_the_queue(self, as_ana: Client, claimed: Evaluation) -> None:
        EvaluationFactory.create(run=claimed.run, task_id="7", model_id="another")
        wanted = EvaluationFactory.create(run=claimed.run, task_id="8", model_id="o1")
        form = form_of(claimed) | {"queue": "model=o1&status=waiting"}
        response = as_ana.post(url("submit", claimed), form)
        assert response["Location"] == f"{url('evaluation', wanted)}?queue=model%3Do1"
        page = text(as_ana.get(response["Location"]))
        assert '<input type="hidden" name="queue" value="model=o1">' in page
        assert "Filtered · 2 left in the run<" in page


class TestPrefetch:
    @pytest.fixture
    def spare(self, claimed: Evaluation) -> Evaluation:
        return EvaluationFactory.create(
            run=claimed.run, task_id="7", model_id="o3", parsed_rubric_scores=SCORES
        )

    def test_prefetch_returns_a_screen(
        self, as_ana: Client, claimed: Evaluation, spare: Evaluation, ana: User
    ) -> None:
        response = as_ana.post(url("prefetch", claimed.run), {"after": claimed.pk}, headers=HTMX)
        page = text(response)
        assert page.startswith('<div id="screen"')
        assert f'data-url="{url("evaluation", spare)}"' in page
        assert "Task 7 · o3" in page
        assert 'id="review-form"' in page
        spare.refresh_from_db()
        assert spare.claimed_by == ana

    def test_prefetch_without_available_record_is_empty(self, as_ana: Client, claimed: Evaluation) -> None:
        assert (
            as_ana.post(url("prefetch", claimed.run), {"after": claimed.pk}, headers=HTMX).status_code == 204
        )

    def test_prefetched_record_on_screen_is_claimed_by_submit(
        self, as_ana: Client, claimed: Evaluation, spare: Evaluation, ana: User
    ) -> None:
        as_ana.post(url("prefetch", claimed.run), {"after": claimed.pk}, headers=HTMX)
        response = as_ana.post(url("submit", claimed), form_of(claimed) | {"next": spare.pk}, headers=HTMX)
        page = text(response)
        assert response["HX-Reswap"] == "none"
        assert 'id="messages" hx-swap-oob="beforeend"' in page
        assert '<p id="progress" hx-swap-oob="true">' in page
        assert '1 left<span class="done-today"> · 1 done today</span>' in page
        assert 'id="screen"' not in page
        spare.refresh_from_db()
        assert spare.claimed_by == ana

    @pytest.mark.parametrize("current", ["", "x", "9" * 40])
    def test_prefetch_with_invalid_current_record_is_handled(
        self, as_ana: Client, claimed: Evaluation, current: str
    ) -> None:
        assert as_ana.post(url("prefetch", claimed.run), {"after": current}, headers=HTMX).status_code in {
            200,
            204,
        }

    def test_prefetched_record_claimed_by_another_is_replaced(
        self, as_ana: Client, claimed: Evaluation, spare: Evaluation, bo: User
    ) -> None:
        claims.claim(evaluation_id=spare.pk, reviewer=bo)
        other = EvaluationFactory.create(run=claimed.run, task_id="9")
        response = as_ana.post(url("submit", claimed), form_of(claimed) | {"next": spare.pk}, headers=HTMX)
        assert "HX-Reswap" not in response
        assert response["HX-Replace-Url"] == url("evaluation", other)

    def test_prefetched_record_is_released_when_page_closes(
        self, as_ana: Client, claimed: Evaluation, spare: Evaluation
    ) -> None:
        as_ana.post(url("prefetch", claimed.run), {"after": claimed.pk}, headers=HTMX)
        assert as_ana.post(url("release-prefetched", claimed.run)).status_code == 204
        for record, is_held in ((claimed, True), (spare, False)):
            record.refresh_from_db()
            assert record.is_claimed == is_held


class TestUndo:
    def test_undo_reopens_the_record_with_its_entries(
        self, as_ana: Client, done: Evaluation, ana: User
    ) -> None:
        response = as_ana.post(url("undo", done.run), follow=True)
        page = text(response)
        assert "Undone. Task 7 · o1 is open again with your scores." in page
        assert "No → Partial" in page
        assert 'value="too strict" checked' in page
        assert "Half of it." in page
        done.refresh_from_db()
        assert (done.human_review_status, done.claimed_by) == ("Needs Review", ana)

    def test_undo_by_htmx_returns_the_screen(self, as_ana: Client, done: Evaluation) -> None:
        response = as_ana.post(url("undo", done.run), headers=HTMX)
        assert response["HX-Replace-Url"] == url("evaluation", done)
        assert 'id="review-form"' in text(response)

    def test_undo_without_an_action_says_so(self, as_ana: Client, claimed: Evaluation) -> None:
        response = as_ana.post(url("undo", claimed.run), headers=HTMX)
        assert (response.status_code, response["HX-Reswap"]) == (409, "none")
        said = "You have nothing to undo in this run from the last 24 hours."
        for page in (response, as_ana.post(url("undo", claimed.run), follow=True)):
            assert f'<div class="toast" data-leaves> <p>{said}</p>' in text(page)


class TestRevise:
    def test_revision_is_prefilled_with_the_current_decision(self, as_ana: Client, done: Evaluation) -> None:
        page = text(as_ana.get(url("revise", done)))
        assert "The current decision" in page
        assert "No → Partial" in page
        assert "Half of it." in page
        assert "Save new version" in page
        assert 'id="skip"' not in page

    def test_revision_becomes_the_current_version(self, as_ana: Client, done: Evaluation) -> None:
        form = filled_in(as_ana.get(url("revise", done))) | {"criteria-1-score": "Yes"}
        response = as_ana.post(url("revise", done), form)
        assert response["Location"] == url("evaluation", done)
        done.refresh_from_db()
        assert done.review is not None
        assert done.review.version == 2
        page = text(as_ana.get(url("evaluation", done)))
        for shown in (
            "Versions",
            "current · Pass",
            "superseded · Partial",
            "Completeness: No → Partial (Too strict)",
        ):
            assert shown in page

    def test_invalid_revision_keeps_entries(self, as_ana: Client, done: Evaluation) -> None:
        form = filled_in(as_ana.get(url("revise", done))) | {
            "criteria-1-score": "",
            "comments": "I was here.",
        }
        response = as_ana.post(url("revise", done), form, headers=HTMX)
        assert response.status_code == 422
        assert "Choose a score." in text(response)
        assert "I was here." in text(response)
        assert f'action="{url("revise", done)}"' in text(response)

    @pytest.mark.slow
    def test_revision_of_changed_decision_keeps_entries(
        self, as_ana: Client, done: Evaluation, as_lea: Client
    ) -> None:
        form = filled_in(as_ana.get(url("revise", done))) | {"comments": "I was here."}
        as_lea.post(url("revise", done), filled_in(as_lea.get(url("revise", done))))
        response = as_ana.post(url("revise", done), form)
        assert response.status_code == 409
        assert "You need the lead role for this." in text(response)
        assert "I was here." in text(response)

    @pytest.mark.slow
    def test_revision_is_allowed_for_author_and_leads(
        self, as_bo: Client, as_lea: Client, done: Evaluation
    ) -> None:
        link = f'href="{url("revise", done)}">Revise</a>'
        assert as_bo.get(url("revise", done)).status_code == 403
        assert link not in text(as_bo.get(url("evaluation", done)))
        assert as_lea.get(url("revise", done)).status_code == 200
        assert link in text(as_lea.get(url("evaluation", done)))


class TestReopen:
    def test_reopened_record_is_prefilled_with_its_decision(self, as_ana: Client, done: Evaluation) -> None:
        as_ana.post(url("reopen", done), {"reason": "The reference was wrong."})
        done.refresh_from_db()
        assert done.in_queue
        as_ana.post(url("claim", done))
        page = text(as_ana.get(url("evaluation", done)))
        assert "The decision so far" in page
        assert "No → Partial" in page

    @pytest.mark.parametrize("reason", ["", " ", "x" * 6000])
    def test_reopening_requires_a_reason(self, as_ana: Client, done: Evaluation, reason: str) -> None:
        response = as_ana.post(url("reopen", done), {"reason": reason})
        assert response.status_code == 422
        assert "Enter a reason for reopening" in text(response)
        done.refresh_from_db()
        assert done.is_done

    def test_reopening_is_denied_for_others(self, as_bo: Client, done: Evaluation) -> None:
        assert as_bo.post(url("reopen", done), {"reason": "Why not?"}).status_code == 403


@pytest.mark.slow
def test_recent_work_offers_to_undo_each_action(
    as_ana: Client, done: Evaluation, ana: User, run: Run
) -> None:
    skipped, asked = (EvaluationFactory.create(run=run, task_id=task) for task in ("8", "9"))
    for record in (skipped, asked):
        claims.claim(evaluation_id=record.pk, reviewer=ana)
    as_ana.post(url("skip", skipped))
    as_ana.post(url("escalate", asked), {"kind": "question", "note": "Which field is this?"})
    response: Any = as_ana.get(url("recent", run))
    page = text(response)
    assert "Which field is this?" in page
    assert "Undo: asked a lead about Task 9" in page
    for name, row in (
        ("unskip", skipped),
        ("withdraw-escalation", response.context["page"].escalations[0]),
    ):
        assert f'action="{url(name, row)}"' in page
    as_ana.post(url("unskip", skipped))
    assert not skipped.skips.exists()


def test_recent_work_without_decisions_says_so(as_ana: Client, claimed: Evaluation) -> None:
    assert "You haven't reviewed anything in this run yet." in text(as_ana.get(url("recent", claimed.run)))


def test_recent_work_excludes_decisions_of_others(as_ana: Client, run: Run, bo: User) -> None:
    record = EvaluationFactory.create(run=run, task_id="7", parsed_rubric_scores=SCORES)
    decide(claims.claim(evaluation_id=record.pk, reviewer=bo), bo)
    assert "Task 7" not in text(as_ana.get(url("recent", run)))
