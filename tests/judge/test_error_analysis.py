"""Error analysis of judge prompts: ranked causes, quotes, Markdown and few-shot examples."""

import json
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from reviews.judge import error_analysis, few_shot
from reviews.judge.error_analysis import ErrorAnalysis
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Run, User
from reviews.review import undo
from tests.support import contexts
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide

pytestmark = pytest.mark.django_db

JUDGED = {
    "Clarity": {"score": "Yes", "justification": "Each step follows."},
    "Rigor": {"score": "No", "justification": r"Ends with \(\frac{1}{2}\)."},
}


def decided(
    name: str, reviewer: User, causes: dict[str, str], *, comments: str = "", **record: Any
) -> Evaluation:
    """Create a record in which the reviewer overrides each criterion that has a cause."""
    import_data(file_of(line(name, parsed_rubric_scores=JUDGED, **record)))
    evaluation = Evaluation.objects.get(evaluation_id=name)
    scores = {criterion: dict(entry) for criterion, entry in JUDGED.items()}
    for criterion in causes:
        turned = "No" if JUDGED[criterion]["score"] == "Yes" else "Yes"
        scores[criterion] = {"score": turned, "justification": f"{criterion} is {turned}."}
    decide(
        evaluation,
        reviewer,
        scores=scores,
        origins=dict.fromkeys(scores, "human"),
        causes=causes,
        comments=comments,
        judged={criterion: entry["score"] for criterion, entry in JUDGED.items()},
    )
    return evaluation


def found(**scope: Any) -> ErrorAnalysis:
    return error_analysis.analyse_errors(JudgeScope(Run.objects.get(), **scope))


def examples() -> list[dict[str, Any]]:
    return [json.loads(one) for one in few_shot.stream_examples(JudgeScope(Run.objects.get()))]


