"""Submits of a decision on the review screen: conflicts, problems and drafts."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Evaluation, Review, Run, User
from reviews.queue import claims
from reviews.review import drafts
from tests.support.factories import EvaluationFactory
from tests.support.lines import file_of, import_data, line
from tests.support.pages import HTMX, form_of, seen_on, text, url
from tests.support.work import decide, end_claim
from tests.views.review.test_record import SCORES

pytestmark = pytest.mark.django_db


@pytest.fixture
def record(run: Run) -> Evaluation:
    return EvaluationFactory.create(run=run, task_id="7", model_id="o1", parsed_rubric_scores=SCORES)


class TestSubmit:
    @pytest.mark.slow
    def test_submit_makes_the_decision_current_and_shows_the_next_record(
        self, as_ana: Client, claimed: Evaluation, ana: User
    ) -> None:
        other = EvaluationFactory.create(run=claimed.run, task_id="7")
        form = form_of(claimed, criteria__1__score="Partial", comments="Half of it.")
        response = as_ana.post(url("submit", claimed), form)
        assert (response.status_code, response["Location"]) == (303, url("evaluation", other))
        review = Review.objects.get()
        assert review.corrected_scores == SCORES | {
            "depth_of_steps": {
                "score": "Partial",
                "justification": "Too shallow.",
                "justification_by": "judge",
            }
        }
        assert review.origins == {"clarity": "judge", "depth_of_steps": "human"}
        assert (review.reviewer, review.comments) == (ana, "Half of it.")
        claimed.refresh_from_db()
        assert (claimed.human_review_status, claimed.human_reviewer_id) == ("Completed", "ana")

    @pytest.mark.slow
    def test_submit_confirms_the_saved_verdict(self, as_ana: Client, claimed: Evaluation) -> None:
        response = as_ana.post(
            url("submit", claimed), form_of(claimed, criteria__1__score="Yes"), follow=True
        )
        assert "Task 7 · o1</a> submitted: Fail → Pass." in text(response)
        assert "All caught up" in text(response)

    @pytest.mark.slow
    def test_submit_by_htmx_returns_the_next_screen(self, as_ana: Client, claimed: Evaluation) -> None:
        EvaluationFactory.create(run=claimed.run, task_id="7", model_id="o3")
        response = as_ana.post(url("submit", claimed), form_of(claimed), follow=True, headers=HTMX)
        page = text(response)
        assert page.startswith("<title>Task 7 · o3")
        assert '<div id="messages" hx-swap-oob="beforeend">' in page
        assert "</a> submitted: " in page

    @pytest.mark.slow
    def test_repeated_submit_is_one_review(self, as_ana: Client, claimed: Evaluation) -> None:
        form = form_of(claimed)
        for _ in range(2):
            assert as_ana.post(url("submit", claimed), form).status_code == 303
        assert Review.objects.count() == 1

    @pytest.mark.parametrize("headers", [{}, HTMX])
    def test_invalid_submit_keeps_entries(
        self, as_ana: Client, claimed: Evaluation, headers: dict[str, str]
    ) -> None:
        form = form_of(claimed, criteria__2__name="", criteria__2__score="No", comments="I was here.")
        response = as_ana.post(url("submit", claimed), form, headers=headers)
        page = text(response)
        assert response.status_code == 422
        assert "Name the criterion." in page
        assert re.search(r'name="criteria-2-name"[^>]*aria-invalid="true" aria-describedby="errors-2"', page)
        assert "I was here." in page
        assert ("<html" in page) == (not headers)
        assert not Review.objects.exists()

    def test_added_row_keeps_entries(self, as_ana: Client, claimed: Evaluation) -> None:
        form = form_of(claimed, criteria__1__score="Yes", comments="I was here.", action="add")
        response = as_ana.post(url("submit", claimed), form)
        page = text(response)
        assert response.status_code == 200
        assert 'name="criteria-2-name"' in page
        assert "I was here." in page
        assert "No → Yes" in page
        assert "errorlist" not in page

    @pytest.mark.slow
    def test_submit_after_another_decision_is_a_conflict_and_keeps_entries(
        self, as_ana: Client, claimed: Evaluation, bo: User
    ) -> None:
        end_claim(claimed)
        decide(claims.claim(evaluation_id=claimed.pk, reviewer=bo), bo)
        form = form_of(claimed, criteria__1__justification="Mine.", comments="I was here.")
        response = as_ana.post(url("submit", claimed), form, headers=HTMX)
        page = text(response)
        assert response.status_code == 409
        assert "bo submitted this at" in page
        for kept in ("Mine.", "I was here.", "your work is kept", "Next record", "Discard draft"):
            assert kept in page
        assert 'id="submit"' not in page
        assert Review.objects.get().reviewer == bo

    @pytest.mark.slow
    def test_submit_on_record_claimed_by_another_is_a_conflict(
        self, as_bo: Client, claimed: Evaluation
    ) -> None:
        response = as_bo.post(url("submit", claimed), form_of(claimed, comments="I was here."))
        assert response.status_code == 409
        assert "ana has been reviewing this since" in text(response)
        assert "I was here." in text(response)

    def test_submit_with_expired_claim_is_saved(self, as_ana: Client, claimed: Evaluation) -> None:
        end_claim(claimed)
        assert as_ana.post(url("submit", claimed), form_of(claimed)).status_code == 303

    @pytest.mark.slow
    def test_submit_on_reimported_record_is_a_conflict(self, as_ana: Client, ana: User) -> None:
        import_data(file_of(line("e-1", parsed_rubric_scores=SCORES)))
        record = Evaluation.objects.get()
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        form = form_of(record, criteria__1__score="Partial", criteria__1__justification="Mine.")
        import_data(
            file_of(
                line(
                    "e-1",
                    parsed_rubric_scores=SCORES | {"depth_of_steps": {"score": "Yes", "justification": "!"}},
                )
            )
        )
        response = as_ana.post(url("submit", record), form)
        page = text(response)
        assert response.status_code == 409
        assert "This record was re-imported at" in page
        assert "and has changed since you opened it." in page
        assert "Yes → Partial" in page
        assert "Mine." in page
        record.refresh_from_db()
        assert as_ana.post(url("submit", record), form | {"version": record.version}).status_code == 303

    @pytest.mark.slow
    def test_conflict_marks_criteria_with_changed_judge_scores(self, as_ana: Client, ana: User) -> None:
        import_data(file_of(line("e-1", parsed_rubric_scores=SCORES)))
        record = Evaluation.objects.get()
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        opened = as_ana.get(url("evaluation", record))
        form = form_of(record) | seen_on(opened)
        first, second = SCORES
        newer = {
            first: SCORES[first] | {"justification": "Something else."},
            second: SCORES[second] | {"score": "Yes"},
        }
        import_data(file_of(line("e-1", parsed_rubric_scores=newer)))
        response = as_ana.post(url("submit", record), form)
        page = text(response)
        assert "and the judge's output changed on 2 criteria. Check the marked rows." in unescape(page)
        assert unescape(page).count("The judge's output for this criterion has changed.") == 2
        record.refresh_from_db()
        again = form_of(record) | seen_on(response)
        assert as_ana.post(url("submit", record), again).status_code == 303

    def test_submit_with_conflict_continues_the_saved_draft(
        self, as_ana: Client, claimed: Evaluation, ana: User
    ) -> None:
        drafts.save(evaluation_id=claimed.pk, reviewer=ana, fields=[["comments", "a"]], revision=4)
        page = text(as_ana.post(url("submit", claimed), form_of(claimed, criteria__0__score="")))
        assert 'data-revision="4"' in page
        assert 'id="restored" hidden' in page

    @pytest.mark.slow
    def test_malformed_submit_shows_the_form(self, as_ana: Client, claimed: Evaluation) -> None:
        changed: list[dict[str, Any]] = [
            {"criteria__0__justification": "a\x00b"},
            {"criteria__0__name": "\x00"},
            {"criteria__0__score": "\x00"},
            {"comments": "x" * 3_000_000},
            {"criteria__0__justification": "x" * 3_000_000},
            {"version": "9" * 5000},
            {"submission": "not one"},
            {"criteria__0__score": "Maybe"},
        ]
        for changes in changed:
            response = as_ana.post(url("submit", claimed), form_of(claimed, **changes))
            assert response.status_code == 422, [*changes]
            assert 'id="review-form"' in text(response), [*changes]
            assert not Review.objects.exists(), [*changes]

    @pytest.mark.slow
    def test_submit_with_thousands_of_fields_is_rejected(self, as_ana: Client, claimed: Evaluation) -> None:
        form = {f"criteria-{number}-name": "x" for number in range(5000)}
        assert as_ana.post(url("submit", claimed), form_of(claimed) | form).status_code == 400

    def test_submit_in_other_encoding_is_rejected(self, as_ana: Client, claimed: Evaluation) -> None:
        body = b'--x\r\nContent-Disposition: form-data; name="comments"\r\n\r\n\\ud800\r\n--x--\r\n'
        response = as_ana.post(
            url("submit", claimed),
            body,
            content_type="multipart/form-data; boundary=x; charset=unicode_escape",
        )
        assert response.status_code == 400

    @pytest.mark.parametrize("name", ["evaluation", "line", "review"])
    def test_unknown_record_is_not_found(self, as_ana: Client, name: str) -> None:
        for number in ("0", "999999", "9" * 40):
            assert as_ana.get(reverse(name, args=[number])).status_code == 404
