"""The review screen of a record, and submits of a decision."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
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
from tests.support.rubrics import rubric_data
from tests.support.work import decide, end_claim

pytestmark = pytest.mark.django_db

SCORES = {
    "clarity": {"score": "Yes", "justification": r"States \(\frac{1}{2}\)."},
    "depth_of_steps": {"score": "No", "justification": "Too shallow."},
}


@pytest.fixture
def record(run: Run) -> Evaluation:
    return EvaluationFactory.create(run=run, task_id="7", model_id="o1", parsed_rubric_scores=SCORES)


class TestScreen:
    def test_screen_shows_the_evidence(self, as_ana: Client, run: Run, ana: User) -> None:
        record = EvaluationFactory.create(
            run=run,
            task_id="7",
            model_id="o1",
            parsed_rubric_scores=SCORES,
            raw_judge_output={"raw_content": "As written <b>raw</b>"},
            structured_model_response={"response": {"steps": ["Add \\(a\\)."], "final_answer": "54"}},
            structured_ideal_response="It is **60**.",
            verification_message="Verification (String): Mismatch (Extracted: '54', Correct: '60').",
            review_reasons=["LLM response parsing failed"],
            extra={"cost_in_cents": 3},
        )
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        page = text(as_ana.get(url("evaluation", record)))
        for shown in (
            "Task 7 · o1",
            "judged by judge-1",
            '1 left<span class="done-today"> · 0 done today</span>',
            "LLM response parsing failed",
            "verifier: mismatch",
            '<li class="prose"><p>Add <span class="math" data-display="false">a</span>.</p>',
            "<strong>60</strong>",
            "As written &lt;b&gt;raw&lt;/b&gt;",
            "Depth of steps",
            r'<span class="math" data-display="false">\frac{1}{2}</span>',
            "cost_in_cents",
            "prompts/judge.txt",
        ):
            assert shown in page

    def test_screen_opens_raw_output_without_other_evidence(
        self, as_ana: Client, claimed: Evaluation
    ) -> None:
        page = as_ana.get(url("evaluation", claimed))
        assert page.context["evidence"].first_pane == "raw"
        assert "only the judge's output is available" in text(page)

    def test_screen_marks_extracted_scores(self, as_ana: Client, run: Run, ana: User) -> None:
        raw = r'{"clarity": {"score": "No", "justification": "So \(x\)."}}'
        record = EvaluationFactory.create(
            run=run, parsed_rubric_scores={}, raw_judge_output={"raw_content": raw}
        )
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        page = text(as_ana.get(url("evaluation", record)))
        assert "Scores extracted from raw output (1 of 1)" in page
        assert "1 JSON fix" in page
        assert 'class="criterion extracted"' in page
        assert '<span data-span="0">' in page

    def test_screen_without_criteria_asks_for_names(self, as_ana: Client, run: Run, ana: User) -> None:
        record = EvaluationFactory.create(run=run, parsed_rubric_scores={}, raw_judge_output={"x": "Sorry."})
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        page = text(as_ana.get(url("evaluation", record)))
        assert "No scores could be extracted. See the raw output." in page
        assert 'name="criteria-0-name" value=""' in page

    def test_screen_has_known_criteria_as_hidden_fields(self, as_ana: Client, run: Run, ana: User) -> None:
        record = EvaluationFactory.create(run=run)
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        page = text(as_ana.get(url("evaluation", record)))
        assert '<input type="hidden" name="criteria-0-name"' in page
        assert '<input type="text" name="criteria-0-name"' not in page

    def test_screen_offers_blank_criteria_of_the_rubric(self, as_ana: Client, run: Run, ana: User) -> None:
        run.rubric = rubric_data("clarity", "depth", values=("Good", "Bad"))
        run.save()
        record = EvaluationFactory.create(run=run, parsed_rubric_scores={}, raw_judge_output={"x": "Sorry."})
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        page = text(as_ana.get(url("evaluation", record)))
        assert "2 scores missing" in page
        assert 'value="Good" checked' not in page
        assert '<label class="level" data-level="Good"' in page

    def test_screen_for_htmx_has_its_address(self, as_ana: Client, claimed: Evaluation) -> None:
        response = as_ana.get(url("evaluation", claimed), headers=HTMX)
        page = text(response)
        assert page.startswith("<title>Task 7 · o1 · Algebra · CogniReview</title>")
        assert "<html" not in page
        assert response["HX-Replace-Url"] == url("evaluation", claimed)
        assert "HX-Request" in response["Vary"]
        assert "no-store" in response["Cache-Control"]

    def test_screen_of_decided_record_compares_judge_and_human(
        self, as_bo: Client, claimed: Evaluation, ana: User
    ) -> None:
        decide(
            claimed,
            ana,
            scores={"depth_of_steps": {"score": "Yes", "justification": "Deep enough."}},
            comments="Hm.",
        )
        page = text(as_bo.get(url("evaluation", claimed)))
        assert "Current decision" in page
        assert "Completed · last reviewed by ana" in page
        assert "No <small>judge</small>" in page
        assert "Yes <small>human</small>" in page
        assert "Deep enough." in page
        assert "Hm." in page
        assert 'id="review-form"' not in page

    def test_screen_escapes_hostile_text(self, as_ana: Client, run: Run, ana: User) -> None:
        hostile = '"><script>alert(1)</script>{{ 7|add:7 }}'
        record = EvaluationFactory.create(
            run=run,
            task_id=hostile,
            model_id=hostile,
            judge_llm_model=hostile,
            parsed_rubric_scores={hostile: {"score": hostile, "justification": hostile}},
            raw_judge_output={"raw_content": hostile},
            structured_model_response={hostile: hostile},
            verification_message=hostile,
            review_reasons=[hostile],
            extra={hostile: hostile},
        )
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        page = text(as_ana.get(url("evaluation", record)))
        assert "<script>alert" not in page
        assert "{{ 7|add:7 }}" in page

    @pytest.mark.slow
    def test_screen_shows_records_of_extreme_size(self, as_ana: Client, run: Run, ana: User) -> None:
        deep: Any = "bottom"
        for _ in range(100):
            deep = {"response": [deep]}
        record = EvaluationFactory.create(
            run=run,
            task_id=None,
            model_id=None,
            parsed_rubric_scores={
                f"criterion {n}": {"score": "No", "justification": "x" * 4000} for n in range(300)
            },
            raw_judge_output={"raw_content": "x" * 2_000_000},
            structured_model_response=deep,
            structured_ideal_response="[" * 100_000,
            review_reasons=["again"] * 10_000,
            extra={f"key {n}": n for n in range(10_000)},
        )
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        response = as_ana.get(url("evaluation", record))
        assert response.status_code == 200
        assert "150 more criteria than the form can show" in text(response)

    def test_screen_query_count_is_constant(
        self,
        as_ana: Client,
        claimed: Evaluation,
        django_assert_max_num_queries: Callable[..., AbstractContextManager[Any]],
    ) -> None:
        for number in (1, 3):
            EvaluationFactory.create_batch(number, run=claimed.run)
            # Two queries look for the file, which rows of a factory do not have.
            with django_assert_max_num_queries(19):
                as_ana.get(url("evaluation", claimed))

    def test_line_download_is_unchanged(self, as_ana: Client) -> None:
        odd = line("e-1", aggregated_score=b'"P\\u0061ss"', cost=b"1.10")
        import_data(file_of(line("e-0"), odd))
        response: Any = as_ana.get(url("line", Evaluation.objects.get(evaluation_id="e-1")))
        assert b"".join(response.streaming_content) == odd + b"\n"
        assert response["Content-Disposition"] == 'attachment; filename="e-1.jsonl"'

    def test_justification_preview_is_rendered(self, as_ana: Client) -> None:
        response = as_ana.post(reverse("preview"), {"criteria-3-justification": "So $x$ <b>"})
        assert text(response) == '<p>So <span class="math" data-display="false">x</span> &lt;b&gt;</p>'


class TestSubmit:
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

    def test_submit_confirms_the_saved_verdict(self, as_ana: Client, claimed: Evaluation) -> None:
        response = as_ana.post(
            url("submit", claimed), form_of(claimed, criteria__1__score="Yes"), follow=True
        )
        assert "Task 7 · o1</a> submitted: Fail → Pass." in text(response)
        assert "All caught up" in text(response)

    def test_submit_by_htmx_returns_the_next_screen(self, as_ana: Client, claimed: Evaluation) -> None:
        EvaluationFactory.create(run=claimed.run, task_id="7", model_id="o3")
        response = as_ana.post(url("submit", claimed), form_of(claimed), follow=True, headers=HTMX)
        page = text(response)
        assert page.startswith("<title>Task 7 · o3")
        assert '<div id="messages" hx-swap-oob="beforeend">' in page
        assert "</a> submitted: " in page

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
