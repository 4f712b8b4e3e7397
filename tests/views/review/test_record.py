"""The review screen of a record: its evidence and criteria."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Evaluation, Run, User
from reviews.queue import claims
from tests.support.factories import EvaluationFactory
from tests.support.lines import file_of, import_data, line
from tests.support.pages import HTMX, text, url
from tests.support.rubrics import rubric_data
from tests.support.work import decide

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
            structured_model_response={
                "response": {"steps": ["Add \\(a\\)."], "final_answer": "54", "intermediate_results": ["x^2"]}
            },
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
            '<li class="prose"><p><span class="math" data-display="false">x^2</span></p>',
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

    @pytest.mark.slow
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

    @pytest.mark.slow
    def test_line_download_is_unchanged(self, as_ana: Client) -> None:
        odd = line("e-1", aggregated_score=b'"P\\u0061ss"', cost=b"1.10")
        import_data(file_of(line("e-0"), odd))
        response: Any = as_ana.get(url("line", Evaluation.objects.get(evaluation_id="e-1")))
        assert b"".join(response.streaming_content) == odd + b"\n"
        assert response["Content-Disposition"] == 'attachment; filename="e-1.jsonl"'

    def test_justification_preview_is_rendered(self, as_ana: Client) -> None:
        response = as_ana.post(reverse("preview"), {"criteria-3-justification": "So $x$ <b>"})
        assert text(response) == '<p>So <span class="math" data-display="false">x</span> &lt;b&gt;</p>'