class TestErrorAnalysis:
    @pytest.mark.slow
    def test_causes_are_ranked_by_template(self, ana: User) -> None:
        decided("a", ana, {"Clarity": "too lenient", "Rigor": "too strict"})
        decided("b", ana, {"Rigor": "too strict"})
        decided("c", ana, {"Rigor": "calculation error"}, judge_prompt_template_path="prompts/other.txt")
        first, second = found().templates
        assert (first.template, first.mentions) == ("prompts/judge.txt", 3)
        assert [(cause.title, cause.mentions) for cause in first.causes] == [
            ("Too strict", 2),
            ("Too lenient", 1),
        ]
        assert [(one.title, one.mentions) for one in first.causes[0].criteria] == [("Rigor", 2)]
        assert (second.template, second.causes[0].cause) == ("prompts/other.txt", "calculation error")

    def test_mentions_count_current_decisions(self, ana: User) -> None:
        decided("a", ana, {"Rigor": "too strict"})
        undo.undo(run=Run.objects.get(), actor=ana)
        assert (found().templates, found().mentions) == ((), 0)

    @pytest.mark.slow
    def test_error_analysis_filters_by_judge_template_and_model(self, ana: User) -> None:
        decided("a", ana, {"Rigor": "too strict"})
        decided("b", ana, {"Rigor": "calculation error"}, model_id="o1")
        [template] = found(model="o1").templates
        assert [cause.cause for cause in template.causes] == ["calculation error"]
        assert found(judge="nobody").templates == ()

    @pytest.mark.slow
    def test_error_analysis_takes_the_same_queries_at_any_size(
        self, ana: User, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        for number, cause in enumerate(["too strict", "calculation error", "too lenient"]):
            decided(f"{number}", ana, {"Rigor": cause}, model_id=f"model {number}")
        with django_assert_max_num_queries(5):
            found()


class TestExample:
    def test_example_quotes_judge_and_reviewer(self, ana: User) -> None:
        decided("eval_1", ana, {"Rigor": "too strict"}, comments="Half is right.", task_id="7", model_id="o1")
        [example] = found().templates[0].causes[0].examples
        assert (example.evaluation_id, example.title, example.reviewer) == ("eval_1", "Task 7 · o1", "ana")
        assert (example.judge_score, example.human_score) == ("No", "Yes")
        assert example.judge_justification == r"Ends with \(\frac{1}{2}\)."
        assert (example.human_justification, example.comment) == ("Rigor is Yes.", "Half is right.")

    @pytest.mark.slow
    def test_kept_justification_is_not_quoted_as_the_reviewers(self, ana: User) -> None:
        import_data(file_of(line("a", parsed_rubric_scores=JUDGED)))
        decide(
            Evaluation.objects.get(),
            ana,
            scores=JUDGED | {"Rigor": {**JUDGED["Rigor"], "score": "Yes"}},
            origins={"Rigor": "human", "Clarity": "judge"},
            causes={"Rigor": "too strict"},
            judged={"Rigor": "No", "Clarity": "Yes"},
        )
        [example] = found().templates[0].causes[0].examples
        assert example.human_justification == ""

    @pytest.mark.slow
    def test_outdated_decision_names_no_cause(self, ana: User) -> None:
        decided("a", ana, {"Rigor": "too strict"})
        judged = {"Clarity": JUDGED["Clarity"], "Rigor": {"score": "No", "justification": "Another reason."}}
        import_data(file_of(line("a", parsed_rubric_scores=judged)))
        assert (found().templates, examples()) == ((), [])

    @pytest.mark.slow
    def test_examples_are_the_newest_of_several_criteria(self, ana: User) -> None:
        for name in "abc":
            decided(name, ana, {"Rigor": "calculation error"})
        decided("d", ana, {"Clarity": "calculation error"})
        decided("e", ana, {"Rigor": "calculation error"})
        [cause] = found().templates[0].causes
        assert [(one.evaluation_id, one.criterion) for one in cause.examples] == [
            ("e", "Rigor"),
            ("d", "Clarity"),
        ]
        assert (
            len(
                error_analysis.analyse_errors(JudgeScope(Run.objects.get()), examples=4)
                .templates[0]
                .causes[0]
                .examples
            )
            == 4
        )


class TestMarkdown:
    def text(self) -> str:
        return "".join(error_analysis.to_markdown(found(), lambda example: f"/records/{example.evaluation}/"))

    @pytest.mark.slow
    def test_markdown_has_causes_and_quotes_with_links(self, ana: User) -> None:
        record = decided("a", ana, {"Rigor": "too strict"}, comments="See step 2.")
        text = self.text()
        assert "| Too strict | 1 | Rigor (1) |" in text
        assert f"](/records/{record.pk}/)" in text
        assert "```text\nEnds with \\(\\frac{1}{2}\\).\n```" in text
        assert "See step 2." in text

    @pytest.mark.slow
    def test_markdown_escapes_texts_of_records(self, ana: User) -> None:
        nasty = "```\n<script>alert(1)</script> ![x](https://example.com/x.png)"
        decided("a", ana, {"Rigor": "too strict"}, comments=nasty, task_id="[x](javascript:1) | # <b>")
        text = self.text()
        assert f"````text\n{nasty}\n````" in text
        assert r"\[x\](javascript:1) \| \# \<b\>" in text

    def test_markdown_without_causes_says_so(self) -> None:
        import_data(file_of(line("a")))
        assert self.text().endswith("No reviewer has named a cause yet.\n")


class TestFewShotExamples:
    @pytest.mark.slow
    def test_few_shot_example_has_input_judge_and_correction(self, ana: User) -> None:
        decided("a", ana, {"Rigor": "too strict"}, comments="Half is right.", task_id="7")
        contexts.bring(contexts.task())
        [example] = examples()
        assert example["input"] == {
            "question": r"What is $6 \cdot 10$?",
            "context": None,
            "response": {"final_answer": "1/2"},
            "ideal_response": {"final_answer": "2"},
            "final_answer": "60",
        }
        assert example["judge"] == {"score": "No", "justification": r"Ends with \(\frac{1}{2}\)."}
        assert example["corrected"] == {"score": "Yes", "justification": "Rigor is Yes."}
        assert (example["criterion"], example["cause"], example["comment"]) == (
            "Rigor",
            "too strict",
            "Half is right.",
        )

    @pytest.mark.slow
    def test_few_shot_input_is_null_if_unknown(self, ana: User) -> None:
        decided(
            "a", ana, {"Rigor": "too strict"}, structured_model_response=None, structured_ideal_response=None
        )
        [example] = examples()
        assert set(example["input"].values()) == {None}

    def test_few_shot_examples_are_one_per_criterion_with_a_cause(self, ana: User) -> None:
        decided("a", ana, {"Rigor": "too strict", "Clarity": "too lenient"})
        assert [example["criterion"] for example in examples()] == ["Clarity", "Rigor"]

    @pytest.mark.slow
    def test_few_shot_examples_are_read_in_batches(
        self,
        ana: User,
        monkeypatch: pytest.MonkeyPatch,
        django_assert_max_num_queries: DjangoAssertNumQueries,
    ) -> None:
        for number in range(6):
            decided(f"{number}", ana, {"Rigor": "too strict"})
        monkeypatch.setattr(few_shot, "_BATCH", 3)
        with django_assert_max_num_queries(6):
            assert len(examples()) == 6
